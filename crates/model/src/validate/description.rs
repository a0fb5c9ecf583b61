//! Rules about descriptions, and the description of skills without one.

use super::{Reporter, RuleId};
use crate::{Span, text};

/// From this many characters on a description is called long for a text that every agent carries.
const VERBOSE_CHARS: usize = 500;

/// The most characters of a description that is taken from the body.
const DERIVED_CHARS: usize = 300;

/// Phrases that tell an agent when to use a skill, in lower case.
const WHEN: &[&str] = &[
    "when",
    "whenever",
    "use this",
    "use for",
    "use to",
    "use if",
    "use it",
    "use before",
    "use during",
    "use after",
    "use in ",
    "use on ",
    "perfect for",
    "ideal for",
    "best for",
    "essential for",
    "suitable for",
    "designed for",
    "intended for",
    "recommended for",
    "useful for",
    "skill is for",
    "load before",
    "use proactively",
    "used for",
    "used to",
    "trigger",
    "activate",
    "invoke",
    "if the user",
    "if you",
    "should be used",
    "for tasks",
    "asks for",
    "asked to",
];

/// Reports the problems of a description.
///
/// `needs_when` is false where a field says when to use the skill, or no model chooses it.
pub(crate) fn check(description: &str, needs_when: bool, span: Option<Span>, reporter: &mut Reporter<'_>) {
    let policy = reporter.policy();
    let length = description.chars().count();
    if length > policy.description_max {
        reporter
            .report(
                RuleId::DescriptionLong,
                format!("the description has {length} characters, more than {}", policy.description_max),
            )
            .help("say what the skill does and when to use it; the rest belongs in the body")
            .at(span);
    } else if length > VERBOSE_CHARS {
        reporter
            .report(
                RuleId::DescriptionVerbose,
                format!("the description has {length} characters; every agent carries them in every prompt"),
            )
            .help("keep what the skill does and when to use it; the rest belongs in the body")
            .at(span);
    }
    // A character of Chinese, Japanese or Korean says about as much as two letters.
    let weight = length + description.chars().filter(|c| is_wide(*c)).count();
    if weight < policy.description_min {
        reporter
            .report(
                RuleId::DescriptionShort,
                format!("the description has {length} characters, fewer than {}", policy.description_min),
            )
            .help("say what the skill does and when to use it")
            .at(span);
    }
    let folded = description.to_lowercase();
    if needs_when && !says_when(&folded) {
        reporter
            .report(RuleId::DescriptionWhen, "the description does not say when to use the skill")
            .help("add a sentence that starts with \"Use when\"")
            .at(span);
    }
    if tells_workflow(&folded) {
        reporter
            .report(RuleId::DescriptionWorkflow, "the description tells the workflow")
            .help("an agent that reads the steps here never loads the body; keep them there")
            .at(span);
    }
    if let Some(words) = speaks_of_itself(&folded) {
        reporter
            .report(
                RuleId::DescriptionPerson,
                format!("the description speaks in the first or second person: `{words}`"),
            )
            .help("write in the third person, as in \"Fills PDF forms. Use when ...\"")
            .at(span);
    }
    if holds_tag(description) {
        reporter
            .report(
                RuleId::DescriptionMarkup,
                "the description holds angle-bracket tags, which some hosts refuse",
            )
            .help(markup_help(description))
            .at(span);
    }
}

/// The wording is English; descriptions in other scripts are not judged by it.
fn says_when(folded: &str) -> bool {
    if WHEN.iter().any(|phrase| folded.contains(phrase)) || folded.split(". ").any(begins_with_use) {
        return true;
    }
    let letters = folded.chars().filter(|c| c.is_alphabetic());
    let (all, ascii) = letters.fold((0, 0), |(all, ascii), c| (all + 1, ascii + usize::from(c.is_ascii())));
    ascii * 5 < all * 4
}

/// Returns whether `sentence` is like `use X for ...` or `before any ...`.
fn begins_with_use(sentence: &str) -> bool {
    let mut words = sentence.split_whitespace();
    match words.next() {
        Some("use") => words.take(6).any(|word| matches!(word, "for" | "to")),
        word => matches!(word, Some("before" | "after" | "during" | "while" | "if")),
    }
}

fn is_wide(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}')
}

/// The beginnings of sentences in the first or second person, in lower case.
const PERSON_STARTS: &[&str] = &[
    "i ", "i'm ", "i'll ", "i've ", "we ", "we're ", "we'll ", "let me ", "my ", "our ", "you ", "you're ",
    "you'll ", "you've ", "your ",
];

