//! The last good version of a `SKILL.md`, which stays in force while the file is broken.
//!
//! People and programs write files in more than one step, and a reader in between finds half of one. A
//! running process therefore keeps the version it had and reports that, until the file is mended or removed.
//! It holds documents in its listing and, of skills that were opened, a bounded amount of text; a new process
//! starts empty.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use repertoire_model::validate::Reporter;
use repertoire_model::{Document, Policy, RuleId, Severity, Standing, text};

use super::manifest;
use super::options::FsOptions;
use super::past_versions::PastManifest;
use super::place::OpenDirectory;
use super::safe_dir::Stamp;
use crate::provider::Locator;

/// The most bytes of text of opened skills that are kept: enough for the last fifty to a hundred.
pub(super) const MAX_TEXT_BYTES: usize = 256 * 1024;

/// The least size that a text is accounted for, because keeping it costs more than its bytes.
const LEAST_TEXT_BYTES: usize = 512;

/// The most reasons that are reported for a broken file.
const MAX_REASONS: usize = 3;

/// The most characters of a reason that are reported.
const MAX_REASON_CHARS: usize = 160;

/// Returns whether `document`, of a file of `length` bytes without blanks, cannot be a version after `good`.
///
/// A file that is empty is one that is about to be written, unless it always was.
pub(super) fn is_broken(document: &Document, length: usize, good: &Document) -> bool {
    let was_empty = good.body.offset == 0 && good.description.is_empty();
    may_be_broken(document, length) && (document.standing != Standing::Sound || !was_empty)
}

/// Returns whether `document`, of a file of `length` bytes without blanks, cannot follow some versions.
pub(super) fn may_be_broken(document: &Document, length: usize) -> bool {
    document.standing != Standing::Sound || length == 0
}

/// Returns how many bytes of `file` are left without blanks at its ends.
pub(super) fn length_without_blanks(file: &[u8]) -> usize {
    file.trim_ascii().len()
}

/// Returns the document in force while the file on disk parses as `broken`: `good` with a diagnostic.
pub(super) fn in_force(good: &Document, broken: &Document, policy: &Policy) -> Document {
    let mut reasons: Vec<String> = broken
        .diagnostics
        .iter()
        .filter(|found| found.severity == Severity::Error)
        .map(|found| {
            let line = found.span.map(|span| format!("line {}: ", span.line)).unwrap_or_default();
            line + &text::shorten(&found.message, MAX_REASON_CHARS)
        })
        .take(MAX_REASONS)
        .collect();
    if reasons.is_empty() {
        reasons.push("the file is empty".to_owned());
    }
    let mut reporter = Reporter::new(policy);
    reporter
        .report(
            RuleId::LastGood,
            format!("the file on disk is broken ({}); the last good version is in force", reasons.join("; ")),
        )
        .help("mend or remove it");
    let mut document = good.clone();
    document.diagnostics.extend(reporter.finish());
    document
}

/// Returns the newest recorded version of the skill at `place` that is valid, with its text.
pub(super) fn recorded(
    options: &FsOptions,
    place: &OpenDirectory<'_>,
    policy: &Policy,
) -> Option<(Document, GoodText)> {
    let past = options.past.as_ref()?.find(&place.resolved().to_string_lossy());
    past.into_iter().find_map(|PastManifest { file_name, text }| {
        let stamp = Some(Stamp::default());
        let document = manifest::parse(Document::parse, place, &file_name, text.as_bytes(), stamp, policy);
        let text = GoodText { text: text.into(), file_name: Cow::Owned(file_name), stamp: None };
        (document.standing == Standing::Sound).then_some((document, text))
    })
}

/// The texts of opened skills, those opened last within a limit of memory.
#[derive(Debug, Default)]
pub(super) struct GoodTexts(VecDeque<(Locator, GoodText)>);

/// The text of a skill, from which its document can be parsed again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GoodText {
    /// The full text of its `SKILL.md`.
    pub(super) text: Arc<str>,
    /// The spelling of the file's name.
    pub(super) file_name: Cow<'static, str>,
    /// The stamp of the file, if it is in the skill's own directory.
    pub(super) stamp: Option<Stamp>,
}

