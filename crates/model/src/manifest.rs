//! The fields of a skill's frontmatter.

use std::collections::HashSet;
use std::sync::Arc;

use crate::fields::{CLIENT_FIELDS, FIELDS, METADATA_FIELDS, SYNONYMS, is_extension, is_hint};
use crate::rule::RuleId;
use crate::validate::{Place, Reporter};
use crate::yaml::{MappingEntry, Node, Scalar};
use crate::{FileKind, Span, file_glob, text};

/// The prefix of `metadata` keys that the Skills extension of MCP reserves.
const RESERVED_PREFIX: &str = "io.modelcontextprotocol/";

/// The fields of a skill's frontmatter, scalars as their source text (`version: 1.0` is `1.0`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Manifest {
    /// `name`, as written.
    pub name: Option<Arc<str>>,
    /// `description`, as written.
    pub description: Option<Arc<str>>,
    /// `license`.
    pub license: Option<String>,
    /// `compatibility`.
    pub compatibility: Option<String>,
    /// `metadata`, in the order written; a value that is not a scalar is compact JSON.
    pub metadata: Vec<(String, String)>,
    /// `allowed-tools`, split outside parentheses.
    pub allowed_tools: Vec<String>,
    /// `version`, or else `metadata.version`; the default of the policy if there is neither.
    pub version: Option<String>,
    /// `author`, or else `metadata.author`, or else the default of the policy.
    pub author: Option<String>,
    /// `trigger_keywords`.
    pub trigger_keywords: Vec<String>,
    /// The texts of fields that say when the skill is needed, as `triggers` and `when_to_use`, for searching.
    pub hints: Vec<String>,
    /// `references`: files below `references/`.
    pub references: Vec<String>,
    /// `scripts`: files below `scripts/`.
    pub scripts: Vec<String>,
    /// `assets`: files below `assets/`.
    pub assets: Vec<String>,
    /// `tags`.
    pub tags: Vec<String>,
    /// `requires`: names of skills to load first.
    pub requires: Vec<String>,
    /// `paths`: globs of files the skill is about.
    pub paths: Vec<String>,
    /// `disable-model-invocation`: whether the skill is kept out of the catalog.
    pub disable_model_invocation: bool,
    /// `user-invocable`: whether a person may call the skill by name.
    pub user_invocable: Option<bool>,
    /// Other keys, in the order written.
    pub unknown: Vec<String>,
}

/// The type of `metadata`, in messages.
const METADATA_TYPE: &str = "a mapping of keys to strings";

impl Manifest {
    /// Returns the paths, from the skill directory, of the files of `kind` in the frontmatter, in its order.
    ///
    /// `a.md`, `./a.md` and `references/a.md` all declare `references/a.md`; a repeated file is there once.
    ///
    /// ```
    /// use repertoire_model::{FileKind, Manifest};
    /// let mut manifest = Manifest::default();
    /// manifest.references = ["a.md", "./b.md", "references/c.md"].map(str::to_owned).to_vec();
    /// assert_eq!(
    ///     manifest.declared(FileKind::Reference),
    ///     ["references/a.md", "references/b.md", "references/c.md"]
    /// );
    /// ```
    pub fn declared(&self, kind: FileKind) -> Vec<String> {
        let written = match kind {
            FileKind::Reference => &self.references,
            FileKind::Script => &self.scripts,
            FileKind::Asset => &self.assets,
            FileKind::Manifest | FileKind::Other => return Vec::new(),
        };
        let mut seen = HashSet::new();
        let paths = written.iter().filter_map(|file| {
            let mut parts = file.split('/').filter(|part| !matches!(*part, "" | ".")).peekable();
            // Some write the directory again.
            parts.next_if(|part| Some(*part) == kind.directory());
            let parts: Vec<&str> = parts.collect();
            (!parts.is_empty())
                .then(|| format!("{}/{}", kind.directory().unwrap_or_default(), parts.join("/")))
        });
        paths.filter(|path| seen.insert(path.clone())).collect()
    }