/// The first words of [`PERSON_STARTS`], and the objects of [`PERSON_VERBS`].
const PERSONS: &[&[u8]] = &[b"i", b"we", b"let", b"me", b"my", b"our", b"you", b"your"];

/// Verbs that make the reader of a description its object.
const PERSON_VERBS: &[&str] =
    &["help", "helps", "lets", "allows", "enables", "guides", "gives", "teaches", "shows", "walks"];

/// Returns the words by which a description speaks as or to someone, if it does.
///
/// Text in quotes and parentheses is not counted, for it is what users say; nor is `Use when you need ...`.
fn speaks_of_itself(folded: &str) -> Option<String> {
    // Few descriptions have such a word at all, and a look at the words is cheaper than the rest.
    let mut words = folded.as_bytes().split(|byte| !byte.is_ascii_alphanumeric());
    if !words.any(|word| PERSONS.contains(&word)) {
        return None;
    }
    let plain = without_quotes(&folded.replace('’', "'"));
    let sentences = [". ", "! ", "? "].iter().fold(vec![plain.as_str()], |parts, end| {
        parts.into_iter().flat_map(|part| part.split(end)).collect()
    });
    let mut starts = sentences
        .iter()
        .filter_map(|sentence| PERSON_STARTS.iter().find(|start| sentence.trim_start().starts_with(**start)));
    if let Some(start) = starts.next() {
        let start = start.trim_end();
        return Some(start.strip_prefix("i").map_or(start.to_owned(), |rest| format!("I{rest}")));
    }
    let words: Vec<&str> =
        plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    // Users say "help me".
    let is_person = |pair: &&[&str]| {
        PERSON_VERBS.contains(&pair[0]) && (pair[1] == "you" || (pair[1] == "me" && pair[0] != "help"))
    };
    let pair = words.windows(2).find(is_person)?;
    Some(pair.join(" "))
}

/// Returns `text` without its parts in quotes, code and parentheses.
fn without_quotes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut end: Option<char> = None;
    let mut before = ' ';
    let mut rest = text.char_indices().peekable();
    while let Some((offset, c)) = rest.next() {
        match end {
            Some(closing) => {
                let is_closed = c == closing
                    && (c != '\'' || rest.peek().is_none_or(|(_, next)| !next.is_alphanumeric()));
                if is_closed {
                    end = None;
                    plain.push(' ');
                }
            }
            None => {
                let closing = match c {
                    '"' => Some('"'),
                    '`' => Some('`'),
                    '“' => Some('”'),
                    '(' => Some(')'),
                    '\'' if !before.is_alphanumeric() => Some('\''),
                    _ => None,
                };
                // A mark that is never closed does not count.
                let after = offset + c.len_utf8();
                end = closing.filter(|closing| text[after..].contains(*closing));
                if end.is_none() {
                    plain.push(c);
                }
            }
        }
        before = c;
    }
    plain
}

/// Words for a series of steps, in lower case.
const SERIES: &[&str] = &["workflow", "workflows", "pipeline", "loop", "chain", "chains", "process"];

/// The most words of a step between two arrows.
const MAX_STEP_WORDS: usize = 5;

/// Returns whether a description tells the steps of the instructions.
///
/// Numbered lists do not count: most of them tell when to use the skill. Nor does text in quotes and
/// parentheses, nor `first ... then` as an order of fallbacks.
fn tells_workflow(folded: &str) -> bool {
    let may_tell = folded.contains("step 1") || folded.contains("then") || folded.contains(['>', '→']);
    if !may_tell {
        return false;
    }
    let plain = without_quotes(folded);
    let is_fallback = ["fall back", "falling back", "fallback"].iter().any(|word| plain.contains(word));
    let is_narrated = has_word(&plain, "then")
        && (has_word(&plain, "finally") || plain.contains("first, ") || plain.starts_with("first "));
    plain.contains("step 1") || (is_narrated && !is_fallback) || plain.split(". ").any(has_chain_of_steps)
}

fn has_word(text: &str, word: &str) -> bool {
    text.contains(word) && text.split(|c: char| !c.is_alphanumeric()).any(|part| part == word)
}

