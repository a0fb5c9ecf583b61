//! The skills that a client reads from files.

use repertoire::registry::package_of;
use repertoire::{Entry, Snapshot};

use super::rule::{ListingRule, OfferedSkill};
use crate::{ClientReader, Owner, Places, SkillOnDisk};

/// Returns the skills of `snapshot` that the client of `reader` lists by `rule`. `uses` tells the weight of
/// the use of the skill that the client knows by a name.
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
            && (!rule.waits_for_paths
                || entry.document.manifest.paths.is_empty() && package_of(&entry.source).is_none())
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
