//! The files that a client works on: those in its roots, or in the project that the server was started in.

use std::collections::VecDeque;
use std::fs::{DirEntry, canonicalize, read_dir};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use percent_encoding::percent_decode_str;
use repertoire::discovery::{GENERATED, project_skill_directories, repository_root};
use repertoire::provider::fs::ScanLimits;
use rmcp::RoleServer;
use rmcp::model::{ClientResult, InitializeRequestParams, ProtocolVersion, RequestNoParam, ServerRequest};
use rmcp::service::{Peer, PeerRequestOptions};

/// The most roots that are searched for files.
const MAX_ROOTS: usize = 16;

/// The most directory entries that are read, in all roots together. Those nearest to the roots come first.
const MAX_ENTRIES: usize = 10_000;

/// The time that a client has to name its roots, while a call waits for it.
const ROOTS_TIMEOUT: Duration = Duration::from_secs(2);

/// The time that directories are read for, while a call waits for it. Those of a network may take long.
const READ_TIME: Duration = Duration::from_secs(2);

/// The time after which a directory that cannot be read is given up.
const READ_TIMEOUT: Duration = Duration::from_secs(3);

/// Returns the paths of the files that the client of `peer` works on, relative to their repository and with
/// `/` between their parts.
///
/// The client is asked for its roots if it has some; else it works in `project`. A repository at `home` is
/// not that of directories below. If reading takes too long, only the files found in time are returned.
pub(crate) async fn files(
    peer: Option<&Peer<RoleServer>>,
    project: Option<PathBuf>,
    home: Option<PathBuf>,
) -> Vec<String> {
    let roots = match peer {
        Some(peer) => roots(peer).await,
        None => Vec::new(),
    };
    let read = tokio::task::spawn_blocking(move || {
        let mut directories: Vec<PathBuf> = roots.into_iter().filter(|root| root.is_dir()).collect();
        if directories.is_empty() {
            directories.extend(project);
        }
        files_in(&directories, home.as_deref(), MAX_ENTRIES, Instant::now() + READ_TIME)
    });
    tokio::time::timeout(READ_TIMEOUT, read).await.ok().and_then(Result::ok).unwrap_or_default()
}

