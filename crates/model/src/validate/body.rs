//! Rules about the body and about the characters of the whole file.

use super::{Place, Reporter, RuleId};
use crate::outline;
use crate::text;
use crate::tokens;
use crate::yaml::{MappingEntry, Node, Scalar};

/// The open standard's guidance for the length of a body, in lines.
const GUIDED_LINES: usize = 500;
/// The open standard's guidance for the length of a body, in tokens.
const GUIDED_TOKENS: usize = 5_000;
/// From this many tokens on a body crowds out the conversation.
const SOFT_LIMIT_TOKENS: usize = 8_000;

/// The rules that examine the text of the body.
pub(crate) const TEXT_RULES: [RuleId; 4] =
    [RuleId::BodyTokens, RuleId::BodyOversize, RuleId::InvisibleCharacters, RuleId::ControlCharacters];

/// Returns whether `body` has nothing that can be seen but comments of HTML.
pub(crate) fn is_blank(body: &str) -> bool {
    let mut rest = body.trim_start_matches(text::is_blank_char);
    while let Some((_, after)) = rest.strip_prefix("<!--").and_then(|comment| comment.split_once("-->")) {
        rest = after.trim_start_matches(text::is_blank_char);
    }
    rest.is_empty()
}

/// Reports bodies that are empty or have too many lines.
pub(crate) fn check_lines(body: &str, lines: usize, reporter: &mut Reporter<'_>) {
    if is_blank(body) {
        reporter
            .report(RuleId::BodyEmpty, "there are no instructions after the frontmatter")
            .help("write what an agent should do once it has loaded the skill");
    } else if lines > GUIDED_LINES {
        reporter
            .report(RuleId::BodyLines, format!("the body has {lines} lines, more than {GUIDED_LINES}"))
            .help("move details to files below references/");
    }
}

/// The sections that a body should have, by the optional rule `body-sections`.
const SECTIONS: [&str; 6] =
    ["When to Use", "Available Operations", "Instructions", "Resources", "Examples", "Notes"];

/// Reports the sections of the template that the body lacks, where the rule is on.
pub(crate) fn check_sections(body: &str, reporter: &mut Reporter<'_>) {
    if reporter.policy().severity(RuleId::BodySections).is_none() {
        return;
    }
    let headings = outline::headings(body);
    let is_missing =
        |section: &&str| !headings.iter().any(|heading| heading.title.trim().eq_ignore_ascii_case(section));
    let missing: Vec<&str> = SECTIONS.into_iter().filter(|section| is_missing(section)).collect();
    if !missing.is_empty() {
        reporter
            .report(RuleId::BodySections, format!("the body has no section {}", missing.join(", ")))
            .help("add them as headings, or turn the rule off");
    }
}

/// Reports bodies with too many tokens. `count` counts them exactly; it is called only near a limit.
pub(crate) fn check_tokens(body: &str, count: impl FnOnce(&str) -> usize, reporter: &mut Reporter<'_>) {
    // The exact count needs the vocabulary, whose table takes longer to build than many skills to read.
    if body.trim().is_empty() || tokens::is_clearly_within(body, GUIDED_TOKENS) {
        return;
    }
    let tokens = count(body);
    if tokens > SOFT_LIMIT_TOKENS {
        reporter
            .report(
                RuleId::BodyOversize,
                format!("the body has {tokens} tokens, more than {SOFT_LIMIT_TOKENS}"),
            )
            .help("split the skill, or move details to files below references/");
    } else if tokens > GUIDED_TOKENS {
        reporter
            .report(RuleId::BodyTokens, format!("the body has {tokens} tokens, more than {GUIDED_TOKENS}"))
            .help("move details to files below references/");
    }
}

/// Reports characters that hide text, turn it round, or control a terminal.
pub(crate) fn check_characters(file: &str, reporter: &mut Reporter<'_>) {
    if file.is_ascii() && !has_ascii_control(file) {
        return;
    }
    let mut invisible = Tally::default();
    let mut control = Tally::default();
    for (offset, c) in text::hiding(file) {
        invisible.add(offset, c);
    }
    let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    for (offset, c) in file.char_indices().filter(|(_, c)| is_control(*c)) {
        control.add(offset, c);
    }
    invisible.report(RuleId::InvisibleCharacters, "invisible or direction-changing", file, reporter);
    control.report(RuleId::ControlCharacters, "control", file, reporter);
}

/// Reports the same characters where the frontmatter escapes them, which a reviewer sees and does not read.
pub(crate) fn check_escapes(entries: &[MappingEntry], place: &Place<'_>, reporter: &mut Reporter<'_>) {
    for MappingEntry { key, value } in entries {
        check_escaped_scalar(key, place, reporter);
        check_escaped_node(value, place, reporter);
    }
}

fn check_escaped_node(node: &Node, place: &Place<'_>, reporter: &mut Reporter<'_>) {
    match node {
        Node::Scalar(scalar) => check_escaped_scalar(scalar, place, reporter),
        Node::Sequence(items, _) => items.iter().for_each(|item| check_escaped_node(item, place, reporter)),
        Node::Mapping(entries, _) => check_escapes(entries, place, reporter),
    }
}

