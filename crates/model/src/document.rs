//! A `SKILL.md` taken apart: frontmatter, body, and everything that is wrong with it.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::catalog::Tokenizer;
use crate::frontmatter::{self, Division, FencedFrontmatter};
use crate::manifest::Manifest;
use crate::policy::{DescriptionSource, NameMismatch, OnInvalid, Policy};
use crate::repair::{self, Repair};
use crate::rule::RuleId;
use crate::validate::{Place, Reporter, body, description, name};
use crate::yaml::{self, MappingEntry, Node, Range, YamlFault};
use crate::{Diagnostic, Severity, SkillName, Span, checksum, text};

/// The fitness of a skill to be offered to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It can be loaded.
    Sound,
    /// It is set aside and reported.
    Quarantined,
    /// It is set aside, and the policy wants the whole registry to refuse.
    Abort,
}

impl Standing {
    /// Returns the standing of a skill that breaks the rules.
    pub fn invalid(policy: &Policy) -> Self {
        match policy.on_invalid {
            OnInvalid::Quarantine => Self::Quarantined,
            OnInvalid::Abort => Self::Abort,
        }
    }
}

/// The position and size of the body in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Body {
    /// The byte offset in the file.
    pub offset: usize,
    /// The length in bytes; the body ends where the file ends.
    pub length: usize,
    /// The number of its lines.
    pub lines: usize,
    /// The checksum of its bytes.
    pub checksum: u64,
}

/// A parsed `SKILL.md` without its text, as an index holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Document {
    /// The name the skill is addressed by.
    pub name: SkillName,
    /// The description in force: that of the frontmatter, trimmed, or one derived from the body.
    pub description: Arc<str>,
    /// The frontmatter's fields.
    pub manifest: Manifest,
    /// The standing, which decides whether the skill may be offered.
    pub standing: Standing,
    /// True if the frontmatter had to be repaired.
    pub repaired: bool,
    /// The position of the body.
    pub body: Body,
    /// The checksum of everything before the body, so that no edit leaves the document the same.
    pub head_checksum: u64,
    /// Everything the rules found in the file.
    pub diagnostics: Vec<Diagnostic>,
}

/// A `SKILL.md` as it comes from a provider.
#[derive(Debug, Clone, Copy)]
pub struct ManifestSource<'a> {
    /// The bytes of the file.
    pub bytes: &'a [u8],
    /// The name of its directory; `None` for skills that have no directory.
    pub directory: Option<&'a str>,
    /// The name of the file, `SKILL.md` or another spelling of it.
    pub file_name: &'a str,
}

/// The spelling of the open standard.
pub const MANIFEST_FILE: &str = "SKILL.md";

/// The most characters of a repaired value that a diagnostic shows.
const SHOWN_REPAIR_CHARS: usize = 160;

impl Document {
    /// Parses a `SKILL.md` and applies the rules that need nothing but the file.
    ///
    /// ```
    /// use repertoire_model::{Document, ManifestSource, Policy};
    /// let bytes = b"---\nname: pdf-forms\ndescription: Fills PDF forms. Use when a form must be filled.\n---\n# PDF\n";
    /// let source = ManifestSource { bytes, directory: Some("pdf-forms"), file_name: "SKILL.md" };
    /// let document = Document::parse(source, &Policy::default());
    /// assert_eq!(document.name.as_str(), "pdf-forms");
    /// assert!(document.diagnostics.is_empty());
    /// ```
    pub fn parse(source: ManifestSource<'_>, policy: &Policy) -> Self {
        Self::parse_with(source, Depth::Whole, policy)
    }

    /// Parses a `SKILL.md` as [`Document::parse`] does, but without examining the text of its body.
    ///
    /// The body takes longer than the rest, and a listing does not show it. So `body-tokens`, `body-oversize`
    /// and invisible characters in it are not reported, unless the policy quarantines for them.
    pub fn parse_for_listing(source: ManifestSource<'_>, policy: &Policy) -> Self {
        let is_error = |rule| policy.severity(rule) == Some(Severity::Error);
        let body_decides = policy.quarantine_errors && body::TEXT_RULES.into_iter().any(is_error);
        let depth = if body_decides { Depth::Whole } else { Depth::Listing };
        Self::parse_with(source, depth, policy)
    }

