//! The way in which this program was installed, the command that updates it, and other programs of its name.

use std::fs;
use std::path::{Component, Path, PathBuf};

use repertoire::regular_file;

use crate::workspace::environment::{self, Env};
use crate::workspace::shell_word;

/// The name of the package in every registry.
pub const PACKAGE: &str = "repertoire-cli";

/// The file name of this program.
const PROGRAM: &str = if cfg!(windows) { "rep.exe" } else { "rep" };

/// The most bytes of a tool's record of what it installed.
const MAX_RECORD_BYTES: u64 = 4 * 1024 * 1024;

/// The tool that put this program in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installer {
    /// `uv tool install`.
    Uv,
    /// `uvx`, which keeps it in a cache.
    Uvx,
    /// pipx.
    Pipx,
    /// pip, with the program of its environment.
    Pip(PathBuf),
    /// npm, for all projects.
    NpmGlobal,
    /// npm, for the project in this directory.
    Npm(PathBuf),
    /// `npx`, which keeps it in a cache.
    Npx,
    /// pnpm, for all projects.
    Pnpm,
    /// Bun, for all projects.
    Bun,
    /// `cargo install`, with the command that installs from the same place.
    Cargo(String),
    /// dpkg.
    Debian,
    /// cargo, in this clone.
    Clone(PathBuf),
    /// A person, out of an archive.
    Archive,
}

/// The running program and its installer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// The program, links resolved.
    pub program: PathBuf,
    /// The tool that put it there.
    pub installer: Installer,
}

impl Installation {
    /// Returns the installation of the program that runs; `None` if the system does not tell its place.
    pub fn find(env: &Env) -> Option<Self> {
        let program = fs::canonicalize(env.executable.as_ref()?).ok()?;
        let installer = installer(&program, Path::new("/var/lib/dpkg/info"));
        Some(Self { program, installer })
    }

    /// Returns the installer in words, as in `installed with pipx`.
    pub fn description(&self) -> &'static str {
        match self.installer {
            Installer::Uv => "installed with uv",
            Installer::Uvx => "run by uvx",
            Installer::Pipx => "installed with pipx",
            Installer::Pip(_) => "installed with pip",
            Installer::NpmGlobal => "installed with npm",
            Installer::Npm(_) => "installed with npm in a project",
            Installer::Npx => "run by npx",
            Installer::Pnpm => "installed with pnpm",
            Installer::Bun => "installed with Bun",
            Installer::Cargo(_) => "installed with cargo",
            Installer::Debian => "installed as a Debian package",
            Installer::Clone(_) => "built in a clone",
            Installer::Archive => "unpacked from an archive",
        }
    }

    /// Returns the command that brings this installation up to date; `target` is the platform in the names of
    /// archives.
    pub fn update_command(&self, target: &str) -> String {
        let word = |path: &Path| shell_word(&path.display().to_string());
        let releases = concat!(env!("CARGO_PKG_REPOSITORY"), "/releases/latest/download");
        match &self.installer {
            Installer::Uv => format!("uv tool upgrade {PACKAGE}"),
            Installer::Uvx => format!("uvx {PACKAGE}@latest --version"),
            Installer::Pipx => format!("pipx upgrade {PACKAGE}"),
            Installer::Pip(python) => format!("{} -m pip install --upgrade {PACKAGE}", word(python)),
            Installer::NpmGlobal => format!("npm install --global {PACKAGE}@latest"),
            Installer::Npm(project) => format!("npm install --prefix {} {PACKAGE}@latest", word(project)),
            Installer::Npx => format!("npx --yes {PACKAGE}@latest --version"),
            Installer::Pnpm => format!("pnpm add --global {PACKAGE}@latest"),
            Installer::Bun => format!("bun add --global {PACKAGE}@latest"),
            Installer::Cargo(command) => command.clone(),
            Installer::Debian => {
                let file = format!("{PACKAGE}_{}.deb", debian_architecture());
                format!("curl -fLO {releases}/{file} && sudo apt install ./{file}")
            }
            Installer::Clone(clone) => {
                let (clone, profile) = (word(clone), self.program.parent().and_then(Path::file_name));
                let options = match profile.and_then(|name| name.to_str()) {
                    Some("debug") | None => String::new(),
                    Some(profile) => format!(" --profile {}", shell_word(profile)),
                };
                format!("cd {clone} && git pull && cargo build --package {PACKAGE}{options}")
            }
            Installer::Archive => {
                let archive = format!("{PACKAGE}-{target}");
                let directory = self.program.parent().unwrap_or(Path::new("."));
                let unpack = format!("tar -xz -C {} --strip-components 1 {archive}/rep", word(directory));
                format!("curl -fL {releases}/{archive}.tar.gz | {unpack}")
            }
        }
    }
}

