//! The hashes of skills that installers record, each computed as its installer does.

use std::collections::BTreeMap;

use repertoire_model::Digest;
use sha1::{Digest as _, Sha1};
use sha2::Sha256;

use super::installed_files::{InstalledFile, InstalledFiles};
use crate::collation::{collate, is_collated};

/// Returns the hash of all files that `npx skills` computes, in hexadecimal digits; `None` if the order of
/// the files depends on the locale, which it does for names that are not ASCII.
pub fn folder_hash(files: &InstalledFiles) -> Option<String> {
    Some(hash_in_order(&collated(&files.files)?))
}

/// Returns `true` if `expected` is the hash of `files` that `npx skills` recorded; `None` if unknown.
pub(super) fn is_folder_hash(files: &InstalledFiles, expected: &str) -> Option<bool> {
    let by_bytes = hash_in_order(&files.files.iter().collect::<Vec<_>>());
    let is_expected = |found: String| found.eq_ignore_ascii_case(expected);
    // Other programs that write this format sort by bytes.
    if is_expected(by_bytes) { Some(true) } else { folder_hash(files).map(is_expected) }
}

fn hash_in_order(files: &[&InstalledFile]) -> String {
    let mut hash = Sha256::new();
    for file in files {
        hash.update(file.path.as_bytes());
        hash.update(&file.bytes);
    }
    Digest::from_bytes(hash.finalize().into()).to_hex()
}

/// Returns the name of the git tree of all files, in hexadecimal digits.
pub fn git_tree(files: &InstalledFiles) -> String {
    let files: Vec<(&str, &InstalledFile)> =
        files.files.iter().map(|file| (file.path.as_str(), file)).collect();
    hexadecimal(&tree(&files))
}

fn tree(files: &[(&str, &InstalledFile)]) -> [u8; 20] {
    let mut directories: BTreeMap<&str, Vec<(&str, &InstalledFile)>> = BTreeMap::new();
    // Git sorts a directory as if its name ended with a slash.
    let mut entries: BTreeMap<Vec<u8>, (&str, &str, [u8; 20])> = BTreeMap::new();
    for (path, file) in files {
        match path.split_once('/') {
            Some((directory, rest)) => directories.entry(directory).or_default().push((rest, file)),
            None => {
                let mode = if file.is_executable { "100755" } else { "100644" };
                entries.insert(path.as_bytes().to_vec(), (mode, path, object("blob", &file.bytes)));
            }
        }
    }
    for (name, below) in directories {
        entries.insert(format!("{name}/").into_bytes(), ("40000", name, tree(&below)));
    }
    let mut content = Vec::new();
    for (mode, name, id) in entries.values() {
        content.extend_from_slice(format!("{mode} {name}\0").as_bytes());
        content.extend_from_slice(id);
    }
    object("tree", &content)
}

fn object(kind: &str, content: &[u8]) -> [u8; 20] {
    let mut hash = Sha1::new();
    hash.update(format!("{kind} {}\0", content.len()).as_bytes());
    hash.update(content);
    hash.finalize().into()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the fingerprint of files that ClawHub computes, which leaves out hidden ones.
pub(super) fn fingerprint(files: &InstalledFiles) -> Option<String> {
    let is_hidden = |file: &&InstalledFile| file.path.split('/').any(|part| part.starts_with('.'));
    let shown: Vec<InstalledFile> = files.files.iter().filter(|file| !is_hidden(file)).cloned().collect();
    let lines = collated(&shown)?;
    let lines = lines.iter().map(|file| format!("{}:{}", file.path, Digest::of(&file.bytes).to_hex()));
    Some(Digest::of(lines.collect::<Vec<_>>().join("\n").as_bytes()).to_hex())
}

/// Returns the hash of a file that APM computes: of its bytes, with the line ends of text made those of Unix.
pub(super) fn file_hash(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Digest::of(text.replace("\r\n", "\n").as_bytes()).to_hex(),
        _ => Digest::of(bytes).to_hex(),
    }
}

/// Returns `files` in the order of the root collation; `None` if that is unknown for characters of a path.
fn collated(files: &[InstalledFile]) -> Option<Vec<&InstalledFile>> {
    if !files.iter().all(|file| is_collated(&file.path)) {
        return None;
    }
    let mut sorted: Vec<&InstalledFile> = files.iter().collect();
    sorted.sort_by(|a, b| collate(&a.path, &b.path));
    Some(sorted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(list: &[(&str, &str)]) -> InstalledFiles {
        let file = |(path, text): &(&str, &str)| InstalledFile {
            path: (*path).to_owned(),
            bytes: text.as_bytes().to_vec(),
            is_executable: path.ends_with(".sh"),
        };
        let mut files: Vec<InstalledFile> = list.iter().map(file).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        InstalledFiles { files, fault: None }
    }

    #[test]
    fn paths_are_sorted_as_javascript_sorts_them() {
        let mut paths = [
            "SKILL.md",
            "scripts/b.sh",
            "a/x",
            "A/y",
            "a-b",
            "a_b",
            "LICENSE.txt",
            "a.b",
            "a b",
            "references/Z.md",
            "references/a.md",
        ];
        paths.sort_by(|a, b| collate(a, b));
        assert_eq!(
            paths,
            [
                "a b",
                "a_b",
                "a-b",
                "a.b",
                "a/x",
                "A/y",
                "LICENSE.txt",
                "references/a.md",
                "references/Z.md",
                "scripts/b.sh",
                "SKILL.md"
            ]
        );
    }

    // The expected values were computed by the installers' own programs, and by git.
    #[test]
    fn hashes_are_those_of_the_installers() {
        let files = files(&[("SKILL.md", "# A\n"), ("scripts/run.sh", "echo\n"), ("LICENSE.txt", "x")]);
        assert_eq!(folder_hash(&files).unwrap(), FOLDER);
        assert_eq!(git_tree(&files), TREE);
        assert_eq!(file_hash(b"a\r\nb\r"), Digest::of(b"a\nb\r").to_hex());
        assert_eq!(file_hash(b"a\r\n\0"), Digest::of(b"a\r\n\0").to_hex());
    }

    const FOLDER: &str = "78bcdf48d532676aeb986c0b448d3c578fedf30fb0db1ecd67fbcac1555d9316";
    const TREE: &str = "ad23e21c3092691a19b51a5713d70f9b6330b05e";
}
