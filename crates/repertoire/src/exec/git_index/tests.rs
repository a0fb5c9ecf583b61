//! Indices as git makes them, and as nobody should.

#![allow(
    clippy::disallowed_methods,
    reason = "git is at work here, and what came of it is looked at plainly"
)]

use super::*;
use std::time::Duration;

const FILE: u32 = 0o100_644;
const OBJECT_AT: usize = BEFORE_MODE + 4 + AFTER_MODE;

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(600)
}

fn is_sound(bytes: &[u8], objects: Objects) -> bool {
    carried(bytes, objects, soon()).is_ok()
}

/// Returns an index of these paths, with the mode and the stage of each.
fn index_of(version: u32, object: usize, entries: &[(&str, u32, u16)]) -> Vec<u8> {
    let mut bytes = b"DIRC".to_vec();
    bytes.extend(version.to_be_bytes());
    bytes.extend((entries.len() as u32).to_be_bytes());
    let mut before = "";
    for (path, mode, stage) in entries {
        let start = bytes.len();
        bytes.extend([1; BEFORE_MODE]);
        bytes.extend(mode.to_be_bytes());
        bytes.extend(vec![1; AFTER_MODE + object]);
        bytes.extend(((path.len() as u16).min(PATH_LENGTH) | stage << 12).to_be_bytes());
        if version == 4 {
            let same = before.bytes().zip(path.bytes()).take_while(|(a, b)| a == b).count();
            bytes.push((before.len() - same) as u8);
            bytes.extend(&path.as_bytes()[same..]);
            bytes.push(0);
        } else {
            bytes.extend(path.as_bytes());
            let filling = 8 - (bytes.len() - start) % 8;
            bytes.extend(vec![0; filling]);
        }
        before = path;
    }
    let sum = if object == 20 { Objects::Sha1 } else { Objects::Sha256 }.sum(&bytes);
    bytes.extend(sum);
    bytes
}

fn index(version: u32, object: usize, paths: &[&str]) -> Vec<u8> {
    let entries: Vec<(&str, u32, u16)> = paths.iter().map(|path| (*path, FILE, 0)).collect();
    index_of(version, object, &entries)
}

/// Returns an index whose sum is left out, so that only what it holds is looked at.
fn without_sum(mut index: Vec<u8>, objects: Objects) -> Vec<u8> {
    let end = index.len() - objects.length();
    index[end..].fill(0);
    index
}

fn with_extension(index: &[u8], name: [u8; 4], content: &[u8]) -> Vec<u8> {
    let (entries, _) = index.split_at(index.len() - 20);
    let index = [entries, &name, &(content.len() as u32).to_be_bytes(), content].concat();
    [index.as_slice(), &Objects::Sha1.sum(&index)].concat()
}

const ALL: [Objects; 2] = [Objects::Sha1, Objects::Sha256];

#[test]
fn only_what_lies_in_the_checkout_is_sound() {
    let long = "x".repeat(4096);
    for (version, objects) in [2, 3, 4].into_iter().flat_map(|version| ALL.map(|objects| (version, objects)))
    {
        let check = |paths: &[&str]| is_sound(&index(version, objects.length(), paths), objects);
        let inside = ["a/b.txt", "ab", "c/.git.old", "c/.gitignore", "e/...x", "f/g\u{ee}t", &long];
        assert!(check(&[]) && check(&inside), "{version} {objects:?}");
        let ignored = format!("{}.git/x", "\u{200c}".repeat(100));
        for path in [
            ".git/hooks/post-checkout",
            ".GIT/config",
            "../outside.txt",
            "/etc/x",
            "a//b",
            "a/./b",
            "GIT~1/config",
            ".git./x",
            ".git /x",
            ".git. . /x",
            ".git::$INDEX_ALLOCATION/x",
            ".g\u{200c}it/config",
            ".g\u{ad}it/config",
            &ignored,
        ] {
            assert!(!check(&[path]), "{version} {objects:?} {path}");
            let below = format!("a/b/{path}");
            assert!(!check(&["a/b/#", &below, "z"]), "{version} {objects:?} {path}");
        }
    }
}

