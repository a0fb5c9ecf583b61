//! The roots of a client, which are the directories that it works in, and their files.

use std::collections::VecDeque;
use std::fs::{DirEntry, canonicalize, read_dir};
use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use repertoire::discovery::repository_root;
use repertoire::provider::fs::ScanLimits;
use rmcp::RoleServer;
use rmcp::service::Peer;

/// The most roots that are searched for files.
const MAX_ROOTS: usize = 16;

/// The most entries of directories that are read, in all roots together. Those nearest to the roots come first.
const MAX_ENTRIES: usize = 20_000;

/// The time that a client has to name its roots, while a call waits for it.
const ANSWER_TIME: Duration = Duration::from_secs(2);

/// Returns the roots of a client that are directories of a file system, and asks it for them; none if it has no roots or does not
/// answer.
#[expect(deprecated, reason = "older clients have roots")]
pub(crate) async fn directories(peer: &Peer<RoleServer>) -> Vec<PathBuf> {
    if peer.peer_info().is_none_or(|info| info.capabilities.roots.is_none()) {
        return Vec::new();
    }
    match tokio::time::timeout(ANSWER_TIME, peer.list_roots()).await {
        Ok(Ok(listed)) => {
            listed.roots.iter().filter_map(|root| directory(&root.uri)).take(MAX_ROOTS).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the path of a `file://` URI of this machine.
fn directory(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = percent_decode_str(path).decode_utf8().ok()?;
    path.starts_with('/').then(|| PathBuf::from(&*path))
}

/// Returns the paths of the files in `directories`, relative to their project and with `/` between their parts.
///
/// Symbolic links are not followed, and directories of tools, such as `node_modules`, are left out.
pub(crate) fn files(directories: &[PathBuf]) -> Vec<String> {
    files_within(directories, MAX_ENTRIES)
}

fn files_within(directories: &[PathBuf], max_entries: usize) -> Vec<String> {
    let mut limits = ScanLimits::default();
    limits.hidden = true;
    let (mut files, mut entries_left) = (Vec::new(), max_entries);
    let mut open: VecDeque<(PathBuf, String)> =
        directories.iter().map(|directory| (directory.clone(), prefix(directory))).collect();
    while let Some((directory, prefix)) = open.pop_front() {
        let Ok(entries) = read_dir(&directory) else { continue };
        let mut entries: Vec<DirEntry> = entries.flatten().take(entries_left).collect();
        entries_left -= entries.len();
        entries.sort_unstable_by_key(DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name();
            let (Some(name), Ok(kind)) = (name.to_str(), entry.file_type()) else { continue };
            if limits.skips(name) {
                continue;
            }
            if kind.is_dir() {
                open.push_back((entry.path(), format!("{prefix}{name}/")));
            } else {
                files.push(format!("{prefix}{name}"));
            }
        }
    }
    files
}

/// Returns the path of `directory` in its repository, with a `/` behind it; empty if it is in none.
fn prefix(directory: &Path) -> String {
    let inside = repository_root(directory, None)
        .and_then(|root| Some(canonicalize(directory).ok()?.strip_prefix(root).ok()?.to_owned()));
    let parts = inside.iter().flat_map(|inside| inside.iter());
    parts.map(|part| format!("{}/", part.to_string_lossy())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};

    #[test]
    fn only_uris_of_files_on_this_machine_are_directories() {
        for (uri, expect) in [
            ("file:///home/ada/my%20shop", Some("/home/ada/my shop")),
            ("file://localhost/srv", Some("/srv")),
            ("file://server/share", None),
            ("file:relative", None),
            ("https://example.com/", None),
            ("file:///bad%FF", None),
        ] {
            assert_eq!(directory(uri), expect.map(PathBuf::from), "{uri}");
        }
    }

    #[test]
    fn files_are_named_relative_to_their_repository_and_near_ones_come_first() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for path in [
            ".git/config",
            "packages/api/src/main.py",
            "packages/api/node_modules/x/index.js",
            "packages/api/.github/ci.yml",
            "packages/web/index.ts",
            "README.md",
        ] {
            let path = root.join(path);
            create_dir_all(path.parent().unwrap()).unwrap();
            write(path, "").unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink("/", root.join("packages/everything")).unwrap();
        let whole = files(&[root.to_owned()]);
        assert_eq!(whole[0], "README.md");
        assert!(whole.contains(&"packages/web/index.ts".to_owned()), "{whole:?}");
        assert!(whole.len() < 10, "a link is not followed: {whole:?}");
        let package = files(&[root.join("packages/api")]);
        assert_eq!(package, ["packages/api/.github/ci.yml", "packages/api/src/main.py"]);
        let gone = files(&[root.join("gone")]);
        assert_eq!(gone, Vec::<String>::new());
    }

    #[test]
    fn a_large_root_is_read_up_to_a_limit() {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path().join("first.tf"), "").unwrap();
        for path in ["a/1", "a/2", "b/3", "b/4"] {
            let path = directory.path().join(path);
            create_dir_all(path.parent().unwrap()).unwrap();
            write(path, "").unwrap();
        }
        // The directories count.
        let files = files_within(&[directory.path().to_owned()], 6);
        assert_eq!(files.len(), 4, "{files:?}");
        assert_eq!(files[0], "first.tf");
    }
}
