//! The files of a skill with their sizes and digests, and the digest that is the skill's content identity.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::SkillPath;

/// A SHA-256 digest, written `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the digest with these raw bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the raw bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the digest written as `text`, if it is one.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("sha256:")?;
        if digits.len() != 64 || !digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// Returns the first 16 digits, written `sha256:` and these: enough to stamp a text that is there to be
    /// hashed again, at a quarter of the tokens.
    pub fn to_stamp(&self) -> String {
        format!("sha256:{}", &self.to_hex()[..16])
    }

    /// Returns the 64 hexadecimal digits alone.
    pub fn to_hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.to_hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

crate::words! {
    /// The purpose of a file of a skill, by its directory.
    #[derive(PartialOrd, Ord)]
    FileKind {
        /// `SKILL.md` itself.
        Manifest "manifest",
        /// Below `references/`.
        Reference "reference",
        /// Below `scripts/`.
        Script "script",
        /// Below `assets/`.
        Asset "asset",
        /// Anywhere else.
        Other "file",
    }
}

impl FileKind {
    /// Returns the kind of the file at `path`, where `manifest` is the path of the skill's `SKILL.md`.
    pub fn of(path: &SkillPath, manifest: &str) -> Self {
        match path.as_str().split_once('/') {
            None if path.as_str() == manifest => Self::Manifest,
            Some(("references", _)) => Self::Reference,
            Some(("scripts", _)) => Self::Script,
            Some(("assets", _)) => Self::Asset,
            _ => Self::Other,
        }
    }

    /// Returns the directory of files of this kind, if they share one.
    pub fn directory(self) -> Option<&'static str> {
        match self {
            Self::Reference => Some("references"),
            Self::Script => Some("scripts"),
            Self::Asset => Some("assets"),
            Self::Manifest | Self::Other => None,
        }
    }
}

/// A file of a skill, as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// Its path in the skill.
    pub path: SkillPath,
    /// Its size in bytes; `None` for a file of a skill in code that was not read yet.
    pub size: Option<u64>,
    /// Its purpose.
    pub kind: FileKind,
    /// True if its owner may execute it.
    pub executable: bool,
}

/// A file of a bundle: its path, size and digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleFile {
    /// Its path in the skill.
    pub path: SkillPath,
    /// Its size in bytes.
    pub size: u64,
    /// True if its owner may execute it.
    pub executable: bool,
    /// The digest of its bytes.
    pub digest: Digest,
}

/// Every file of a skill, sorted by path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    files: Vec<BundleFile>,
}

/// The first line of the canonical manifest; a change of the format changes it and so every digest.
const MANIFEST_VERSION: &str = "repertoire-bundle-v1\n";

impl Bundle {
    /// Returns the bundle of `files`, sorted bytewise by path.
    pub fn new(mut files: Vec<BundleFile>) -> Self {
        files.sort_by(|a, b| a.path.as_str().as_bytes().cmp(b.path.as_str().as_bytes()));
        files.dedup_by(|a, b| a.path == b.path);
        Self { files }
    }

    /// Returns the files in bytewise order of their paths.
    pub fn files(&self) -> &[BundleFile] {
        &self.files
    }

    /// Returns the canonical manifest: a version line, then one line per file of
    /// `length:path NUL x|- NUL size NUL sha256 LF`, where `length` is the path's length in bytes.
    ///
    /// The length makes the encoding unambiguous for every path.
    pub fn manifest(&self) -> Vec<u8> {
        let mut manifest = MANIFEST_VERSION.as_bytes().to_vec();
        for file in &self.files {
            let path = file.path.as_str();
            let mode = if file.executable { 'x' } else { '-' };
            let line = format!("{}:{path}\0{mode}\0{}\0{}\n", path.len(), file.size, file.digest.to_hex());
            manifest.extend_from_slice(line.as_bytes());
        }
        manifest
    }