    fn parse_with(source: ManifestSource<'_>, depth: Depth, policy: &Policy) -> Self {
        let mut reporter = Reporter::new(policy);
        if source.file_name != MANIFEST_FILE {
            reporter
                .report(
                    RuleId::ManifestCase,
                    format!("the file is called `{}`", text::shorten(source.file_name, 80)),
                )
                .help(format!("rename it to {MANIFEST_FILE}; some hosts look for exactly that"));
        }
        if text::is_utf16(source.bytes) {
            reporter.report(RuleId::FileEncoding, "the file is UTF-16").help("save the file as UTF-8");
            return Self::set_aside(source, reporter);
        }
        match std::str::from_utf8(source.bytes) {
            Ok(file) => {
                let place = Place::new(file, 0);
                Parser { file, place, source, depth, reporter, is_description_cut: false }.document()
            }
            Err(error) => {
                let offset = error.valid_up_to();
                let line = memchr::memchr_iter(b'\n', &source.bytes[..offset]).count() + 1;
                reporter
                    .report(
                        RuleId::FileEncoding,
                        format!("the file is not UTF-8: byte {offset} on line {line}"),
                    )
                    .help("save the file as UTF-8");
                Self::set_aside(source, reporter)
            }
        }
    }

    /// Reports that the file, spelled `file_name`, was reached through a symbolic link.
    pub fn report_link(&mut self, file_name: &str, policy: &Policy) {
        let mut reporter = Reporter::new(policy);
        reporter
            .report(RuleId::FileSymlink, format!("{} is a symbolic link", text::shorten(file_name, 80)))
            .help("replace the link by the file itself; other hosts do not follow it");
        let found = reporter.finish();
        let is_error = found.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
        if policy.quarantine_errors && is_error && self.standing == Standing::Sound {
            self.standing = Standing::invalid(policy);
        }
        self.diagnostics.extend(found);
    }

    /// Returns the document of a skill whose `SKILL.md` cannot be read at all, because of `rule`.
    pub fn unreadable(
        directory: Option<&str>,
        rule: RuleId,
        message: &str,
        help: &str,
        policy: &Policy,
    ) -> Self {
        let nothing = ManifestSource { bytes: &[], directory, file_name: MANIFEST_FILE };
        let mut document = Self::set_aside(nothing, Reporter::new(policy));
        // The severity is fixed here, because the whole skill is unusable.
        let severity = Severity::Error;
        let (message, help) = (message.to_owned(), Some(help.to_owned()));
        document.diagnostics.insert(0, Diagnostic { rule, severity, message, help, file: None, span: None });
        document
    }

    /// Returns the document of a skill of which nothing but its directory is known.
    fn set_aside(source: ManifestSource<'_>, mut reporter: Reporter<'_>) -> Self {
        let standing = Standing::invalid(reporter.policy());
        let ManifestSource { bytes, directory, .. } = source;
        let facts = name::NameFacts { written: None, span: None, directory, has_frontmatter: false };
        Self {
            name: name::choose_name(facts, &mut reporter).name,
            description: Arc::default(),
            manifest: Manifest::default(),
            standing,
            repaired: false,
            body: Body::default(),
            head_checksum: checksum(bytes),
            diagnostics: reporter.finish(),
        }
    }
}

/// Returns the frontmatter of a `SKILL.md` as JSON, typed by the YAML 1.2 core schema, repaired if need be.
pub fn frontmatter_json(file: &str) -> Option<Map<String, Value>> {
    let Division::Fenced(fenced) = frontmatter::divide(file) else { return None };
    if fenced.yaml.len() > frontmatter::MAX_BYTES {
        return None;
    }
    let entries = match yaml::parse(fenced.yaml) {
        Ok(parsed) => match parsed.root? {
            Node::Mapping(entries, _) => entries,
            Node::Scalar(_) | Node::Sequence(..) => return None,
        },
        Err(fault) if fault.over_budget => return None,
        Err(_) => repair::recover(fenced.yaml)?.entries,
    };
    Some(yaml::entries_to_json(&entries))
}

/// Returns the range of the first HTML entity, such as `&nbsp;`, in the line of `text` around `offset`.
fn html_entity(text: &str, offset: usize) -> Option<Range> {
    let line_start = text[..offset].rfind('\n').map_or(0, |end| end + 1);
    let line = text[line_start..].lines().next()?;
    line.match_indices('&').find_map(|(start, _)| {
        let (name, _) = line[start + 1..].split_once(';')?;
        let is_name =
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'#');
        is_name.then(|| line_start + start..line_start + start + name.len() + 2)
    })
}

