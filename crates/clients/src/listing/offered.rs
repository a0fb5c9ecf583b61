//! The skills that a client reads from files.

use std::path::PathBuf;

use repertoire::{Entry, Snapshot};

use super::rule::ListingRule;
use crate::{ClientReader, Owner, Places, SkillOnDisk};

/// A skill that a client reads from files.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedSkill {
    /// The name by which the client knows it.
    pub name: String,
    /// The name by which the library knows it.
    pub library_name: String,
    /// Its description, as written.
    pub description: String,
    /// The path of its `SKILL.md`, where the client finds it.
    pub path: PathBuf,
    /// True if it is one of the user's, not of a project.
    pub is_users: bool,
    /// The weight of its use; 0 if it was not used, or that is not known.
    pub uses: f64,
}

impl OfferedSkill {
    /// Returns the name of the directory of its `SKILL.md`.
    pub(super) fn directory_name(&self) -> String {
        let directory = self.path.parent().and_then(|directory| directory.file_name());
        directory.unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// Returns the skills of `snapshot` that the client of `reader` lists by `rule`. `uses` tells the weight of the use of
/// the skill that the client knows by a name.
pub fn offered(
    rule: &ListingRule,
    reader: &ClientReader,
    places: &Places,
    snapshot: &Snapshot,
    uses: &dyn Fn(&str) -> f64,
) -> Vec<OfferedSkill> {
    let of_user = places.directories(reader.client, Owner::User);
    let is_listed = |entry: &&Entry| {
        (entry.allows_models() || !rule.leaves_out_manual)
            && (entry.document.manifest.paths.is_empty() || !rule.waits_for_paths)
    };
    let mut skills: Vec<OfferedSkill> = Vec::new();
    for entry in snapshot.entries().iter().filter(is_listed) {
        let skill = SkillOnDisk::of(entry);
        for route in reader.routes_in_use(&skill) {
            let name = reader.name_of(route, &skill);
            let written = entry.document.manifest.description.as_deref();
            let offered = OfferedSkill {
                library_name: entry.name().to_string(),
                description: written.unwrap_or(&entry.document.description).to_owned(),
                path: route.path.join("SKILL.md"),
                is_users: of_user.iter().any(|directory| directory == route.parent()),
                uses: uses(&name),
                name,
            };
            let of_same_name = skills.iter().position(|other| other.name == offered.name);
            match of_same_name.zip(rule.user_wins) {
                None => skills.push(offered),
                Some((at, user_wins)) if offered.is_users == user_wins => skills[at] = offered,
                Some(_) => {}
            }
        }
    }
    skills
}
