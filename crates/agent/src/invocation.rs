//! Skills that a person asks for by name in a text.

use repertoire::SkillName;

/// The most skills that one text invokes.
const MAX_INVOKED: usize = 8;

/// Returns the skills that a person invokes in `text`, in order and each once: `/name` as its first word, and `$name` anywhere.
///
/// `find` returns the skill of a name; other words are plain text, so that paths, prices and variables of a shell stay what they are.
pub(crate) fn invoked(text: &str, find: impl Fn(&str) -> Option<SkillName>) -> Vec<SkillName> {
    let mut found: Vec<SkillName> = Vec::new();
    for (position, word) in text.split_whitespace().enumerate() {
        let name = match word.strip_prefix('/') {
            Some(name) if position == 0 => Some(name),
            _ => word.strip_prefix('$'),
        };
        // A name may end a sentence.
        let name = name.map(|name| name.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"', '\'']));
        let skill = name.filter(|name| !name.is_empty()).and_then(&find);
        if let Some(skill) = skill.filter(|skill| !found.contains(skill)) {
            found.push(skill);
        }
        if found.len() == MAX_INVOKED {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let known = ["git", "csv-report"];
        let find = |name: &str| known.contains(&name).then(|| SkillName::new(name)).flatten();
        invoked(text, find).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_slash_counts_at_the_start_and_a_dollar_anywhere() {
        assert_eq!(names("/git show the log"), ["git"]);
        assert_eq!(names("use $csv-report, then $git."), ["csv-report", "git"]);
        assert_eq!(names("  /git $git"), ["git"]);
    }

    #[test]
    fn other_words_are_plain_text() {
        for text in ["show /git", "/usr/bin/git costs $5", "$HOME $", "/", "git", ""] {
            assert_eq!(names(text), [""; 0], "{text}");
        }
    }
}
