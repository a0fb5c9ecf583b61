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

/// Returns the proposal as Markdown with the sections Diff, Justification and Evidence.
pub fn markdown(proposal: &Proposal) -> String {
    let content = &proposal.content;
    let digest = |digest: Option<Digest>| digest.map_or_else(|| "none".to_owned(), |it| it.to_string());
    // A fence that is longer than any in the diff cannot be closed by it.
    let fence = "`".repeat(longest_run(&content.diff).max(2) + 1);
    let evidence = content.evidence.as_deref().unwrap_or("None.");
    let check = if content.check.is_empty() { "Nothing to report.\n" } else { &content.check };
    format!(
        "# Proposal {id}: {kind} of {name}\n\n- author: {author}\n- time: {time}\n- base: {base}\n- result: {result}\n\n\
         ## Diff\n\n{fence}diff\n{diff}{fence}\n\n## Justification\n\n{justification}\n\n## Evidence\n\n{evidence}\n\n## Check\n\n{check}",
        id = proposal.id,
        kind = content.kind,
        name = content.name,
        author = without_controls(&content.author),
        time = rfc3339(content.time),
        base = digest(content.base),
        result = content.result,
        diff = without_controls(&content.diff),
        justification = without_controls(content.justification.trim_end()),
        evidence = without_controls(evidence.trim_end()),
        check = without_controls(check),
    )
}

/// Returns the length of the longest run of backticks in `text`.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Returns `text` without characters that terminals obey or people do not see.
fn without_controls(text: &str) -> String {
    let shown = |c| if is_control_or_invisible(c) && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
}