fn check_escaped_scalar(scalar: &Scalar, place: &Place<'_>, reporter: &mut Reporter<'_>) {
    let written = place.slice(&scalar.range);
    if scalar.plain || !written.contains('\\') {
        return;
    }
    let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    let hidden = text::hiding(&scalar.text).map(|(_, c)| (RuleId::InvisibleCharacters, c));
    let controls = scalar.text.chars().filter(|c| is_control(*c)).map(|c| (RuleId::ControlCharacters, c));
    // Characters that stand there unescaped are reported for the whole file.
    let is_escaped = |found: &(RuleId, char)| !written.contains(found.1);
    for (rule, c) in hidden.chain(controls).filter(is_escaped).take(1) {
        reporter
            .report(rule, format!("an escape stands for the character U+{:04X}", u32::from(c)))
            .help("remove it: a person who reviews the skill does not see what a model reads")
            .at(place.span(&scalar.range));
    }
}

/// Returns whether `file` has a control character of ASCII other than tabs and line ends.
pub(crate) fn has_ascii_control(file: &str) -> bool {
    // Without a branch, so that the compiler makes wide instructions of it.
    let is_control = |b: u8| b < b' ' && !matches!(b, b'\t' | b'\n' | b'\r') || b == 0x7f;
    file.as_bytes().iter().fold(false, |found, b| found | is_control(*b))
}

#[derive(Default)]
struct Tally {
    count: usize,
    first: Option<(usize, char)>,
}

impl Tally {
    fn add(&mut self, offset: usize, c: char) {
        self.count += 1;
        self.first = self.first.or(Some((offset, c)));
    }

    fn report(&self, rule: RuleId, kind: &str, file: &str, reporter: &mut Reporter<'_>) {
        let Some((offset, c)) = self.first else { return };
        let plural = if self.count == 1 { "" } else { "s" };
        reporter
            .report(
                rule,
                format!("{} {kind} character{plural}, the first is U+{:04X}", self.count, u32::from(c)),
            )
            .help("remove them, or write them as escapes in code: a person who reviews the skill cannot see what a model reads")
            .at(Place::new(file, 0).span(&(offset..offset + c.len_utf8())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;

    fn characters(file: &str) -> Vec<String> {
        let policy = Policy::default();
        let mut reporter = Reporter::new(&policy);
        check_characters(file, &mut reporter);
        reporter
            .finish()
            .into_iter()
            .map(|d| format!("{} {}: {}", d.line().unwrap(), d.rule, d.message))
            .collect()
    }

    #[test]
    fn hiding_characters_are_found() {
        assert_eq!(characters("plain\ntext\twith\r\nends"), [""; 0]);
        assert_eq!(characters("\u{feff}naïve 日本語 👩\u{200d}💻 ❤\u{fe0f}"), [""; 0]);
        assert_eq!(characters("text\u{fe0f}\u{e0141}").len(), 1);
        let expect =
            "2 invisible-characters: 2 invisible or direction-changing characters, the first is U+200B";
        assert_eq!(characters("a\nb\u{200b}c\u{202e}"), [expect]);
        assert_eq!(characters("a\0b"), ["1 control-characters: 1 control character, the first is U+0000"]);
        assert_eq!(characters("x\u{200d}y").len(), 1);
    }

    #[test]
    fn escapes_hide_nothing() {
        let found = |file: &str| {
            let source =
                crate::ManifestSource { bytes: file.as_bytes(), directory: None, file_name: "SKILL.md" };
            let document = crate::Document::parse(source, &Policy::default());
            let odd = [RuleId::InvisibleCharacters, RuleId::ControlCharacters];
            let found = document.diagnostics.into_iter().filter(|d| odd.contains(&d.rule));
            found.map(|d| format!("{} {}", d.line().unwrap(), d.message)).collect::<Vec<_>>()
        };
        let file = |value: &str| format!("---\nname: x\ndescription: \"Use when y {value}\"\n---\nbody\n");
        assert_eq!(found(&file("\\U000E0049")), ["3 an escape stands for the character U+E0049"]);
        assert_eq!(found(&file("\\u202E")), ["3 an escape stands for the character U+202E"]);
        assert_eq!(found(&file("\\e[31m")), ["3 an escape stands for the character U+001B"]);
        assert_eq!(found(&file("\\n\\t\\\"")), [""; 0]);
        assert_eq!(found("---\nname: x\nmetadata: {\"a\\u200B\": [\"b\"]}\n---\nbody\n").len(), 1);
    }

    #[test]
    fn tokens_are_counted_only_near_the_limit() {
        let run = |body: &str, tokens: usize| {
            let policy = Policy::default();
            let mut reporter = Reporter::new(&policy);
            let mut asked = false;
            let count = |_: &str| {
                asked = true;
                tokens
            };
            check_lines(body, 1, &mut reporter);
            check_tokens(body, count, &mut reporter);
            (asked, reporter.finish().into_iter().map(|d| d.rule).collect::<Vec<_>>())
        };
        assert_eq!(run("short", 9), (false, vec![]));
        assert_eq!(run(" \n", 0), (false, vec![RuleId::BodyEmpty]));
        let long = "x = y[i] + z(j);\n".repeat(1_000);
        assert_eq!(run(&long, 4_000), (true, vec![]));
        assert_eq!(run(&long, 5_001), (true, vec![RuleId::BodyTokens]));
        assert_eq!(run(&long, 8_001), (true, vec![RuleId::BodyOversize]));
        assert!(!run(&"a 1\n".repeat(GUIDED_TOKENS / 4), 0).0, "fewer bytes than the limit has tokens");
        let prose = "Read the file, then tell the user what you have found in it.\n".repeat(170);
        assert!(!run(&prose, 0).0, "{} bytes of prose", prose.len());
        // Tables of numbers have more than one token in two bytes.
        let table = "| 1 | 2 | 3 | 4 |\n".repeat(600);
        assert_eq!(
            run(&table, crate::catalog::Tokenizer::default().count(&table)),
            (true, vec![RuleId::BodyTokens])
        );
    }
}
