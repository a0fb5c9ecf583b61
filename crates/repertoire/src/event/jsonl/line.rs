//! An event as a line of JSON.
//!
//! It is written by hand into a buffer that is used again and again: nothing is allocated once the buffer has grown
//! to the size of the longest event, which the bounds below keep small.

use std::io::Write as _;
use std::time::Duration;

use repertoire_model::bundle::Digest;
use repertoire_model::text::is_control_or_invisible;

use super::super::Event;
use super::timestamp::rfc3339;

/// The most bytes that are kept of the name of a skill, a tool, an agent or a session, and of what was looked for.
pub const MAX_NAME_BYTES: usize = 256;

/// The most bytes that are kept of the path of a file and of the name of a source, which often is a path.
pub const MAX_PATH_BYTES: usize = 1_024;

/// The most bytes that are kept of what went wrong.
pub const MAX_ERROR_BYTES: usize = 1_024;

/// Stands where something was cut off.
const CUT: &str = "…";

/// Appends `event` to `buffer` as one line.
pub(crate) fn write_line(buffer: &mut Vec<u8>, event: &Event) {
    let mut line = Line { buffer, is_first: true };
    line.key("time").quoted(&rfc3339(event.time));
    line.key("kind").quoted(event.kind.as_str().as_bytes());
    line.key("tool").text(&event.tool, MAX_NAME_BYTES);
    line.key("skill").optional(event.skill.as_deref(), MAX_NAME_BYTES);
    line.key("file").optional(event.file.as_deref(), MAX_PATH_BYTES);
    line.key("source").optional(event.source.as_deref(), MAX_PATH_BYTES);
    line.key("agent").optional(event.agent.as_deref(), MAX_NAME_BYTES);
    line.key("session").text(&event.session, MAX_NAME_BYTES);
    line.key("outcome").quoted(event.outcome.as_str().as_bytes());
    line.key("bytes").number(event.bytes);
    line.key("tokens").number(event.tokens);
    line.key("duration").seconds(event.duration);
    line.key("digest").digest(event.digest.as_ref());
    line.key("error").optional(event.error.as_deref(), MAX_ERROR_BYTES);
    line.key("query").optional(event.query.as_deref(), MAX_NAME_BYTES);
    line.key("results").optional_number(event.results);
    if let Some(ranked) = event.ranked {
        match event.rank {
            Some(rank) => line.key("rank").number(rank),
            None => line.key("rank").null(),
        }
        line.key("ranked").number(ranked);
    }
    if let Some(tool) = &event.skill_tool {
        line.key("skill_tool").text(tool, MAX_NAME_BYTES);
    }
    if let Some(sandbox) = event.sandbox {
        line.key("sandbox").quoted(sandbox.as_bytes());
        match event.exit_code {
            Some(code) => line.key("exit_code").integer(code.into()),
            None => line.key("exit_code").null(),
        }
    }
    line.buffer.extend_from_slice(b"}\n");
}

struct Line<'a> {
    buffer: &'a mut Vec<u8>,
    is_first: bool,
}

impl Line<'_> {
    fn key(&mut self, name: &str) -> &mut Self {
        self.buffer.push(if self.is_first { b'{' } else { b',' });
        self.is_first = false;
        self.quoted(name.as_bytes());
        self.buffer.push(b':');
        self
    }

    /// Appends words of our own, which need no escaping.
    fn quoted(&mut self, word: &[u8]) {
        self.buffer.push(b'"');
        self.buffer.extend_from_slice(word);
        self.buffer.push(b'"');
    }

    fn null(&mut self) {
        self.buffer.extend_from_slice(b"null");
    }

    fn number(&mut self, number: u64) {
        // Writing to a vector does not fail.
        let _ = write!(self.buffer, "{number}");
    }

    fn integer(&mut self, number: i64) {
        let _ = write!(self.buffer, "{number}");
    }

    fn optional_number(&mut self, number: Option<u64>) {
        match number {
            Some(number) => self.number(number),
            None => self.null(),
        }
    }

    fn seconds(&mut self, duration: Duration) {
        let _ = write!(self.buffer, "{}.{:06}", duration.as_secs(), duration.subsec_micros());
    }

    fn digest(&mut self, digest: Option<&Digest>) {
        let Some(digest) = digest else { return self.null() };
        self.buffer.extend_from_slice(b"\"sha256:");
        for byte in digest.as_bytes() {
            self.buffer.extend([byte >> 4, byte & 15].map(hexadecimal));
        }
        self.buffer.push(b'"');
    }

    fn optional(&mut self, text: Option<&str>, most: usize) {
        match text {
            Some(text) => self.text(text, most),
            None => self.null(),
        }
    }

    /// Appends what others wrote: escaped, and cut where it is longer than `most` bytes.
    fn text(&mut self, text: &str, most: usize) {
        let kept = bounded(text, most);
        self.buffer.push(b'"');
        // Most texts need no escaping at all.
        if kept.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')) {
            self.buffer.extend_from_slice(kept.as_bytes());
        } else {
            kept.chars().for_each(|c| self.escaped(c));
        }
        if kept.len() < text.len() {
            self.buffer.extend_from_slice(CUT.as_bytes());
        }
        self.buffer.push(b'"');
    }

    fn escaped(&mut self, c: char) {
        match c {
            '"' | '\\' => self.buffer.extend([b'\\', c as u8]),
            '\n' => self.buffer.extend_from_slice(b"\\n"),
            '\r' => self.buffer.extend_from_slice(b"\\r"),
            '\t' => self.buffer.extend_from_slice(b"\\t"),
            // JSON wants only some of them escaped. But readers that cut text into lines take more of them for the end
            // of a line, and terminals obey others.
            c if is_control_or_invisible(c) || matches!(c, '\u{2028}' | '\u{2029}') => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let [high, low] = unit.to_be_bytes();
                    self.buffer.extend_from_slice(b"\\u");
                    self.buffer.extend([high >> 4, high & 15, low >> 4, low & 15].map(hexadecimal));
                }
            }
            c => self.buffer.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

