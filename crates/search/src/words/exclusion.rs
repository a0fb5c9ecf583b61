//! Separates the parts of a description that say what a skill is for from those about what it is not for.

/// Phrases that start the part of a clause that says what the skill is not for.
const MARKERS: &[&str] = &[
    "do not use",
    "don't use",
    "don’t use",
    "do not trigger",
    "don't trigger",
    "do not activate",
    "do not invoke",
    "should not be used",
    "must not be used",
    "never use",
    "not for ",
    "not intended for",
    "not meant for",
    "not when ",
    "not suitable for",
    "avoid using",
    "skip for",
    "skip when",
    "skip if",
];
/// Phrases in a clause starting with `for` or `if` that refer to another skill.
const REFERRALS: &[&str] = &[", see ", ", use ", ", prefer ", ", consult ", " instead"];

/// Returns the clauses of `description`, each with `true` if it says what the skill is not for.
pub(crate) fn clauses(description: &str) -> impl Iterator<Item = (&str, bool)> {
    let clauses = description.split_inclusive(['.', ';', '!', '?', '\n', '(', ')', '—']);
    // A dot within a word ends a clause too, which does no harm.
    clauses.flat_map(|clause| {
        let folded = clause.to_ascii_lowercase();
        let start = excluding(&folded).unwrap_or(clause.len());
        // Folding ASCII does not change the length, so the offset is valid in `clause`.
        let (said, excluded) = clause.split_at(start);
        [(said, false), (excluded, true)].into_iter().filter(|(text, _)| !text.is_empty())
    })
}

/// Returns the offset at which `clause`, in lower case, starts to say what the skill is not for.
fn excluding(clause: &str) -> Option<usize> {
    let marked = MARKERS.iter().filter_map(|marker| clause.find(marker)).min();
    let trimmed = clause.trim_start();
    let is_condition = trimmed.starts_with("for ") || trimmed.starts_with("if ");
    let is_referral = is_condition && REFERRALS.iter().any(|referral| clause.contains(referral));
    if is_referral { Some(0) } else { marked }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(description: &str, expected: &[&str]) {
        let excluded = clauses(description).filter(|(_, is_excluded)| *is_excluded);
        let excluded: Vec<&str> = excluded.map(|(text, _)| text.trim()).collect();
        assert_eq!(excluded, expected, "{description}");
        let all: String = clauses(description).map(|(text, _)| text).collect();
        assert_eq!(all, description, "nothing is lost");
    }

    #[test]
    fn exclusions_are_separated() {
        check("Fills PDF forms. Use when a form must be filled.", &[]);
        check("Fills PDF forms. Do NOT use for scanned images.", &["Do NOT use for scanned images."]);
        check("Writes copy (not for emails) in any tone.", &["not for emails)"]);
        check(
            "Runs paid campaigns. For organic posts, see social-content.",
            &["For organic posts, see social-content."],
        );
        check("For teams of any size. Plans sprints.", &[]);
        check("Use for slides; never use for spreadsheets", &["never use for spreadsheets"]);
        check("", &[]);
        check("İstanbul. Do not use for İzmir — or do.", &["Do not use for İzmir —"]);
    }
}
