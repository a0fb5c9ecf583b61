//! The name of a ref, by git's own rules.

use std::borrow::Borrow;
use std::ffi::OsStr;
use std::fmt::{self, Display, Formatter};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// How deep a ref may lie.
pub(crate) const MAX_DEPTH: usize = 32;
/// The longest part of a name, in bytes: with `.lock` behind it, it is still the name of a file.
const MAX_PART: usize = 250;
/// The longest name, in bytes: with what comes before and behind it, it has to be a path.
const MAX_BYTES: usize = 2048;
/// What no name may have in it, beside control characters.
const ODD: &[u8] = b" ~^:?*[\\\x7f";

/// The name of a ref: `refs/` and at least one more part, well made as [`git check-ref-format`](https://git-scm.com/docs/git-check-ref-format) has it.
///
/// Such a name is a path that leads nowhere but down. It need not be UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RefName(Vec<u8>);

impl RefName {
    pub(crate) fn parse(name: &[u8]) -> Option<Self> {
        let is_part = |part: &[u8]| {
            (1..=MAX_PART).contains(&part.len()) && !part.starts_with(b".") && !part.ends_with(b".lock")
        };
        let has = |two: &[u8; 2]| name.windows(2).any(|both| both == two);
        let is_sound = name.starts_with(b"refs/")
            && name.len() <= MAX_BYTES
            && name.split(|byte| *byte == b'/').count() <= MAX_DEPTH
            && name.split(|byte| *byte == b'/').all(is_part)
            && !name.iter().any(|byte| *byte < b' ' || ODD.contains(byte))
            && !name.ends_with(b".")
            && !has(b"..")
            && !has(b"@{");
        is_sound.then(|| Self(name.to_owned()))
    }

    /// Returns where things are stashed away.
    pub(crate) fn stash() -> Self {
        Self(b"refs/stash".to_vec())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    pub(crate) fn starts_with(&self, start: &str) -> bool {
        self.0.starts_with(start.as_bytes())
    }

    /// Returns the names of the directories that it would lie in.
    pub(crate) fn above(&self) -> impl Iterator<Item = &[u8]> {
        let ends = self.0.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        ends.map(|(end, _)| &self.0[..end])
    }
}

impl Borrow<[u8]> for RefName {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl Display for RefName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "git is asked what it takes for a name")]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_lead_nowhere_but_down() {
        for name in [
            "refs/heads/main",
            "refs/heads/a/b",
            "refs/stash",
            "refs/heads/-x",
            "refs/heads/@",
            "refs/heads/ä",
        ] {
            assert_eq!(RefName::parse(name.as_bytes()).unwrap().to_string(), name);
        }
        assert_eq!(RefName::parse(b"refs/heads/caf\xe9").unwrap().bytes(), b"refs/heads/caf\xe9");
        for name in [
            "",
            "refs",
            "refs/",
            "HEAD",
            "heads/x",
            "/refs/heads/x",
            "refs//x",
            "refs/heads/x/",
            "refs/../x",
            "refs/heads/../../../../tmp/.bashrc",
            "refs/./x",
            "refs/.x",
            "refs/x.",
            "refs/x.lock",
            "refs/x.lock/y",
            "refs/a..b",
            "refs/a@{b",
            "refs/a b",
            "refs/a\nb",
            "refs/a\x7f",
            "refs/a\0b",
            "refs/a~",
            "refs/a\\b",
        ] {
            assert_eq!(RefName::parse(name.as_bytes()), None, "{name:?}");
        }
        assert_eq!(RefName::parse("refs/".repeat(33).trim_end_matches('/').as_bytes()), None);
    }

    #[test]
    fn above_are_the_directories() {
        let name = RefName::parse(b"refs/heads/a/b").unwrap();
        assert_eq!(name.above().collect::<Vec<_>>(), [&b"refs"[..], b"refs/heads", b"refs/heads/a"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn git_takes_the_same(end in "(a|\\.|/|@|\\{|-|\\.lock|~| |[b-d]|\\*){1,8}") {
            let name = format!("refs/{end}");
            let git = std::process::Command::new("git").args(["check-ref-format", &name]).status();
            if let Ok(status) = git {
                prop_assert_eq!(RefName::parse(name.as_bytes()).is_some(), status.success(), "{}", name);
            }
        }
    }
}
