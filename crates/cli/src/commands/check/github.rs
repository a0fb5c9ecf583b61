//! `--format github`: annotations that GitHub shows on the changed lines of a pull request.

use std::fmt::Write as _;

use repertoire_model::Severity;

use super::findings::PlacedFinding;

/// Returns a workflow command for each of `findings`.
pub(super) fn annotations(findings: &[PlacedFinding<'_>]) -> String {
    let mut text = String::new();
    for PlacedFinding { found, path, region, .. } in findings {
        let level = match found.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "notice",
        };
        let mut place = format!("file={}", property(path));
        if let Some(region) = region {
            let _ = write!(place, ",line={},endLine={}", region.line, region.end_line);
            // GitHub takes columns within one line.
            if region.line == region.end_line {
                let _ = write!(place, ",col={},endColumn={}", region.column, region.end_column);
            }
        } else if let Some(line) = found.line() {
            let _ = write!(place, ",line={line}");
        }
        let message = match &found.help {
            Some(help) => format!("{}\nhelp: {help}", found.message),
            None => found.message.clone(),
        };
        let _ = writeln!(text, "::{level} {place},title={}::{}", found.rule, data(&message));
    }
    text
}

/// Returns `text` as the message of a command: on one line.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Returns `text` as a property of a command, which `:` and `,` would end.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::check::findings::Region;
    use repertoire_model::{Diagnostic, RuleId};

    #[test]
    fn names_and_messages_end_no_command() {
        let found = Diagnostic::new(RuleId::FileName, Severity::Warning, "a\n::error::b 100%");
        let region = Region { line: 3, column: 1, end_line: 3, end_column: 4 };
        let path = "s/a,line=9::x\n.md".to_owned();
        let placed = PlacedFinding { found: &found, path, fingerprint: String::new(), region: Some(region) };
        let expect = "::warning file=s/a%2Cline=9%3A%3Ax%0A.md,line=3,endLine=3,col=1,endColumn=4,title=file-name::a%0A::error::b 100%25\n";
        assert_eq!(annotations(&[placed]), expect);
    }
}
