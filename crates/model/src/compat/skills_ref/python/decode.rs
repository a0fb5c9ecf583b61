//! Reading a text file: strict UTF-8 and one kind of line break.

/// Returns the text that `bytes` encode, or what Python says about the first fault.
pub(in super::super) fn decode_utf8(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let rest = &bytes[at..];
        let (length, reason) = match error.error_len() {
            None => (rest.len(), "unexpected end of data"),
            Some(_) if !matches!(rest[0], 0xc2..=0xf4) => (1, "invalid start byte"),
            Some(length) => (length, "invalid continuation byte"),
        };
        let what = match length {
            1 => format!("byte 0x{:02x} in position {at}", rest[0]),
            _ => format!("bytes in position {at}-{}", at + length - 1),
        };
        format!("'utf-8' codec can't decode {what}: {reason}")
    })
}

/// Returns `text` with every `\r\n` and lone `\r` as `\n`.
pub(in super::super) fn universal_newlines(text: &str) -> String {
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text.to_owned() }
}
