//! Unpacks archives within limits: regular files with safe paths and nothing else. The first entry that is
//! not one refuses all of it.

use std::io::{self, Cursor, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use repertoire::change::read_installed;
use repertoire_model::SkillPath;
use repertoire_model::patch::SkillFiles;
use tar::EntryType;

use crate::scratch::Scratch;
use crate::tree::{LIMITS, TreeFault, TreeWriter};
use crate::{Error, ErrorKind};

/// The largest archive, in bytes.
pub(crate) const MAX_PACKED: u64 = 10 * 1024 * 1024;

/// The most bytes of headers and padding beside the files of an archive.
const MAX_OVERHEAD: u64 = 32 * 1024 * 1024;

/// The most bytes of files for each byte of the archive, and the bytes of files that are allowed in any case.
const MAX_RATIO: u64 = 100;
const ALWAYS_ALLOWED: u64 = 1024 * 1024;

/// The bits of a mode that say the kind of a file, and the kind of a link.
const KIND_BITS: u32 = 0o170_000;
const LINK: u32 = 0o120_000;

/// The signature of the record at the end of a zip archive, and the place of the number of entries in it.
const ZIP_END: &[u8] = b"PK\x05\x06";
const ZIP_COUNT: usize = 10;

/// A directory that archives of macOS have for what other systems cannot keep.
const MAC_DIRECTORY: &str = "__MACOSX/";

/// Unpacks the archive `bytes` below the directory `prefix` of `tree`; `name` names it in errors.
pub(crate) fn unpack(name: &str, bytes: &[u8], prefix: &str, tree: &mut TreeWriter) -> Result<(), Error> {
    let refused = |reason: String| {
        Error::new(ErrorKind::Refused, format!("{name} is refused: {reason}")).hint("nothing was written")
    };
    let allowed = (bytes.len() as u64).saturating_mul(MAX_RATIO).max(ALWAYS_ALLOWED);
    let unpacker = ArchiveUnpacker { prefix, tree, allowed };
    let outcome = if bytes.starts_with(&[0x1f, 0x8b]) {
        let unpacked = MultiGzDecoder::new(bytes).take(LIMITS.bytes.min(allowed) + MAX_OVERHEAD);
        unpacker.unpack_tar(unpacked)
    } else if bytes.starts_with(b"PK") {
        unpacker.unpack_zip(bytes)
    } else if bytes.get(257..262) == Some(b"ustar") {
        unpacker.unpack_tar(bytes)
    } else {
        return Err(refused("it is neither zip nor tar nor tar.gz".to_owned()));
    };
    outcome.map_err(|fault| match fault {
        UnpackFault::Tree(TreeFault::Io(path, error)) => Error::io("write", &path, error),
        UnpackFault::Tree(fault) => refused(fault.to_string()),
        UnpackFault::Entry(reason) => refused(reason),
    })
}

/// Returns the number of entries that the end of a zip archive tells; `None` for one of more than 65,534.
fn zip_entries(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(ZIP_END.len()).rposition(|window| window == ZIP_END)?;
    let count = bytes.get(end + ZIP_COUNT..end + ZIP_COUNT + 2)?.try_into().ok()?;
    Some(u16::from_le_bytes(count)).filter(|count| *count < u16::MAX).map(usize::from)
}

enum UnpackFault {
    Tree(TreeFault),
    Entry(String),
}

impl From<TreeFault> for UnpackFault {
    fn from(fault: TreeFault) -> Self {
        Self::Tree(fault)
    }
}

impl From<io::Error> for UnpackFault {
    fn from(error: io::Error) -> Self {
        Self::Entry(format!("it is damaged: {error}"))
    }
}

impl From<zip::result::ZipError> for UnpackFault {
    fn from(error: zip::result::ZipError) -> Self {
        Self::Entry(format!("it is damaged: {error}"))
    }
}

/// An archive that is being unpacked.
struct ArchiveUnpacker<'t> {
    prefix: &'t str,
    tree: &'t mut TreeWriter,
    /// The number of bytes that its files may still have.
    allowed: u64,
}