/// Returns whether `sentence` has a workflow like `plan -> build -> test -> ship`, and calls it one.
///
/// Most arrows in descriptions lead to other skills, rename things, or show versions, layers and data flows.
fn has_chain_of_steps(sentence: &str) -> bool {
    let is_about_use = || sentence.contains("not for") || WHEN.iter().any(|phrase| sentence.contains(phrase));
    if !sentence.contains(['>', '→']) || is_about_use() || !SERIES.iter().any(|word| has_word(sentence, word))
    {
        return false;
    }
    let arrows = sentence.replace("->", "→");
    let between: Vec<&str> = arrows.split('→').skip(1).collect();
    let is_step = |part: &&str| {
        (1..=MAX_STEP_WORDS).contains(&part.split_whitespace().count()) && !part.contains([',', ';', ':'])
    };
    // The text behind the last arrow goes on to the end of the sentence.
    let inner = between.split_last().map(|(_, inner)| inner).unwrap_or_default();
    inner.windows(2).any(|pair| pair.iter().all(is_step))
}

fn markup_help(description: &str) -> String {
    let closing = description.match_indices("</").find_map(|(at, _)| {
        let name = description[at + 2..].split('>').next()?;
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
        (is_name && !description[..at].contains(&format!("<{name}"))).then_some(name)
    });
    match closing {
        Some(name) => format!("remove `</{}>`, which closes nothing", text::shorten(name, 40)),
        None => "write the tag's name without the brackets".to_owned(),
    }
}

fn holds_tag(description: &str) -> bool {
    description.split('<').skip(1).any(|rest| {
        let inner = rest.strip_prefix('/').unwrap_or(rest);
        inner.starts_with(|c: char| c.is_ascii_alphabetic()) && rest.contains('>')
    })
}

/// Reports that there is no description, and its replacement.
pub(crate) fn report_missing(derived: &str, span: Option<Span>, reporter: &mut Reporter<'_>) {
    let message = if derived.is_empty() {
        "there is no description, and nothing in the body to take one from".to_owned()
    } else {
        "there is no description; the body's first words are used".to_owned()
    };
    reporter
        .report(RuleId::DescriptionMissing, message)
        .help("add: description: what the skill does. Use when ...")
        .at(span);
}

/// Returns the text of the first top-level heading.
pub(crate) fn first_heading(body: &str) -> Option<String> {
    let heading = body.lines().find_map(|line| line.strip_prefix("# "))?;
    let heading = text::one_line(heading.trim_end_matches('#'));
    (!heading.is_empty()).then(|| text::shorten(&heading, DERIVED_CHARS))
}

/// Returns the first paragraph of running text, without headings, code, tables, quotes and comments.
pub(crate) fn first_paragraph(body: &str) -> Option<String> {
    let body = without_comments(body);
    let mut paragraph = String::new();
    let mut in_code = false;
    for line in body.lines() {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            in_code = !in_code;
        }
        let is_text = !in_code
            && !text::is_blank(line)
            && !line.starts_with(['#', '|', '>', '<', '`', '~', '!', '-', '*', '+', '='])
            && !line.starts_with("[!");
        if is_text {
            if !paragraph.is_empty() {
                paragraph.push(' ');
            }
            paragraph.push_str(&text::one_line(line));
        } else if !paragraph.is_empty() {
            break;
        }
    }
    (!paragraph.is_empty()).then(|| text::shorten(&paragraph, DERIVED_CHARS))
}

