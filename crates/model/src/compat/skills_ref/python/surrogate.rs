//! Halves of surrogate pairs.

use super::super::error::Crash;

const FIRST_SURROGATE: u32 = 0xd800;
const SURROGATES: u32 = 0x800;
const FIRST_STAND_IN: u32 = 0x10_f800;

/// Returns the character with this code, or the last line of the traceback when there is none.
pub(in super::super) fn chr(code: u32) -> Result<char, &'static str> {
    if let Some(offset) = code.checked_sub(FIRST_SURROGATE)
        && offset < SURROGATES
        && let Some(stand_in) = char::from_u32(FIRST_STAND_IN + offset)
    {
        return Ok(stand_in);
    }
    if code > i32::MAX.unsigned_abs() {
        return Err("OverflowError: Python int too large to convert to C int");
    }
    char::from_u32(code).ok_or("ValueError: chr() arg not in range(0x110000)")
}

/// Returns the surrogate that `c` stands for.
pub(super) fn surrogate(c: char) -> Option<u32> {
    let offset = u32::from(c).checked_sub(FIRST_STAND_IN)?;
    Some(FIRST_SURROGATE + offset)
}

/// Returns what Python's stderr makes of `text`: halves of surrogate pairs become `\udXXX`.
pub fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match surrogate(c) {
            Some(code) => shown.push_str(&format!("\\u{code:04x}")),
            None => shown.push(c),
        }
    }
    shown
}

/// Returns what Python's stdout makes of `text`: itself, unless half of a surrogate pair is in it.
pub fn encode_strictly(text: &str) -> Result<&str, Crash> {
    let Some(first) = text.chars().position(|c| surrogate(c).is_some()) else { return Ok(text) };
    let run: Vec<u32> = text.chars().skip(first).map_while(surrogate).collect();
    let what = match run.as_slice() {
        [code] => format!("character '\\u{code:04x}' in position {first}"),
        more => format!("characters in position {first}-{}", first + more.len() - 1),
    };
    let line = format!("UnicodeEncodeError: 'utf-8' codec can't encode {what}: surrogates not allowed");
    Err(Crash::new(line))
}
