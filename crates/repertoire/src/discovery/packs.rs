//! Plugin packs: directories of skills that are installed side by side.

use std::fs;
use std::path::Path;

use repertoire_model::{Policy, RuleId};

use super::plugins::{is_plugin, plugin};
use super::{Root, Tier};
use crate::provider::Problem;
use crate::provider::fs::holds_skills;

const MAX_PACKS: usize = 1_000;

/// The directory of a pack that holds its skills, if it holds other things too.
const SKILLS: &str = "skills";

/// Returns the roots of the packs in `directory`, and the problems of broken ones.
///
/// Every sub-directory is a pack. One with a `plugin.json` is an Agent Plugin and is read by the rules for
/// those. Of others the skills are below its `skills/`, or directly below it, or it is one skill. A broken
/// pack never keeps the others from loading. A directory that is not there holds no packs.
pub fn packs(directory: &Path, policy: &Policy) -> (Vec<Root>, Vec<Problem>) {
    let mut finder = Finder { policy, roots: Vec::new(), problems: Vec::new() };
    finder.find(directory);
    (finder.roots, finder.problems)
}

struct Finder<'a> {
    policy: &'a Policy,
    roots: Vec<Root>,
    problems: Vec<Problem>,
}

impl Finder<'_> {
    fn find(&mut self, directory: &Path) {
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Err(error) => {
                let name = directory.to_string_lossy();
                return self.broken(directory, format!("packs in `{name}` cannot be listed: {error}"));
            }
        };
        let mut names: Vec<String> = Vec::new();
        for entry in entries.flatten() {
            match entry.file_name().into_string() {
                Ok(name) if name.starts_with('.') => {}
                Ok(name) => names.push(name),
                Err(name) => {
                    let message = format!("the name of pack `{}` is not UTF-8", name.to_string_lossy());
                    self.broken(&directory.join(&name), message);
                }
            }
        }
        names.sort_unstable();
        if names.len() > MAX_PACKS {
            names.truncate(MAX_PACKS);
            self.report(RuleId::SourceLimit, directory, format!("there are more than {MAX_PACKS} packs"));
        }
        for name in names {
            self.pack(&directory.join(&name), &name);
        }
    }

    fn pack(&mut self, path: &Path, name: &str) {
        // A file beside packs is not a pack; a link that leads nowhere was meant to be one.
        if path.is_file() {
            return;
        }
        if !path.is_dir() {
            return self.broken(path, format!("pack `{name}` is not a directory"));
        }
        if is_plugin(path) {
            let (plugin, problems) = plugin(path, self.policy);
            self.problems.extend(problems);
            self.roots.extend(plugin.and_then(|plugin| plugin.root()));
            return;
        }
        let skills = path.join(SKILLS);
        let root = if skills.is_dir() { skills } else { path.to_owned() };
        match holds_skills(&root) {
            Ok(true) => {
                self.roots.push(Root { label: format!("pack:{name}"), path: root, tier: Tier::Pack });
            }
            Ok(false) => self.broken(path, format!("pack `{name}` holds no skills")),
            Err(error) => self.broken(path, format!("pack `{name}` cannot be read: {error}")),
        }
    }

    fn broken(&mut self, path: &Path, message: String) {
        self.report(RuleId::SourceBroken, path, message);
    }

    fn report(&mut self, rule: RuleId, path: &Path, message: String) {
        self.problems.extend(Problem::new(self.policy, rule, path.to_string_lossy().into_owned(), message));
    }
}
