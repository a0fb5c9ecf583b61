//! Skills that a person asks for by name in a text.

use repertoire::SkillName;

/// The most skills that one text invokes.
const MAX_INVOKED: usize = 8;

/// Characters that may follow a name at the end of a sentence or a clause.
const PUNCTUATION: [char; 9] = ['.', ',', ';', ':', '!', '?', ')', '"', '\''];

/// Returns the name in `/name`, the first word of `text`, if it can be that of a skill.
pub(crate) fn first_name(text: &str) -> Option<SkillName> {
    let name = text.split_whitespace().next()?.strip_prefix('/')?;
    SkillName::new(name.trim_end_matches(PUNCTUATION))
}

/// Returns the skills that `text` invokes, in order, each once: `/name` as first word, `$name` anywhere.
///
/// `find` returns the skill of a name; other words are plain text, so that paths, prices and variables of a
/// shell stay what they are.
pub(crate) fn invoked(text: &str, find: impl Fn(&str) -> Option<SkillName>) -> Vec<SkillName> {
    let mut found: Vec<SkillName> = Vec::new();
    for (position, word) in text.split_whitespace().enumerate() {
        let name = match word.strip_prefix('/') {
            Some(name) if position == 0 => Some(name),
            _ => word.strip_prefix('$'),
        };
        let name = name.map(|name| name.trim_end_matches(PUNCTUATION));
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
    fn the_first_word_may_name_a_skill() {
        let name = |text: &str| first_name(text).map(|name| name.to_string());
        assert_eq!(name("/gti, show the log").as_deref(), Some("gti"));
        for text in ["show /git", "/usr/bin/git is gone", "/", "git", ""] {
            assert_eq!(name(text), None, "{text}");
        }
    }

    #[test]
    fn other_words_are_plain_text() {
        for text in ["show /git", "/usr/bin/git costs $5", "$HOME $", "/", "git", ""] {
            assert_eq!(names(text), [""; 0], "{text}");
        }
    }
}
