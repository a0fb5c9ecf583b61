//! The suite that both implementations run, the one for Linux with and without `openat2`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;

/// The number of runs of a race.
const ATTEMPTS: usize = 20_000;
/// The most runs until the race was won once.
const MAX_ATTEMPTS: usize = 100 * ATTEMPTS;

fn lay_out(root: &Path) {
    fs::create_dir_all(root.join("in/sub")).unwrap();
    fs::create_dir(root.join("out")).unwrap();
    fs::write(root.join("out/secret.md"), "secret").unwrap();
    fs::write(root.join("in/a.md"), "hello").unwrap();
    fs::write(root.join("in/empty"), "").unwrap();
    fs::write(root.join("in/sub/b.md"), "b").unwrap();
    symlink("a.md", root.join("in/inner-link")).unwrap();
    symlink("../out/secret.md", root.join("in/outer-link")).unwrap();
    symlink(root.join("out/secret.md"), root.join("in/absolute-link")).unwrap();
    symlink("sub", root.join("in/sub-link")).unwrap();
    symlink("../out", root.join("in/out-link")).unwrap();
    symlink("loop", root.join("in/loop")).unwrap();
    symlink("/proc/self/root", root.join("in/magic")).unwrap();
    mknodat(CWD, root.join("in/fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    drop(UnixListener::bind(root.join("in/socket")).unwrap());
}

macro_rules! suite {
    ($module:ident, $type:ty, $open:expr) => {
        mod $module {
            use super::*;

            fn open(path: &Path) -> $type {
                let open: fn(&Path) -> $type = $open;
                open(path)
            }

            fn read(directory: &$type, path: &str) -> Result<Vec<u8>, FsFault> {
                directory.read(path, 100).map(|(bytes, _)| bytes)
            }

            #[test]
            fn regular_files_are_read() {
                let root = tempfile::tempdir().unwrap();
                lay_out(root.path());
                let directory = open(&root.path().join("in"));
                assert_eq!(read(&directory, "a.md").unwrap(), b"hello");
                assert_eq!(read(&directory, "empty").unwrap(), b"");
                assert_eq!(read(&directory, "sub/b.md").unwrap(), b"b");
                assert_eq!(read(&directory.open_dir("sub").unwrap(), "b.md").unwrap(), b"b");
                assert_eq!(read(&directory.duplicate().unwrap(), "a.md").unwrap(), b"hello");
            }

            #[test]
            fn links_special_files_and_outside_paths_are_refused() {
                let root = tempfile::tempdir().unwrap();
                lay_out(root.path());
                let directory = open(&root.path().join("in"));
                macro_rules! refused {
                    ($path:expr, $pattern:pat) => {
                        let outcome = read(&directory, $path);
                        assert!(matches!(outcome, Err($pattern)), "{}: {outcome:?}", $path);
                    };
                }
                refused!("missing", FsFault::Missing);
                refused!("sub/missing", FsFault::Missing);
                refused!("missing/a.md", FsFault::Missing);
                refused!("a.md/b", FsFault::NotDirectory);
                refused!("sub", FsFault::IsDirectory);
                for link in ["inner-link", "outer-link", "absolute-link", "sub-link", "out-link", "loop"] {
                    refused!(link, FsFault::Link);
                }
                refused!("sub-link/b.md", FsFault::Link);
                refused!("out-link/secret.md", FsFault::Link);
                refused!("magic/etc/passwd", FsFault::Link);
                refused!("fifo", FsFault::Special);
                refused!("socket", FsFault::Special);
                for path in ["..", "../out/secret.md", "sub/../../out/secret.md", "/etc/passwd"] {
                    let outcome = read(&directory, path);
                    assert!(outcome.is_err(), "{path}: {outcome:?}");
                }
                assert!(matches!(directory.open_dir("out-link"), Err(FsFault::Link)));
                assert!(matches!(directory.open_dir("a.md"), Err(FsFault::NotDirectory)));
                assert!(matches!(directory.open_dir("fifo"), Err(FsFault::NotDirectory)));
                assert!(matches!(directory.open_dir("missing"), Err(FsFault::Missing)));
                assert!(directory.open_dir("..").is_err());
            }

            #[test]
            fn another_file_system_is_outside() {
                if Path::new("/proc/self").is_dir() {
                    let directory = open(Path::new("/"));
                    let outcome = read(&directory, "proc/version");
                    assert!(matches!(outcome, Err(FsFault::Outside)), "{outcome:?}");
                    assert!(matches!(directory.open_dir("proc"), Err(FsFault::Outside)));
                    assert!(directory.open_mounted("proc").unwrap().stat("version").is_ok());
                }
            }

            #[test]
            fn sizes_are_capped() {
                let root = tempfile::tempdir().unwrap();
                let directory = open(root.path());
                fs::write(root.path().join("100"), [b'x'; 100]).unwrap();
                fs::write(root.path().join("101"), [b'x'; 101]).unwrap();
                assert_eq!(read(&directory, "100").unwrap().len(), 100);
                assert!(matches!(read(&directory, "101"), Err(FsFault::TooLarge(101))));
                assert_eq!(directory.read("100", 100).unwrap().1.size, 100);
            }

            #[test]
            fn entries_come_with_their_kind_every_time() {
                let root = tempfile::tempdir().unwrap();
                lay_out(root.path());
                let directory = open(&root.path().join("in"));
                for _ in 0..2 {
                    let mut listing = directory.entries(100).unwrap();
                    assert!(!listing.more);
                    listing.entries.sort_by(|a, b| a.name.cmp(&b.name));
                    let kind = |name: &str| listing.entries.iter().find(|e| e.name == name).unwrap().kind;
                    assert_eq!(listing.entries.len(), 12);
                    assert_eq!(kind("a.md"), EntryKind::File);
                    assert_eq!(kind("sub"), EntryKind::Directory);
                    assert_eq!(kind("sub-link"), EntryKind::Link);
                    assert_eq!(kind("fifo"), EntryKind::Special);
                    assert_eq!(kind("socket"), EntryKind::Special);
                }
                let listing = directory.entries(3).unwrap();
                assert_eq!((listing.entries.len(), listing.more), (3, true));
            }

            #[test]
            fn stamps_tell_kinds_and_modes() {
                let root = tempfile::tempdir().unwrap();
                lay_out(root.path());
                let directory = open(&root.path().join("in"));
                let path = root.path().join("in/a.md");
                fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
                let (kind, stamp) = directory.stat("a.md").unwrap();
                assert_eq!((kind, stamp.size, stamp.is_executable()), (EntryKind::File, 5, false));
                assert_eq!(directory.read("a.md", 100).unwrap().1, stamp);
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
                assert!(directory.stat("a.md").unwrap().1.is_executable());
                assert_eq!(directory.stat("outer-link").unwrap().0, EntryKind::Link);
                assert!(matches!(directory.stat("missing"), Err(FsFault::Missing)));
            }

            #[test]
            fn a_resolved_path_may_not_hold_links_later() {
                let root = tempfile::tempdir().unwrap();
                let root = root.path().canonicalize().unwrap();
                lay_out(&root);
                assert!(<$type>::open_resolved(&root.join("in/sub")).is_ok());
                assert!(<$type>::open_resolved(&root.join("in/sub-link")).is_err());
                assert!(<$type>::open_resolved(&root.join("in/out-link")).is_err());
            }

            #[test]
            fn a_directory_swapped_for_a_link_never_leads_out() {
                let root = tempfile::tempdir().unwrap();
                let root = root.path();
                fs::create_dir_all(root.join("in/x")).unwrap();
                fs::create_dir(root.join("out")).unwrap();
                fs::write(root.join("in/x/a.md"), "inside").unwrap();
                fs::write(root.join("out/a.md"), "secret").unwrap();
                symlink("../out", root.join("in/link")).unwrap();
                let directory = open(&root.join("in"));
                let stop = AtomicBool::new(false);
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        let inside = root.join("in");
                        while !stop.load(Ordering::Relaxed) {
                            for (from, to) in [("x", "real"), ("link", "x"), ("x", "link"), ("real", "x")] {
                                fs::rename(inside.join(from), inside.join(to)).unwrap();
                            }
                        }
                    });
                    let mut inside = 0;
                    // On a busy machine the other thread may be paused while the link is in place.
                    for attempt in 0..MAX_ATTEMPTS {
                        if attempt >= ATTEMPTS && inside > 0 {
                            break;
                        }
                        if let Ok(bytes) = read(&directory, "x/a.md") {
                            assert_eq!(bytes, b"inside");
                            inside += 1;
                        }
                    }
                    stop.store(true, Ordering::Relaxed);
                    assert!(inside > 0, "the directory itself was never seen");
                });
            }
        }
    };
}

#[cfg(target_os = "linux")]
suite!(with_openat2, linux::SafeDir, |path| linux::SafeDir::open(path).unwrap());
#[cfg(target_os = "linux")]
suite!(stepwise, linux::SafeDir, |path| linux::SafeDir::open(path).unwrap().stepwise());
suite!(portable_one, portable::SafeDir, |path| portable::SafeDir::open(path).unwrap());