#[test]
fn only_a_whole_index_is_sound() {
    let whole = index(2, 20, &["a/b"]);
    assert!(is_sound(&whole, Objects::Sha1));
    for end in 0..whole.len() {
        assert!(!is_sound(&whole[..end], Objects::Sha1), "{end}");
        let mut changed = whole.clone();
        changed[end] ^= 1;
        assert!(!is_sound(&changed, Objects::Sha1), "{end}");
    }
    assert!(is_sound(&without_sum(whole.clone(), Objects::Sha1), Objects::Sha1));
    assert!(!is_sound(b"", Objects::Sha1) && !is_sound(b"DIRC\0\0\0\x09\0\0\0\0", Objects::Sha1));
}

#[test]
fn a_path_is_as_long_as_it_says() {
    let mut index = index(2, 20, &["a/b"]);
    let length = 12 + OBJECT_AT + 20 + 1;
    assert_eq!(index[length], 3);
    // Git would look for the next entry further on.
    index[length] = 40;
    assert!(!is_sound(&without_sum(index, Objects::Sha1), Objects::Sha1));
}

#[test]
fn more_flags_are_not_for_the_second_version() {
    for version in [2, 3] {
        let mut index = index(version, 20, &["@\0c/d"]);
        index[12 + OBJECT_AT + 20] |= 0x40;
        index[12 + OBJECT_AT + 20 + 1] -= 2;
        assert_eq!(is_sound(&without_sum(index.clone(), Objects::Sha1), Objects::Sha1), version == 3);
        // Nor are there any that nobody knows.
        index[12 + OBJECT_AT + 20 + 2 + 1] = 1;
        assert!(!is_sound(&without_sum(index, Objects::Sha1), Objects::Sha1));
    }
}

#[test]
fn entries_are_such_that_git_can_use_them() {
    let check = |entries: &[(&str, u32, u16)], expect: bool| {
        for version in [2, 4] {
            assert_eq!(
                is_sound(&index_of(version, 20, entries), Objects::Sha1),
                expect,
                "{version} {entries:?}"
            );
        }
    };
    check(&[("a", FILE, 0), ("a-b", 0o100_755, 0), ("a.b", 0o120_000, 0), ("b", 0o160_000, 0)], true);
    check(&[("a", FILE, 1), ("a", FILE, 2), ("a", FILE, 3), ("b", FILE, 0)], true);
    check(&[("a", FILE, 2), ("a/b", FILE, 0)], true);
    check(&[("z", FILE, 0), ("a", FILE, 0)], false);
    check(&[("a/b", FILE, 0), ("a", FILE, 0)], false);
    check(&[("a", FILE, 0), ("a", FILE, 0)], false);
    check(&[("a", FILE, 0), ("a", FILE, 1)], false);
    check(&[("a", FILE, 2), ("a", FILE, 1)], false);
    check(&[("a", FILE, 1), ("a", FILE, 1)], false);
    check(&[("a", FILE, 0), ("a-b", FILE, 0), ("a-b-c", FILE, 0), ("a/b", FILE, 0)], false);
    check(&[("d", DIRECTORY, 0)], false);
    check(&[("d/", FILE, 0)], false);
    check(&[("s", 0o777_777, 0)], false);
    check(&[("s", 0o100_664, 0)], false);
    check(&[("s", 0, 0)], false);
    let mut none = index(2, 20, &["a"]);
    none[12 + OBJECT_AT..][..20].fill(0);
    assert!(!is_sound(&without_sum(none, Objects::Sha1), Objects::Sha1));
}

#[test]
fn directories_are_for_an_index_that_says_so() {
    let plain = index_of(3, 20, &[("a", FILE, 0), ("d/", DIRECTORY, 0)]);
    assert!(!is_sound(&plain, Objects::Sha1));
    let sparse = with_extension(&plain, *b"sdir", b"");
    assert_eq!(carried(&sparse, Objects::Sha1, soon()).unwrap(), sparse);
}