fn hexadecimal(digit: u8) -> u8 {
    b"0123456789abcdef"[usize::from(digit & 15)]
}

/// Returns the start of `text` that is at most `most` bytes long.
fn bounded(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use proptest::prelude::*;

    use super::super::super::{EventKind, Outcome};
    use super::*;

    fn line(event: &Event) -> String {
        let mut buffer = Vec::new();
        write_line(&mut buffer, event);
        String::from_utf8(buffer).unwrap()
    }

    fn event() -> Event {
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_709_210_096_789);
        Event::new(EventKind::SkillLoaded, "load_skill", "s1", time)
    }

    #[test]
    fn all_keys_are_there_in_order() {
        assert_eq!(
            line(&event()),
            "{\"time\":\"2024-02-29T12:34:56.789Z\",\"kind\":\"skill_loaded\",\"tool\":\"load_skill\",\
             \"skill\":null,\"file\":null,\"source\":null,\"agent\":null,\"session\":\"s1\",\"outcome\":\"ok\",\
             \"bytes\":0,\"tokens\":0,\"duration\":0.000000,\"digest\":null,\"error\":null,\"query\":null,\"results\":null}\n"
        );
        let full = Event {
            skill: Some("pdf".into()),
            file: Some("references/a.md".into()),
            source: Some("project:.agents/skills".into()),
            agent: Some("reviewer".into()),
            outcome: Outcome::Denied,
            bytes: u64::MAX,
            tokens: 12,
            duration: Duration::from_nanos(3_000_042_999),
            digest: Some(Digest::from_bytes([0xa5; 32])),
            error: Some("no".into()),
            query: Some("fill a form".into()),
            results: Some(3),
            ..event()
        };
        assert_eq!(
            line(&full),
            format!(
                "{{\"time\":\"2024-02-29T12:34:56.789Z\",\"kind\":\"skill_loaded\",\"tool\":\"load_skill\",\
                 \"skill\":\"pdf\",\"file\":\"references/a.md\",\"source\":\"project:.agents/skills\",\
                 \"agent\":\"reviewer\",\"session\":\"s1\",\"outcome\":\"denied\",\
                 \"bytes\":18446744073709551615,\"tokens\":12,\"duration\":3.000042,\
                 \"digest\":\"sha256:{}\",\"error\":\"no\",\
                 \"query\":\"fill a form\",\"results\":3}}\n",
                "a5".repeat(32)
            )
        );
    }

    #[test]
    fn the_rank_is_there_where_there_was_a_task() {
        let end = |rank, ranked| {
            let line = line(&Event { rank, ranked, ..event() });
            line[line.find(",\"results\"").unwrap()..].to_owned()
        };
        assert_eq!(end(None, None), ",\"results\":null}\n");
        assert_eq!(end(Some(3), Some(100)), ",\"results\":null,\"rank\":3,\"ranked\":100}\n");
        assert_eq!(end(None, Some(7)), ",\"results\":null,\"rank\":null,\"ranked\":7}\n");
    }

    #[test]
    fn texts_of_others_are_escaped_and_bounded() {
        let check = |text: &str, expect: &str| {
            let written = line(&Event { skill: Some(text.to_owned()), ..event() });
            let start = written.find("\"skill\":").unwrap() + "\"skill\":".len();
            let end = written.find(",\"file\":").unwrap();
            assert_eq!(&written[start..end], expect, "{text:?}");
        };
        check("", "\"\"");
        check("a\"b\\c/d", r#""a\"b\\c/d""#);
        check("a\nb\r\t\0\u{1b}[31m\u{7f}", r#""a\nb\r\t\u0000\u001b[31m\u007f""#);
        check("\u{85}\u{2028}\u{2029}\u{202e}\u{200b}", r#""\u0085\u2028\u2029\u202e\u200b""#);
        check("\u{e0041}", r#""\udb40\udc41""#);
        check("größe 表 🎉", "\"größe 表 🎉\"");
        check(&"x".repeat(MAX_NAME_BYTES), &format!("\"{}\"", "x".repeat(MAX_NAME_BYTES)));
        check(&"x".repeat(MAX_NAME_BYTES + 1), &format!("\"{}…\"", "x".repeat(MAX_NAME_BYTES)));
        check(&"表".repeat(200), &format!("\"{}…\"", "表".repeat(MAX_NAME_BYTES / 3)));
    }

    proptest! {
        #[test]
        fn every_text_reads_back_as_it_was(skill in "\\PC{0,40}|(?s:.){0,40}", error in any::<String>()) {
            let written = line(&Event { skill: Some(skill.clone()), error: Some(error.clone()), ..event() });
            prop_assert_eq!(written.matches('\n').count(), 1);
            prop_assert!(!written.trim_end_matches('\n').chars().any(is_control_or_invisible));
            let read: serde_json::Value = serde_json::from_str(&written).unwrap();
            prop_assert_eq!(read["skill"].as_str(), Some(skill.as_str()));
            prop_assert_eq!(read["error"].as_str().map(|read| bounded(read, 512)), Some(bounded(&error, 512)));
        }
    }
}
