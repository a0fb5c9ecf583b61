//! Skills of installed packages: those of npm in `node_modules`, those of Python in virtual environments.

use std::fs::read_dir;
use std::path::{Path, PathBuf};

use repertoire_model::SkillPath;

use super::{Root, Tier};
use crate::regular_file;

/// The most packages that are looked at.
const MAX_PACKAGES: usize = 10_000;

/// The directory of packages of npm.
const NODE_MODULES: &str = "node_modules";

/// The directories of virtual environments of Python.
const ENVIRONMENTS: [&str; 2] = [".venv", "venv"];

/// The directories of a package that hold skills.
const SKILLS: [&str; 2] = ["skills", ".agents/skills"];

/// The ends of the groups of entry points that name skills.
const ENTRY_POINTS: [&str; 2] = [".skills", ".skill_sources"];

/// The largest list of entry points that is read, in bytes.
const MAX_ENTRY_POINTS_BYTES: u64 = 256 * 1024;

/// Returns the roots of the packages that are installed in the directory `project`, by name.
pub fn packages(project: &Path) -> Vec<Root> {
    let mut roots = Vec::new();
    let modules = project.join(NODE_MODULES);
    for name in directories(&modules) {
        if name.starts_with('@') {
            for own in directories(&modules.join(&name)) {
                add(&mut roots, "npm", &format!("{name}/{own}"), &modules.join(&name).join(&own));
            }
        } else {
            add(&mut roots, "npm", &name, &modules.join(&name));
        }
    }
    for site in ENVIRONMENTS.iter().flat_map(|environment| site_packages(&project.join(environment))) {
        let names = directories(&site);
        for name in &names {
            add(&mut roots, "python", name, &site.join(name));
        }
        let infos = names.iter().filter(|name| name.ends_with(".dist-info"));
        for (name, path) in infos.flat_map(|name| entry_points(&site, &site.join(name))) {
            if roots.iter().all(|root| root.path != path) {
                roots.push(Root { label: format!("python:{name}"), path, tier: Tier::Pack });
            }
        }
    }
    roots
}

fn add(roots: &mut Vec<Root>, kind: &str, name: &str, package: &Path) {
    let skills = SKILLS.iter().map(|skills| package.join(skills)).find(|path| path.is_dir());
    roots.extend(skills.map(|path| Root { label: format!("{kind}:{name}"), path, tier: Tier::Pack }));
}

/// Returns the names and directories of the entry points for skills that the distribution at `info` declares,
/// as in `[repertoire.skills]` or `[bernstein.skill_sources]`. Modules that are not directories are left out:
/// no code of a package runs.
fn entry_points(site: &Path, info: &Path) -> Vec<(String, PathBuf)> {
    let text = regular_file::read(&info.join("entry_points.txt"), MAX_ENTRY_POINTS_BYTES).unwrap_or_default();
    let mut is_of_skills = false;
    let mut found = Vec::new();
    for line in String::from_utf8_lossy(&text).lines().map(str::trim) {
        if let Some(group) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            is_of_skills = ENTRY_POINTS.iter().any(|end| group.trim().ends_with(end));
        } else if let Some((name, value)) = line.split_once('=').filter(|_| is_of_skills) {
            let module = value.split([':', '[']).next().unwrap_or_default().trim();
            let parts = || module.split('.');
            let is_module = parts().all(|part| SkillPath::new(part).is_ok());
            let path = parts().fold(site.to_owned(), |path, part| path.join(part));
            let name = name.trim();
            let is_plain = name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
            // A link must not lead a project's packages out of their directory.
            let is_inside = || {
                path.canonicalize()
                    .is_ok_and(|path| site.canonicalize().is_ok_and(|site| path.starts_with(site)))
            };
            if is_module && is_plain && path.is_dir() && is_inside() {
                found.push((name.to_owned(), path));
            }
        }
    }
    found
}

/// Returns the directories of packages of a virtual environment.
fn site_packages(environment: &Path) -> Vec<PathBuf> {
    let versions =
        directories(&environment.join("lib")).into_iter().filter(|name| name.starts_with("python"));
    let unix = versions.map(|name| environment.join("lib").join(name).join("site-packages"));
    unix.chain([environment.join("Lib/site-packages")]).filter(|site| site.is_dir()).collect()
}

/// Returns the names of the entries of `directory` that are not hidden, sorted.
fn directories(directory: &Path) -> Vec<String> {
    let entries = read_dir(directory).into_iter().flatten().flatten().take(MAX_PACKAGES);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn b38_entry_points_of_python_packages_name_directories_of_skills() {
        let project = tempfile::tempdir().unwrap();
        let site = project.path().join(".venv/lib/python3.13/site-packages");
        let info = site.join("my_pack-1.0.dist-info");
        for directory in ["my_pack/data/more", "other/skills", "plain"] {
            fs::create_dir_all(site.join(directory)).unwrap();
        }
        fs::create_dir_all(&info).unwrap();
        let text = "[console_scripts]\nx = plain\n\n[bernstein.skill_sources]\nmy-data = my_pack.data.more:source\n\
                    gone = my_pack.gone\nup = ..plain\nslash = ../plain\nother = other.skills [extra]\n";
        fs::write(info.join("entry_points.txt"), text).unwrap();
        let found = packages(project.path());
        let mut labels: Vec<&str> = found.iter().map(|root| root.label.as_str()).collect();
        labels.sort_unstable();
        assert_eq!(labels, ["python:my-data", "python:other"]);
        assert!(found.iter().any(|root| root.path == site.join("my_pack/data/more")));
    }
}
