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

#[cfg(test)]
mod tests {
    use super::decode_utf8;

    #[test]
    fn faults_are_told_as_python_tells_them() {
        for (bytes, problem) in [
            (&b"a\xff"[..], "byte 0xff in position 1: invalid start byte"),
            (b"\x80", "byte 0x80 in position 0: invalid start byte"),
            (b"\xc0\xaf", "byte 0xc0 in position 0: invalid start byte"),
            (b"\xe2\x28\xa1", "byte 0xe2 in position 0: invalid continuation byte"),
            (b"\xf0\x9f\x98x", "bytes in position 0-2: invalid continuation byte"),
            (b"\xed\xa0\x80", "byte 0xed in position 0: invalid continuation byte"),
            (b"ab\xe2\x82", "bytes in position 2-3: unexpected end of data"),
            (b"ab\xe2", "byte 0xe2 in position 2: unexpected end of data"),
        ] {
            let expected = format!("'utf-8' codec can't decode {problem}");
            assert_eq!(decode_utf8(bytes).unwrap_err(), expected);
        }
    }
}
