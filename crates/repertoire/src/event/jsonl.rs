//! An event as a line of JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use repertoire_model::text::is_control_or_invisible;
use serde::Serialize as _;
use serde::de::IgnoredAny;
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Value, json};

use super::{Event, EventKind, Outcome};

/// The most bytes that are kept of the name of a skill, a tool, an agent or a session, and of a search query.
pub const MAX_NAME_BYTES: usize = 256;

/// The most bytes that are kept of the path of a file and of the name of a source, which often is a path.
pub const MAX_PATH_BYTES: usize = 1_024;

/// The most bytes of a skill's identity that are stored: the length of the longest path on Linux.
pub const MAX_IDENTITY_BYTES: usize = 4_096;

/// The most bytes that are kept of an error.
pub const MAX_ERROR_BYTES: usize = 1_024;

/// The last second of the year 9999, after which RFC 3339 has no timestamps.
const LAST_SECOND: u64 = 253_402_300_799;

/// Returns `event` as one line of JSON, without the line end.
pub fn line(event: &Event) -> io::Result<String> {
    let mut line = Vec::new();
    record(event).serialize(&mut Serializer::with_formatter(&mut line, LineFormatter))?;
    String::from_utf8(line).map_err(io::Error::other)
}

/// Returns what is counted of the event of a line: kind, skill, file, source, session, outcome and duration.
pub fn counted(line: &str) -> Option<Event> {
    let event: Value = serde_json::from_str(line).ok()?;
    let text = |key: &str| event[key].as_str().map(str::to_owned);
    Some(Event {
        kind: EventKind::parse(event["kind"].as_str()?)?,
        skill: text("skill"),
        file: text("file"),
        source: text("source"),
        session: text("session")?,
        outcome: Outcome::parse(event["outcome"].as_str()?)?,
        duration: Duration::try_from_secs_f64(event["duration"].as_f64()?).ok()?,
        ..Event::default()
    })
}

/// Returns `line`, an event, as it is exported: `name`, `reference`, `script` and `duration_s` stand behind
/// its other keys. They have the names by which other programs know `skill`, the part of `file` below
/// `references/` or `scripts/`, and `duration`.
pub fn exported(line: &str) -> io::Result<String> {
    let event: Value = serde_json::from_str(line)?;
    let below = |directory: &str| event["file"].as_str()?.strip_prefix(directory);
    let names = json!({
        "name": event["skill"],
        "reference": below("references/"),
        "script": below("scripts/"),
        "duration_s": event["duration"],
    });
    let mut added = Vec::new();
    names.serialize(&mut Serializer::with_formatter(&mut added, LineFormatter))?;
    let added = String::from_utf8(added).map_err(io::Error::other)?;
    Ok(format!("{},{}", line.trim_end().trim_end_matches('}'), &added[1..]))
}

/// Returns `true` if `line` is an object of JSON, as every event is.
pub fn is_line(line: &str) -> bool {
    serde_json::from_str::<BTreeMap<Cow<'_, str>, IgnoredAny>>(line).is_ok()
}

/// Returns `time` as an RFC 3339 timestamp in UTC with milliseconds, between 1970 and 9999.
pub fn rfc3339(time: SystemTime) -> String {
    let last = SystemTime::UNIX_EPOCH + Duration::from_millis(LAST_SECOND * 1_000 + 999);
    humantime::format_rfc3339_millis(time.clamp(SystemTime::UNIX_EPOCH, last)).to_string()
}

