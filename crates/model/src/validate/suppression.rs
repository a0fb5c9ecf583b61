//! Comments that suppress a rule in one skill.
//!
//! `<!-- rep-ignore: rule: reason -->` in the instructions, or `# rep-ignore: rule: reason` on a line of its
//! own in the frontmatter, which no model reads.

use std::ops::Range;

use pulldown_cmark::{Event, Parser};

use super::{Place, Reporter};
use crate::frontmatter::{self, Division, Lines};
use crate::policy::Policy;
use crate::{Diagnostic, RuleId, text};

/// The word that begins a comment.
const MARK: &str = "rep-ignore:";

/// Takes from `found` what the comments in `text`, a whole `SKILL.md`, suppress, and reports comments that
/// suppress nothing. Returns the number of suppressed findings.
///
/// The publish check takes no comments: clients elsewhere do not know them.
pub fn suppress(text: &str, found: &mut Vec<Diagnostic>, policy: &Policy) -> usize {
    let mut suppressed = 0;
    if policy.publish || memchr::memmem::find(text.as_bytes(), MARK.as_bytes()).is_none() {
        return suppressed;
    }
    let mut reporter = Reporter::new(policy);
    let place = Place::new(text, 0);
    for range in comments(text) {
        let (name, reason) = text[range.clone()].split_once(':').unwrap_or((&text[range.clone()], ""));
        let name = name.trim();
        let fault = match RuleId::parse(name) {
            None => format!("there is no rule `{}` to suppress", text::shorten(name, 60)),
            Some(rule) if !rule.is_suppressible() => format!("`{rule}` cannot be suppressed"),
            Some(rule) if reason.trim().is_empty() => format!("`{rule}` is suppressed without a reason"),
            Some(rule) => {
                let before = found.len();
                found.retain(|found| found.rule != rule);
                let removed = before - found.len();
                suppressed += removed;
                // `rep check --confusable` alone finds these, and a rule that is off finds nothing.
                if removed > 0 || rule == RuleId::Confusable || policy.severity(rule).is_none() {
                    continue;
                }
                format!("`{rule}` finds nothing here to suppress")
            }
        };
        reporter
            .report(RuleId::SuppressionUnused, fault)
            .help(
                "write `rep-ignore: RULE: REASON` with a rule that `rep check` names, or remove the comment",
            )
            .at(place.span(&range));
    }
    found.extend(reporter.finish());
    suppressed
}

/// Returns the ranges of `rule: reason` in the comments of `text`.
fn comments(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let body = match frontmatter::divide(text) {
        Division::Fenced(fenced) => {
            for line in Lines::new(fenced.yaml, 0) {
                let comment = line.text.strip_prefix('#').map(str::trim);
                if let Some(content) = comment.and_then(|comment| comment.strip_prefix(MARK)) {
                    let end = fenced.offset + line.start + line.text.trim_end().len();
                    found.push(end - content.len()..end);
                }
            }
            fenced.body
        }
        Division::Bare { body } => body,
        Division::Unterminated { .. } => return found,
    };
    // Comments in blocks of code are examples.
    for (event, range) in Parser::new(&text[body..]).into_offset_iter() {
        let (Event::Html(_) | Event::InlineHtml(_)) = event else { continue };
        let html = &text[body..][range.clone()];
        for (start, _) in html.match_indices("<!--") {
            let comment = html[start + 4..].split("-->").next().unwrap_or_default();
            if let Some(content) = comment.trim().strip_prefix(MARK) {
                let end = body + range.start + start + 4 + comment.trim_end().len();
                found.push(end - content.len()..end);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Severity;

    fn run(text: &str) -> (Vec<String>, usize) {
        let found = [RuleId::LinkBroken, RuleId::LinkBroken, RuleId::BodyEmpty, RuleId::InvisibleCharacters];
        let mut diagnostics = found.map(|rule| Diagnostic::new(rule, Severity::Warning, "found")).into();
        let suppressed = suppress(text, &mut diagnostics, &Policy::default());
        let shown = |found: Diagnostic| match found.line() {
            Some(line) => format!("{line} {}: {}", found.rule, found.message),
            None => found.rule.to_string(),
        };
        (diagnostics.into_iter().map(shown).collect(), suppressed)
    }

    #[test]
    fn comments_suppress_the_rule_they_name() {
        let kept = ["body-empty", "invisible-characters"].map(str::to_owned).to_vec();
        let in_body = "---\nname: x\n---\n# X\n\n<!-- rep-ignore: link-broken: made by the build -->\n";
        assert_eq!(run(in_body), (kept.clone(), 2));
        let in_line = "---\nname: x\n---\nSee. <!--rep-ignore: link-broken: a: b-->\n";
        assert_eq!(run(in_line), (kept.clone(), 2));
        let in_frontmatter = "---\nname: x\n# rep-ignore: link-broken: made by the build\n---\nbody\n";
        assert_eq!(run(in_frontmatter), (kept, 2));
    }

    #[test]
    fn comments_that_suppress_nothing_are_reported() {
        let last = |comment: &str| {
            let (mut found, suppressed) =
                run(&format!("---\nname: x\n---\n\n<!-- rep-ignore: {comment} -->\n"));
            assert_eq!((found.len(), suppressed), (5, 0), "{comment}");
            found.pop().unwrap()
        };
        let expect = [
            ("file-name: why", "5 suppression-unused: `file-name` finds nothing here to suppress"),
            ("link-brokn: why", "5 suppression-unused: there is no rule `link-brokn` to suppress"),
            ("link-broken", "5 suppression-unused: `link-broken` is suppressed without a reason"),
            ("link-broken: ", "5 suppression-unused: `link-broken` is suppressed without a reason"),
            ("file-encoding: why", "5 suppression-unused: `file-encoding` cannot be suppressed"),
            ("invisible-characters: x", "5 suppression-unused: `invisible-characters` cannot be suppressed"),
        ];
        for (comment, message) in expect {
            assert_eq!(last(comment), message);
        }
    }

    #[test]
    fn examples_of_comments_and_the_publish_check_suppress_nothing() {
        let fenced =
            "---\nname: x\n---\n```\n<!-- rep-ignore: link-broken: why -->\n```\n`<!-- rep-ignore: x -->`\n";
        assert_eq!((run(fenced).0.len(), run(fenced).1), (4, 0));
        let text = "<!-- rep-ignore: link-broken: why -->\n";
        let found = vec![Diagnostic::new(RuleId::LinkBroken, Severity::Warning, "found")];
        assert_eq!(suppress(text, &mut found.clone(), &Policy::default()), 1);
        assert_eq!(suppress(text, &mut found.clone(), &Policy::default().for_publishing()), 0);
    }
}
