//! Paths below the home directory, as people write them.

/// Returns `text` with `~` for `home`, except behind a quotation mark of a shell and inside a longer path.
pub(super) fn with_tilde(text: &str, home: &str) -> String {
    let mut rest = text;
    let mut short = String::with_capacity(text.len());
    while let Some(at) = rest.find(home) {
        let (before, from) = rest.split_at(at);
        let behind = &from[home.len()..];
        let last = before.chars().next_back().or(short.chars().next_back());
        let starts = last.is_none_or(|last| last.is_whitespace() || "(`:,".contains(last));
        short.push_str(before);
        let ends = behind
            .chars()
            .next()
            .is_none_or(|next| next == '/' || next.is_whitespace() || "),:;`".contains(next));
        short.push_str(if starts && ends { "~" } else { home });
        rest = behind;
    }
    short + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_below_the_home_directory_are_short() {
        for (text, expect) in [
            ("/home/me/.claude/skills: 2 skills", "~/.claude/skills: 2 skills"),
            ("run `rep check /home/me/a /home/me/b`", "run `rep check ~/a ~/b`"),
            ("run `rep check '/home/me/a b'`", "run `rep check '/home/me/a b'`"),
            ("(/home/me/x) /home/men/y /srv/home/me/z", "(~/x) /home/men/y /srv/home/me/z"),
            ("/home/me, in /home/me", "~, in ~"),
        ] {
            assert_eq!(with_tilde(text, "/home/me"), expect);
        }
    }
}
