//! A proposal as a Markdown file, which people read without any program.

use repertoire_model::Digest;
use repertoire_model::text::is_control_or_invisible;

use crate::event::jsonl::rfc3339;
use crate::store::Proposal;

/// Returns the name of the file of a proposal: the skill and the time.
pub fn file_name(proposal: &Proposal) -> String {
    let time = rfc3339(proposal.content.time).replace([':', '.'], "-");
    format!("{}-{time}.md", proposal.content.name)
}

/// Returns the proposal as Markdown with the sections Diff, Check, Justification and Evidence.
///
/// The texts of the author are quoted, so that they cannot pass for sections of their own.
pub fn markdown(proposal: &Proposal) -> String {
    let content = &proposal.content;
    let digest = |digest: Option<Digest>| digest.map_or_else(|| "none".to_owned(), |it| it.to_string());
    // A fence that is longer than any in the diff cannot be closed by it.
    let fence = "`".repeat(longest_run(&content.diff).max(2) + 1);
    format!(
        "# Proposal {id}: {kind} of {name}\n\n- author: {author}\n- time: {time}\n- base: {base}\n- result: {result}\n\n\
         ## Diff\n\n{fence}diff\n{diff}{fence}\n\n## Check\n\n{check}\n## Justification\n\n{justification}\n## Evidence\n\n{evidence}",
        id = proposal.id,
        kind = content.kind,
        name = content.name,
        author = without_controls(&content.author),
        time = rfc3339(content.time),
        base = digest(content.base),
        result = content.result,
        diff = without_controls(&content.diff),
        justification = quoted(&content.justification),
        evidence = content.evidence.as_deref().map_or_else(|| "None.\n".to_owned(), quoted),
        check =
            if content.check.is_empty() { "Nothing to report.\n".to_owned() } else { quoted(&content.check) },
    )
}

/// Returns the length of the longest run of backticks in `text`.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Returns the lines of `text` as a Markdown quotation.
fn quoted(text: &str) -> String {
    without_controls(text.trim_end()).split('\n').map(|line| format!("> {line}\n")).collect()
}

/// Returns `text` without characters that terminals obey or people do not see.
fn without_controls(text: &str) -> String {
    let shown = |c| if is_control_or_invisible(c) && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::store::{NewProposal, ProposalKind, ProposalState};

    #[test]
    fn y67_the_texts_of_an_author_cannot_pass_for_sections() {
        let content = NewProposal {
            kind: ProposalKind::Update,
            skill: "/skills/git".to_owned(),
            name: "git".to_owned(),
            base: None,
            result: Digest::of(b""),
            diff: "+```\n".to_owned(),
            justification: "slow\n\n## Check\n\nNothing to report.\n```".to_owned(),
            evidence: None,
            check: "new: warning: x (y)\n".to_owned(),
            author: "agent:a".to_owned(),
            session: None,
            time: SystemTime::UNIX_EPOCH,
            replaces: None,
        };
        let proposal = Proposal { id: 1, content, state: ProposalState::Pending, decision: None };
        let text = markdown(&proposal);
        let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(headings, ["## Diff", "## Check", "## Justification", "## Evidence"]);
        assert!(
            text.contains(
                "## Check\n\n> new: warning: x (y)\n\n## Justification\n\n> slow\n> \n> ## Check\n"
            ),
            "{text}"
        );
    }
}