struct Parser<'a, 'p> {
    file: &'a str,
    place: Place<'a>,
    source: ManifestSource<'a>,
    depth: Depth,
    reporter: Reporter<'p>,
    /// A comment cuts the description short, so that its text is not what the author wrote.
    is_description_cut: bool,
}

/// The set of rules that a `SKILL.md` is checked against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// All rules apply.
    Whole,
    /// All rules but those about the text of the body.
    Listing,
}

/// A frontmatter on its way into a [`Document`].
struct Frontmatter {
    entries: Vec<MappingEntry>,
    offset: usize,
    repaired: bool,
}

impl Parser<'_, '_> {
    fn document(mut self) -> Document {
        let (frontmatter, body_offset) = match frontmatter::divide(self.file) {
            Division::Bare { body } => {
                self.reporter
                    .report(
                        RuleId::FrontmatterMissing,
                        "the file has no frontmatter; its directory and first heading are used",
                    )
                    .help("start the file with a line `---`, `name:`, `description:` and another line `---`");
                (None, body)
            }
            Division::Unterminated { opening, near_miss } => return self.unterminated(opening, near_miss),
            Division::Fenced(fenced) => match self.frontmatter(&fenced) {
                Some(frontmatter) => (Some(frontmatter), fenced.body),
                None => return Document::set_aside(self.source, self.reporter),
            },
        };
        self.finish(frontmatter, body_offset)
    }

    fn span(&self, offset: usize, range: &Range) -> Span {
        self.place.span(&(range.start + offset..range.end + offset))
    }

    fn unterminated(mut self, opening: usize, near_miss: Option<usize>) -> Document {
        let help = match near_miss {
            Some(offset) => format!("line {} should be exactly `---`", self.place.line(offset)),
            None => "close it with a line of exactly `---` before the instructions".to_owned(),
        };
        let span = self.span(0, &(opening..opening + 3));
        self.reporter
            .report(RuleId::FrontmatterUnterminated, "the frontmatter is never closed")
            .help(help)
            .at(span);
        Document::set_aside(self.source, self.reporter)
    }

    /// Parses the frontmatter; `None` means that nothing can be made of it, which has been reported.
    fn frontmatter(&mut self, fenced: &FencedFrontmatter<'_>) -> Option<Frontmatter> {
        if fenced.yaml.len() > frontmatter::MAX_BYTES {
            let (size, limit) = (fenced.yaml.len(), frontmatter::MAX_BYTES);
            self.reporter
                .report(
                    RuleId::FrontmatterTooLarge,
                    format!("the frontmatter has {size} bytes, more than {limit}"),
                )
                .help("move the bulk of it to the body or to a file");
            return None;
        }
        if fenced.has_prelude {
            self.reporter
                .report(RuleId::FrontmatterPrelude, "something stands before the opening `---`")
                .help("make `---` the very first line; some hosts see no frontmatter otherwise");
        }
        let (entries, repaired) = match yaml::parse(fenced.yaml) {
            Ok(parsed) => {
                let entries = match parsed.root {
                    None => Vec::new(),
                    Some(Node::Mapping(entries, _)) => entries,
                    Some(other) => return self.not_a_mapping(&other, fenced),
                };
                self.report_cut_values(&entries, &parsed.comments, fenced);
                (entries, false)
            }
            Err(fault) => (self.recover(&fault, fenced)?, true),
        };
        Some(Frontmatter { entries, offset: fenced.offset, repaired })
    }

    fn not_a_mapping(&mut self, root: &Node, fenced: &FencedFrontmatter<'_>) -> Option<Frontmatter> {
        let span = self.span(fenced.offset, &root.range());
        self.reporter
            .report(RuleId::FrontmatterMapping, "the frontmatter is not a mapping of keys to values")
            .help("write `name: ...` and `description: ...`, each on a line of its own")
            .at(span);
        None
    }

