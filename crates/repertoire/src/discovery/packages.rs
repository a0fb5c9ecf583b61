//! Skills that installed packages bring along: those of npm in `node_modules`, and those of Python in virtual environments.

use std::fs::read_dir;
use std::path::{Path, PathBuf};

use super::{Root, Tier};

/// The most packages that are looked at.
const MAX_PACKAGES: usize = 10_000;

/// The directory of packages of npm.
const NODE_MODULES: &str = "node_modules";

/// The directories of virtual environments of Python.
const ENVIRONMENTS: [&str; 2] = [".venv", "venv"];

/// The directories of a package that hold skills.
const SKILLS: [&str; 2] = ["skills", ".agents/skills"];

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
        for name in directories(&site) {
            add(&mut roots, "python", &name, &site.join(&name));
        }
    }
    roots
}

fn add(roots: &mut Vec<Root>, kind: &str, name: &str, package: &Path) {
    let skills = SKILLS.iter().map(|skills| package.join(skills)).find(|path| path.is_dir());
    roots.extend(skills.map(|path| Root { label: format!("{kind}:{name}"), path, tier: Tier::Pack }));
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