fn record(event: &Event) -> Value {
    let mut record = json!({
        "time": rfc3339(event.time),
        "kind": event.kind.as_str(),
        "tool": bounded(&event.tool, MAX_NAME_BYTES),
        "skill": event.skill.as_deref().map(|skill| bounded(skill, MAX_NAME_BYTES)),
        "file": event.file.as_deref().map(|file| bounded(file, MAX_PATH_BYTES)),
        "source": event.source.as_deref().map(|source| bounded(source, MAX_PATH_BYTES)),
        "identity": event.identity.as_deref().map(|identity| bounded(identity, MAX_IDENTITY_BYTES)),
        "agent": event.agent.as_deref().map(|agent| bounded(agent, MAX_NAME_BYTES)),
        "session": bounded(&event.session, MAX_NAME_BYTES),
        "outcome": event.outcome.as_str(),
        "bytes": event.bytes,
        "tokens": event.tokens,
        "duration": event.duration.as_micros() as f64 / 1e6,
        "digest": event.digest.as_ref().map(ToString::to_string),
        "error": event.error.as_deref().map(|error| bounded(error, MAX_ERROR_BYTES)),
        "query": event.query.as_deref().map(|query| bounded(query, MAX_NAME_BYTES)),
        "results": event.results,
    });
    if let Some(ranked) = event.ranked {
        record["rank"] = event.rank.into();
        record["ranked"] = ranked.into();
    }
    if let Some(tool) = &event.skill_tool {
        record["skill_tool"] = bounded(tool, MAX_NAME_BYTES).into();
    }
    if let Some(sandbox) = event.sandbox {
        record["sandbox"] = sandbox.into();
        record["exit_code"] = event.exit_code.into();
    }
    record["principal"] = event.principal.as_deref().map(|name| bounded(name, MAX_NAME_BYTES)).into();
    record["surface"] = event.surface.as_str().into();
    record["via"] = event.via.as_str().into();
    record
}

/// Returns at most `most` bytes of `text`, with an ellipsis where something was cut off.
pub fn bounded(text: &str, most: usize) -> String {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if end < text.len() { format!("{}…", &text[..end]) } else { text.to_owned() }
}

/// Writes seconds to the microsecond, and escapes characters that terminals obey or readers of lines stop at.
struct LineFormatter;

