//! All files of a skill's directory, as installers hash them: hidden ones too, links left out.

use std::fs;
use std::path::Path;

use repertoire::regular_file;

/// The most files of a skill that are hashed.
const MAX_FILES: usize = 2_000;

/// The most bytes of a skill that are hashed.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The deepest directory below a skill that is looked at.
const MAX_DEPTH: usize = 16;

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstalledFile {
    /// Its path in the skill, with `/`.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// True if its owner may execute it.
    pub is_executable: bool,
}

/// The regular files below a skill's directory, without those below `.git` and `node_modules`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstalledFiles {
    /// The files, sorted by path.
    pub files: Vec<InstalledFile>,
    /// The reason that they are not all there: one cannot be read, or there are too many.
    pub fault: Option<String>,
}

impl InstalledFiles {
    /// Reads the files below `directory`.
    pub fn read(directory: &Path) -> Self {
        let mut reader = Reader { found: Self::default(), bytes: 0 };
        if let Err(fault) = reader.read(directory, "", 0) {
            reader.found.fault = Some(fault);
        }
        reader.found.files.sort_by(|a, b| a.path.cmp(&b.path));
        reader.found
    }

    /// Returns `true` if every file is text.
    pub(super) fn are_text(&self) -> bool {
        self.files.iter().all(|file| std::str::from_utf8(&file.bytes).is_ok())
    }
}

struct Reader {
    found: InstalledFiles,
    bytes: u64,
}

impl Reader {
    fn read(&mut self, directory: &Path, prefix: &str, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err("its directories are nested too deeply".to_owned());
        }
        let failed = |error: std::io::Error| format!("it cannot be read: {error}");
        for (count, entry) in fs::read_dir(directory).map_err(failed)?.enumerate() {
            if count >= MAX_FILES {
                return Err(format!("it has more than {MAX_FILES} files"));
            }
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().into_string().map_err(|_| "a name is not UTF-8".to_owned())?;
            let path = format!("{prefix}{name}");
            // The type is that of the entry itself, so links are not followed.
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() && !matches!(name.as_str(), ".git" | "node_modules") {
                self.read(&entry.path(), &format!("{path}/"), depth + 1)?;
            } else if kind.is_file() {
                if self.found.files.len() >= MAX_FILES {
                    return Err(format!("it has more than {MAX_FILES} files"));
                }
                let left = MAX_BYTES.saturating_sub(self.bytes);
                let bytes = regular_file::read_no_follow(&entry.path(), left).map_err(failed)?;
                self.bytes += bytes.len() as u64;
                let is_executable = is_executable(&entry);
                self.found.files.push(InstalledFile { path, bytes, is_executable });
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
fn is_executable(entry: &fs::DirEntry) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    entry.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o100 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &fs::DirEntry) -> bool {
    false
}
