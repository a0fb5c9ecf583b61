//! Finds the program of a command, and the parts of its installation that it needs.
//!
//! Most programs lie in directories that every command may read. For an interpreter that a user installed
//! elsewhere, only its program and its libraries are made readable, never a home directory.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::workplace::{HOMES, lies_in};
use crate::{ExecError, ExecErrorKind};

/// The default search path of programs.
pub(crate) const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Entries of an installation that a program needs: none that could contain settings or keys.
const PARTS: &[&str] = &["lib", "lib64", "lib32", "libexec", "include", "pyvenv.cfg"];

/// The most symbolic links and shebang lines that are followed.
const MAX_STEPS: usize = 8;

/// The longest shebang line that is read, in bytes, as in the kernel.
const MAX_FIRST_LINE: usize = 256;

/// The paths of `env`, which finds another program by its name.
const ENV: &[&[u8]] = &[b"/usr/bin/env", b"/bin/env"];

/// A program, and the files it needs that not every command may read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Program {
    /// The file to start.
    pub(crate) path: PathBuf,
    /// Files and directories that it needs outside of the system's directories.
    pub(crate) needs: Vec<PathBuf>,
    /// Directories that must be in `PATH` so that scripts find the same interpreter.
    pub(crate) directories: Vec<PathBuf>,
}

/// Finds `name` as a shell would: in `search` if it has no slash, else relative to `skill`.
///
/// Only programs that the host's search path finds by bare name become readable, never paths that a file or
/// link of the skill names. Links in `workplaces` are not followed either: commands may have created them.
pub(crate) fn find(
    name: &OsStr,
    skill: &Path,
    search: &str,
    system: &[PathBuf],
    workplaces: &[PathBuf],
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
    let mut finder = Finder {
        program: Program { path: path.clone(), ..Program::default() },
        skill: &skill.canonicalize().unwrap_or_else(|_| skill.to_owned()),
        search,
        system,
        workplaces,
    };
    let real = path.canonicalize().unwrap_or_else(|_| path.clone());
    if !has_slash && !real.starts_with(finder.skill) {
        finder.follow(path);
    } else if real.starts_with(finder.skill) {
        if let Some(interpreter) = finder.interpreter(&real, ScriptAuthor::Skill) {
            finder.follow(interpreter);
        }
    } else if let Some(own) = finder.same_by_name(&path).filter(|_| !path.starts_with(finder.skill)) {
        // An absolute path to the file that the bare name would find.
        finder.follow(own);
    }
    Ok(finder.program)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScriptAuthor {
    /// The host, whose programs are trusted.
    Host,
    /// The skill, which is not trusted.
    Skill,
}

/// A search for the files that a program needs.
struct Finder<'a> {
    program: Program,
    skill: &'a Path,
    search: &'a str,
    system: &'a [PathBuf],
    workplaces: &'a [PathBuf],
}

impl Finder<'_> {
    /// Adds the files that a program of the host needs, following symbolic links and shebang lines.
    fn follow(&mut self, path: PathBuf) {
        let mut next = Some(path);
        for _ in 0..MAX_STEPS {
            let Some(path) = next.take() else { break };
            if path.starts_with(self.skill) || lies_in(&path, self.workplaces) {
                break;
            }
            if !self.system.iter().any(|root| path.starts_with(root)) {
                require(&mut self.program, &path);
            }
            if let Ok(target) = fs::read_link(&path) {
                next = Some(path.parent().unwrap_or(Path::new("/")).join(target));
                continue;
            }
            // A parent directory may be a symbolic link too.
            next = match path.canonicalize() {
                Ok(real) if real != path => Some(real),
                _ => self.interpreter(&path, ScriptAuthor::Host),
            };
        }
    }

    /// Returns the program of the host that the shebang line of a script names, if it may be made readable.
    fn interpreter(&self, script: &Path, author: ScriptAuthor) -> Option<PathBuf> {
        let mut line = Vec::new();
        fs::File::open(script).ok()?.take(MAX_FIRST_LINE as u64).read_to_end(&mut line).ok()?;
        let (interpreter, argument) = shebang(&line)?;
        if ENV.contains(&interpreter) {
            return look_up(OsStr::new(env_name(argument)?), self.search);
        }
        let path = Path::new(OsStr::from_bytes(interpreter));
        // Scripts of an installation name the interpreter in their own directory.
        let is_beside =
            author == ScriptAuthor::Host && path.parent() == script.parent() && is_executable(path);
        if is_beside { Some(path.to_owned()) } else { self.same_by_name(path) }
    }

    /// Returns the program that the file name of an absolute path finds, if it is the same file.
    fn same_by_name(&self, path: &Path) -> Option<PathBuf> {
        let found = look_up(path.file_name().filter(|_| path.is_absolute())?, self.search)?;
        (found.canonicalize().ok()? == path.canonicalize().ok()?).then_some(found)
    }
}