    fn recover(&mut self, fault: &YamlFault, fenced: &FencedFrontmatter<'_>) -> Option<Vec<MappingEntry>> {
        let span = self.span(fenced.offset, &(fault.offset..fault.offset));
        if fault.over_budget
            && let Some(range) = html_entity(fenced.yaml, fault.offset)
        {
            let (entity, span) = (&fenced.yaml[range.clone()], self.span(fenced.offset, &range));
            self.reporter
                .report(
                    RuleId::FrontmatterBudget,
                    format!("`{entity}` is an HTML entity, which YAML takes for an anchor"),
                )
                .help("write the character itself, a blank for `&nbsp;`, or quote the value")
                .at(span);
            return None;
        }
        if fault.over_budget {
            self.reporter
                .report(RuleId::FrontmatterBudget, format!("the frontmatter is refused: {}", fault.message))
                .help("write plain values")
                .at(span);
            return None;
        }
        let recovery = repair::recover(fenced.yaml);
        if repair::has_conflict_markers(fenced.yaml) {
            let rule = if recovery.is_some() { RuleId::FrontmatterRepaired } else { RuleId::FrontmatterYaml };
            self.reporter
                .report(rule, "the frontmatter has the conflict markers of a merge")
                .help("keep one side, and remove the lines with <<<<<<<, ======= and >>>>>>>")
                .at(span);
            return Some(recovery?.entries);
        }
        let Some(recovery) = recovery else {
            self.reporter
                .report(RuleId::FrontmatterYaml, format!("the frontmatter is not YAML: {}", fault.message))
                .help("check quotes, brackets and indentation")
                .at(span);
            return None;
        };
        for Repair { key, reason, range, replacement, .. } in &recovery.repairs {
            let span = self.span(fenced.offset, range);
            let help = match replacement {
                Some(replacement) => format!("write: {}", text::shorten(replacement, SHOWN_REPAIR_CHARS)),
                None => "it is kept as text; check quotes, brackets and indentation".to_owned(),
            };
            self.reporter
                .report(
                    RuleId::FrontmatterRepaired,
                    format!("the value of `{key}` is not valid YAML: {reason}"),
                )
                .help(help)
                .at(span);
        }
        Some(recovery.entries)
    }

    /// Reports descriptions that a ` #` cuts short: no parser reports it, and the author never notices.
    fn report_cut_values(
        &mut self,
        entries: &[MappingEntry],
        comments: &[Range],
        fenced: &FencedFrontmatter<'_>,
    ) {
        if comments.is_empty() {
            return;
        }
        for entry in
            entries.iter().filter(|entry| matches!(entry.key.text.as_str(), "description" | "compatibility"))
        {
            let Node::Scalar(scalar) = &entry.value else { continue };
            // Comments are in order, so only the next one can stand on the same line.
            let next = comments.partition_point(|comment| comment.start < scalar.range.end);
            let same_line = |comment: &&Range| {
                let gap = fenced.yaml.get(scalar.range.end..comment.start);
                gap.is_some_and(|gap| gap.trim_matches([' ', '\t']).is_empty())
            };
            if let Some(comment) = comments.get(next).filter(same_line).filter(|_| scalar.plain) {
                let span = self.span(fenced.offset, comment);
                let key = &entry.key.text;
                self.is_description_cut |= key == "description";
                self.reporter
                    .report(RuleId::FieldComment, format!("a blank and `#` cut `{key}` short here"))
                    .help(format!("quote the value if the rest belongs to it: {key}: \"...\""))
                    .at(span);
            }
        }
    }

    fn finish(mut self, frontmatter: Option<Frontmatter>, body_offset: usize) -> Document {
        let body_text = &self.file[body_offset..];
        let lines = memchr::memchr_iter(b'\n', body_text.as_bytes()).count()
            + usize::from(!body_text.is_empty() && !body_text.ends_with('\n'));
        let (entries, offset) =
            frontmatter.as_ref().map_or((&[][..], 0), |found| (&found.entries[..], found.offset));
        let place = Place::new(self.file, offset);
        let mut manifest = Manifest::read(entries, &place, &mut self.reporter);
        let span_of = |key: &str| {
            entries
                .iter()
                .rev()
                .find(|entry| entry.key.text == key)
                .map(|entry| place.span(&entry.value.range()))
        };

        let facts = name::NameFacts {
            written: manifest.name.as_deref(),
            span: span_of("name"),
            directory: self.source.directory,
            has_frontmatter: frontmatter.is_some(),
        };
        let chosen = name::choose_name(facts, &mut self.reporter);
        let description =
            self.description(&manifest, span_of("description"), body_text, frontmatter.is_some());
        if description.is_empty() && body::is_blank(body_text) {
            self.reporter
                .report(RuleId::SkillEmpty, "the skill has neither a description nor instructions")
                .help("write a `description:` in the frontmatter, and instructions below it");
        }
        if let Some(compatibility) = &manifest.compatibility {
            self.check_compatibility(compatibility, span_of("compatibility"));
        }
        body::check_lines(body_text, lines, &mut self.reporter);
        if self.depth == Depth::Whole {
            body::check_sections(body_text, &mut self.reporter);
            body::check_tokens(body_text, |text| Tokenizer::default().count(text), &mut self.reporter);
            body::check_characters(self.file, &mut self.reporter);
        } else {
            let is_suspect = body::has_ascii_control(self.file);
            let examined = if is_suspect { self.file } else { &self.file[..body_offset] };
            body::check_characters(examined, &mut self.reporter);
        }
        body::check_escapes(entries, &place, &mut self.reporter);

        // Most often it equals the written one, and one text serves both.
        if manifest.name.as_deref() == Some(chosen.name.as_str()) {
            manifest.name = Some(Arc::clone(chosen.name.as_shared()));
        }
        let standing = self.standing(&chosen);
        Document {
            name: chosen.name,
            description,
            manifest,
            standing,
            repaired: frontmatter.is_some_and(|found| found.repaired),
            body: Body {
                offset: body_offset,
                length: body_text.len(),
                lines,
                checksum: checksum(body_text.as_bytes()),
            },
            head_checksum: checksum(&self.source.bytes[..body_offset]),
            diagnostics: self.reporter.finish(),
        }
    }

