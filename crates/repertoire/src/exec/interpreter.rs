//! Finds the program of a command, and what of its installation it needs to run.
//!
//! Most programs lie where everything may be read. Interpreters that people install for themselves do not: their program, their
//! libraries and nothing else of the directory they are installed in is made readable. A home directory never is.

use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::exec::{ExecError, ExecErrorKind};

/// Where programs are looked for where nobody says.
pub(crate) const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What of an installation a program needs: nothing that could hold settings or keys.
const PARTS: &[&str] = &["lib", "lib64", "lib32", "libexec", "include", "pyvenv.cfg"];

/// Where home directories are.
const HOMES: &[&str] = &["/home", "/Users"];

/// How many links and first lines of scripts are followed.
const MAX_STEPS: usize = 8;

/// The longest first line of a script that is looked at, in bytes; that of the kernel.
const MAX_FIRST_LINE: usize = 256;

/// A program, and what it needs beyond what everything may read.
#[derive(Debug, Default)]
pub(crate) struct Program {
    /// The file to start.
    pub(crate) path: PathBuf,
    /// Files and directories it needs, beyond those in `system`.
    pub(crate) needs: Vec<PathBuf>,
    /// Directories that are to be in `PATH` so that scripts find the same interpreter.
    pub(crate) directories: Vec<PathBuf>,
}

/// Finds `name` as a shell would: in `search` if it has no slash, else beneath `skill`.
pub(crate) fn find(
    name: &std::ffi::OsStr,
    skill: &Path,
    search: &str,
    system: &[PathBuf],
) -> Result<Program, ExecError> {
    let has_slash = name.as_bytes().contains(&b'/');
    let found = if has_slash {
        let path = skill.join(name);
        is_executable(&path).then_some(path)
    } else {
        look_up(name, search)
    };
    let Some(path) = found else {
        return Err(ExecError::new(ExecErrorKind::CommandNotFound).at(name));
    };
    let mut program = Program { path: path.clone(), ..Program::default() };
    let is_visible =
        |path: &Path| path.starts_with(skill) || system.iter().any(|root| path.starts_with(root));
    let mut pending = vec![path];
    for _ in 0..MAX_STEPS {
        let Some(path) = pending.pop() else { break };
        if !is_visible(&path) {
            require(&mut program, &path);
        }
        if let Ok(target) = fs::read_link(&path) {
            pending.push(path.parent().unwrap_or(Path::new("/")).join(target));
            continue;
        }
        // A directory on the way may be a link too.
        if let Ok(real) = path.canonicalize()
            && real != path
        {
            pending.push(real);
            continue;
        }
        pending.extend(interpreter(&path, search));
    }
    Ok(program)
}

/// Returns the first file of that name in `search` that can be started. What merely stands for another program is left out.
fn look_up(name: &std::ffi::OsStr, search: &str) -> Option<PathBuf> {
    search.split(':').map(Path::new).filter(|directory| directory.is_absolute()).find_map(|directory| {
        if directory.ends_with("shims") {
            return behind_shim(directory, name);
        }
        Some(directory.join(name)).filter(|path| is_executable(path))
    })
}

/// Returns the program that a shim of pyenv and its kin would start in an empty directory.
fn behind_shim(shims: &Path, name: &std::ffi::OsStr) -> Option<PathBuf> {
    let root = shims.parent()?;
    let mut text = String::new();
    fs::File::open(root.join("version")).ok()?.take(4096).read_to_string(&mut text).ok()?;
    let versions =
        text.split_whitespace().filter(|version| !version.contains('/') && !version.starts_with('.'));
    versions
        .map(|version| root.join("versions").join(version).join("bin").join(name))
        .find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Adds a program outside of the system's directories: the file itself and the libraries beside its `bin`.
fn require(program: &mut Program, path: &Path) {
    program.needs.push(path.to_owned());
    let Some(directory) = path.parent() else { return };
    let Some(prefix) = directory.parent().filter(|_| directory.ends_with("bin")) else { return };
    // Neither a home directory nor anything above one.
    let depth = if HOMES.iter().any(|homes| prefix.starts_with(homes)) { 4 } else { 3 };
    if prefix.components().count() < depth {
        return;
    }
    program
        .needs
        .extend(PARTS.iter().map(|part| prefix.join(part)).filter(|part| part.try_exists().unwrap_or(false)));
    program.directories.push(directory.to_owned());
}

/// Returns the programs that the first line of a script names.
fn interpreter(path: &Path, search: &str) -> Option<PathBuf> {
    let mut line = Vec::new();
    fs::File::open(path).ok()?.take(MAX_FIRST_LINE as u64).read_to_end(&mut line).ok()?;
    let line = line.strip_prefix(b"#!")?;
    let line = std::str::from_utf8(line.split(|byte| *byte == b'\n').next()?).ok()?;
    let mut words = line.split_whitespace();
    let first = Path::new(words.next()?);
    if !first.ends_with("env") {
        return Some(first.to_owned());
    }
    let name = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
    look_up(std::ffi::OsStr::new(name), search)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn executable(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn an_installation_of_ones_own_is_read_in_part() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let prefix = home.join(".pyenv/versions/3.12.1");
        executable(&prefix.join("bin/python3.12"), "elf");
        symlink("python3.12", prefix.join("bin/python3")).unwrap();
        fs::create_dir_all(prefix.join("lib/python3.12")).unwrap();
        fs::create_dir_all(prefix.join("etc")).unwrap();
        executable(&home.join(".pyenv/shims/python3"), "#!/usr/bin/env bash\n");
        fs::write(home.join(".pyenv/version"), "3.12.1\n").unwrap();
        let search = format!("{}:/usr/bin", home.join(".pyenv/shims").display());
        let program = find("python3".as_ref(), Path::new("/skill"), &search, &["/usr".into()]).unwrap();
        assert_eq!(program.path, prefix.join("bin/python3"));
        assert_eq!(
            program.needs,
            [
                prefix.join("bin/python3"),
                prefix.join("lib"),
                prefix.join("bin/python3.12"),
                prefix.join("lib")
            ]
        );
        assert!(program.needs.iter().all(|need| !home.starts_with(need)));
    }

    #[test]
    fn a_script_needs_its_interpreter() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        executable(&home.join("tools/bin/own"), "elf");
        executable(&home.join("skill/run"), "#!/usr/bin/env -S own --flag\n");
        let search = home.join("tools/bin").display().to_string();
        let program = find("./run".as_ref(), &home.join("skill"), &search, &["/usr".into()]).unwrap();
        assert!(program.needs.contains(&home.join("tools/bin/own")), "{program:?}");
    }

    #[test]
    fn a_home_directory_is_no_installation() {
        for path in ["/root/bin/x", "/home/u/bin/x", "/bin/x", "/usr/bin/env"] {
            let mut program = Program::default();
            require(&mut program, Path::new(path));
            // Of `/usr` nothing is taken either: the prefix is too near to the root.
            assert_eq!((program.needs.len(), program.directories.len()), (1, 0), "{path}");
        }
    }

    #[test]
    fn what_is_not_there_is_said() {
        let error = find("no-such".as_ref(), Path::new("/skill"), "/usr/bin:relative:", &[]).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::CommandNotFound);
    }
}