/// Splits a shebang line into interpreter and argument as the kernel does: only at spaces and tabs.
fn shebang(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = bytes.strip_prefix(b"#!")?;
    let end = line.iter().position(|byte| *byte == b'\n');
    // A truncated line could name another program.
    let line = match end {
        Some(end) => &line[..end],
        None if bytes.len() < MAX_FIRST_LINE => line,
        None => return None,
    };
    let line = trimmed(line);
    let end = line.iter().position(|byte| is_blank(*byte)).unwrap_or(line.len());
    let (interpreter, argument) = line.split_at(end);
    let is_plain = interpreter.starts_with(b"/") && !line.contains(&0);
    is_plain.then_some((interpreter, trimmed(argument)))
}

/// Returns the name of the program that `env` would find: its only argument, or the first word after `-S`.
/// Other options are not supported.
fn env_name(argument: &[u8]) -> Option<&str> {
    let name = match argument.strip_prefix(b"-S") {
        Some(rest) if rest.first().is_some_and(|byte| is_blank(*byte)) => {
            trimmed(rest).split(|byte| is_blank(*byte)).next()?
        }
        Some(_) => return None,
        None => argument,
    };
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._+-".contains(byte);
    let is_name = name.first().is_some_and(u8::is_ascii_alphanumeric) && name.iter().all(is_plain);
    std::str::from_utf8(name).ok().filter(|_| is_name)
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn trimmed(bytes: &[u8]) -> &[u8] {
    let start = bytes.iter().position(|byte| !is_blank(*byte)).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|byte| !is_blank(*byte)).map_or(start, |last| last + 1);
    &bytes[start..end]
}

/// Returns the first executable file of that name in `search`. A shim is replaced by the program behind it.
fn look_up(name: &OsStr, search: &str) -> Option<PathBuf> {
    search.split(':').map(Path::new).filter(|directory| directory.is_absolute()).find_map(|directory| {
        if directory.ends_with("shims") {
            return behind_shim(directory, name);
        }
        Some(directory.join(name)).filter(|path| is_executable(path))
    })
}

