//! Pages of lists. A cursor holds the last key of a page, so a list that changes meanwhile is not skipped or repeated.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rmcp::ErrorData;

/// The most items of a page.
pub(crate) const PAGE: usize = 100;

/// What a cursor starts with, so that what is none is told from one.
const PREFIX: &str = "after:";

/// The longest cursor that is read.
const MAX_BYTES: usize = 4096;

/// Returns the cursor of the page after the item with `key`.
pub(crate) fn after(key: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{PREFIX}{key}"))
}

/// Returns the key that a page begins after; the first page begins after nothing.
pub(crate) fn parse(cursor: Option<&str>) -> Result<String, ErrorData> {
    let Some(cursor) = cursor else { return Ok(String::new()) };
    let bad = || ErrorData::invalid_params("`cursor` is none of this server; begin without one", None);
    if cursor.len() > MAX_BYTES {
        return Err(bad());
    }
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| bad())?;
    let text = String::from_utf8(bytes).map_err(|_| bad())?;
    text.strip_prefix(PREFIX).filter(|key| !key.is_empty()).map(str::to_owned).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_leads_back_to_its_key() {
        assert_eq!(parse(None).unwrap(), "");
        assert_eq!(parse(Some(&after("pdf-forms"))).unwrap(), "pdf-forms");
        for bad in ["", "x", "!!", "YWZ0ZXI6", "AAAA"] {
            assert!(parse(Some(bad)).is_err(), "{bad}");
        }
        assert!(parse(Some(&"A".repeat(5000))).is_err());
    }
}
