//! Cursors of paged lists: the last key of a page, so that changes between pages skip and repeat nothing.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rmcp::ErrorData;

pub(crate) const PAGE: usize = 100;

/// The prefix by which valid cursors are recognized.
const PREFIX: &str = "after:";

const MAX_BYTES: usize = 4096;

/// Returns the cursor of the page after the item with `key`.
pub(crate) fn after(key: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{PREFIX}{key}"))
}

/// Returns the key that a page starts after; empty for the first page.
pub(crate) fn parse(cursor: Option<&str>) -> Result<String, ErrorData> {
    let Some(cursor) = cursor else { return Ok(String::new()) };
    let invalid = || ErrorData::invalid_params("invalid `cursor`; start without one", None);
    if cursor.len() > MAX_BYTES {
        return Err(invalid());
    }
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| invalid())?;
    let text = String::from_utf8(bytes).map_err(|_| invalid())?;
    text.strip_prefix(PREFIX).filter(|key| !key.is_empty()).map(str::to_owned).ok_or_else(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_round_trip_and_invalid_ones_are_refused() {
        assert_eq!(parse(None).unwrap(), "");
        assert_eq!(parse(Some(&after("pdf-forms"))).unwrap(), "pdf-forms");
        for bad in ["", "x", "!!", "YWZ0ZXI6", "AAAA"] {
            assert!(parse(Some(bad)).is_err(), "{bad}");
        }
        assert!(parse(Some(&"A".repeat(5000))).is_err());
    }
}