/// Returns Debian's name of this program's architecture.
fn debian_architecture() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }
}

/// Returns the installer of `program`, a path without links; `packages` are dpkg's records.
fn installer(program: &Path, packages: &Path) -> Installer {
    let has = |name: &str| program.components().any(|part| part == Component::Normal(name.as_ref()));
    let directory = program.parent().unwrap_or(program);
    let prefix = directory.parent().unwrap_or(directory);
    if let Some(modules) = program.ancestors().filter(|path| path.ends_with("node_modules")).last() {
        let project = modules.parent().unwrap_or(modules);
        return match () {
            () if has("_npx") => Installer::Npx,
            () if has("pnpm") => Installer::Pnpm,
            () if has(".bun") && has("global") => Installer::Bun,
            // A project has its own description; the directory of all projects has not.
            () if is_file(&project.join("package.json")) => Installer::Npm(project.to_owned()),
            () => Installer::NpmGlobal,
        };
    }
    if has_python_package(prefix) {
        return match () {
            () if has("uv") && has("tools") => Installer::Uv,
            () if has("archive-v0") => Installer::Uvx,
            () if has("pipx") => Installer::Pipx,
            () => {
                let own = ["python3", "python.exe"].map(|name| directory.join(name));
                let own = own.into_iter().find(|python| is_file(python));
                Installer::Pip(own.unwrap_or_else(|| PathBuf::from("python3")))
            }
        };
    }
    if let Some(command) = cargo_command(&prefix.join(".crates.toml")) {
        return Installer::Cargo(command);
    }
    let record = regular_file::read(&packages.join(format!("{PACKAGE}.list")), MAX_RECORD_BYTES);
    let line = program.to_string_lossy();
    if record.is_ok_and(|text| String::from_utf8_lossy(&text).lines().any(|file| file == line)) {
        return Installer::Debian;
    }
    let builds = program.ancestors().filter(|path| path.ends_with("target")).filter_map(Path::parent);
    let clone = builds.into_iter().find(|directory| is_file(&directory.join("crates/cli/Cargo.toml")));
    clone.map_or(Installer::Archive, |clone| Installer::Clone(clone.to_owned()))
}

fn is_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// Returns `true` if an environment of Python below `prefix` has the package.
fn has_python_package(prefix: &Path) -> bool {
    let names = |directory: PathBuf| {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect::<Vec<String>>()
    };
    let versions = names(prefix.join("lib")).into_iter().filter(|name| name.starts_with("python3"));
    let mut packages = vec![prefix.join("Lib/site-packages")];
    for version in versions {
        packages.extend(
            ["site-packages", "dist-packages"].map(|name| prefix.join("lib").join(&version).join(name)),
        );
    }
    let is_record = |name: &String| name.starts_with("repertoire_cli-") && name.ends_with(".dist-info");
    packages.into_iter().any(|directory| names(directory).iter().any(is_record))
}