#[test]
fn what_only_saves_time_is_left_out() {
    let plain = index(2, 20, &["a", "b"]);
    let mut index = plain.clone();
    for name in [b"TREE", b"UNTR", b"FSMN", b"EOIE", b"IEOT", b"XYZW"] {
        index = with_extension(&index, *name, b"whatever it says");
    }
    assert_eq!(carried(&index, Objects::Sha1, soon()).unwrap(), plain);
    // The rest of the entries is elsewhere, or nobody knows what it is.
    let error = carried(&with_extension(&plain, *b"link", &[]), Objects::Sha1, soon()).unwrap_err();
    assert_eq!(error.to_string(), "it is in two parts");
    assert!(!is_sound(&with_extension(&plain, *b"xyzw", &[]), Objects::Sha1));
}

#[test]
fn conflicts_that_were_resolved_are_kept() {
    let plain = index(2, 20, &["a"]);
    let resolved = |path: &str, modes: [&str; 3], objects: usize| {
        let text = format!("{path}\0{}\0{}\0{}\0", modes[0], modes[1], modes[2]);
        with_extension(&plain, *b"REUC", &[text.as_bytes(), &vec![7; 20 * objects]].concat())
    };
    let index = resolved("a/b", ["100644", "0", "120000"], 2);
    assert_eq!(carried(&index, Objects::Sha1, soon()).unwrap(), index);
    for wrong in [
        resolved(".git/hooks/x", ["100644", "0", "0"], 1),
        resolved("a/../../b", ["100644", "0", "0"], 1),
        resolved("a", ["100644", "100644", "0"], 1),
        resolved("a", ["777777", "0", "0"], 1),
        resolved("a", ["", "0", "0"], 0),
        with_extension(&index, *b"REUC", &[]),
    ] {
        assert!(!is_sound(&wrong, Objects::Sha1));
    }
}

#[test]
fn a_table_is_not_hidden_in_something_else() {
    let plain = index(2, 20, &["a"]);
    let mut content = b"a\x000\x00100644\x00100644\0".to_vec();
    // The last two objects of a conflict, which git would take for where the entries end.
    content.extend([&[7; 8][..], b"EOIE\0\0\0\x18\0\0\0\x0c", &[7; 20]].concat());
    let error = carried(&with_extension(&plain, *b"REUC", &content), Objects::Sha1, soon()).unwrap_err();
    assert!(error.to_string().contains("where its entries end"), "{error}");
}

