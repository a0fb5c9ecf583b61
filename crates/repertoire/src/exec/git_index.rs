//! Whether an index of git is whole and names only what lies in the checkout: git believes it, and writes wherever it says.

use std::borrow::Cow;

use crate::exec::git_objects::Objects;

/// How many bytes of an entry come before its object: times, numbers, the mode, the size.
const BEFORE_OBJECT: usize = 40;
/// The bit of an entry's flags that says that there are more flags.
const EXTENDED: u16 = 0x4000;
/// The bits of an entry's flags that say how long its path is; all of them where it is longer than they can say.
const PATH_LENGTH: u16 = 0x0fff;

/// The longest path, in bytes: no system has longer ones.
const MAX_PATH: usize = 4096;
/// What else may follow the entries. What git does not know it refuses, or it does not matter.
const HARMLESS: &[&[u8]] = &[b"TREE", b"REUC", b"UNTR", b"FSMN", b"sdir"];

/// The extension that says where entries end.
const END_OF_ENTRIES: &[u8] = b"EOIE";
/// How long it is, without the sum in it.
const END_TABLE: usize = 12;

/// Returns whether `bytes` are a whole index whose entries all lie in the checkout, outside of directories of git.
///
/// An index says some things twice: how long a path is, and where things are. Git believes now the one, now the other, so both
/// must be the same.
pub(crate) fn is_sound(bytes: &[u8], objects: Objects) -> bool {
    let object = objects.length();
    if !has_sum(bytes, objects) {
        return false;
    }
    Entries::read(bytes, object).and_then(|entries| entries.extensions_agree(bytes, object)).unwrap_or(false)
}

/// Returns whether an index ends in the sum of what is before, or in none at all, as git leaves it where it is told to (`index.skipHash`).
fn has_sum(bytes: &[u8], objects: Objects) -> bool {
    let before = bytes.len().checked_sub(objects.length());
    let Some((content, sum)) = before.and_then(|end| bytes.split_at_checked(end)) else { return false };
    sum.iter().all(|byte| *byte == 0) || sum == objects.sum(content)
}

/// The entries of an index, all of which lie in the checkout.
struct Entries {
    count: u32,
    /// The entries that can be read without the one before: their number and where they begin.
    whole: Vec<(u32, u32)>,
    /// Where they end.
    end: usize,
}

impl Entries {
    /// Reads the entries; nothing where they are not all inside, or git would read them otherwise.
    fn read(bytes: &[u8], object: usize) -> Option<Self> {
        let mut rest = bytes.strip_prefix(b"DIRC")?;
        let version = number(&mut rest).filter(|version| (2..=4).contains(version))?;
        let count = number(&mut rest)?;
        let mut path: Vec<u8> = Vec::new();
        let mut whole = Vec::new();
        for entry in 0..count {
            let start = bytes.len() - rest.len();
            take(&mut rest, BEFORE_OBJECT + object)?;
            let flags = u16::from_be_bytes(take(&mut rest, 2)?.try_into().ok()?);
            if flags & EXTENDED != 0 {
                // The second version has none, and git reads them all the same.
                take(&mut rest, 2).filter(|_| version >= 3)?;
            }
            let kept = if version == 4 { path.len().checked_sub(offset(&mut rest)?)? } else { 0 };
            path.truncate(kept);
            let end = rest.iter().position(|byte| *byte == 0)?;
            path.extend_from_slice(take(&mut rest, end)?);
            // What is kept of the one before was looked at with that, but for a name that goes on.
            let looked_at = path[..kept].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
            let is_as_long = path.len().min(usize::from(PATH_LENGTH)) == usize::from(flags & PATH_LENGTH);
            if !is_as_long || path.len() > MAX_PATH || !is_inside(&path[looked_at..]) {
                return None;
            }
            // Entries of earlier versions are filled up to eight bytes, with one at least.
            let length = bytes.len() - rest.len() - start;
            take(&mut rest, if version == 4 { 1 } else { 8 - length % 8 })?;
            if kept == 0 {
                whole.push((entry, u32::try_from(start).ok()?));
            }
        }
        Some(Self { count, whole, end: bytes.len() - rest.len() })
    }