/// Returns the command that installs the crate again that the record of cargo in `file` names: a line such as
/// `"repertoire-cli 0.1.0 (path+file:///home/a/repertoire/crates/cli)" = ["rep"]`.
fn cargo_command(file: &Path) -> Option<String> {
    let text = regular_file::read(file, MAX_RECORD_BYTES).ok()?;
    let text = String::from_utf8_lossy(&text);
    let source = text.lines().find_map(|line| {
        let rest = line.trim_start().strip_prefix('"')?.strip_prefix(PACKAGE)?.strip_prefix(' ')?;
        rest.split_once('(')?.1.split_once(')').map(|(source, _)| source)
    })?;
    Some(match source.split_once('+') {
        Some(("path", path)) => {
            let path = path.strip_prefix("file://").unwrap_or(path);
            let is_clone = Path::new(path)
                .ancestors()
                .any(|directory| fs::symlink_metadata(directory.join(".git")).is_ok());
            let path = shell_word(path);
            let pull = if is_clone { format!("git -C {path} pull && ") } else { String::new() };
            format!("{pull}cargo install --locked --path {path}")
        }
        Some(("git", url)) => {
            let url = url.split('#').next().unwrap_or(url);
            let (url, reference) = url.split_once('?').unwrap_or((url, ""));
            // `branch=main` is the option `--branch main`.
            let reference =
                reference.split_once('=').map(|(kind, name)| format!(" --{kind} {}", shell_word(name)));
            format!(
                "cargo install --locked --git {}{} {PACKAGE}",
                shell_word(url),
                reference.unwrap_or_default()
            )
        }
        _ => format!("cargo install --locked {PACKAGE}"),
    })
}