/// Returns `body` without the comments of HTML in it; one that does not end is not a comment.
fn without_comments(body: &str) -> String {
    let (mut kept, mut rest) = (String::with_capacity(body.len()), body);
    while let Some((before, comment)) = rest.split_once("<!--")
        && let Some((_, after)) = comment.split_once("-->")
    {
        kept.push_str(before);
        rest = after;
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_no_text() {
        for (body, expect) in [
            ("a <!-- b --> c", "a  c"),
            ("<!-- a\n<!-- b -->\nReal.", "\nReal."),
            ("a --> b", "a --> b"),
            ("a <!-- b", "a <!-- b"),
            ("<!-- a --><!-- b -->c<!--", "c<!--"),
        ] {
            assert_eq!(without_comments(body), expect, "{body}");
        }
    }

    #[test]
    fn workflows_are_distinguished_from_purposes() {
        assert!(tells_workflow("first reads the file, then writes a report"));
        assert!(tells_workflow("step 1: read. step 2: write"));
        assert!(!tells_workflow("use when: (1) a form is filled, (2) a table is read"));
        assert!(!tells_workflow("queries first's scores, then ranks them"));
        assert!(tells_workflow("runs a plan -> build -> test -> ship loop on a task"));
        assert!(tells_workflow("the workflow is survey → choose → clean → empty trash"));
        assert!(!tells_workflow("commands->events and events->read models"));
        assert!(!tells_workflow("not for logs. → see a. → see b. → see c."));
        assert!(!tells_workflow("reviews a diff. use when the user asks for a review."));
        assert!(!tells_workflow("builds then-clauses"));
    }

    #[test]
    fn arrows_and_fallbacks_that_are_no_workflow_are_not_reported() {
        for description in [
            "do not use for: a script → use veed. a process → use morpheus; images → use nano; video → use sora",
            "pipeline audits. negative examples: \"give me an update\" → no. \"weather?\" → no. \"post\" → no.",
            "renames types in the pipeline (str→string, num→number, bool→boolean)",
            "migrates the build pipeline: v14→v15, v15→v16, v16→v17",
            "covers layered architecture (routes → controllers → services → repositories)",
            "use this when a pipeline fits the dataset → task → model → metrics pattern",
            "escalates l1 → l2 → l3 → l4",
            "derives a filename by checking the header first, then the url, then falling back to nothing",
        ] {
            assert!(!tells_workflow(description), "{description}");
        }
    }

    #[test]
    fn stray_closing_tags_are_to_be_removed() {
        let check = |description: &str, expect: &str| assert_eq!(markup_help(description), expect);
        check("Fills forms.</description>", "remove `</description>`, which closes nothing");
        check("Writes <b>bold</b> text.", "write the tag's name without the brackets");
        check("Draws <svg> files.", "write the tag's name without the brackets");
    }

    #[test]
    fn when_is_asked_of_english_only() {
        assert!(says_when("reads pdfs. use when a form must be filled"));
        assert!(!says_when("reads pdfs"));
        assert!(says_when("处理表格文件"));
        assert!(says_when("bun install 이 실패할 때 copyfile 로 우회한다"));
        assert!(says_when("finds old skills. use during quarterly maintenance."));
        assert!(says_when("wraps an old sdk. this skill is for maintaining legacy code only."));
        assert!(says_when("deploys workers. load before running wrangler commands."));
    }

    #[test]
    fn x19_the_first_and_second_person_are_found() {
        let check = |description: &str, expect: Option<&str>| {
            let found = speaks_of_itself(&description.to_lowercase());
            assert_eq!(found.as_deref(), expect, "{description}");
        };
        check("I can help you fill forms.", Some("I"));
        check("Helps me fill forms.", Some("helps me"));
        check("Fills forms. Use when the user says help me with a form.", None);
        check("Fills forms. We’ll merge them too.", Some("we'll"));
        check("You are an expert in PDF.", Some("you"));
        check("Your PDF wingman", Some("your"));
        check("A tool that lets you merge files.", Some("lets you"));
        check("Fills PDF forms. Use when you need to fill your forms.", None);
        check("Use when the user says \"I need a form\" or 'you fill it. I wait'.", None);
        check("Runs I/O checks (i.e. your disk). Don't use for APIs.", None);
        check("Reads invoices. It's for the user's files.", None);
    }

    #[test]
    fn uses_and_moments_say_when() {
        let says = |description: &str| says_when(&description.to_lowercase());
        for description in [
            "Use binance-cli for spot and futures trading.",
            "Drives a browser. Use the command line of X to record pages.",
            "Before executing a command of the user, filters it.",
            "A planner designed for large projects.",
        ] {
            assert!(says(description), "{description}");
        }
        for description in ["Explains the project structure.", "Digital pets. Register and use them."] {
            assert!(!says(description), "{description}");
        }
    }

    #[test]
    fn short_descriptions_are_measured_by_what_they_say() {
        let policy = crate::Policy::default();
        let rules = |description: &str| {
            let mut reporter = Reporter::new(&policy);
            check(description, true, None, &mut reporter);
            reporter.finish().iter().map(|found| found.rule).collect::<Vec<_>>()
        };
        assert_eq!(rules("飞书考勤打卡：查询自己的考勤打卡记录"), []);
        assert!(rules("Breaking changes").contains(&RuleId::DescriptionShort));
    }

    #[test]
    fn descriptions_are_taken_from_the_body() {
        let body =
            "<!-- x -->\n# Title #\n\n![logo](x.png)\n\n```\ncode\n```\nFirst line\nsecond line.\n\nMore.";
        assert_eq!(first_heading(body).as_deref(), Some("Title"));
        assert_eq!(first_paragraph(body).as_deref(), Some("First line second line."));
        assert_eq!(first_paragraph("# only\n## headings"), None);
        assert_eq!(first_paragraph("<!--\nnotes\n-->\n\u{200b}\n"), None);
        assert_eq!(first_paragraph("<!-- a --> Text."), Some("Text.".to_owned()));
    }
}