/// Returns the roots of a client that are paths; none if it has no roots or does not answer.
///
/// Clients of versions before 2025-06-18 are not asked: some declare roots but never answer, and then fail on
/// `notifications/cancelled`.
#[expect(deprecated, reason = "older clients have roots")]
async fn roots(peer: &Peer<RoleServer>) -> Vec<PathBuf> {
    let has_roots = |info: &InitializeRequestParams| {
        let version = info.protocol_version.as_str();
        info.capabilities.roots.is_some() && version >= ProtocolVersion::V_2025_06_18.as_str()
    };
    if !peer.peer_info().is_some_and(|info| has_roots(&info)) {
        return Vec::new();
    }
    let request = ServerRequest::ListRootsRequest(RequestNoParam::default());
    // A request that is not answered in time is cancelled.
    let options = PeerRequestOptions::with_timeout(ROOTS_TIMEOUT);
    let Ok(request) = peer.send_cancellable_request(request, options).await else { return Vec::new() };
    match request.await_response().await {
        Ok(ClientResult::ListRootsResult(listed)) => {
            listed.roots.iter().filter_map(|root| path(&root.uri)).take(MAX_ROOTS).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the path of a `file:` URI of this machine.
fn path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file:")?;
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.strip_prefix("localhost").unwrap_or(rest),
        None => rest,
    };
    let path = percent_decode_str(path).decode_utf8().ok()?;
    path.starts_with('/').then(|| PathBuf::from(&*path))
}

/// Returns the paths of the files in `directories`, from at most `max_entries` entries, until `deadline`.
///
/// Symbolic links are not followed. Directories of tools, such as `node_modules`, of generated files, and the
/// directories that clients read skills from are left out.
fn files_in(
    directories: &[PathBuf],
    home: Option<&Path>,
    max_entries: usize,
    deadline: Instant,
) -> Vec<String> {
    let mut limits = ScanLimits::default();
    limits.hidden = true;
    let is_left_out = |name: &str| limits.skips(name) || GENERATED.contains(&name);
    let of_clients: Vec<&str> =
        project_skill_directories().into_iter().filter(|name| name.starts_with('.')).collect();
    let (mut files, mut entries_left) = (Vec::new(), max_entries);
    let mut open: VecDeque<(PathBuf, String)> =
        directories.iter().map(|directory| (directory.clone(), prefix(directory, home))).collect();
    while entries_left > 0
        && Instant::now() < deadline
        && let Some((directory, prefix)) = open.pop_front()
    {
        if of_clients.iter().any(|name| directory.ends_with(name)) {
            continue;
        }
        let Ok(entries) = read_dir(&directory) else { continue };
        let mut entries: Vec<DirEntry> = entries.flatten().take(entries_left).collect();
        entries_left -= entries.len();
        entries.sort_unstable_by_key(DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name();
            let (Some(name), Ok(kind)) = (name.to_str(), entry.file_type()) else { continue };
            if !kind.is_dir() {
                files.push(format!("{prefix}{name}"));
            } else if !is_left_out(name) {
                open.push_back((entry.path(), format!("{prefix}{name}/")));
            }
        }
    }
    files
}

/// Returns the path of `directory` in its repository, with a `/` behind it; empty if it is in none.
fn prefix(directory: &Path, home: Option<&Path>) -> String {
    let inside = repository_root(directory, home)
        .and_then(|root| Some(canonicalize(directory).ok()?.strip_prefix(root).ok()?.to_owned()));
    let parts = inside.iter().flat_map(|inside| inside.iter());
    parts.map(|part| format!("{}/", part.to_string_lossy())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};

    fn project(paths: &[&str]) -> tempfile::TempDir {
        let project = tempfile::tempdir().unwrap();
        for path in paths.iter().chain(&[".git/config"]) {
            let path = project.path().join(path);
            create_dir_all(path.parent().unwrap()).unwrap();
            write(path, "").unwrap();
        }
        project
    }

    fn found(directories: &[PathBuf], home: Option<&Path>, max_entries: usize) -> Vec<String> {
        files_in(directories, home, max_entries, Instant::now() + Duration::from_secs(600))
    }

    #[test]
    fn only_uris_of_files_on_this_machine_are_paths() {
        for (uri, expect) in [
            ("file:///home/ada/my%20shop", Some("/home/ada/my shop")),
            ("file://localhost/srv", Some("/srv")),
            ("file:/srv", Some("/srv")),
            ("file://server/share", None),
            ("file:relative", None),
            ("https://example.com/", None),
            ("file:///bad%FF", None),
        ] {
            assert_eq!(path(uri), expect.map(PathBuf::from), "{uri}");
        }
    }

    #[test]
    fn files_are_named_relative_to_their_repository_and_near_ones_come_first() {
        let project = project(&[
            "packages/api/src/main.py",
            "packages/api/node_modules/x/index.js",
            "packages/api/vendor/x/y.sh",
            "packages/api/.claude/skills/pdf/scripts/fill.py",
            "packages/api/.github/ci.yml",
            "packages/web/index.ts",
            "README.md",
        ]);
        let root = project.path();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/", root.join("packages/everything")).unwrap();
        let whole = found(&[root.to_owned()], None, MAX_ENTRIES);
        assert_eq!(whole[0], "README.md");
        assert!(whole.contains(&"packages/web/index.ts".to_owned()), "{whole:?}");
        assert!(whole.len() < 10, "a link is not followed: {whole:?}");
        let package = found(&[root.join("packages/api")], None, MAX_ENTRIES);
        assert_eq!(package, ["packages/api/.github/ci.yml", "packages/api/src/main.py"]);
        let gone = found(&[root.join("gone")], None, MAX_ENTRIES);
        assert_eq!(gone, Vec::<String>::new());
    }

    #[test]
    fn a_repository_at_home_is_not_that_of_directories_below() {
        let home = project(&["shop/api/main.py"]);
        let files = found(&[home.path().join("shop")], Some(home.path()), MAX_ENTRIES);
        assert_eq!(files, ["api/main.py"]);
    }

    #[test]
    fn a_large_root_is_read_up_to_a_limit() {
        let project = project(&["first.tf", "a/1", "a/2", "b/3", "b/4"]);
        // The directories count.
        let files = found(&[project.path().to_owned()], None, 7);
        assert_eq!(files[..3], ["first.tf", "a/1", "a/2"]);
        assert_eq!(files.len(), 4, "{files:?}");
        let late = files_in(&[project.path().to_owned()], None, MAX_ENTRIES, Instant::now());
        assert_eq!(late, Vec::<String>::new());
    }
}
