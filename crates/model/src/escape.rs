//! Escapes text for XML, HTML, JSON and Markdown. Stretches that need no escaping are copied whole.

use memchr::{memchr_iter, memchr2_iter, memchr3_iter};

/// Writes `text` as the content of an XML element.
pub(crate) fn push_xml(out: &mut String, text: &str) {
    let places = memchr3_iter(b'&', b'<', b'>', text.as_bytes());
    push_replaced(out, text, places, String::push_str, |byte| match byte {
        b'&' => "&amp;",
        b'<' => "&lt;",
        _ => "&gt;",
    });
}

/// Writes `text` as Python's `html.escape` does, quotes included.
pub(crate) fn push_html(out: &mut String, text: &str) {
    let places = memchr2_iter(b'"', b'\'', text.as_bytes());
    push_replaced(out, text, places, push_xml, |byte| if byte == b'"' { "&quot;" } else { "&#x27;" });
}

/// Writes `text` as a JSON string. It holds no control characters any more.
///
/// `<` is escaped too, so that the JSON cannot close a tag that a host puts around it.
pub(crate) fn push_json(out: &mut String, text: &str) {
    out.push_str(&serde_json::Value::from(text).to_string().replace('<', "\\u003c"));
}

/// Returns the call of `tool` with the text `value` for `argument`, in the form in which models write calls.
pub(crate) fn tool_call(tool: &str, argument: &str, value: &str) -> String {
    let mut out = String::from("{\"name\": ");
    push_json(&mut out, tool);
    out.push_str(", \"arguments\": {");
    push_json(&mut out, argument);
    out.push_str(": ");
    push_json(&mut out, value);
    out.push_str("}}");
    out
}

/// Writes `name` between backticks.
///
/// A name holds no backtick; one that did would end the span, so it becomes an apostrophe.
pub(crate) fn push_code(out: &mut String, name: &str) {
    out.push('`');
    push_replaced(out, name, memchr_iter(b'`', name.as_bytes()), String::push_str, |_| "'");
    out.push('`');
}

/// Writes `text` with the ASCII characters at `places` replaced, and the stretches between them by `push`.
fn push_replaced(
    out: &mut String,
    text: &str,
    places: impl Iterator<Item = usize>,
    push: impl Fn(&mut String, &str),
    replacement: impl Fn(u8) -> &'static str,
) {
    let mut written = 0;
    for place in places {
        push(out, &text[written..place]);
        out.push_str(replacement(text.as_bytes()[place]));
        written = place + 1;
    }
    push(out, &text[written..]);
}