    /// Returns whether what comes behind the entries does not lead git to others.
    fn extensions_agree(&self, bytes: &[u8], object: usize) -> Option<bool> {
        let mut rest = &bytes[self.end..];
        // Git looks for the table of ends at this place, whatever else that belongs to.
        let place = bytes.len().checked_sub(END_TABLE + 2 * object);
        let mut is_hidden = place.is_some_and(|place| bytes[place..].starts_with(END_OF_ENTRIES));
        while rest.len() > object {
            is_hidden &= Some(bytes.len() - rest.len()) != place;
            let name = take(&mut rest, 4)?;
            let length = number(&mut rest)? as usize;
            let mut content = take(&mut rest, length)?;
            let agrees = match name {
                END_OF_ENTRIES => number(&mut content)? as usize == self.end,
                b"IEOT" => self.begin_where(content)?,
                name => HARMLESS.contains(&name),
            };
            if !agrees {
                return Some(false);
            }
        }
        Some(rest.len() == object && !is_hidden)
    }

    /// Returns whether a table says where these entries begin, all of them, for reading them at several places at once.
    fn begin_where(&self, mut table: &[u8]) -> Option<bool> {
        let _version = number(&mut table)?;
        let mut entry = 0u32;
        while !table.is_empty() {
            let begin = (entry, number(&mut table)?);
            self.whole.binary_search(&begin).ok()?;
            entry = entry.checked_add(number(&mut table)?)?;
        }
        Some(entry == self.count)
    }
}

/// Returns whether a path leads into the checkout, and not into a directory of git there, on any file system.
fn is_inside(path: &[u8]) -> bool {
    // That of a directory, where an index is sparse.
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let is_plain = |name: &[u8]| {
        let bare = without_ignored(name);
        let bare = bare.trim_ascii_end();
        let bare = bare.strip_suffix(b".").unwrap_or(bare);
        !name.is_empty()
            && name != b"."
            && name != b".."
            && !bare.eq_ignore_ascii_case(b".git")
            && !bare.eq_ignore_ascii_case(b"git~1")
    };
    path.split(|byte| *byte == b'/').all(is_plain)
}

