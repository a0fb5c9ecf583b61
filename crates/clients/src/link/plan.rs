//! Plans the links that clients need, each with what stands in its place.

use std::collections::BTreeMap;
use std::fs::{self, canonicalize, symlink_metadata};
use std::path::{Path, PathBuf};

use repertoire::Entry;
use repertoire_model::SkillPath;
use repertoire_model::patch::{SkillFiles, bundle};

use super::receivers::SkippedClient;
use super::record::LinkRecord;
use crate::Error;
use crate::disabled_clients::disabled_for_clients;
use crate::paths;
use crate::{CANONICAL, Client, Owner, Places, skills_in};

/// A skill that links lead to, which may not be there yet.
pub struct LinkedSkill<'l> {
    /// Its name.
    pub name: &'l str,
    /// The name of its source, as in [`Entry::source`].
    pub source: &'l str,
    /// Its directory, links resolved.
    pub directory: PathBuf,
    /// Its files as they will be; none if they are read from the directory.
    pub files: Option<&'l SkillFiles>,
}

impl<'l> LinkedSkill<'l> {
    /// Returns the skill of `entry`.
    pub fn of(entry: &'l Entry) -> Self {
        let (name, source) = (entry.name().as_str(), &*entry.source);
        Self { name, source, directory: paths::of(entry), files: None }
    }
}

/// A link that is needed.
pub struct LinkStep<'l> {
    /// The path of the link.
    pub path: PathBuf,
    /// The target of the link.
    pub to: PathBuf,
    /// The skill that it leads to in the end.
    pub skill: &'l LinkedSkill<'l>,
    /// The clients that it is for.
    pub clients: Vec<&'static str>,
    /// The state of that path.
    pub occupancy: Occupancy,
}

impl LinkStep<'_> {
    /// Returns `true` if nothing stands in its place.
    pub fn is_free(&self) -> bool {
        matches!(self.occupancy, Occupancy::Free)
    }

    /// Returns the names of the clients that it is for.
    pub fn client_ids(&self) -> Vec<String> {
        self.clients.iter().map(|client| (*client).to_owned()).collect()
    }
}

/// The state of the path of a link.
pub enum Occupancy {
    /// Nothing.
    Free,
    /// Something that leads to the skill.
    Right,
    /// Something else.
    Taken(String),
}

/// The links to make.
pub struct LinkPlan<'l> {
    /// The links. A link that another one leads to comes before it.
    pub steps: Vec<LinkStep<'l>>,
    /// The clients that nothing can be linked for, or not every skill.
    pub refused: Vec<SkippedClient>,
    /// The number of skills that need no link for any of the clients.
    pub reached: usize,
    /// The links that were made before.
    pub(super) record: LinkRecord,
}

/// The folders of a client.
struct ClientFolders {
    client: &'static Client,
    /// The folder that links for it are made in: the one place if it reads that, else its first writable one.
    target: Folder,
    /// All folders that it reads, without links.
    reads: Vec<PathBuf>,
}

impl ClientFolders {
    /// Returns the folders of `client`, or why nothing can be linked for it: no folder may have links.
    fn new(
        places: &Places,
        owner: Owner,
        client: &'static Client,
        canonical: &Folder,
    ) -> Result<Self, SkippedClient> {
        let paths = places.skills(client, owner);
        let reads: Vec<PathBuf> = paths.iter().map(|path| paths::resolved(path)).collect();
        // A folder that is the one place by a link does not need links of its own.
        if reads.contains(&canonical.real) {
            return Ok(Self { client, target: canonical.clone(), reads });
        }
        let mut reason = None;
        for path in paths {
            match Folder::at(places, owner, path) {
                Ok(target) => return Ok(Self { client, target, reads }),
                Err(error) => reason = reason.or_else(|| Some(error.to_string())),
            }
        }
        let reason = reason.unwrap_or_else(|| format!("{} reads no skills from files", client.title()));
        Err(SkippedClient { client, reason, is_refusal: true })
    }
}

/// Plans the links that `clients` need to read `skills`: in the one place, and from there in the folder of
/// each client that does not read it.
pub fn plan<'l>(
    places: &Places,
    owner: Owner,
    base: &Path,
    clients: &[&'static Client],
    skills: &'l [LinkedSkill<'l>],
) -> Result<LinkPlan<'l>, Error> {
    let record = LinkRecord::load(places, owner, base)?;
    plan_from(places, owner, base, clients, skills, record)
}