impl Formatter for LineFormatter {
    fn write_f64<W: Write + ?Sized>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        write!(writer, "{value:.6}")
    }

    fn write_string_fragment<W: Write + ?Sized>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        for part in fragment.split_inclusive(must_be_escaped) {
            let last = part.chars().next_back().filter(|c| must_be_escaped(*c));
            writer.write_all(&part.as_bytes()[..part.len() - last.map_or(0, char::len_utf8)])?;
            for unit in last.into_iter().flat_map(|c| c.encode_utf16(&mut [0; 2]).to_vec()) {
                write!(writer, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }
}

fn must_be_escaped(c: char) -> bool {
    is_control_or_invisible(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use repertoire_model::bundle::Digest;

    use super::super::{Surface, Via};
    use super::*;

    fn event() -> Event {
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_709_210_096_789);
        Event::new(EventKind::SkillLoaded, "load_skill", "s1", time)
    }

    #[test]
    fn times_are_rfc3339_between_1970_and_9999() {
        let check = |time: SystemTime, expect: &str| assert_eq!(rfc3339(time), expect);
        let epoch = SystemTime::UNIX_EPOCH;
        check(epoch - Duration::from_secs(1), "1970-01-01T00:00:00.000Z");
        check(epoch + Duration::from_millis(4_107_542_399_001), "2100-02-28T23:59:59.001Z");
        check(epoch + Duration::from_secs(LAST_SECOND + 1), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn all_keys_are_there_in_order() {
        assert_eq!(
            line(&event()).unwrap(),
            "{\"time\":\"2024-02-29T12:34:56.789Z\",\"kind\":\"skill_loaded\",\"tool\":\"load_skill\",\
             \"skill\":null,\"file\":null,\"source\":null,\"identity\":null,\"agent\":null,\"session\":\"s1\",\"outcome\":\"ok\",\
             \"bytes\":0,\"tokens\":0,\"duration\":0.000000,\"digest\":null,\"error\":null,\"query\":null,\"results\":null,\
             \"principal\":null,\"surface\":\"library\",\"via\":\"call\"}"
        );
        let full = Event {
            skill: Some("pdf".into()),
            file: Some("references/a.md".into()),
            source: Some("project:.agents/skills".into()),
            identity: Some("/p/.agents/skills/pdf".into()),
            agent: Some("reviewer".into()),
            outcome: Outcome::Denied,
            bytes: u64::MAX,
            tokens: 12,
            duration: Duration::from_nanos(3_000_042_999),
            digest: Some(Digest::from_bytes([0xa5; 32])),
            error: Some("no".into()),
            query: Some("fill a form".into()),
            results: Some(3),
            principal: Some("laptop".into()),
            surface: Surface::Mcp,
            via: Via::Required,
            ..event()
        };
        assert_eq!(
            line(&full).unwrap(),
            format!(
                "{{\"time\":\"2024-02-29T12:34:56.789Z\",\"kind\":\"skill_loaded\",\"tool\":\"load_skill\",\
                 \"skill\":\"pdf\",\"file\":\"references/a.md\",\"source\":\"project:.agents/skills\",\"identity\":\"/p/.agents/skills/pdf\",\
                 \"agent\":\"reviewer\",\"session\":\"s1\",\"outcome\":\"denied\",\
                 \"bytes\":18446744073709551615,\"tokens\":12,\"duration\":3.000042,\
                 \"digest\":\"sha256:{}\",\"error\":\"no\",\
                 \"query\":\"fill a form\",\"results\":3,\
                 \"principal\":\"laptop\",\"surface\":\"mcp\",\"via\":\"required\"}}",
                "a5".repeat(32)
            )
        );
    }

    #[test]
    fn the_counted_part_of_a_line_reads_back() {
        let (skill, duration) = (Some("pdf".into()), Duration::from_micros(42));
        let written =
            Event { skill, duration, outcome: Outcome::Denied, time: SystemTime::UNIX_EPOCH, ..event() };
        let expect = Event { tool: String::new(), ..written.clone() };
        assert_eq!(counted(&line(&written).unwrap()), Some(expect));
        assert_eq!(counted("{}"), None);
    }

    #[test]
    fn b34_exported_lines_have_the_usual_names_too() {
        let check = |file: &str, expect: &str| {
            let (skill, duration) = (Some("pdf\u{202e}".into()), Duration::from_micros(42));
            let plain = line(&Event { skill, file: Some(file.into()), duration, ..event() }).unwrap();
            let expect = format!(",\"name\":\"pdf\\u202e\",{expect},\"duration_s\":0.000042}}");
            assert_eq!(exported(&plain).unwrap(), plain[..plain.len() - 1].to_owned() + &expect);
        };
        check("references/a.md", "\"reference\":\"a.md\",\"script\":null");
        check("scripts/b/c.sh", "\"reference\":null,\"script\":\"b/c.sh\"");
        check("SKILL.md", "\"reference\":null,\"script\":null");
        assert!(exported("[").is_err());
    }

    #[test]
    fn the_rank_is_there_where_there_was_a_task() {
        let end = |rank, ranked| {
            let line = line(&Event { rank, ranked, ..event() }).unwrap();
            line[line.find(",\"results\"").unwrap()..line.find(",\"principal\"").unwrap()].to_owned()
        };
        assert_eq!(end(None, None), ",\"results\":null");
        assert_eq!(end(Some(3), Some(100)), ",\"results\":null,\"rank\":3,\"ranked\":100");
        assert_eq!(end(None, Some(7)), ",\"results\":null,\"rank\":null,\"ranked\":7");
    }

    #[test]
    fn texts_of_others_are_escaped_and_bounded() {
        let check = |text: &str, expect: &str| {
            let written = line(&Event { skill: Some(text.to_owned()), ..event() }).unwrap();
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
            let written = line(&Event { skill: Some(skill.clone()), error: Some(error.clone()), ..event() }).unwrap();
            prop_assert!(!written.chars().any(must_be_escaped));
            let read: serde_json::Value = serde_json::from_str(&written).unwrap();
            prop_assert_eq!(read["skill"].as_str(), Some(skill.as_str()));
            prop_assert_eq!(read["error"].as_str(), Some(&*bounded(&error, MAX_ERROR_BYTES)));
        }
    }
}
