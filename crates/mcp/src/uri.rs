//! `skill://` URIs: the name of a skill, then the path of a file in it.

use repertoire::serve::encode_path;
use repertoire::{SkillName, SkillPath};

/// The scheme and its separator.
const SCHEME: &str = "skill://";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkillUri {
    pub(crate) name: SkillName,
    /// The file or directory; none for the skill itself.
    pub(crate) path: Option<SkillPath>,
}

impl SkillUri {
    /// Parses `uri`; returns none if it is invalid or its path leaves the skill.
    pub(crate) fn parse(uri: &str) -> Option<Self> {
        let rest = uri.strip_prefix(SCHEME)?;
        let (name, path) = match rest.split_once('/') {
            Some((name, path)) => (name, Some(path)),
            None => (rest, None),
        };
        let name = SkillName::new(name)?;
        let path = match path {
            None => None,
            Some(path) => Some(SkillPath::new(&decode(path)?).ok()?),
        };
        Some(Self { name, path })
    }
}

/// Returns the URI of the file at `path` of the skill called `name`.
pub(crate) fn skill_uri(name: &str, path: &str) -> String {
    format!("{SCHEME}{name}/{}", encode_path(path))
}

/// Returns `path` percent-decoded, or none if it is invalid or contains an encoded separator.
fn decode(path: &str) -> Option<String> {
    if path.contains(['?', '#']) {
        return None;
    }
    let mut decoded = Vec::with_capacity(path.len());
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let value = u8::try_from(digit(bytes.next())? * 16 + digit(bytes.next())?).ok()?;
        if value == b'/' || value == 0 {
            return None;
        }
        decoded.push(value);
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skill_uris_round_trip() {
        for path in ["SKILL.md", "references/a b.md", "assets/ü%.png", "x#y[1].txt", "a+b=c&d'(e)!.md"] {
            let uri = skill_uri("pdf", path);
            assert!(uri.is_ascii() && !uri.contains([' ', '#', '?', '[']), "{uri}");
            let parsed = SkillUri::parse(&uri).unwrap();
            assert_eq!((parsed.name.as_str(), parsed.path.unwrap().as_str()), ("pdf", path));
        }
        assert_eq!(SkillUri::parse("skill://pdf").unwrap().path, None);
    }

    #[test]
    fn invalid_skill_uris_are_refused() {
        for uri in [
            "",
            "skill:",
            "skill://",
            "skill:///SKILL.md",
            "file:///etc/passwd",
            "skill://pdf/",
            "skill://pdf//a",
            "skill://pdf/../x",
            "skill://pdf/%2e%2e/x",
            "skill://pdf/a%2fb",
            "skill://pdf/a%00",
            "skill://pdf/%zz",
            "skill://pdf/a%",
            "skill://pdf/a\\b",
            "skill://pdf/a?b",
            "skill://pdf/a#b",
            "skill://pdf/%ff",
            "skill://p/d/./f",
            "SKILL://pdf/SKILL.md",
            "skill://../SKILL.md",
            "skill://a b/SKILL.md",
        ] {
            assert_eq!(SkillUri::parse(uri), None, "{uri}");
        }
    }
}
