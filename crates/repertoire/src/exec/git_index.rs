//! Whether an index of git names only what lies in the checkout: git believes it, and writes wherever it says.

/// How many bytes of an entry come before its object: times, numbers, the mode, the size.
const BEFORE_OBJECT: usize = 40;
/// How long the name of an object is: SHA-1, SHA-256.
const OBJECTS: [usize; 2] = [20, 32];
/// The bit of an entry's flags that says that there are more flags.
const EXTENDED: u16 = 0x4000;
/// The extension of an index that is only a part; nobody looks into the other one here.
const PART: &[u8] = b"link";

/// Returns whether `bytes` are an index whose entries all lie in the checkout, outside of directories of git.
pub(crate) fn is_sound(bytes: &[u8]) -> bool {
    OBJECTS.iter().any(|object| entries_are_inside(bytes, *object).unwrap_or(false))
}

fn entries_are_inside(bytes: &[u8], object: usize) -> Option<bool> {
    let mut rest = bytes.strip_prefix(b"DIRC")?;
    let version = number(&mut rest)?;
    let count = number(&mut rest)?;
    if !(2..=4).contains(&version) {
        return Some(false);
    }
    let mut path: Vec<u8> = Vec::new();
    for _ in 0..count {
        let start = rest.len();
        rest = rest.get(BEFORE_OBJECT + object..)?;
        let flags = u16::from_be_bytes(take(&mut rest, 2)?.try_into().ok()?);
        if version >= 3 && flags & EXTENDED != 0 {
            take(&mut rest, 2)?;
        }
        if version == 4 {
            let cut = offset(&mut rest)?;
            path.truncate(path.len().checked_sub(cut)?);
        } else {
            path.clear();
        }
        let end = rest.iter().position(|byte| *byte == 0)?;
        path.extend_from_slice(take(&mut rest, end)?);
        // Entries of earlier versions are filled up to eight bytes, with one at least.
        let filling = if version == 4 { 1 } else { 8 - (start - rest.len()) % 8 };
        take(&mut rest, filling)?;
        if !is_inside(&path) {
            return Some(false);
        }
    }
    while rest.len() > object {
        let name = take(&mut rest, 4)?;
        let length = number(&mut rest)? as usize;
        take(&mut rest, length)?;
        if name == PART {
            return Some(false);
        }
    }
    Some(rest.len() == object)
}

/// Returns whether a path leads into the checkout, and not into a directory of git there, on any file system.
fn is_inside(path: &[u8]) -> bool {
    // That of a directory, where an index is sparse.
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let is_plain = |name: &[u8]| {
        let bare = name.trim_ascii_end();
        let bare = bare.strip_suffix(b".").unwrap_or(bare);
        !name.is_empty()
            && name != b"."
            && name != b".."
            && !bare.eq_ignore_ascii_case(b".git")
            && !bare.eq_ignore_ascii_case(b"git~1")
    };
    path.split(|byte| *byte == b'/').all(is_plain)
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

fn number(bytes: &mut &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(take(bytes, 4)?.try_into().ok()?))
}

/// Reads how many bytes of the path before are cut off, as git writes offsets.
fn offset(bytes: &mut &[u8]) -> Option<usize> {
    let mut value = 0usize;
    for round in 0.. {
        let byte = take(bytes, 1)?[0];
        let more = usize::from(round > 0);
        value = value.checked_add(more)?.checked_mul(if round > 0 { 128 } else { 1 })?;
        value = value.checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(version: u32, object: usize, paths: &[&str]) -> Vec<u8> {
        let mut bytes = b"DIRC".to_vec();
        bytes.extend(version.to_be_bytes());
        bytes.extend((paths.len() as u32).to_be_bytes());
        let mut before = "";
        for path in paths {
            let start = bytes.len();
            bytes.extend(vec![1; BEFORE_OBJECT + object]);
            bytes.extend((path.len() as u16).to_be_bytes());
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
        bytes.extend(b"TREE\0\0\0\x02xx");
        bytes.extend(vec![7; object]);
        bytes
    }

    #[test]
    fn only_what_lies_in_the_checkout_is_sound() {
        for version in [2, 3, 4] {
            for object in OBJECTS {
                let check = |paths: &[&str]| is_sound(&index(version, object, paths));
                assert!(
                    check(&[]) && check(&["a", "a/b.txt", "c/.gitignore", "d/", "e/...x"]),
                    "{version} {object}"
                );
                for path in [
                    ".git/hooks/post-checkout",
                    "a/.GIT/config",
                    "../outside.txt",
                    "/etc/x",
                    "a//b",
                    "a/./b",
                    "GIT~1/config",
                    ".git./x",
                    ".git /x",
                ] {
                    assert!(!check(&["a", path, "z"]), "{version} {object} {path}");
                }
            }
        }
        let whole = index(2, 20, &["a/b"]);
        // The sum at the end is git's to look at, and the extension need not be there.
        for end in 0..whole.len() - 10 {
            assert!(!is_sound(&whole[..end]), "{end}");
        }
        let mut part = whole.clone();
        part.splice(whole.len() - 20.., b"link\0\0\0\0".iter().copied().chain([7; 20]));
        assert!(!is_sound(&part));
        assert!(!is_sound(b"") && !is_sound(b"DIRC\0\0\0\x09\0\0\0\0"));
    }

    #[test]
    fn an_index_that_git_wrote_is_sound() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("a/long/way/down")).unwrap();
        for name in ["a/one", "a/long/way/down/two", "three"] {
            std::fs::write(directory.path().join(name), name).unwrap();
        }
        let git = |arguments: &[&str]| {
            #[allow(clippy::disallowed_methods)]
            let done =
                std::process::Command::new("git").args(arguments).current_dir(directory.path()).output();
            done.is_ok_and(|done| done.status.success())
        };
        if !git(&["init", "-q", "."]) {
            eprintln!("SKIPPED: git is not installed");
            return;
        }
        for version in ["2", "4"] {
            assert!(git(&["add", "."]) && git(&["update-index", "--index-version", version]));
            #[allow(clippy::disallowed_methods)]
            let index = std::fs::read(directory.path().join(".git/index")).unwrap();
            assert!(is_sound(&index), "{version}");
        }
    }
}