    /// Reads the fields of a frontmatter's entries and reports fields that are unknown, repeated or mistyped.
    ///
    /// Of a field that occurs twice the last one counts, as in most parsers.
    pub fn read(entries: &[MappingEntry], place: &Place<'_>, reporter: &mut Reporter<'_>) -> Self {
        let mut manifest = Self::default();
        let mut seen = HashSet::with_capacity(entries.len());
        let mut own = Vec::new();
        for entry in entries {
            let key = entry.key.text.as_str();
            if !seen.insert(key) {
                reporter
                    .report(
                        RuleId::FrontmatterDuplicate,
                        format!("the key `{}` occurs twice; the last one counts", shown(key)),
                    )
                    .help("remove one of them")
                    .at(place.span(&entry.key.range));
            }
            let mut field = Field { key, value: &entry.value, entries, place, reporter };
            field.numbers(&entry.value);
            if is_extension(key, &field.reporter.policy().known_fields) {
                field.extension(place.span(&entry.key.range));
            }
            if is_hint(key) {
                manifest.hints.extend(texts_of(&entry.value));
            }
            match key {
                "name" => manifest.name = field.text().map(Into::into),
                "description" => manifest.description = field.text().map(Into::into),
                "license" => {
                    field.must_be_text();
                    manifest.license = field.text();
                }
                "compatibility" => manifest.compatibility = field.text(),
                "metadata" => manifest.metadata = field.metadata(),
                "allowed-tools" => manifest.allowed_tools = field.allowed_tools(),
                "version" => manifest.version = field.version(),
                "author" => manifest.author = field.text(),
                "trigger_keywords" => manifest.trigger_keywords = field.list(),
                "references" => manifest.references = field.list(),
                "scripts" => manifest.scripts = field.list(),
                "assets" => manifest.assets = field.list(),
                "tags" => manifest.tags = field.list(),
                // Some clients have a mapping of programs and variables here, which names no skills.
                "requires" if matches!(entry.value, Node::Mapping(..)) => {}
                "requires" => manifest.requires = field.list(),
                "paths" => {
                    manifest.paths = field.list();
                    field.globs(&manifest.paths);
                }
                "disable-model-invocation" => {
                    manifest.disable_model_invocation = field.flag().unwrap_or(false)
                }
                "user-invocable" => manifest.user_invocable = field.flag(),
                "agent" | "context" | "effort" | "model" | "shell" => {
                    field.text();
                    manifest.unknown.push(key.to_owned());
                }
                _ if CLIENT_FIELDS.contains(&key) => manifest.unknown.push(key.to_owned()),
                _ => {
                    if !field.is_meant_otherwise(place.span(&entry.key.range)) {
                        own.push(entry);
                    }
                    manifest.unknown.push(key.to_owned());
                }
            }
        }
        report_own(&own, place, reporter);
        let from_metadata = |key: &str| {
            let value =
                manifest.metadata.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
            value.filter(|value| !value.is_empty())
        };
        let (version, author) = (from_metadata("version"), from_metadata("author"));
        let metadata = entries.iter().rfind(|entry| entry.key.text == "metadata").map(|entry| &entry.value);
        let words = |key: &str| metadata.map(|node| words_of(node, key)).unwrap_or_default();
        let (tags, keywords, requires) = (words("tags"), words("trigger_keywords"), words("requires"));
        let policy = reporter.policy();
        manifest.version = manifest.version.or(version).or_else(|| policy.default_version.clone());
        manifest.author = manifest.author.or(author).or_else(|| policy.default_author.clone());
        if manifest.tags.is_empty() {
            manifest.tags = tags;
        }
        if manifest.trigger_keywords.is_empty() {
            manifest.trigger_keywords = keywords;
        }
        if manifest.requires.is_empty() {
            manifest.requires = requires;
        }
        manifest
    }
}

/// One field on its way into a [`Manifest`].
struct Field<'a, 'r, 'p> {
    key: &'a str,
    value: &'a Node,
    entries: &'a [MappingEntry],
    place: &'a Place<'a>,
    reporter: &'r mut Reporter<'p>,
}