impl GoodTexts {
    /// Keeps the text of the skill at `locator`, and forgets those opened longest ago to make room.
    pub(super) fn keep(&mut self, locator: &Locator, text: GoodText) {
        self.0.retain(|(known, _)| known != locator);
        if text.text.len() > MAX_TEXT_BYTES {
            return;
        }
        self.0.push_back((locator.clone(), text));
        while self.0.iter().map(|(_, text)| text.text.len().max(LEAST_TEXT_BYTES)).sum::<usize>()
            > MAX_TEXT_BYTES
        {
            self.0.pop_front();
        }
    }

    /// Returns the text kept for the skill at `locator`.
    pub(super) fn find(&self, locator: &Locator) -> Option<GoodText> {
        self.0.iter().find(|(known, _)| known == locator).map(|(_, text)| text.clone())
    }

    /// Forgets the skills that `is_current` rejects by their locator and the stamp of the file that was read.
    pub(super) fn retain(&mut self, is_current: impl Fn(&Locator, Option<Stamp>) -> bool) {
        self.0.retain(|(locator, text)| is_current(locator, text.stamp));
    }
}

#[cfg(test)]
mod tests {
    use repertoire_model::ManifestSource;

    use super::*;

    fn document(text: &str) -> Document {
        let source = ManifestSource { bytes: text.as_bytes(), directory: Some("a"), file_name: "SKILL.md" };
        Document::parse(source, &Policy::default())
    }

    #[test]
    fn texts_that_were_opened_longest_ago_make_room() {
        let (a, b, c) = (Locator::new("a"), Locator::new("b"), Locator::new("c"));
        let third = "x".repeat(MAX_TEXT_BYTES / 3);
        let mut texts = GoodTexts::default();
        let keep = |texts: &mut GoodTexts, locator: &Locator, text: &str| {
            let text = GoodText { text: text.into(), file_name: Cow::Borrowed("SKILL.md"), stamp: None };
            texts.keep(locator, text);
        };
        keep(&mut texts, &b, &third);
        keep(&mut texts, &c, &third);
        keep(&mut texts, &a, &third);
        keep(&mut texts, &b, &third);
        assert!(texts.find(&c).is_some());
        keep(&mut texts, &Locator::new("d"), "# D\n");
        assert!(texts.find(&c).is_none());
        assert!(texts.find(&a).is_some() && texts.find(&b).is_some());
        texts.retain(|_, stamp| stamp.is_none());
        assert!(texts.find(&b).is_some());
        texts.retain(|locator, _| *locator != b);
        assert!(texts.find(&b).is_none());
        keep(&mut texts, &a, &"x".repeat(MAX_TEXT_BYTES + 1));
        assert!(texts.find(&a).is_none(), "a text that is too large is not kept");
        assert!(texts.find(&Locator::new("d")).is_some(), "and takes no room from others");
    }

    #[test]
    fn the_word_about_it_gives_the_reasons() {
        let good = document("---\nname: a\ndescription: Does a. Use when a is to be done.\n---\n# A\n");
        let check = |text: &str, expected: Option<&str>| {
            let broken = document(text);
            let is_broken = is_broken(&broken, length_without_blanks(text.as_bytes()), &good);
            assert_eq!(is_broken, expected.is_some(), "{text}");
            if let Some(expected) = expected {
                let document = in_force(&good, &broken, &Policy::default());
                let found = document.diagnostics.last().unwrap();
                assert_eq!((found.rule, found.severity), (RuleId::LastGood, Severity::Warning));
                let expected =
                    format!("the file on disk is broken ({expected}); the last good version is in force");
                assert_eq!(found.message, expected);
                assert_eq!(document.standing, Standing::Sound);
            }
        };
        check("---\nname: a\n", Some("line 1: the frontmatter is never closed"));
        let empty = "the skill has neither a description nor instructions";
        check("", Some(empty));
        check(" \n", Some(empty));
        check("# A\n", None);
    }
}
