//! Which links are needed, and what stands where they would be made.

use std::collections::BTreeMap;
use std::fs::{self, canonicalize, symlink_metadata};
use std::path::{Path, PathBuf};

use repertoire::Entry;
use repertoire_model::SkillPath;

use super::record::Record;
use super::{LinkArgs, Skipped, paths};
use crate::clients::{CANONICAL, Client, Owner, Places};
use crate::error::CliError;
use crate::wire::Library;

/// A link that is needed.
pub(super) struct Step<'l> {
    /// Where it is made.
    pub(super) path: PathBuf,
    /// What it says.
    pub(super) to: PathBuf,
    /// The skill that it leads to in the end.
    pub(super) entry: &'l Entry,
    /// Whom it is for.
    pub(super) clients: Vec<&'static str>,
    /// What stands there.
    pub(super) standing: Standing,
}

/// What stands where a link is needed.
pub(super) enum Standing {
    /// Nothing.
    Free,
    /// Something that leads to the skill.
    Right,
    /// Something else.
    Taken(String),
}

/// What is to be done.
pub(super) struct Plan<'l> {
    /// The links, those that others lead to first.
    pub(super) steps: Vec<Step<'l>>,
    /// The clients that nothing can be linked for.
    pub(super) refused: Vec<Skipped>,
    /// How many skills need no link for any of the clients.
    pub(super) reached: usize,
    /// What was made before.
    pub(super) record: Record,
}

/// Plans the links that `clients` need to read `skills`.
pub(super) fn plan<'l>(
    library: &Library,
    places: &Places,
    args: &LinkArgs,
    base: &Path,
    clients: &[&'static Client],
    skills: &[&'l Entry],
) -> Result<Plan<'l>, CliError> {
    let canonical = Folder::at(places, args.owner(), base.join(CANONICAL))?;
    let record = Record::load(places, args.owner(), base)?;
    let (mut shared, mut own) = (BTreeMap::new(), BTreeMap::new());
    let (mut reached, mut refused) = (0, Vec::new());
    for client in clients {
        let folders = places.skills(client, args.owner());
        let reads: Vec<PathBuf> = folders.iter().map(|folder| paths::resolved(folder)).collect();
        let target = match folders.first() {
            Some(folder) if !reads.contains(&canonical.real) => {
                match Folder::at(places, args.owner(), folder.clone()) {
                    Ok(folder) => Some(folder),
                    Err(error) => {
                        refused.push(Skipped {
                            client,
                            reason: error.message().to_owned(),
                            is_refusal: true,
                        });
                        continue;
                    }
                }
            }
            _ => None,
        };
        for entry in skills {
            let real = paths::of(entry);
            let name = entry.name().as_str();
            let is_read =
                |folder: &PathBuf| leads(&folder.join(name), &real) || real.parent() == Some(folder);
            // A link of ours is planned again, so that it is known whom it is for.
            let is_ours = |folder: &PathBuf| record.find(base, &folder.join(name)).is_some();
            if reads.iter().any(is_read) && !folders.iter().any(is_ours) {
                reached += 1;
                continue;
            }
            if !leads(&canonical.real.join(name), &real)
                || record.find(base, &canonical.path.join(name)).is_some()
            {
                let to = canonical.way_to(base, &real);
                add(&mut shared, &canonical, entry, &real, to, client);
            }
            if let Some(target) = &target {
                let to = target.way_to(base, &canonical.real.join(name));
                add(&mut own, target, entry, &real, to, client);
            }
        }
    }
    let mut steps: Vec<Step<'_>> = shared.into_values().chain(own.into_values()).collect();
    for step in &mut steps {
        if let Some(digest) = record.find(base, &step.path).and_then(|made| made.digest.as_ref()) {
            step.standing = standing_of_copy(library, step, digest);
        }
    }
    Ok(Plan { steps, refused, reached, record })
}

fn add<'l>(
    steps: &mut BTreeMap<PathBuf, Step<'l>>,
    folder: &Folder,
    entry: &'l Entry,
    real: &Path,
    to: PathBuf,
    client: &'static Client,
) {
    let path = folder.path.join(entry.name().as_str());
    // A name that is sound for skills may still be none for a directory, on Windows above all.
    let standing = match SkillPath::new(entry.name().as_str()) {
        Ok(_) => standing(&path, real),
        Err(_) => Standing::Taken("cannot be the name of a directory everywhere".to_owned()),
    };
    let step = steps.entry(path.clone());
    let step = step.or_insert_with(|| Step { path, to, entry, clients: Vec::new(), standing });
    step.clients.push(client.id);
}

/// A directory that links are made in.
struct Folder {
    path: PathBuf,
    /// The same without links.
    real: PathBuf,
}

impl Folder {
    /// Returns the directory at `path`.
    fn at(places: &Places, owner: Owner, path: PathBuf) -> Result<Self, CliError> {
        if paths::leads_out(places, owner, &path) {
            return Err(CliError::no(format!("{} leads out of the project", path.display()))
                .hint("nothing is linked there; replace the link by a directory"));
        }
        let real = paths::resolved(&path);
        Ok(Self { path, real })
    }

    /// Returns what a link in this directory says that leads to `target`: relative within `base`, and else absolute.
    fn way_to(&self, base: &Path, target: &Path) -> PathBuf {
        let base = paths::resolved(base);
        if self.real.starts_with(&base) && target.starts_with(&base) {
            return paths::relative(&self.real, target);
        }
        target.to_owned()
    }
}

fn leads(path: &Path, real: &Path) -> bool {
    canonicalize(path).is_ok_and(|found| found == real)
}

fn standing(path: &Path, real: &Path) -> Standing {
    let Ok(metadata) = symlink_metadata(path) else { return Standing::Free };
    if leads(path, real) {
        return Standing::Right;
    }
    Standing::Taken(match fs::read_link(path) {
        Ok(to) => format!("is a link to {}", to.display()),
        Err(_) if metadata.is_dir() => "is a directory of its own".to_owned(),
        Err(_) => "is a file".to_owned(),
    })
}

/// Returns what a copy with `digest` is worth: it is right as long as the skill has not changed.
fn standing_of_copy(library: &Library, step: &Step<'_>, digest: &str) -> Standing {
    if symlink_metadata(&step.path).is_err() {
        return Standing::Free;
    }
    match pollster::block_on(library.registry.bundle(step.entry)) {
        Ok(bundle) if bundle.digest().to_string() == digest => Standing::Right,
        _ => Standing::Taken("is a copy of what the skill was; `rep link --undo` removes it".to_owned()),
    }
}