impl ArchiveUnpacker<'_> {
    fn unpack_tar(mut self, archive: impl Read) -> Result<(), UnpackFault> {
        for entry in tar::Archive::new(archive).entries()? {
            let entry = entry?;
            let path = String::from_utf8(entry.path_bytes().into_owned())
                .map_err(|_| UnpackFault::Entry("the name of a file is not UTF-8".to_owned()))?;
            match entry.header().entry_type() {
                EntryType::Regular | EntryType::Continuous => {}
                EntryType::Directory | EntryType::XGlobalHeader => continue,
                EntryType::Symlink | EntryType::Link => {
                    return Err(UnpackFault::Entry(format!("`{path}` is a link")));
                }
                _ => return Err(UnpackFault::Entry(format!("`{path}` is not a regular file"))),
            }
            let is_executable = entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0);
            self.add(&path, is_executable, entry)?;
        }
        Ok(())
    }

    fn unpack_zip(mut self, bytes: &[u8]) -> Result<(), UnpackFault> {
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes))?;
        if archive.len() > LIMITS.files * 2 {
            return Err(TreeFault::TooMany(LIMITS.files).into());
        }
        // The library keeps the last of several entries of one name; another program may keep the first.
        if zip_entries(bytes).is_some_and(|count| count != archive.len()) {
            return Err(UnpackFault::Entry("two of its entries have the same name".to_owned()));
        }
        for number in 0..archive.len() {
            let entry = archive.by_index(number)?;
            let path = entry.name()?.into_owned();
            if entry.unix_mode().is_some_and(|mode| mode & KIND_BITS == LINK) {
                return Err(UnpackFault::Entry(format!("`{path}` is a link")));
            }
            if entry.is_dir() || path.starts_with(MAC_DIRECTORY) {
                continue;
            }
            let is_executable = entry.unix_mode().is_some_and(|mode| mode & 0o100 != 0);
            self.add(&path, is_executable, entry)?;
        }
        Ok(())
    }

    /// Writes a file, of which not much more is read than there is room for.
    fn add(&mut self, path: &str, is_executable: bool, entry: impl Read) -> Result<(), UnpackFault> {
        let mut bytes = Vec::new();
        entry.take(self.tree.room().min(self.allowed) + 1).read_to_end(&mut bytes)?;
        let size = bytes.len() as u64;
        if size > self.tree.room() {
            return Err(TreeFault::TooLarge(LIMITS.bytes).into());
        }
        self.allowed = self.allowed.checked_sub(size).ok_or_else(|| {
            UnpackFault::Entry(format!("its files have more than {MAX_RATIO} times the size of the archive"))
        })?;
        // As `tar .` writes it.
        let path = path.strip_prefix("./").unwrap_or(path);
        Ok(self.tree.add(&format!("{}{path}", self.prefix), is_executable, &bytes)?)
    }
}

/// The name of the file that makes a directory a skill.
const MANIFEST: &str = "SKILL.md";

/// Returns the files of the skill in the archive `bytes`, which is zip, tar or tar.gz. Its `SKILL.md` lies at
/// the top, or in the only directory there; hidden files are left out. The archive is unpacked in a scratch
/// directory in `scratch`.
pub fn unpack_skill(bytes: &[u8], scratch: &Path) -> Result<SkillFiles, Error> {
    if bytes.len() as u64 > MAX_PACKED {
        let message = format!("the archive has more than {} MiB", MAX_PACKED >> 20);
        return Err(Error::new(ErrorKind::Refused, message));
    }
    let scratch = Scratch::create(scratch)?;
    let root = scratch.path().join("tree");
    let mut tree = TreeWriter::create(&root, LIMITS)?;
    unpack("the archive", bytes, "", &mut tree)?;
    let unpacked = read_installed(&root).map_err(|error| {
        // The scratch directory does not concern the sender.
        let reason = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        Error::new(ErrorKind::Refused, format!("the archive is not a skill: {reason}"))
    })?;
    Ok(without_top(unpacked.unwrap_or_default().files))
}

