//! Escaping: each function copies what is harmless in slices and replaces the rest.

/// Writes `text` as the content of an XML element.
pub(super) fn push_xml(out: &mut String, text: &str) {
    push_replaced(out, text, |byte| match byte {
        b'&' => Some("&amp;"),
        b'<' => Some("&lt;"),
        b'>' => Some("&gt;"),
        _ => None,
    });
}

/// Writes `text` as Python's `html.escape` does, quotes included.
pub(super) fn push_html(out: &mut String, text: &str) {
    push_replaced(out, text, |byte| match byte {
        b'&' => Some("&amp;"),
        b'<' => Some("&lt;"),
        b'>' => Some("&gt;"),
        b'"' => Some("&quot;"),
        b'\'' => Some("&#x27;"),
        _ => None,
    });
}

/// Writes `text` as a JSON string. It holds no control characters any more.
///
/// Angle brackets are escaped too, so that the JSON cannot close a tag that a host puts around it.
pub(super) fn push_json(out: &mut String, text: &str) {
    out.push('"');
    push_replaced(out, text, |byte| match byte {
        b'"' => Some("\\\""),
        b'\\' => Some("\\\\"),
        b'<' => Some("\\u003c"),
        b'>' => Some("\\u003e"),
        _ => None,
    });
    out.push('"');
}

/// Writes `name` between backticks.
///
/// A name holds no backtick; one that did would end the span, so it becomes an apostrophe.
pub(super) fn push_code(out: &mut String, name: &str) {
    out.push('`');
    push_replaced(out, name, |byte| (byte == b'`').then_some("'"));
    out.push('`');
}

/// Writes `text` with the ASCII bytes that `replace` knows replaced.
fn push_replaced(out: &mut String, text: &str, replace: impl Fn(u8) -> Option<&'static str>) {
    let mut copied = 0;
    for (index, byte) in text.bytes().enumerate() {
        if let Some(replacement) = replace(byte) {
            out.push_str(&text[copied..index]);
            out.push_str(replacement);
            copied = index + 1;
        }
    }
    out.push_str(&text[copied..]);
}