#[test]
fn there_is_an_end_to_it() {
    let paths: Vec<String> = (0..CLOCK_INTERVAL).map(|number| format!("{number:08}")).collect();
    let index = index(2, 20, &paths.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(is_sound(&index, Objects::Sha1));
    let error = carried(&index, Objects::Sha1, Instant::now()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}

#[test]
fn only_what_is_new_of_an_entry_is_looked_at() {
    // A hundred thousand entries that have all but the last letters of a long path in common.
    let mut bytes = b"DIRC\0\0\0\x04\0\x01\x86\xa0".to_vec();
    for number in 0..100_000u32 {
        bytes.extend([1; BEFORE_MODE]);
        bytes.extend(FILE.to_be_bytes());
        bytes.extend([1; AFTER_MODE + 20]);
        bytes.extend(PATH_LENGTH.to_be_bytes());
        bytes.extend(if number == 0 { vec![0] } else { vec![8] });
        bytes.extend(if number == 0 { vec![b'x'; 4088] } else { Vec::new() });
        bytes.extend(format!("{number:08}\0").bytes());
    }
    bytes.extend([0; 20]);
    let mut entries = Entries::of(&bytes, Objects::Sha1).unwrap();
    let mut looked_at = 0;
    while entries.advance(soon()).unwrap() {
        entries.expect_usable().unwrap();
        looked_at += entries.slashes.len() + entries.files.len();
    }
    assert!(looked_at <= 200_000, "{looked_at}");
    assert!(is_sound(&bytes, Objects::Sha1));
}

#[test]
fn two_that_say_the_same_are_the_same() {
    let is_same = |one: &[u8], other: &[u8]| is_same(one, other, Objects::Sha1, soon());
    let plain = index(2, 20, &["a", "b/c"]);
    // What is known of the file by the way, and what saves time.
    let mut looked_at = with_extension(&plain, *b"TREE", b"x");
    looked_at[12..12 + BEFORE_MODE].fill(9);
    assert!(is_same(&plain, &looked_at) && is_same(&index(4, 20, &["a", "b/c"]), &looked_at));
    assert!(!is_same(&plain, &index(2, 20, &["a", "b/d"])) && !is_same(&plain, &index(2, 20, &["a"])));
    for at in [12 + BEFORE_MODE + 3, 12 + OBJECT_AT, 12 + OBJECT_AT + 20] {
        let mut other = plain.clone();
        other[at] ^= 0x80;
        assert!(!is_same(&plain, &other), "{at}");
    }
    let split = with_extension(&plain, *b"link", b"x");
    assert!(is_same(&split, &split) && !is_same(&split, &plain));
    assert!(is_same(b"", b"") && !is_same(b"", &plain));
}

/// A checkout with some files, at which git is at work.
struct Checkout(tempfile::TempDir);

impl Checkout {
    fn new() -> Option<Self> {
        let checkout = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir_all(checkout.0.path().join("a/long/way/down")).unwrap();
        for name in ["a/one", "a/long/way/down/two", "three"] {
            std::fs::write(checkout.0.path().join(name), name).unwrap();
        }
        if checkout.git(&["init", "-q", "-b", "main", "."]).is_none() {
            eprintln!("SKIPPED: git is not installed");
            return None;
        }
        Some(checkout)
    }

    fn git(&self, arguments: &[&str]) -> Option<String> {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=n", "-c", "user.email=e"]).args(arguments).current_dir(self.0.path());
        let done = git.output().ok()?;
        done.status.success().then(|| String::from_utf8(done.stdout).unwrap())
    }

    fn index(&self) -> Vec<u8> {
        std::fs::read(self.0.path().join(".git/index")).unwrap()
    }

    fn put_index(&self, index: &[u8]) {
        std::fs::write(self.0.path().join(".git/index"), index).unwrap();
    }
}

#[test]
fn an_index_that_git_wrote_is_carried_over() {
    let Some(checkout) = Checkout::new() else { return };
    for (version, threads) in [("2", "1"), ("4", "1"), ("2", "2"), ("4", "2")] {
        let tables = if threads == "1" { "false" } else { "true" };
        for words in [
            &["config", "index.skipHash", tables][..],
            &["config", "index.threads", threads],
            &["config", "index.recordOffsetTable", tables],
            &["add", "."],
            &["update-index", "--force-write-index", "--index-version", version],
        ] {
            checkout.git(words).unwrap();
        }
        let before = checkout.git(&["ls-files", "-s", "-v"]).unwrap();
        let index = checkout.index();
        let carried = carried(&index, Objects::Sha1, soon()).unwrap();
        assert!(is_same(&index, &carried, Objects::Sha1, soon()), "{version} {threads}");
        checkout.put_index(&carried);
        assert_eq!(checkout.git(&["ls-files", "-s", "-v"]).unwrap(), before);
        checkout.git(&["fsck", "--strict"]).unwrap();
    }
}

#[test]
fn trees_that_an_index_is_said_to_hold_are_not_committed() {
    let Some(checkout) = Checkout::new() else { return };
    checkout.git(&["add", "."]).unwrap();
    checkout.git(&["commit", "-qm", "first"]).unwrap();
    let tree = |name: &str| checkout.git(&["rev-parse", name]).unwrap().trim().to_owned();
    let bytes = |name: &str| -> Vec<u8> {
        (0..20).map(|at| u8::from_str_radix(&name[2 * at..2 * at + 2], 16).unwrap()).collect()
    };
    // The tree of it all is said to be that of a directory in it.
    let (good, evil) = (bytes(&tree("HEAD^{tree}")), bytes(&tree("HEAD:a")));
    let index = checkout.index();
    let place = index.windows(20).rposition(|window| window == good).unwrap();
    let mut lie = index.clone();
    lie[place..place + 20].copy_from_slice(&evil);
    let lie = without_sum(lie, Objects::Sha1);
    checkout.put_index(&lie);
    assert_ne!(tree("HEAD^{tree}"), checkout.git(&["write-tree"]).unwrap().trim());
    checkout.put_index(&carried(&lie, Objects::Sha1, soon()).unwrap());
    assert_eq!(tree("HEAD^{tree}"), checkout.git(&["write-tree"]).unwrap().trim());
}