impl Field<'_, '_, '_> {
    fn mistyped(&mut self, expected: &str) {
        let found = match self.value {
            Node::Scalar(scalar) if expected == "text" && scalar.to_json().is_number() => "a number",
            Node::Scalar(_) => "a single value",
            Node::Sequence(..) => "a list",
            Node::Mapping(..) => "a mapping",
        };
        let span = self.place.span(&self.value.range());
        let help = match expected {
            "a list" => format!("write: {}: [first, second]", self.key),
            "text" => format!("write it in quotes: {}: \"...\"", self.key),
            METADATA_TYPE => {
                "write `key: \"value\"` lines below it, indented; check its braces if it has some".to_owned()
            }
            _ => format!("write {expected}"),
        };
        self.reporter
            .report(RuleId::FieldType, format!("`{}` should be {expected}, not {found}", self.key))
            .help(help)
            .at(span);
    }

    /// Reports the numbers in `value` that JSON does not have, and those beyond what clients hold exactly.
    fn numbers(&mut self, value: &Node) {
        match value {
            Node::Scalar(scalar) if scalar.is_number_beyond_json() => {
                let (key, text) = (shown(self.key), text::shorten(&scalar.text, SHOWN_KEY_CHARS));
                let span = self.place.span(&scalar.range);
                // Only `.inf` and `.nan` have letters and no digit; all others are too large.
                let what = if scalar.text.contains(|c: char| c.is_ascii_digit()) {
                    "is a number beyond what clients hold exactly"
                } else {
                    "is a number that JSON does not have"
                };
                self.reporter
                    .report(RuleId::FieldNumber, format!("`{text}` in `{key}` {what}"))
                    .help(format!(
                        "quote it: \"{text}\"; strict clients refuse a whole listing because of it"
                    ))
                    .at(span);
            }
            Node::Scalar(_) => {}
            Node::Sequence(items, _) => items.iter().for_each(|item| self.numbers(item)),
            Node::Mapping(entries, _) => entries.iter().for_each(|entry| self.numbers(&entry.value)),
        }
    }

    /// Reports a value that is a number or a truth value in YAML.
    fn must_be_text(&mut self) {
        let is_other = |value: &serde_json::Value| value.is_number() || value.is_boolean();
        if matches!(self.value, Node::Scalar(scalar) if is_other(&scalar.to_json())) {
            self.mistyped("text");
        }
    }

    /// Returns a text field; a value of another type is taken as it is written.
    fn text(&mut self) -> Option<String> {
        if self.value.is_null() {
            return None;
        }
        match self.value {
            Node::Scalar(scalar) => Some(scalar.text.clone()),
            Node::Sequence(..) | Node::Mapping(..) => {
                self.mistyped("text");
                Some(text::one_line(self.place.slice(&self.value.range())))
            }
        }
    }

    fn version(&mut self) -> Option<String> {
        if let Node::Scalar(scalar) = self.value
            && scalar.to_json().is_number()
        {
            let span = self.place.span(&scalar.range);
            self.reporter
                .report(RuleId::VersionNumber, format!("the version {} is a number in YAML", scalar.text))
                .help(format!("quote it: version: \"{}\"", scalar.text))
                .at(span);
        }
        self.text()
    }

    /// Returns a list field; a text is split at its commas, or if it does not have one, at its blanks.
    fn list(&mut self) -> Vec<String> {
        match self.value {
            Node::Sequence(items, _) => items.iter().filter_map(item_text).collect(),
            Node::Scalar(scalar) if self.value.is_null() || scalar.text.trim().is_empty() => Vec::new(),
            Node::Scalar(scalar) => {
                self.mistyped("a list");
                let inner = scalar.text.trim().trim_start_matches('[').trim_end_matches(']');
                let mut items = split_outside_braces(inner, &[',']);
                if items.len() == 1 {
                    items = split_outside_braces(inner, &[' ', '\t', '\n']);
                }
                let items = items.into_iter().map(|item| item.trim().trim_matches(['"', '\'']));
                items.filter(|item| !item.is_empty()).map(str::to_owned).collect()
            }
            Node::Mapping(..) => {
                self.mistyped("a list");
                Vec::new()
            }
        }
    }

    /// Reports those of the `globs`, the items of this list, that are malformed.
    fn globs(&mut self, globs: &[String]) {
        let ranges: Vec<_> = match self.value {
            Node::Sequence(items, _) => {
                items.iter().filter(|item| item_text(item).is_some()).map(Node::range).collect()
            }
            value => globs.iter().map(|_| value.range()).collect(),
        };
        for (glob, range) in globs.iter().zip(ranges) {
            if let Some(fault) = file_glob::fault(glob) {
                let (key, shown) = (self.key, text::shorten(glob, SHOWN_KEY_CHARS));
                self.reporter
                    .report(RuleId::PathsGlob, format!("`{shown}` in `{key}` is not a glob: {fault}"))
                    .help("write paths in the project, as in \"src/**/*.{ts,tsx}\"")
                    .at(self.place.span(&range));
            }
        }
    }

    fn allowed_tools(&mut self) -> Vec<String> {
        let span = self.place.span(&self.value.range());
        let form = match self.value {
            Node::Sequence(items, _) => {
                let tools = items.iter().filter_map(item_text).flat_map(|item| split_tools(&item)).collect();
                self.reporter
                    .report(RuleId::AllowedToolsForm, "`allowed-tools` is a list; the standard has a string")
                    .help("write the tools in one line, separated by blanks")
                    .at(span);
                return tools;
            }
            Node::Mapping(..) => {
                self.mistyped("a string of tools");
                return Vec::new();
            }
            Node::Scalar(_) if self.value.is_null() => return Vec::new(),
            Node::Scalar(scalar) => scalar,
        };
        let tools = split_tools(&form.text);
        if tools.len() > 1 && has_separating_comma(&form.text) {
            self.reporter
                .report(
                    RuleId::AllowedToolsForm,
                    "`allowed-tools` is separated by commas; the standard has blanks",
                )
                .help(format!("write: allowed-tools: {}", text::shorten(&tools.join(" "), 160)))
                .at(span);
        }
        tools
    }

    fn metadata(&mut self) -> Vec<(String, String)> {
        let Node::Mapping(entries, _) = self.value else {
            if !self.value.is_null() {
                self.mistyped(METADATA_TYPE);
            }
            return Vec::new();
        };
        let is_string = |value: &Node| matches!(value, Node::Scalar(scalar) if scalar.to_json().is_string());
        let odd: Vec<&MappingEntry> = entries.iter().filter(|entry| !is_string(&entry.value)).collect();
        if let Some(first) = odd.first() {
            let others = if odd.len() > 1 { format!(" (and {} more)", odd.len() - 1) } else { String::new() };
            let span = self.place.span(&first.key.range);
            let help = match first.value {
                Node::Scalar(_) => "quote the value; strict clients refuse a whole listing because of it",
                _ => {
                    "strict clients refuse a whole listing because of it; write one string, unless the client that reads it needs it so"
                }
            };
            let key = shown(&first.key.text);
            self.reporter
                .report(RuleId::MetadataValues, format!("`metadata.{key}`{others} is not a string"))
                .help(help)
                .at(span);
        }
        for MappingEntry { key, .. } in
            entries.iter().filter(|entry| entry.key.text.starts_with(RESERVED_PREFIX))
        {
            let span = self.place.span(&key.range);
            self.reporter
                .report(
                    RuleId::MetadataReserved,
                    format!("`metadata.{}` has the prefix that MCP reserves", shown(&key.text)),
                )
                .help("take another one, such as that of a domain of your own")
                .at(span);
        }
        entries.iter().map(|entry| (entry.key.text.clone(), plain_text(&entry.value))).collect()
    }

    fn flag(&mut self) -> Option<bool> {
        if self.value.is_null() {
            return None;
        }
        let flag = match self.value {
            Node::Scalar(scalar) => match scalar.text.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" => Some(true),
                "false" | "no" | "off" => Some(false),
                _ => None,
            },
            Node::Sequence(..) | Node::Mapping(..) => None,
        };
        if flag.is_none() {
            self.mistyped("`true` or `false`");
        }
        flag
    }

    fn extension(&mut self, span: Span) {
        self.reporter
            .report(RuleId::FieldExtension, format!("`{}` is not a key of the open standard", self.key))
            .help(if METADATA_FIELDS.contains(&self.key) {
                format!("write it as a string under `metadata`: `{}: \"...\"`", self.key)
            } else {
                "remove it, or choose another profile for the clients that read it".to_owned()
            })
            .at(span);
    }

    /// Returns whether the value has the name of a tool, as in `Read, Bash(git *), mcp__figma__get`.
    fn names_tools(&self) -> bool {
        let items = match self.value {
            Node::Sequence(items, _) => items.iter().filter_map(item_text).collect(),
            Node::Scalar(scalar) => split_tools(&scalar.text),
            Node::Mapping(..) => Vec::new(),
        };
        items
            .iter()
            .any(|item| item.starts_with(|c: char| c.is_ascii_uppercase()) || item.starts_with("mcp__"))
    }

    /// Reports an unknown key that stands for another, and returns whether it does.
    fn is_meant_otherwise(&mut self, span: Span) -> bool {
        let synonym = SYNONYMS.iter().find(|(written, _)| *written == self.key).map(|(_, meant)| *meant);
        // Many skills list the clients that they are for under `tools`.
        let synonym = synonym.filter(|_| self.key != "tools" || self.names_tools());
        let key = shown(self.key);
        let near = synonym.or_else(|| text::nearest(self.key, FIELDS.iter().copied()));
        let finding = match near.filter(|meant| self.entries.iter().all(|entry| entry.key.text != *meant)) {
            Some(meant) => self
                .reporter
                .report(RuleId::FieldUnknown, format!("unknown key `{key}`; did you mean `{meant}`?"))
                .help(format!("write `{meant}`, or put a key of your own under `metadata`")),
            None if self.key == "keywords" => self
                .reporter
                .report(RuleId::FieldUnknown, format!("unknown key `{key}`"))
                .help("put it into the description, or under `metadata` as `trigger_keywords`"),
            None if is_hint(self.key) => self
                .reporter
                .report(RuleId::FieldUnknown, format!("unknown key `{key}`"))
                .help("put it into the description, or under `metadata`"),
            None => return false,
        };
        finding.at(span);
        true
    }
}