    /// Returns the description in force: the written one, or one taken from the body.
    fn description(
        &mut self,
        manifest: &Manifest,
        span: Option<Span>,
        body: &str,
        has_frontmatter: bool,
    ) -> Arc<str> {
        let by_heading = self.reporter.policy().description_from == DescriptionSource::Heading;
        // A harness describes a skill by its title, whatever its frontmatter says, and by no paragraph.
        if let Some(heading) = by_heading.then(|| description::first_heading(body)).flatten() {
            return heading.into();
        }
        let whole = manifest.description.as_ref();
        let written =
            whole.map(|whole| (whole, whole.trim())).filter(|(_, written)| !text::is_blank(written));
        if let Some((whole, written)) = written {
            if !self.is_description_cut {
                let says_when = !manifest.hints.is_empty() || !manifest.trigger_keywords.is_empty();
                let needs_when = !says_when && !manifest.disable_model_invocation;
                description::check(written, needs_when, span, &mut self.reporter);
            }
            // Most often there is nothing to trim, and one text serves both.
            return if written.len() == whole.len() { Arc::clone(whole) } else { written.into() };
        }
        // A file without frontmatter is a harness's own kind of skill, described by its title.
        let derived = if by_heading {
            None
        } else if has_frontmatter {
            description::first_paragraph(body).or_else(|| description::first_heading(body))
        } else {
            description::first_heading(body).or_else(|| description::first_paragraph(body))
        };
        let derived = derived.unwrap_or_default();
        if has_frontmatter || derived.is_empty() {
            description::report_missing(&derived, span, &mut self.reporter);
        }
        derived.into()
    }

    fn check_compatibility(&mut self, compatibility: &str, span: Option<Span>) {
        let length = compatibility.chars().count();
        if length == 0 || length > MAX_COMPATIBILITY_CHARS {
            self.reporter
                .report(
                    RuleId::CompatibilityLength,
                    format!("`compatibility` has {length} characters; the standard allows 1 to {MAX_COMPATIBILITY_CHARS}"),
                )
                .help("name the environment the skill needs, or remove the field")
                .at(span);
        }
    }

    fn standing(&self, chosen: &name::ChosenName) -> Standing {
        let policy = self.reporter.policy();
        if chosen.is_mismatch {
            match policy.name_mismatch {
                NameMismatch::Abort => return Standing::Abort,
                NameMismatch::Quarantine => return Standing::Quarantined,
                NameMismatch::Warn | NameMismatch::DirWins => {}
            }
        }
        if self.reporter.diagnostics().iter().any(|diagnostic| diagnostic.rule.is_fatal()) {
            return Standing::invalid(policy);
        }
        let errors =
            self.reporter.diagnostics().iter().any(|diagnostic| diagnostic.severity == Severity::Error);
        if chosen.is_tool || (policy.quarantine_errors && errors) {
            return Standing::invalid(policy);
        }
        Standing::Sound
    }
}

