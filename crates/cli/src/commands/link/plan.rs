//! Which links are needed, and what stands where they would be made.

use std::collections::BTreeMap;
use std::fs::{self, canonicalize, symlink_metadata};
use std::path::{Path, PathBuf};

use repertoire::Entry;
use repertoire_model::SkillPath;

use super::choice::{Question, Readers};
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

/// A client that is linked for.
struct Linked {
    client: &'static Client,
    /// The folders that it reads and that links may be made in, its own first.
    folders: Vec<Folder>,
    /// All folders that it reads, without links.
    reads: Vec<PathBuf>,
}

impl Linked {
    /// Returns how `client` is linked for, or why it cannot be: none of its folders will do.
    fn new(
        places: &Places,
        owner: Owner,
        client: &'static Client,
        canonical: &Folder,
    ) -> Result<Self, Skipped> {
        let mut paths = places.skills(client, owner);
        let reads: Vec<PathBuf> = paths.iter().map(|path| paths::resolved(path)).collect();
        // A folder that is the one place by a link needs none of its own.
        if reads.contains(&canonical.real) && !paths.contains(&canonical.path) {
            paths.push(canonical.path.clone());
        }
        let (mut folders, mut reason) = (Vec::new(), None);
        for path in paths {
            match Folder::at(places, owner, path) {
                Ok(folder) => folders.push(folder),
                Err(error) => reason = reason.or_else(|| Some(error.message().to_owned())),
            }
        }
        match reason.filter(|_| folders.is_empty()) {
            Some(reason) => Err(Skipped { client, reason, is_refusal: true }),
            None => Ok(Self { client, folders, reads }),
        }
    }

    fn has(&self, folder: &Folder) -> bool {
        self.folders.iter().any(|own| own.path == folder.path)
    }
}

/// Plans the links that `clients` need to read `skills`; `readers` are they and all others that are to read no skill twice.
pub(super) fn plan<'l>(
    library: &Library,
    places: &Places,
    args: &LinkArgs,
    base: &Path,
    clients: &[&'static Client],
    readers: &mut Readers,
    skills: &[&'l Entry],
) -> Result<Plan<'l>, CliError> {
    let canonical = Folder::at(places, args.owner(), base.join(CANONICAL))?;
    let record = Record::load(places, args.owner(), base)?;
    let (mut shared, mut own) = (BTreeMap::new(), BTreeMap::new());
    let (mut reached, mut refused, mut linked) = (0, Vec::new(), Vec::new());
    for client in clients {
        match Linked::new(places, args.owner(), client, &canonical) {
            Ok(client) => linked.push(client),
            Err(skipped) => refused.push(skipped),
        }
    }
    let place = readers.bit(&canonical.path);
    for entry in skills {
        let real = paths::of(entry);
        let name = entry.name().as_str();
        let needs_link = |linked: &&Linked| {
            let is_read =
                |folder: &PathBuf| leads(&folder.join(name), &real) || real.parent() == Some(folder);
            // A link of ours is planned again, so that it is known whom it is for.
            let is_ours = |folder: &Folder| record.find(base, &folder.path.join(name)).is_some();
            !linked.reads.iter().any(is_read) || linked.folders.iter().any(is_ours)
        };
        let needing: Vec<&Linked> = linked.iter().filter(needs_link).collect();
        reached += linked.len() - needing.len();
        let mut usual = place;
        let mut needs = Vec::new();
        for linked in &needing {
            if !linked.has(&canonical) {
                usual |= linked.folders.first().map_or(0, |folder| readers.bit(&folder.path));
            }
            needs.push(linked.folders.iter().fold(0, |all, folder| all | readers.bit(&folder.path)));
        }
        let chosen = readers.choose(Question { held: readers.holding(name), needs, usual });
        let is_by_the_place = chosen & place != 0;
        for linked in needing {
            if is_by_the_place
                && (!leads(&canonical.real.join(name), &real)
                    || record.find(base, &canonical.path.join(name)).is_some())
            {
                let to = canonical.way_to(base, &real);
                add(&mut shared, &canonical, entry, &real, to, linked.client);
            }
            if is_by_the_place && linked.has(&canonical) {
                continue;
            }
            let Some(folder) = linked.folders.iter().find(|folder| chosen & readers.bit(&folder.path) != 0)
            else {
                continue;
            };
            let target = if is_by_the_place { canonical.real.join(name) } else { real.clone() };
            if folder.real.join(name) != real {
                let to = folder.way_to(base, &target);
                add(&mut own, folder, entry, &real, to, linked.client);
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