/// Returns `files` without the directory that all of them are in, if there is one and the manifest is in it.
fn without_top(files: SkillFiles) -> SkillFiles {
    let is_at_top = files.keys().any(|path| path.as_str() == MANIFEST);
    let top = files.keys().next().and_then(|path| Some(path.as_str().split_once('/')?.0.to_owned()));
    let Some(top) = top.filter(|_| !is_at_top) else { return files };
    let stripped = |path: &SkillPath| {
        let rest = path.as_str().strip_prefix(&top)?.strip_prefix('/')?;
        SkillPath::new(rest).ok()
    };
    let moved: Option<SkillFiles> =
        files.iter().map(|(path, file)| Some((stripped(path)?, file.clone()))).collect();
    moved.unwrap_or(files)
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use super::*;
    use crate::tree::TreeLimits;

    /// Returns what is unpacked, or the reason that nothing is.
    fn unpacked(bytes: &[u8]) -> Result<Vec<String>, String> {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("tree");
        let mut tree = TreeWriter::create(&root, LIMITS).unwrap();
        unpack("a.zip", bytes, "", &mut tree).map_err(|error| error.to_string())?;
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        let mut found = Vec::new();
        let mut pending = vec![root.clone()];
        while let Some(path) = pending.pop() {
            for child in std::fs::read_dir(path).unwrap().map(|child| child.unwrap().path()) {
                if child.is_dir() {
                    pending.push(child);
                } else {
                    found.push(child.strip_prefix(&root).unwrap().display().to_string());
                }
            }
        }
        found.sort();
        Ok(found)
    }

    fn zip(entries: &[(&str, u32, &[u8])]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, mode, bytes) in entries {
            let options = zip::write::SimpleFileOptions::default().unix_permissions(*mode & 0o777);
            if mode & KIND_BITS == LINK {
                writer.add_symlink(*name, str::from_utf8(bytes).unwrap(), options).unwrap();
                continue;
            }
            writer.start_file(*name, options).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn tar(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, kind, bytes) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            if *kind == EntryType::Symlink || *kind == EntryType::Link {
                header.set_link_name("/etc/passwd").unwrap();
            }
            // The crate refuses to write such names itself.
            header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_cksum();
            builder.append(&header, *bytes).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        writer.write_all(bytes).unwrap();
        writer.finish().unwrap()
    }

    #[test]
    fn sound_archives_are_unpacked() {
        let expect = Ok(vec!["SKILL.md".to_owned(), "scripts/run.sh".to_owned()]);
        let regular = EntryType::Regular;
        let packed = tar(&[("./SKILL.md", regular, b"x"), ("scripts/run.sh", regular, b"y")]);
        assert_eq!(unpacked(&packed), expect);
        assert_eq!(unpacked(&gzip(&packed)), expect);
        let entries: [(&str, u32, &[u8]); 3] = [
            ("SKILL.md", 0o644, b"x"),
            ("scripts/run.sh", 0o755, b"y"),
            ("__MACOSX/._SKILL.md", 0o644, b"z"),
        ];
        assert_eq!(unpacked(&zip(&entries)), expect);
    }

    #[test]
    fn a_zip_archive_with_two_entries_of_one_name_is_refused() {
        let mut bytes = zip(&[("SKILL.md", 0o644, b"one"), ("SKILL.mx", 0o644, b"two")]);
        while let Some(place) = bytes.windows(8).position(|window| window == b"SKILL.mx") {
            bytes[place + 7] = b'd';
        }
        let error = unpacked(&bytes).unwrap_err();
        assert!(error.contains("two of its entries have the same name"), "{error}");
    }

    #[test]
    fn archives_that_lead_out_are_refused_as_a_whole() {
        let check = |bytes: &[u8], reason: &str| {
            let error = unpacked(bytes).unwrap_err();
            assert!(error.starts_with("a.zip is refused: ") && error.contains(reason), "{error}");
        };
        let regular = EntryType::Regular;
        for (path, reason) in [
            ("../x", "leads upwards"),
            ("/etc/x", "absolute"),
            ("a/../../x", "leads upwards"),
            ("a\\x", "not allowed"),
        ] {
            check(&tar(&[("SKILL.md", regular, b"x"), (path, regular, b"x")]), reason);
            check(&zip(&[("SKILL.md", 0o644, b"x"), (path, 0o644, b"x")]), reason);
        }
        check(&tar(&[("link", EntryType::Symlink, b"")]), "`link` is a link");
        check(&tar(&[("link", EntryType::Link, b"")]), "`link` is a link");
        check(&tar(&[("pipe", EntryType::Fifo, b"")]), "`pipe` is not a regular file");
        check(&zip(&[("link", 0o120_777, b"/etc/passwd")]), "`link` is a link");
        check(
            &tar(&[("SKILL.md", regular, b"x"), ("Skill.md", regular, b"x")]),
            "the same path on some systems",
        );
        check(b"plain text", "neither zip nor tar");
        check(b"PK\x03\x04nonsense", "damaged");
        check(&gzip(b"no tar at all, but long enough for a header?"), "damaged");
    }

    #[test]
    fn archive_bombs_are_refused() {
        let large = vec![0; usize::try_from(LIMITS.bytes).unwrap() + 1];
        let error = unpacked(&tar(&[("a", EntryType::Regular, &large)])).unwrap_err();
        assert!(error.contains("more than 100 MiB"), "{error}");
        // Files that pack very well are allowed up to a size.
        let mebibyte = vec![0; 1024 * 1024];
        let (half, most) = (&mebibyte[..mebibyte.len() / 2], &mebibyte[..]);
        assert!(unpacked(&gzip(&tar(&[("a", EntryType::Regular, most)]))).is_ok());
        assert!(unpacked(&zip(&[("a", 0o644, half), ("b", 0o644, half)])).is_ok());
        let reason = "its files have more than 100 times the size of the archive";
        for bomb in [
            gzip(&tar(&[("a", EntryType::Regular, &large)])),
            gzip(&tar(&[("a", EntryType::Regular, most), ("b", EntryType::Regular, b"x")])),
            zip(&[("a", 0o644, &large)]),
            zip(&[("a", 0o644, half), ("b", 0o644, half), ("c", 0o644, b"x")]),
        ] {
            let error = unpacked(&bomb).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        let names: Vec<String> = (0..11).map(|number| number.to_string()).collect();
        let entries: Vec<(&str, EntryType, &[u8])> =
            names.iter().map(|name| (name.as_str(), EntryType::Regular, &b""[..])).collect();
        let directory = tempfile::tempdir().unwrap();
        let mut tree = TreeWriter::create(directory.path(), TreeLimits { files: 10, bytes: 10 }).unwrap();
        let error = unpack("a.tar", &tar(&entries), "", &mut tree).unwrap_err();
        assert!(error.to_string().contains("more than 10 files"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn files_keep_the_right_to_be_executed_and_go_below_the_prefix() {
        use std::os::unix::fs::PermissionsExt as _;

        let directory = tempfile::tempdir().unwrap();
        let mut tree = TreeWriter::create(directory.path(), LIMITS).unwrap();
        unpack("a", &zip(&[("run.sh", 0o755, b"x"), ("SKILL.md", 0o644, b"x")]), "pdf/", &mut tree).unwrap();
        let mode = |name: &str| {
            directory.path().join("pdf").join(name).metadata().unwrap().permissions().mode() & 0o100
        };
        assert_eq!((mode("run.sh"), mode("SKILL.md")), (0o100, 0));
    }

    #[test]
    fn archives_that_are_cut_off_are_refused() {
        let regular = EntryType::Regular;
        let files = [("SKILL.md", regular, &[b'x'; 600][..]), ("a.md", regular, &[b'y'; 600])];
        let packed = tar(&files);
        // In the first file, in what fills its last block, in the second header and in the second file.
        for end in [700, 1400, 1700, 2100] {
            for cut in [packed[..end].to_vec(), gzip(&packed[..end])] {
                let error = unpacked(&cut).unwrap_err();
                assert!(error.contains("damaged"), "{end}: {error}");
            }
        }
        let zipped_tar = gzip(&packed);
        assert!(unpacked(&zipped_tar[..zipped_tar.len() / 2]).unwrap_err().contains("damaged"));
        let zipped = zip(&[("SKILL.md", 0o644, &[b'x'; 600])]);
        for end in 2..zipped.len() {
            assert!(unpacked(&zipped[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn the_number_of_entries_of_a_zip_archive_is_read_from_its_end() {
        let check = |bytes: &[u8], expect: Option<usize>| assert_eq!(zip_entries(bytes), expect);
        check(&zip(&[]), Some(0));
        check(&zip(&[("a", 0o644, b"x"), ("b", 0o644, b"y")]), Some(2));
        check(b"PK\x05\x06", None);
        check(b"", None);
        let mut many = b"PK\x05\x06".to_vec();
        many.extend([0xff; 18]);
        check(&many, None);
    }

    #[test]
    fn the_manifest_lies_at_the_top_or_in_the_only_directory() {
        let scratch = tempfile::tempdir().unwrap();
        let names = |files: &[&str]| -> Result<Vec<String>, String> {
            let entries: Vec<(&str, u32, &[u8])> =
                files.iter().map(|name| (*name, 0o644, &b"x"[..])).collect();
            let files = unpack_skill(&zip(&entries), scratch.path()).map_err(|error| error.to_string())?;
            Ok(files.keys().map(ToString::to_string).collect())
        };
        assert_eq!(names(&["SKILL.md", "a/b.md"]).unwrap(), ["SKILL.md", "a/b.md"]);
        assert_eq!(names(&["git/SKILL.md", "git/a/b.md", "git/.env"]).unwrap(), ["SKILL.md", "a/b.md"]);
        assert_eq!(names(&["git/SKILL.md", "pdf/SKILL.md"]).unwrap(), ["git/SKILL.md", "pdf/SKILL.md"]);
        assert!(names(&["../SKILL.md"]).unwrap_err().contains("refused"));
        assert!(unpack_skill(b"no archive", scratch.path()).is_err());
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0, "nothing is left");
    }
}