/// The longest `compatibility` the open standard allows, in characters.
const MAX_COMPATIBILITY_CHARS: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    fn standing(name: &str, directory: &str, policy: &Policy) -> (Standing, Vec<RuleId>) {
        let text =
            format!("---\nname: {name}\ndescription: Does a thing. Use when it must be done.\n---\nbody\n");
        let source =
            ManifestSource { bytes: text.as_bytes(), directory: Some(directory), file_name: MANIFEST_FILE };
        let document = Document::parse(source, policy);
        (document.standing, document.diagnostics.into_iter().map(|diagnostic| diagnostic.rule).collect())
    }

    #[test]
    fn a_pasted_html_entity_is_named_as_such() {
        let text = "---\nname: pantun\nmetadata:\n&nbsp; language: id\n---\nText.\n";
        let source =
            ManifestSource { bytes: text.as_bytes(), directory: Some("pantun"), file_name: MANIFEST_FILE };
        let found = Document::parse(source, &Policy::default()).diagnostics;
        assert_eq!(found[0].message, "`&nbsp;` is an HTML entity, which YAML takes for an anchor");
        let span = found[0].span.unwrap();
        let start = span.start as usize;
        assert_eq!(&text[start..start + span.length as usize], "&nbsp;");
        assert_eq!((found[0].rule, found[0].line()), (RuleId::FrontmatterBudget, Some(4)));
    }

    #[test]
    fn p7_missing_sections_are_reported_on_request() {
        let text = "---\nname: a\n---\n# A\n\n## When to use\n\n## Instructions\n\n## Examples\n\n## Notes\n";
        let source =
            ManifestSource { bytes: text.as_bytes(), directory: Some("a"), file_name: MANIFEST_FILE };
        let mut policy = Policy::default();
        let found = |policy: &Policy| {
            let found = Document::parse(source, policy).diagnostics;
            found.into_iter().find(|found| found.rule == RuleId::BodySections).map(|found| found.message)
        };
        assert_eq!(found(&policy), None);
        policy.rule_severities.insert(RuleId::BodySections, Some(Severity::Warning));
        assert_eq!(
            found(&policy).as_deref(),
            Some("the body has no section Available Operations, Resources")
        );
    }

    #[test]
    fn no_edit_leaves_a_document_the_same() {
        let parse = |text: &str| {
            let source =
                ManifestSource { bytes: text.as_bytes(), directory: Some("one"), file_name: MANIFEST_FILE };
            Document::parse(source, &Policy::default())
        };
        let text = "---\nname: one\ndescription: Does a thing. Use when asked.\nx: 1\n---\nbody\n";
        let document = parse(text);
        for (from, to) in [("body", "doby"), ("x: 1", "x: 2"), ("x: 1", "x: 1 "), ("---\nbody", "--- \nbody")]
        {
            assert_ne!(parse(&text.replace(from, to)), document, "{to}");
        }
        assert_eq!(parse(&text.replace("x: 1", "x: 2")).body, document.body);
        assert_ne!(parse("no frontmatter"), parse("no frontm?tter"));
        assert_ne!(parse("---\nnever closed"), parse("---\nnever clo?ed"));
    }

    #[test]
    fn parsing_for_a_listing_leaves_the_text_of_the_body_alone_unless_it_quarantines() {
        let text = format!(
            "---\nname: a\ndescription: Does a thing. Use when asked.\n---\n{}\u{200b}",
            "| 1 ".repeat(9_000)
        );
        let source =
            ManifestSource { bytes: text.as_bytes(), directory: Some("a"), file_name: MANIFEST_FILE };
        let rules =
            |document: &Document| document.diagnostics.iter().map(|found| found.rule).collect::<Vec<_>>();
        let mut policy = Policy::default();
        let (whole, listed) =
            (Document::parse(source, &policy), Document::parse_for_listing(source, &policy));
        assert_eq!(rules(&whole), [RuleId::BodyOversize, RuleId::InvisibleCharacters]);
        assert_eq!(rules(&listed), []);
        assert_eq!(Document { diagnostics: Vec::new(), ..whole }, listed);
        policy.quarantine_errors = true;
        for rule in [RuleId::BodyOversize, RuleId::InvisibleCharacters] {
            policy.rule_severities = [(rule, Some(Severity::Error))].into();
            assert_eq!(Document::parse_for_listing(source, &policy).standing, Standing::Quarantined);
        }
    }

    #[test]
    fn conflict_markers_of_a_merge_are_named() {
        for text in [
            "---\n<<<<<<< HEAD\nname: a\n=======\nname: b\n>>>>>>> other\ndescription: x\n---\nbody",
            "---\nname: a\n<<<<<<< HEAD\ndescription: x\n=======\ndescription: y\n>>>>>>> other\n---\nbody",
        ] {
            let source =
                ManifestSource { bytes: text.as_bytes(), directory: Some("a"), file_name: MANIFEST_FILE };
            let document = Document::parse(source, &Policy::default());
            let found = &document.diagnostics[0];
            assert_eq!(found.message, "the frontmatter has the conflict markers of a merge", "{text}");
            assert_eq!(repair::fix(text), None, "{text}");
        }
    }

    #[test]
    fn skills_of_comments_and_invisible_characters_are_empty() {
        let check = |description: &str, body: &str, standing: Standing| {
            let text = format!("---\nname: e\ndescription: {description}\n---\n{body}");
            let source =
                ManifestSource { bytes: text.as_bytes(), directory: Some("e"), file_name: MANIFEST_FILE };
            for document in [
                Document::parse(source, &Policy::default()),
                Document::parse_for_listing(source, &Policy::default()),
            ] {
                assert_eq!(document.standing, standing, "{text:?}");
            }
        };
        check("", "<!-- to do -->\n", Standing::Quarantined);
        check("\"\"", "<!--\nto do\n-->\n<!-- x -->", Standing::Quarantined);
        check("\u{200b}", "\u{200b}\n\u{feff}", Standing::Quarantined);
        check("\u{200b}", "Text.", Standing::Sound);
        check("", "<!-- x -->\nText.", Standing::Sound);
    }

    #[test]
    fn h21_a_policy_may_describe_skills_by_their_first_heading() {
        let check = |text: &str, harness: &str, standard: &str| {
            let by_heading = Policy {
                description_from: DescriptionSource::Heading,
                frontmatter_required: false,
                ..Policy::default()
            };
            for (policy, expect) in [(by_heading, harness), (Policy::default(), standard)] {
                let source = ManifestSource {
                    bytes: text.as_bytes(),
                    directory: Some("git"),
                    file_name: MANIFEST_FILE,
                };
                let document = Document::parse(source, &policy);
                assert_eq!(&*document.description, expect, "{text}");
            }
        };
        let written = "---\nname: git\ndescription: Commits. Use when asked.\n---\n";
        check(&format!("{written}# Git\n\nText.\n"), "Git", "Commits. Use when asked.");
        check(&format!("{written}Text.\n"), "Commits. Use when asked.", "Commits. Use when asked.");
        check("Text.\n\n## When\n\n# Git\n", "Git", "Git");
        check("Text.\n", "", "Text.");
        check("---\nname: git\n---\nText.\n\n# Git\n", "Git", "Text.");
    }

    #[test]
    fn c6_strict_aborts_where_other_profiles_set_aside() {
        for (profile, expect) in [(Profile::Strict, Standing::Abort), (Profile::Standard, Standing::Sound)] {
            let policy = Policy::of(profile);
            assert_eq!(standing("one", "two", &policy).0, expect, "{}", profile.as_str());
        }
        let text = "---\nname: one\ndescription: Does a thing. Use when asked.\nverson: 1\n---\nbody\n";
        let source =
            ManifestSource { bytes: text.as_bytes(), directory: Some("one"), file_name: MANIFEST_FILE };
        let strict = Policy::of(Profile::Strict);
        assert_eq!(Document::parse_for_listing(source, &strict).standing, Standing::Abort);
    }

    #[test]
    fn silence_does_not_change_the_standing() {
        let mut policy = Policy { name_mismatch: NameMismatch::Quarantine, ..Policy::default() };
        policy.rule_severities.insert(RuleId::NameTool, None);
        policy.rule_severities.insert(RuleId::NameDirectory, None);
        policy.rule_severities.insert(RuleId::NameGrammar, None);
        // A skill named like a tool is always an error.
        assert_eq!(
            standing("load_skill", "load_skill", &policy),
            (Standing::Quarantined, vec![RuleId::NameTool])
        );
        assert_eq!(policy.severity(RuleId::NameTool), Some(Severity::Error));
        assert_eq!(standing("one", "two", &policy), (Standing::Quarantined, vec![]));
        policy.name_mismatch = NameMismatch::Abort;
        assert_eq!(standing("one", "two", &policy).0, Standing::Abort);
        assert_eq!(standing("one", "one", &policy), (Standing::Sound, vec![]));
    }
}
