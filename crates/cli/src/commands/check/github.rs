//! `--format github`: annotations that GitHub shows on the changed lines of a pull request.

use std::fmt::Write as _;

use repertoire_model::Severity;

use super::findings::{PlacedFinding, Region};

/// Returns a workflow command for each of `findings`.
pub(super) fn annotations(findings: &[PlacedFinding<'_>]) -> String {
    let mut text = String::new();
    for finding in findings {
        let PlacedFinding { found, path, region } = finding;
        let level = if found.severity == Severity::Info { "notice" } else { found.severity.as_str() };
        let mut place = format!("file={}", data(path).replace(':', "%3A").replace(',', "%2C"));
        if let Some(Region { line, column, .. }) = region {
            let _ = write!(place, ",line={line},col={column}");
        }
        let _ = writeln!(text, "::{level} {place},title={}::{}", found.rule, data(&finding.message()));
    }
    text
}

/// Returns `text` as the message of a command: on one line.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;
    use repertoire_model::{Diagnostic, RuleId};

    #[test]
    fn names_and_messages_end_no_command() {
        let found = Diagnostic::new(RuleId::FileName, Severity::Warning, "a\n::error::b 100%");
        let region = Region { line: 3, column: 1, end_line: 3, end_column: 4 };
        let path = "s/a,line=9::x\n.md".to_owned();
        let placed = PlacedFinding { found: &found, path, region: Some(region) };
        let expect =
            "::warning file=s/a%2Cline=9%3A%3Ax%0A.md,line=3,col=1,title=file-name::a%0A::error::b 100%25\n";
        assert_eq!(annotations(&[placed]), expect);
    }
}