/// Returns the program that a shim of pyenv or a similar version manager would start in an empty directory.
fn behind_shim(shims: &Path, name: &OsStr) -> Option<PathBuf> {
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

/// Adds a program outside the system's directories: the file, and the libraries beside its `bin` directory.
fn require(program: &mut Program, path: &Path) {
    program.needs.push(path.to_owned());
    let Some(directory) = path.parent() else { return };
    let Some(prefix) = directory.parent().filter(|_| directory.ends_with("bin")) else { return };
    // The prefix must not be a home directory or one of its parents.
    let depth = if HOMES.iter().any(|homes| prefix.starts_with(homes)) { 4 } else { 3 };
    if prefix.components().count() < depth {
        return;
    }
    program
        .needs
        .extend(PARTS.iter().map(|part| prefix.join(part)).filter(|part| part.try_exists().unwrap_or(false)));
    program.directories.push(directory.to_owned());
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
    fn only_programs_and_libraries_of_an_installation_are_readable() {
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
        let program = find("python3".as_ref(), Path::new("/skill"), &search, &["/usr".into()], &[]).unwrap();
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
        let program = find("./run".as_ref(), &home.join("skill"), &search, &["/usr".into()], &[]).unwrap();
        assert!(program.needs.contains(&home.join("tools/bin/own")), "{program:?}");
    }

    #[test]
    fn a_script_of_a_skill_makes_only_programs_in_path_readable() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let shown = home.display();
        let skill = home.join("skill");
        executable(&home.join("tools/bin/own"), "elf");
        executable(&home.join(".local/bin/x"), "elf");
        fs::create_dir_all(home.join(".local/lib")).unwrap();
        fs::create_dir_all(home.join(".ssh")).unwrap();
        executable(&skill.join("decoy"), &format!("#!{shown}/.ssh\n"));
        symlink(home.join(".local/bin/x"), skill.join("link")).unwrap();
        symlink(&home, skill.join("root")).unwrap();
        let long = "x".repeat(300);
        for line in [
            format!("#!/usr/bin/env -S -u {shown}/skill/decoy sh"),
            format!("#!/usr/bin/env -S {shown}/skill/decoy"),
            format!("#!/usr/bin/env {shown}/skill/decoy"),
            "#!/usr/bin/env -S A=b own".to_owned(),
            "#!/usr/bin/env -S\\_own".to_owned(),
            "#!/usr/bin/env own --flag".to_owned(),
            "#!/usr/bin/env\u{a0}own".to_owned(),
            format!("#!{shown}/.ssh"),
            format!("#!{shown}/.local/bin/x"),
            format!("#!{shown}/skill/decoy"),
            format!("#!{shown}/skill/link"),
            "#!root/.ssh".to_owned(),
            format!("#!/usr/bin/env own{long}"),
        ] {
            executable(&skill.join("run"), &format!("{line}\n"));
            let search = home.join("tools/bin").display().to_string();
            let program = find("./run".as_ref(), &skill, &search, &["/usr".into()], &[]).unwrap();
            assert!(program.needs.is_empty() && program.directories.is_empty(), "{line}: {program:?}");
        }
        for name in ["./link", "../.local/bin/x", "root/.local/bin/x"] {
            let program = find(name.as_ref(), &skill, "/usr/bin", &["/usr".into()], &[]).unwrap();
            assert!(program.needs.is_empty(), "{name}: {program:?}");
        }
        for line in
            ["#!/usr/bin/env own", "#! \t/usr/bin/env -S\town  -x", &format!("#!{shown}/tools/bin/own")]
        {
            executable(&skill.join("run"), line);
            let search = home.join("tools/bin").display().to_string();
            let program = find("./run".as_ref(), &skill, &search, &["/usr".into()], &[]).unwrap();
            assert!(program.needs.contains(&home.join("tools/bin/own")), "{line}: {program:?}");
        }
    }

    #[test]
    fn programs_are_not_searched_in_workplaces() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let project = home.join("project");
        executable(&home.join(".priv/bin/tool"), "elf");
        fs::create_dir_all(home.join(".priv/lib")).unwrap();
        fs::create_dir_all(project.join(".venv/bin")).unwrap();
        symlink(home.join(".priv/bin/tool"), project.join(".venv/bin/mytool")).unwrap();
        symlink(&project, home.join("link")).unwrap();
        executable(&home.join("own/bin/other"), "elf");
        symlink(project.join(".venv/bin/mytool"), home.join("own/bin/linked")).unwrap();
        let shown = home.display();
        let given = format!(
            "{shown}/project/.venv/bin:{shown}/link/.venv/bin:{shown}/link/later/bin:{shown}/own/bin:bin:"
        );
        let workplaces = [project];
        let search = crate::workplace::search_outside(&given, &workplaces);
        assert_eq!(search, format!("{shown}/own/bin"));
        let find =
            |name: &str| find(name.as_ref(), Path::new("/skill"), &search, &["/usr".into()], &workplaces);
        assert_eq!(find("mytool").unwrap_err().kind(), ExecErrorKind::CommandNotFound);
        assert!(find("other").unwrap().needs.contains(&home.join("own/bin/other")));
        // The user's own link leads to a link that a command may have created, which is not followed.
        let linked = find("linked").unwrap();
        assert!(!linked.needs.iter().any(|need| need.starts_with(home.join(".priv"))), "{linked:?}");
    }

    #[test]
    fn a_home_directory_is_not_an_installation() {
        for path in ["/root/bin/x", "/home/u/bin/x", "/bin/x", "/usr/bin/env"] {
            let mut program = Program::default();
            require(&mut program, Path::new(path));
            // `/usr` is not an installation either: it is too close to the root.
            assert_eq!((program.needs.len(), program.directories.len()), (1, 0), "{path}");
        }
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let error =
            find("no-such".as_ref(), Path::new("/skill"), "/usr/bin:relative:", &[], &[]).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::CommandNotFound);
    }
}
