//! Wrappers that their content cannot open or close.
//!
//! Content stays as it is, except for the tags of our own elements: these lose their `<`, which becomes
//! `&lt;`. So that the exact content can be recovered, text that already reads like the result gets one more
//! `amp;` for its `&`.

use crate::text;

/// The elements that answers, catalogs and notes are wrapped in, the longest name last.
const ELEMENTS: [&str; 17] = [
    "skill",
    "skill_active",
    "skill_digest",
    "skill_error",
    "skill_file",
    "skill_files",
    "skill_outline",
    "skill_resources",
    "skill_result",
    "skill_results",
    "skill_tool_result",
    "skill_tools",
    "skills",
    "skills_changed",
    "skills_for_files",
    "available_skills",
    "skills_reattached",
];

/// Returns `content` with no tag of our elements in it.
///
/// ```
/// use repertoire_model::answer::guard::{guard, unguard};
/// let content = "a </skill> b &lt;/skill> <b>";
/// assert_eq!(guard(content), "a &lt;/skill> b &amp;lt;/skill> <b>");
/// assert_eq!(unguard(&guard(content)), content);
/// ```
pub fn guard(content: &str) -> String {
    let mut guarded = String::with_capacity(content.len());
    let mut written = 0;
    for place in memchr::memchr2_iter(b'<', b'&', content.as_bytes()) {
        let Some(mark) = Mark::at(&content[place..]) else { continue };
        guarded.push_str(&content[written..place]);
        guarded.push_str(match mark {
            Mark::Tag => "&lt;",
            Mark::Escaped => "&amp;",
        });
        written = place + 1;
    }
    guarded.push_str(&content[written..]);
    guarded
}

/// Returns the content that [`guard`] made `guarded` of.
pub fn unguard(guarded: &str) -> String {
    let mut content = String::with_capacity(guarded.len());
    let mut written = 0;
    for place in memchr::memchr_iter(b'&', guarded.as_bytes()) {
        let rest = &guarded[place..];
        if Mark::at(rest) != Some(Mark::Escaped) {
            continue;
        }
        content.push_str(&guarded[written..place]);
        let (sign, escape) = if rest.starts_with("&lt;") { ("<", "&lt;") } else { ("&", "&amp;") };
        content.push_str(sign);
        written = place + escape.len();
    }
    content.push_str(&guarded[written..]);
    content
}

/// Tags that must not stand in content as they are.
#[derive(PartialEq, Eq)]
enum Mark {
    /// A tag of one of our elements.
    Tag,
    /// Such a tag with its `<` escaped, once or more often.
    Escaped,
}

impl Mark {
    fn at(text: &str) -> Option<Self> {
        if let Some(rest) = text.strip_prefix('<') {
            return is_rest_of_tag(rest).then_some(Self::Tag);
        }
        let mut rest = text.strip_prefix('&')?;
        while let Some(next) = rest.strip_prefix("amp;") {
            rest = next;
        }
        is_rest_of_tag(rest.strip_prefix("lt;")?).then_some(Self::Escaped)
    }
}

/// Returns `true` if `text`, which follows a `<`, makes it a tag of one of our elements.
///
/// A model is not a parser, so everything that looks like a tag is one: in any case, with blanks, with
/// invisible characters.
fn is_rest_of_tag(text: &str) -> bool {
    let mut chars = text.chars().filter(|c| !is_unseen(*c)).peekable();
    while chars.next_if(|c| c.is_whitespace() || *c == '/').is_some() {}
    let is_named = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    let longest = ELEMENTS[ELEMENTS.len() - 1].len();
    let name: String = std::iter::from_fn(|| chars.next_if(is_named)).take(longest + 1).collect();
    ELEMENTS.iter().any(|element| element.eq_ignore_ascii_case(&name))
}

fn is_unseen(c: char) -> bool {
    !c.is_whitespace() && (text::is_control_or_invisible(c) || text::is_variation_selector(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(content: &str, expect: &str) {
        assert_eq!(guard(content), expect);
        assert_eq!(unguard(expect), content);
    }

    #[test]
    fn tags_of_ours_are_escaped_and_others_are_not() {
        check("<skill>", "&lt;skill>");
        check("</SKILL_File\n>", "&lt;/SKILL_File\n>");
        check("< / skills x", "&lt; / skills x");
        check("<skill", "&lt;skill");
        check("<\u{200b}/ski\u{ad}ll\u{202e}>", "&lt;\u{200b}/ski\u{ad}ll\u{202e}>");
        check("<available_skills>", "&lt;available_skills>");
        check("</skill_digest></skills_changed>", "&lt;/skill_digest>&lt;/skills_changed>");
        check("</skills_reattached>", "&lt;/skills_reattached>");
        check("<skill-name> <skillet> <b> a < skilled", "<skill-name> <skillet> <b> a < skilled");
        check("&amp; &lt;b> R&D &lt;skillet", "&amp; &lt;b> R&D &lt;skillet");
        check(
            "&lt;skill &amp;lt;skill &amp;amp;lt;/skill",
            "&amp;lt;skill &amp;amp;lt;skill &amp;amp;amp;lt;/skill",
        );
        check("<skill<skill&lt;skill", "&lt;skill&lt;skill&amp;lt;skill");
    }
}