/// Returns the programs on the search path that are called as this one, links resolved, in the order in which
/// a shell finds them.
pub fn programs_on_path(env: &Env) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for directory in env.paths(environment::PATH) {
        let path = directory.join(PROGRAM);
        let program = fs::canonicalize(&path).ok().filter(|program| is_file(program));
        // Two directories of the path may be one.
        if let Some(program) = program.filter(|program| !found.contains(program)) {
            found.push(program);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the description and the command for the program at `path`, with `files` beside it.
    fn check(path: &str, files: &[(&str, &str)], description: &str, command: &str) {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for (name, text) in files.iter().chain(&[(path, "")]) {
            let file = root.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text.replace("[ROOT]", &root.display().to_string())).unwrap();
        }
        let program = root.join(path);
        let installer = installer(&program, &root.join("dpkg"));
        let found = Installation { program, installer };
        assert_eq!(found.description(), description, "{path}");
        let shown =
            found.update_command("x86_64-unknown-linux-gnu").replace(&root.display().to_string(), "[ROOT]");
        assert_eq!(shown, command, "{path}");
    }

    #[test]
    fn packages_of_python_are_told_apart_by_their_place() {
        let record = "lib/python3.12/site-packages/repertoire_cli-0.1.0.dist-info/METADATA";
        let check = |prefix: &str, description: &str, command: &str| {
            check(&format!("{prefix}/bin/rep"), &[(&format!("{prefix}/{record}"), "")], description, command);
        };
        check("share/uv/tools/repertoire-cli", "installed with uv", "uv tool upgrade repertoire-cli");
        check("uv/archive-v0/aB3", "run by uvx", "uvx repertoire-cli@latest --version");
        check("pipx/venvs/repertoire-cli", "installed with pipx", "pipx upgrade repertoire-cli");
        check("home/.local", "installed with pip", "python3 -m pip install --upgrade repertoire-cli");
    }

    #[test]
    fn pip_is_that_of_the_environment() {
        let record = "my env/lib/python3.11/site-packages/repertoire_cli-0.1.0.dist-info/METADATA";
        let files = [(record, ""), ("my env/bin/python3", "")];
        let command = "'[ROOT]/my env/bin/python3' -m pip install --upgrade repertoire-cli";
        check("my env/bin/rep", &files, "installed with pip", command);
    }

    #[test]
    fn packages_of_node_are_told_apart_by_their_place() {
        let package = "node_modules/@repertoire-cli/linux-x64-gnu/bin/rep";
        let check = |parent: &str, files: &[(&str, &str)], description: &str, command: &str| {
            check(&format!("{parent}/{package}"), files, description, command);
        };
        check("usr/lib", &[], "installed with npm", "npm install --global repertoire-cli@latest");
        let nested = "usr/lib/node_modules/repertoire-cli";
        let files = [(&*format!("{nested}/package.json"), "{}")];
        check(nested, &files, "installed with npm", "npm install --global repertoire-cli@latest");
        let own = "npm install --prefix [ROOT]/app repertoire-cli@latest";
        check("app", &[("app/package.json", "{}")], "installed with npm in a project", own);
        check(".npm/_npx/1f", &[], "run by npx", "npx --yes repertoire-cli@latest --version");
        check("pnpm/global/5", &[], "installed with pnpm", "pnpm add --global repertoire-cli@latest");
        check(".bun/install/global", &[], "installed with Bun", "bun add --global repertoire-cli@latest");
    }

    #[test]
    fn cargo_tells_where_a_crate_came_from() {
        let check_cargo = |files: &[(&str, &str)], source: &str, command: &str| {
            let record = format!(
                "[v1]\n\"other 1.0.0 (x)\" = [\"o\"]\n\"repertoire-cli 0.1.0 ({source})\" = [\"rep\"]\n"
            );
            let files = [files, &[(".cargo/.crates.toml", &record)]].concat();
            check(".cargo/bin/rep", &files, "installed with cargo", command);
        };
        let check = |source: &str, command: &str| check_cargo(&[], source, command);
        check("registry+https://example.com/index", "cargo install --locked repertoire-cli");
        check("path+file:///src/rep/crates/cli", "cargo install --locked --path /src/rep/crates/cli");
        let of_clone = "git -C [ROOT]/src/cli pull && cargo install --locked --path [ROOT]/src/cli";
        check_cargo(&[("src/.git/HEAD", "")], "path+file://[ROOT]/src/cli", of_clone);
        let git = "cargo install --locked --git https://example.com/rep";
        check("git+https://example.com/rep?branch=main#1234", &format!("{git} --branch main repertoire-cli"));
        check("git+https://example.com/rep#1234", &format!("{git} repertoire-cli"));
    }

    #[test]
    fn packages_of_debian_clones_and_archives_are_known() {
        let releases = format!("{}/releases/latest/download", env!("CARGO_PKG_REPOSITORY"));
        let file = format!("repertoire-cli_{}.deb", debian_architecture());
        let install = format!("curl -fLO {releases}/{file} && sudo apt install ./{file}");
        let record = [("dpkg/repertoire-cli.list", "/.\n[ROOT]/usr/bin/rep\n")];
        check("usr/bin/rep", &record, "installed as a Debian package", &install);
        let manifest = [("src/crates/cli/Cargo.toml", "")];
        let build = "cd [ROOT]/src && git pull && cargo build --package repertoire-cli";
        check("src/target/debug/rep", &manifest, "built in a clone", build);
        let build = format!("{build} --profile release");
        check("src/target/release/rep", &manifest, "built in a clone", &build);
        let name = "repertoire-cli-x86_64-unknown-linux-gnu";
        let unpack = format!(
            "curl -fL {releases}/{name}.tar.gz | tar -xz -C [ROOT]/opt --strip-components 1 {name}/rep"
        );
        check("opt/rep", &record, "unpacked from an archive", &unpack);
    }

    #[test]
    fn a_program_that_two_directories_of_the_path_lead_to_is_found_once() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let directories = ["a", "b", "a"].map(|name| root.join(name));
        for directory in &directories {
            fs::create_dir_all(directory).unwrap();
            fs::write(directory.join(PROGRAM), "").unwrap();
        }
        let path = std::env::join_paths(&directories).unwrap();
        let env = Env::new([("PATH".to_owned(), path)], root.clone());
        assert_eq!(programs_on_path(&env), [root.join("a").join(PROGRAM), root.join("b").join(PROGRAM)]);
    }
}