    /// Returns the bundle whose canonical manifest is `manifest`, if it is one.
    pub fn parse(manifest: &[u8]) -> Option<Self> {
        let mut rest = manifest.strip_prefix(MANIFEST_VERSION.as_bytes())?;
        let mut files = Vec::new();
        while !rest.is_empty() {
            let colon = rest.iter().position(|byte| *byte == b':')?;
            let length: usize = std::str::from_utf8(&rest[..colon]).ok()?.parse().ok()?;
            let (path, after) = rest[colon + 1..].split_at_checked(length)?;
            let path = SkillPath::new(std::str::from_utf8(path).ok()?).ok()?;
            let end = after.iter().position(|byte| *byte == b'\n')?;
            let line = std::str::from_utf8(after[..end].strip_prefix(b"\0")?).ok()?;
            let mut parts = line.split('\0');
            let executable = parts.next()? == "x";
            let size = parts.next()?.parse().ok()?;
            let digest = Digest::parse(&format!("sha256:{}", parts.next()?))?;
            files.push(BundleFile { path, size, executable, digest });
            rest = &after[end + 1..];
        }
        // Only the canonical form counts, so that equal bundles have equal digests.
        Some(Self { files }).filter(|bundle| bundle.manifest() == manifest)
    }

    /// Returns the digest of the canonical manifest, which is the skill's content identity.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.manifest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, bytes: &[u8], executable: bool) -> BundleFile {
        let path = SkillPath::new(path).unwrap();
        BundleFile { path, size: bytes.len() as u64, executable, digest: Digest::of(bytes) }
    }

    #[test]
    fn digests_round_trip_through_text() {
        let digest = Digest::of(b"abc");
        assert_eq!(
            digest.to_string(),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
        assert_eq!(Digest::parse("sha256:BA78"), None);
        assert_eq!(Digest::parse(&digest.to_string().to_uppercase()), None);
    }

    #[test]
    fn manifests_read_back_and_nothing_else_does() {
        let bundle = Bundle::new(vec![file("SKILL.md", b"# A\n", false), file("scripts/a b.sh", b"", true)]);
        let manifest = bundle.manifest();
        assert_eq!(Bundle::parse(&manifest), Some(bundle));
        for end in 0..manifest.len() {
            let part = Bundle::parse(&manifest[..end]);
            assert!(part.is_none_or(|part| part.files().len() < 2), "{end}");
            let mut changed = manifest.clone();
            changed[end] ^= 1;
            // Another path, mode, size or digest is another bundle; anything else is not a bundle.
            assert!(Bundle::parse(&changed).is_none_or(|other| other.manifest() == changed), "{end}");
        }
    }

    #[test]
    fn kinds_follow_the_directory() {
        let kind = |path| FileKind::of(&SkillPath::new(path).unwrap(), "SKILL.md");
        assert_eq!(kind("SKILL.md"), FileKind::Manifest);
        assert_eq!(kind("references/a/b.md"), FileKind::Reference);
        assert_eq!(kind("scripts/x.sh"), FileKind::Script);
        assert_eq!(kind("assets/x.png"), FileKind::Asset);
        assert_eq!(kind("references"), FileKind::Other);
        assert_eq!(kind("nested/SKILL.md"), FileKind::Other);
    }

    #[test]
    fn the_order_of_files_does_not_matter_but_everything_else_does() {
        let a = || file("SKILL.md", b"# A\n", false);
        let b = || file("scripts/run.sh", b"true\n", true);
        let digest = Bundle::new(vec![a(), b()]).digest();
        assert_eq!(Bundle::new(vec![b(), a()]).digest(), digest);
        assert_ne!(Bundle::new(vec![a(), file("scripts/run.sh", b"true\n", false)]).digest(), digest);
        assert_ne!(Bundle::new(vec![a(), file("scripts/run.sh", b"fals\n", true)]).digest(), digest);
        assert_ne!(Bundle::new(vec![a(), file("scripts/ran.sh", b"true\n", true)]).digest(), digest);
        assert_ne!(Bundle::new(vec![a()]).digest(), digest);
    }
}