/// Reports the keys that stand for nothing else, as one finding: they are one decision of the author.
fn report_own(own: &[&MappingEntry], place: &Place<'_>, reporter: &mut Reporter<'_>) {
    let Some(first) = own.first() else { return };
    let named: Vec<String> =
        own.iter().take(4).map(|entry| format!("`{}`", shown(&entry.key.text))).collect();
    let more = own.len() - named.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let keys = if own.len() == 1 { "key" } else { "keys" };
    reporter
        .report(RuleId::FieldUnknown, format!("unknown {keys} {}{more}", named.join(", ")))
        .help("keys of your own belong under `metadata`")
        .at(place.span(&first.key.range));
}

/// Returns the words of `key` in `metadata`: a text with commas between them, or a list of texts, else empty.
fn words_of(metadata: &Node, key: &str) -> Vec<String> {
    let Node::Mapping(entries, _) = metadata else { return Vec::new() };
    let value = entries.iter().rfind(|entry| entry.key.text == key).map(|entry| &entry.value);
    let words: Vec<&str> = match value {
        Some(Node::Scalar(scalar)) => scalar.text.split(',').collect(),
        Some(Node::Sequence(items, _)) => {
            let words = items.iter().map(|item| match item {
                Node::Scalar(scalar) => Some(scalar.text.as_str()),
                _ => None,
            });
            words.collect::<Option<_>>().unwrap_or_default()
        }
        _ => Vec::new(),
    };
    words.into_iter().map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
}