/// Plans the links as [`plan`], where `record` has the links that were made before.
pub(super) fn plan_from<'l>(
    places: &Places,
    owner: Owner,
    base: &Path,
    clients: &[&'static Client],
    skills: &'l [LinkedSkill<'l>],
    record: LinkRecord,
) -> Result<LinkPlan<'l>, Error> {
    let canonical = Folder::at(places, owner, base.join(CANONICAL))?;
    let disabled = disabled_for_clients(places);
    let (mut shared, mut own) = (BTreeMap::new(), BTreeMap::new());
    let (mut reached, mut refused, mut readers) = (0, Vec::new(), Vec::new());
    let mut listed: BTreeMap<PathBuf, Vec<(PathBuf, PathBuf)>> = BTreeMap::new();
    for client in clients {
        match ClientFolders::new(places, owner, client, &canonical) {
            Ok(client) => readers.push(client),
            Err(skipped) => refused.push(skipped),
        }
    }
    for skill in skills {
        let (name, real) = (skill.name, &skill.directory);
        // A link of ours is planned again, so that the record says which clients it is for.
        let is_ours = |folder: &Folder| record.find(base, &folder.path.join(name)).is_some();
        // The skill may be in a folder already, under whatever name.
        let mut path_in = |folder: &Path| {
            if real.parent() == Some(folder) {
                return Some(real.clone());
            }
            let listed = listed.entry(folder.to_owned()).or_insert_with(|| {
                let mut listed = skills_in(folder);
                // The skill may not be there yet.
                listed.extend(paths::dangling_links(folder));
                listed
            });
            listed.iter().find(|(_, skill)| skill == real).map(|(path, _)| path.clone())
        };
        for reader in &readers {
            if reader.reads.iter().any(|folder| path_in(folder).is_some()) && !is_ours(&reader.target) {
                reached += 1;
                continue;
            }
            if disabled.iter().any(|disabled| disabled.is_about(skill.source, name, reader.client)) {
                let reason = format!(
                    "{name} is disabled for {}; enable it for this client first",
                    reader.client.title()
                );
                refused.push(SkippedClient { client: reader.client, reason, is_refusal: false });
                continue;
            }
            let shared_path = path_in(&canonical.real);
            if shared_path.is_none() || is_ours(&canonical) {
                let to = canonical.way_to(base, real);
                add(&mut shared, &canonical, skill, to, reader.client);
            }
            if reader.target.path != canonical.path && real.parent() != Some(&reader.target.real) {
                let shared_path = shared_path.unwrap_or_else(|| canonical.real.join(name));
                let to = reader.target.way_to(base, &shared_path);
                add(&mut own, &reader.target, skill, to, reader.client);
            }
        }
    }
    let mut steps: Vec<LinkStep<'_>> = shared.into_values().chain(own.into_values()).collect();
    for step in &mut steps {
        if let Some(digest) = record.find(base, &step.path).and_then(|made| made.digest.as_ref()) {
            step.occupancy = occupancy_of_copy(step, digest);
        }
    }
    Ok(LinkPlan { steps, refused, reached, record })
}

fn add<'l>(
    steps: &mut BTreeMap<PathBuf, LinkStep<'l>>,
    folder: &Folder,
    skill: &'l LinkedSkill<'l>,
    to: PathBuf,
    client: &'static Client,
) {
    let path = folder.path.join(skill.name);
    // The name of a skill may still be invalid for a directory, on Windows above all.
    let occupancy = match SkillPath::new(skill.name) {
        Ok(_) => occupancy(&path, &skill.directory),
        Err(_) => Occupancy::Taken("cannot be the name of a directory everywhere".to_owned()),
    };
    let step = steps.entry(path.clone());
    let step = step.or_insert_with(|| LinkStep { path, to, skill, clients: Vec::new(), occupancy });
    step.clients.push(client.id);
}

/// A directory that links are made in.
#[derive(Clone)]
struct Folder {
    path: PathBuf,
    /// The same without links.
    real: PathBuf,
}

impl Folder {
    /// Returns the directory at `path`.
    fn at(places: &Places, owner: Owner, path: PathBuf) -> Result<Self, Error> {
        if paths::leads_out(places, owner, &path) {
            return Err(Error::refused(format!("{} leads out of the project", path.display()))
                .hint("nothing is linked there; replace the link by a directory"));
        }
        let real = paths::resolved(&path);
        Ok(Self { path, real })
    }

    /// Returns the text of a link in this directory to `target`: relative within `base`, and else absolute.
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

fn occupancy(path: &Path, real: &Path) -> Occupancy {
    let Ok(metadata) = symlink_metadata(path) else { return Occupancy::Free };
    if leads(path, real) {
        return Occupancy::Right;
    }
    Occupancy::Taken(match fs::read_link(path) {
        Ok(to) => format!("is a link to {}", to.display()),
        Err(_) if metadata.is_dir() => "is a directory of its own".to_owned(),
        Err(_) => "is a file".to_owned(),
    })
}

/// Returns the state of a path with a copy whose files had `digest`: right while the skill has not changed.
fn occupancy_of_copy(step: &LinkStep<'_>, digest: &str) -> Occupancy {
    if symlink_metadata(&step.path).is_err() {
        return Occupancy::Free;
    }
    match step.skill.files() {
        Ok(files) if bundle(&files).digest().to_string() == digest => Occupancy::Right,
        _ => Occupancy::Taken("is a copy of what the skill was; `rep undo` removes it".to_owned()),
    }
}
