//! `--format sarif`: SARIF 2.1.0, which code scanning and editors read.

use std::collections::HashMap;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use repertoire_model::validate::Rule;
use repertoire_model::{Digest, Severity};
use serde_json::{Value, json};

use super::findings::{PlacedFinding, Region, line, without_digits};

/// The characters of a path that a URI has to escape.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_').remove(b'~');

/// A change of a file that mends findings: whole lines that are replaced.
pub(super) struct FileFix {
    path: String,
    region: Region,
    replacement: String,
}

impl FileFix {
    /// Returns the change of the file at `path` from `before` to `after`: of all lines from the first to the
    /// last that differ.
    pub(super) fn new(path: String, before: &str, after: &str) -> Self {
        let lines = |text: &str| text.split_inclusive('\n').map(str::to_owned).collect::<Vec<_>>();
        let (old, new) = (lines(before), lines(after));
        let first = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let most = old.len().min(new.len()) - first;
        let last = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
        let region = Region { line: first + 1, column: 1, end_line: old.len() - last + 1, end_column: 1 };
        Self { path, region, replacement: new[first..new.len() - last].concat() }
    }

    /// Returns whether it mends `finding`: one on the lines that it replaces.
    fn mends(&self, finding: &PlacedFinding<'_>) -> bool {
        let line = finding.found.line().map_or(1, |line| line as usize);
        let lines = self.region.line..self.region.end_line.max(self.region.line + 1);
        self.path == finding.path && finding.found.rule.is_repairable() && lines.contains(&line)
    }
}

/// Returns `findings` as a SARIF log, with `fixes` at the findings that they mend.
pub(super) fn log(findings: &[PlacedFinding<'_>], fixes: &[FileFix]) -> Value {
    let mut rules: Vec<&Rule> = findings.iter().map(|finding| finding.found.rule.rule()).collect();
    rules.sort_by_key(|rule| rule.id);
    rules.dedup_by_key(|rule| rule.id);
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut result = |finding: &PlacedFinding<'_>| {
        let key = without_digits(&line(&finding.path, finding.found));
        let number = seen.entry(key.clone()).or_default();
        *number += 1;
        let fix = fixes.iter().find(|fix| fix.mends(finding));
        let mut result = result(finding, fix);
        result["ruleIndex"] = rules.iter().position(|rule| rule.id == finding.found.rule).into();
        // The same after edits elsewhere in the file.
        let digest = Digest::of(format!("{key}\n{number}").as_bytes()).to_hex();
        result["partialFingerprints"] = json!({"rep/v1": &digest[..16]});
        result
    };
    let results: Vec<Value> = findings.iter().map(&mut result).collect();
    json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "rep",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules.iter().map(|rule| descriptor(rule)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn descriptor(rule: &Rule) -> Value {
    let Rule { name, summary, severities: [standard, ..], id } = rule;
    let mut help = format!("The rule finds: {summary}.");
    if !id.is_fixed() {
        help += &format!(" In all skills, set `rules.{name}` in `repertoire.toml`.");
    }
    if id.is_suppressible() {
        help += &format!(" In one skill, write the comment `<!-- rep-ignore: {name}: REASON -->`.");
    }
    json!({
        "id": name,
        "shortDescription": {"text": summary},
        "help": {"text": help.replace('`', ""), "markdown": help},
        "helpUri": concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/reference/rules.md"),
        "defaultConfiguration": {"enabled": standard.is_some(), "level": standard.map_or("none", level)},
    })
}

fn level(severity: Severity) -> &'static str {
    if severity == Severity::Info { "note" } else { severity.as_str() }
}

fn result(finding: &PlacedFinding<'_>, fix: Option<&FileFix>) -> Value {
    let PlacedFinding { found, path, region } = finding;
    let artifact = artifact(path);
    let mut place = json!({"artifactLocation": &artifact});
    if let Some(region) = region {
        place["region"] = region_json(*region);
    }
    let mut result = json!({
        "ruleId": found.rule.as_str(),
        "level": level(found.severity),
        "message": {"text": finding.message()},
        "locations": [{"physicalLocation": place}],
    });
    if let Some(FileFix { region, replacement, .. }) = fix {
        let replacement =
            json!({"deletedRegion": region_json(*region), "insertedContent": {"text": replacement}});
        result["fixes"] = json!([{
            "description": {"text": "the repairs of `rep check --fix` in this file"},
            "artifactChanges": [{"artifactLocation": artifact, "replacements": [replacement]}],
        }]);
    }
    result
}

fn artifact(path: &str) -> Value {
    let uri = utf8_percent_encode(path, ESCAPED).to_string();
    if path.starts_with('/') {
        return json!({"uri": format!("file://{uri}")});
    }
    json!({"uri": uri, "uriBaseId": "%SRCROOT%"})
}

fn region_json(region: Region) -> Value {
    let Region { line, column, end_line, end_column } = region;
    json!({"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_the_lines_that_differ() {
        let fix = |before: &str, after: &str| {
            let FileFix { region, replacement, .. } = FileFix::new(String::new(), before, after);
            (region.line, region.end_line, replacement)
        };
        assert_eq!(fix("a\nb\nc\n", "a\nx\nc\n"), (2, 3, "x\n".to_owned()));
        assert_eq!(fix("a\nc\n", "a\nb\nc\n"), (2, 2, "b\n".to_owned()));
        assert_eq!(fix("a\na\n", "a\na\na\n"), (3, 3, "a\n".to_owned()));
        assert_eq!(fix("a\nb", "a\nc"), (2, 3, "c".to_owned()));
    }
}