/// Returns the texts in `value`, however they are nested.
fn texts_of(value: &Node) -> Vec<String> {
    match value {
        Node::Scalar(scalar) => vec![text::start(&scalar.text, MAX_HINT_BYTES).to_owned()],
        Node::Sequence(items, _) => items.iter().take(MAX_HINTS).flat_map(texts_of).collect(),
        Node::Mapping(entries, _) => {
            entries.iter().take(MAX_HINTS).flat_map(|entry| texts_of(&entry.value)).collect()
        }
    }
}

/// The most texts of one list of hints.
const MAX_HINTS: usize = 32;
const MAX_HINT_BYTES: usize = 2048;

/// Returns as much of a key as a message shows.
fn shown(key: &str) -> String {
    text::shorten(key, SHOWN_KEY_CHARS)
}

/// The most characters of a key that a message shows.
const SHOWN_KEY_CHARS: usize = 80;

/// Returns a scalar's text; a collection as compact JSON.
fn plain_text(value: &Node) -> String {
    match value {
        Node::Scalar(Scalar { text, .. }) => text.clone(),
        Node::Sequence(..) | Node::Mapping(..) => value.to_json().to_string(),
    }
}

fn item_text(item: &Node) -> Option<String> {
    let text = plain_text(item).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Divides `text` at `separators`, but not within braces, where commas separate the alternatives of a glob.
fn split_outside_braces<'a>(text: &'a str, separators: &[char]) -> Vec<&'a str> {
    let mut depth = 0_usize;
    let is_separator = |c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && separators.contains(&c)
    };
    text.split(is_separator).collect()
}