/// Returns a name without the letters that the file system of macOS does not look at.
fn without_ignored(name: &[u8]) -> Cow<'_, [u8]> {
    let is_ignored = |letter: &char| matches!(letter, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    match str::from_utf8(name) {
        Ok(text) if !text.is_ascii() => {
            let seen: String = text.chars().filter(|letter| !is_ignored(letter)).collect();
            Cow::Owned(seen.into_bytes())
        }
        _ => Cow::Borrowed(name),
    }
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
            bytes.extend((path.len() as u16).min(PATH_LENGTH).to_be_bytes());
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
        let sum = if object == 20 { Objects::Sha1 } else { Objects::Sha256 }.sum(&bytes);
        bytes.extend(sum);
        bytes
    }

    /// Returns an index whose sum is left out, so that only what it holds is looked at.
    fn without_sum(mut index: Vec<u8>, objects: Objects) -> Vec<u8> {
        let end = index.len() - objects.length();
        index[end..].fill(0);
        index
    }

    const ALL: [Objects; 2] = [Objects::Sha1, Objects::Sha256];

    #[test]
    fn only_what_lies_in_the_checkout_is_sound() {
        let long = "x".repeat(4096);
        for (version, objects) in
            [2, 3, 4].into_iter().flat_map(|version| ALL.map(|objects| (version, objects)))
        {
            let check = |paths: &[&str]| is_sound(&index(version, objects.length(), paths), objects);
            let inside = ["a", "a/b.txt", "c/.gitignore", "d/", "e/...x", "f/gît", &long];
            assert!(check(&[]) && check(&inside), "{version} {objects:?}");
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
                ".g\u{200c}it/config",
            ] {
                assert!(!check(&["a", path, "z"]), "{version} {objects:?} {path}");
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
        assert!(!is_sound(&with_extension(&whole, *b"link", &[]), Objects::Sha1));
        assert!(!is_sound(b"", Objects::Sha1) && !is_sound(b"DIRC\0\0\0\x09\0\0\0\0", Objects::Sha1));
    }

    #[test]
    fn a_path_is_as_long_as_it_says() {
        let mut index = index(2, 20, &["a/b"]);
        let length = 12 + BEFORE_OBJECT + 20 + 1;
        assert_eq!(index[length], 3);
        // Git would look for the next entry further on.
        index[length] = 40;
        assert!(!is_sound(&without_sum(index, Objects::Sha1), Objects::Sha1));
    }

    #[test]
    fn an_index_is_read_the_way_of_its_repository() {
        // With longer names of objects the path begins behind the part that matters.
        let mut both = index(2, 20, &[".git/hooks\0\x02rq"]);
        both[12 + BEFORE_OBJECT + 20 + 1] = 10;
        both.truncate(both.len() - 30);
        both.extend([0; 32]);
        assert!(is_sound(&both, Objects::Sha256) && Entries::read(&both, 20).is_none());
    }

    #[test]
    fn tables_lead_to_the_same_entries() {
        for version in [2, 4] {
            let plain = index(version, 20, &["a", "a/b", "c"]);
            let end = plain.len() - 20 - 10;
            let starts: Vec<u32> =
                Entries::read(&plain, 20).unwrap().whole.iter().map(|(_, start)| *start).collect();
            let last = *starts.last().unwrap();
            let agrees = |name: [u8; 4], numbers: &[usize]| {
                let content: Vec<u8> = numbers.iter().flat_map(|one| (*one as u32).to_be_bytes()).collect();
                is_sound(&with_extension(&plain, name, &content), Objects::Sha1)
            };
            assert!(agrees(*b"EOIE", &[end, 0, 0, 0, 0, 0]) && !agrees(*b"EOIE", &[end - 8, 0]), "{version}");
            assert!(
                agrees(*b"IEOT", &[1, 12, 3]) && agrees(*b"IEOT", &[1, 12, 2, last as usize, 1]),
                "{version}"
            );
            for wrong in [&[1, 12, 2, last as usize - 4, 1][..], &[1, 12, 2], &[1, 20, 3], &[1, 12], &[]] {
                assert!(!agrees(*b"IEOT", wrong), "{version} {wrong:?}");
            }
        }
    }

    #[test]
    fn a_table_is_not_hidden_in_something_else() {
        let plain = index(2, 20, &["a"]);
        let end = plain.len() - 20 - 10;
        let mut table = b"EOIE\0\0\0\x18".to_vec();
        table.extend((end as u32).to_be_bytes());
        table.extend([0; 20]);
        let open = with_extension(&plain, *b"EOIE", &table[8..]);
        assert!(is_sound(&open, Objects::Sha1));
        assert!(!is_sound(&with_extension(&plain, *b"TREE", &table), Objects::Sha1));
    }

    #[test]
    fn more_flags_are_not_for_the_second_version() {
        for version in [2, 3] {
            let mut index = index(version, 20, &["abc/d"]);
            index[12 + BEFORE_OBJECT + 20] |= 0x40;
            index[12 + BEFORE_OBJECT + 20 + 1] -= 2;
            assert_eq!(is_sound(&without_sum(index, Objects::Sha1), Objects::Sha1), version == 3);
        }
    }

    fn with_extension(index: &[u8], name: [u8; 4], content: &[u8]) -> Vec<u8> {
        let (entries, _) = index.split_at(index.len() - 20);
        let index = [entries, &name, &(content.len() as u32).to_be_bytes(), content].concat();
        [index.as_slice(), &Objects::Sha1.sum(&index)].concat()
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
        for (version, threads) in [("2", "1"), ("4", "1"), ("2", "2"), ("4", "2")] {
            let tables = if threads == "1" { "false" } else { "true" };
            assert!(
                git(&["config", "index.skipHash", tables])
                    && git(&["config", "index.threads", threads])
                    && git(&["config", "index.recordOffsetTable", tables])
            );
            assert!(
                git(&["add", "."])
                    && git(&["update-index", "--force-write-index", "--index-version", version])
            );
            #[allow(clippy::disallowed_methods)]
            let index = std::fs::read(directory.path().join(".git/index")).unwrap();
            assert!(is_sound(&index, Objects::Sha1), "{version} {threads}");
        }
    }
}