/// Divides a string of tools at blanks and commas outside parentheses, so that `Bash(git add:*)` stays whole.
fn split_tools(text: &str) -> Vec<String> {
    let mut tools = Vec::new();
    let mut tool = String::new();
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (c.is_whitespace() || c == ',') {
            tools.extend((!tool.is_empty()).then(|| std::mem::take(&mut tool)));
        } else {
            tool.push(c);
        }
    }
    tools.extend((!tool.trim().is_empty()).then_some(tool));
    tools
}

fn has_separating_comma(text: &str) -> bool {
    let mut depth = 0_usize;
    text.chars().any(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;
    use crate::yaml;

    fn read(text: &str) -> (Manifest, Vec<String>) {
        read_under(text, &Policy::default())
    }

    fn read_under(text: &str, policy: &Policy) -> (Manifest, Vec<String>) {
        let Some(Node::Mapping(entries, _)) = yaml::parse(text).unwrap().root else { panic!() };
        let mut reporter = Reporter::new(policy);
        let manifest = Manifest::read(&entries, &Place::new(text, 0), &mut reporter);
        let found = reporter.finish();
        (
            manifest,
            found.into_iter().map(|d| format!("{} {}: {}", d.line().unwrap(), d.rule, d.message)).collect(),
        )
    }

    #[test]
    fn p1_globs_keep_their_braces_and_malformed_ones_are_errors() {
        let (manifest, found) = read("paths: src/**/*.{ts,tsx}, docs/");
        assert_eq!(manifest.paths, ["src/**/*.{ts,tsx}", "docs/"]);
        assert_eq!(found, ["1 field-type: `paths` should be a list, not a single value"]);
        let (manifest, found) = read("paths:\n  - src/*.rs\n  - \"\"\n  - \"{a,b\"");
        assert_eq!(manifest.paths, ["src/*.rs", "{a,b"]);
        assert_eq!(
            found,
            ["4 paths-glob: `{a,b` in `paths` is not a glob: it has a `{` without the other bracket"]
        );
    }

    #[test]
    fn allowed_tools_parse_alike_in_every_form() {
        let expect = ["Bash(git add:*)", "Read", "Write"];
        for text in [
            "allowed-tools: Bash(git add:*) Read Write",
            "allowed-tools: Bash(git add:*), Read, Write",
            "allowed-tools: [Bash(git add:*), Read, Write]",
            "allowed-tools:\n  - Bash(git add:*)\n  - Read\n  - Write",
        ] {
            assert_eq!(read(text).0.allowed_tools, expect, "{text}");
        }
        assert_eq!(read("allowed-tools: Bash(a, b) Read").0.allowed_tools, ["Bash(a, b)", "Read"]);
        assert_eq!(read("allowed-tools: Bash(open").0.allowed_tools, ["Bash(open"]);
    }

    #[test]
    fn versions_keep_their_text() {
        let version = |text: &str| read(text).0.version.unwrap();
        assert_eq!(version("version: 1.0"), "1.0");
        assert_eq!(version("version: 1"), "1");
        assert_eq!(version("version: \"1.0\""), "1.0");
        assert_eq!(version("metadata:\n  version: 1.10"), "1.10");
        assert_eq!(read("version: 1.0").1, ["1 version-number: the version 1.0 is a number in YAML"]);
    }

    #[test]
    fn b18_p12_a_policy_has_defaults_of_version_and_author() {
        let stated = |policy: &Policy, text: &str| {
            let Some(Node::Mapping(entries, _)) = yaml::parse(text).unwrap().root else { panic!() };
            let manifest = Manifest::read(&entries, &Place::new(text, 0), &mut Reporter::new(policy));
            (manifest.version, manifest.author)
        };
        let pair = |version: &str, author: &str| (Some(version.to_owned()), Some(author.to_owned()));
        let (default_version, default_author) = pair("1.0.0", "");
        let policy = Policy { default_version, default_author, ..Policy::default() };
        assert_eq!(stated(&policy, "name: x"), pair("1.0.0", ""));
        assert_eq!(stated(&policy, "version: '2'\nauthor: Ann"), pair("2", "Ann"));
        assert_eq!(stated(&Policy::default(), "name: x"), (None, None));
    }

    #[test]
    fn allowed_tools_are_meant_by_tools_with_names_of_tools() {
        let check = |value: &str, is_meant: bool| {
            let found = read(&format!("tools: {value}\n")).1;
            let meant = if is_meant { "; did you mean `allowed-tools`?" } else { "" };
            assert_eq!(found, [format!("1 field-unknown: unknown key `tools`{meant}")], "{value}");
        };
        check("Read, Bash(git *)", true);
        check("[Read, Write]", true);
        check("mcp__figma__get_screenshot", true);
        check("[claude-code, cursor, gemini-cli]", false);
        check("\n- claude-code\n- antigravity", false);
        check("\n  - name: search\n    description: Searches.", false);
    }

    #[test]
    fn unknown_keys_are_kept_and_reported() {
        let (manifest, found) = read(
            "name: x\nkeywords: [a]\nrisk: y\nargument-hint: z\nmodel: m\ndependencies: [torch]\nactivation: {keywords: [a]}\n",
        );
        assert_eq!(
            manifest.unknown,
            ["keywords", "risk", "argument-hint", "model", "dependencies", "activation"]
        );
        assert_eq!(
            found,
            [
                "2 field-unknown: unknown key `keywords`",
                // These are packages, not skills.
                "3 field-unknown: unknown keys `risk`, `dependencies`",
            ]
        );
    }

    #[test]
    fn fields_of_clients_have_a_shape() {
        assert_eq!(read("model: opus\nargument-hint: [file]\ncontext: fork\nagent: x\n").1, [""; 0]);
        assert_eq!(
            read("model: {}\nagent: [a]\n").1,
            [
                "1 field-type: `model` should be text, not a mapping",
                "2 field-type: `agent` should be text, not a list",
            ]
        );
    }

    #[test]
    fn known_keys_are_suggested_only_where_they_are_absent() {
        let (_, found) = read(
            "name: x\ndescription: y\nsummary: z\ntitle: t\nlicence: MIT\nglobs: a\nalwaysApply: true\n",
        );
        assert_eq!(
            found,
            [
                "5 field-unknown: unknown key `licence`; did you mean `license`?",
                "3 field-unknown: unknown keys `summary`, `title`",
            ]
        );
        assert_eq!(
            read("summary: z\n").1,
            ["1 field-unknown: unknown key `summary`; did you mean `description`?"]
        );
    }

    #[test]
    fn metadata_may_hold_version_author_tags_and_keywords() {
        let (manifest, found) = read(
            "metadata:\n  version: \"2.0\"\n  author: Ada\n  tags: a, b c\n  trigger_keywords: \"x,y\"\n",
        );
        assert_eq!((manifest.version.as_deref(), manifest.author.as_deref()), (Some("2.0"), Some("Ada")));
        assert_eq!(
            (manifest.tags, manifest.trigger_keywords.len()),
            (vec!["a".to_owned(), "b c".to_owned()], 2)
        );
        assert_eq!(found, [""; 0]);
        let (manifest, _) = read("metadata:\n  tags: [\"a, b\", c]\n  requires: {bins: [jq]}\n");
        assert_eq!((manifest.tags.len(), manifest.requires.len()), (2, 0));
    }

    #[test]
    fn texts_that_say_when_a_skill_is_needed_are_kept_for_searching() {
        let (manifest, _) = read("triggers: [a, {b: c}]\nkeywords: d, e\nwhen-to-use: f\nrisk: g\n");
        assert_eq!(manifest.hints, ["a", "c", "d, e", "f"]);
    }

    #[test]
    fn odd_types_are_read_as_well_as_may_be() {
        let (manifest, found) =
            read("description: [a, b]\ntags: x, y\nrequires: {a: b}\nuser-invocable: maybe\n");
        assert_eq!(manifest.description.as_deref(), Some("[a, b]"));
        assert_eq!(manifest.tags, ["x", "y"]);
        assert_eq!(read("license: 3\n").1, ["1 field-type: `license` should be text, not a number"]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0], "1 field-type: `description` should be text, not a list");
    }

    #[test]
    fn metadata_values_are_converted_to_text() {
        let text = "metadata:\n  a: x\n  n: 1.0\n  m: {y: [1, 2]}\n";
        assert_eq!(read(text).1, [""; 0], "clients read what the open standard does not have");
        let (manifest, found) = read_under(text, &Policy::default().for_publishing());
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(manifest.metadata, [pair("a", "x"), pair("n", "1.0"), pair("m", "{\"y\":[1,2]}")]);
        assert_eq!(found, ["3 metadata-values: `metadata.n` (and 1 more) is not a string"]);
    }

    #[test]
    fn values_that_clients_reject_are_reported() {
        let (manifest, found) = read(
            "x: [1, .inf, 0xFFFFFFFFFFFFFFFFFF]\ny: {z: 1e400}\nmetadata:\n  io.modelcontextprotocol/a: x\n  io.modelcontextprotocol.b: x\n  n: .nan\n",
        );
        assert_eq!(manifest.metadata[2], ("n".to_owned(), ".nan".to_owned()));
        let found: Vec<&String> = found.iter().filter(|line| !line.contains("field-unknown")).collect();
        assert_eq!(
            found,
            [
                "1 field-number: `.inf` in `x` is a number that JSON does not have",
                "1 field-number: `0xFFFFFFFFFFFFFFFFFF` in `x` is a number beyond what clients hold exactly",
                "2 field-number: `1e400` in `y` is a number beyond what clients hold exactly",
                "6 field-number: `.nan` in `metadata` is a number that JSON does not have",
                "4 metadata-reserved: `metadata.io.modelcontextprotocol/a` has the prefix that MCP reserves",
            ]
        );
    }

    #[test]
    fn the_last_of_two_keys_counts() {
        let (manifest, found) = read("name: a\nname: b\n");
        assert_eq!(manifest.name.as_deref(), Some("b"));
        assert_eq!(found, ["2 frontmatter-duplicate: the key `name` occurs twice; the last one counts"]);
    }
}
