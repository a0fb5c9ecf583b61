//! Plans which copy of a skill is moved to the one place, and which become links.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::DirEntry;
use std::io;
use std::path::{Path, PathBuf};

use pollster::block_on;
use repertoire::discovery::CLIENT_DIRECTORIES;
use repertoire::{Entry, Lookup, Registry, regular_file};
use repertoire_model::Digest;

use super::record;
use crate::Error;
use crate::connect::{OwnEntries, connected_to_all, connections};
use crate::library::OpenLibrary;
use crate::link::LinkRecord;
use crate::paths;
use crate::{CANONICAL, Owner, Places};

/// The largest hidden file that is compared, in bytes.
const MAX_COMPARED: u64 = 1024 * 1024;

/// The most hidden files and links of a copy that are compared.
const MAX_OTHERS: usize = 10_000;

/// The most hidden files and links that a message names.
const MAX_NAMED: usize = 3;

/// Returns the names in a skill's directory that are not its files, such as hidden files and links.
pub type OtherFilesReader<'a> = &'a dyn Fn(&Path) -> Result<Vec<String>, String>;

/// The skills that are meant.
#[derive(Debug, Clone)]
pub struct AdoptOptions {
    /// The owner of the directories.
    pub owner: Owner,
    /// The names of the skills; all if none is named.
    pub names: Vec<String>,
    /// The copy that counts where copies differ, or the directory of skills that it lies in.
    pub from: Option<PathBuf>,
}

impl AdoptOptions {
    /// Returns `true` if the skill called `name` is meant.
    fn is_meant(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|meant| meant == name)
    }
}

/// The copies to gather.
#[derive(Debug)]
pub struct AdoptPlan {
    /// The skills to gather.
    pub skills: Vec<GatheredSkill>,
    /// The skills that are left alone, with the reasons.
    pub refused: Vec<(String, String)>,
    /// True if copies of one of them differ, and it is not said which one counts.
    pub is_undecided: bool,
}

/// A skill to gather.
#[derive(Debug)]
pub struct GatheredSkill {
    /// Its name.
    pub name: String,
    /// Its one place.
    pub target: PathBuf,
    /// The copy that is moved there; `None` if it is there already.
    pub moved: Option<PathBuf>,
    /// The copies that are put aside, one in the one place among them if another one counts.
    pub aside: Vec<PathBuf>,
    /// The paths that become links, because a client reads the skill there and not in the one place.
    pub links: Vec<PathBuf>,
}

/// A copy of a skill in or below a directory of a client.
struct Copy<'l> {
    entry: &'l Entry,
    path: PathBuf,
    /// The reason that it cannot be moved, if there is one.
    fixed: Option<&'static str>,
}

impl<'l> Copy<'l> {
    /// Returns the copy that `entry` is, or `None` if it lies in none of `folders`.
    fn of(entry: &'l Entry, folders: &[PathBuf]) -> Option<Self> {
        let path = Path::new(&*entry.path);
        let is_in =
            |above: &Path| folders.iter().any(|folder| paths::resolved(folder) == above || folder == above);
        if !path.is_dir() || !path.ancestors().skip(1).any(is_in) {
            return None;
        }
        let fixed = if path.is_symlink() {
            Some("it is a link")
        } else if path.parent().is_some_and(is_in) {
            None
        } else {
            Some("it does not lie directly in a directory of a client")
        };
        Some(Self { entry, path: path.to_owned(), fixed })
    }

    /// Returns `true` if it lies in `from` or is `from`.
    fn is_from(&self, from: &[PathBuf]) -> bool {
        let is_from = |path: &Path| from.contains(&paths::resolved(path));
        is_from(&self.path) || self.path.parent().is_some_and(is_from)
    }
}

/// Returns the copies of the skills that are meant, by name. A skill has at least one copy that can be moved.
fn copies<'l>(
    library: OpenLibrary<'l>,
    options: &AdoptOptions,
    folders: &[PathBuf],
) -> BTreeMap<String, Vec<Copy<'l>>> {
    let mut copies: BTreeMap<String, Vec<Copy<'_>>> = BTreeMap::new();
    let meant = library.snapshot.entries().iter().filter(|entry| options.is_meant(entry.name().as_str()));
    for copy in meant.filter_map(|entry| Copy::of(entry, folders)) {
        copies.entry(copy.entry.name().to_string()).or_default().push(copy);
    }
    for copies in copies.values_mut() {
        let movable = copies.iter().filter(|copy| copy.fixed.is_none());
        let movable: Vec<PathBuf> = movable.map(|copy| paths::resolved(&copy.path)).collect();
        // A link to a copy is not a copy.
        copies.retain(|copy| copy.fixed.is_none() || !movable.contains(&paths::resolved(&copy.path)));
    }
    copies.retain(|_, copies| copies.iter().any(|copy| copy.fixed.is_none()));
    copies
}

/// Plans what to do with the copies of `library` that are meant.
pub fn plan(
    library: OpenLibrary<'_>,
    places: &Places,
    options: &AdoptOptions,
    base: &Path,
    others: OtherFilesReader<'_>,
) -> Result<AdoptPlan, Error> {
    let folders = record::folders(places, options.owner, base);
    let from = options.from.iter().flat_map(|from| [places.project().join(from), base.join(from)]);
    let from: Vec<PathBuf> = from.map(|from| paths::resolved(&from)).collect();
    let connections = connections(&OwnEntries::new(places), places);
    let connected = connected_to_all(&connections);
    let copies = copies(library, options, &folders);
    for name in &options.names {
        if !copies.contains_key(name) {
            let shown = match library.snapshot.find(name) {
                Lookup::Found(entry) | Lookup::Quarantined(entry) | Lookup::Disabled(entry) => {
                    entry.name().as_str()
                }
                Lookup::Unknown(_) => name,
            };
            let (place, other) = match options.owner {
                Owner::User => ("home directory", "project"),
                Owner::Project => ("project", "home directory"),
            };
            return Err(Error::refused(format!(
                "`{shown}` has no copy in a directory of a client in the {place}"
            ))
            .hint(format!("gather it in the {other}, or link it from where it is with `rep link`")));
        }
    }
    let mut all = copies.values().flatten();
    if let Some(given) = options.from.as_ref().filter(|_| !all.any(|copy| copy.is_from(&from))) {
        return Err(Error::refused(format!("no copy lies in {}", given.display()))
            .hint("`rep list --duplicates` shows where the copies are"));
    }
    let mut plan = AdoptPlan { skills: Vec::new(), refused: Vec::new(), is_undecided: false };
    for (name, copies) in copies {
        let target = base.join(CANONICAL).join(&name);
        let stay = |copy: &Copy<'_>| {
            let reason = format!("{} stays: {}", paths::shown(base, &copy.path), copy.fixed?);
            Some((name.clone(), reason))
        };
        let stays: Vec<(String, String)> = copies.iter().filter_map(stay).collect();
        match gathered(library.registry, others, &target, &from, &copies, base) {
            Ok((moved, aside)) if moved.is_none() && aside.is_empty() => {}
            Ok((moved, aside)) => {
                let left = aside.iter().filter(|path| **path != target).chain(&moved);
                let links = left.filter(|path| needs_link(places, options.owner, &connected, path));
                let links = links.cloned().collect();
                plan.skills.push(GatheredSkill { name, target, moved, aside, links });
            }
            Err((reason, is_undecided)) => {
                plan.is_undecided |= is_undecided;
                plan.refused.push((name, reason));
                continue;
            }
        }
        plan.refused.extend(stays);
    }
    // A record that cannot be read is an error before anyone is asked.
    record::load(places, options.owner, base)?;
    LinkRecord::load(places, options.owner, base)?;
    Ok(plan)
}

/// The files of a copy that are not part of the skill, each with the checksum of its bytes or of the target
/// of a link; `None` for all that is not compared, such as a large file.
type OtherFiles = BTreeMap<String, Option<Digest>>;

/// Returns the hidden files and links in `directory`, and those in hidden directories.
fn other_files(read: OtherFilesReader<'_>, directory: &Path) -> Result<OtherFiles, String> {
    let mut pending = read(directory)?;
    let mut others = OtherFiles::new();
    while let Some(name) = pending.pop() {
        let path = directory.join(&name);
        let is_directory = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        let inner = is_directory.then(|| names_in(&path, &name)).flatten();
        match inner.filter(|inner| others.len() + pending.len() + inner.len() <= MAX_OTHERS) {
            Some(inner) => {
                others.insert(format!("{name}/"), Some(Digest::of(b"")));
                pending.extend(inner);
            }
            None => {
                let target = || Some(path.read_link().ok()?.into_os_string().into_encoded_bytes());
                let content = regular_file::read_no_follow(&path, MAX_COMPARED).ok().or_else(target);
                others.insert(name, content.map(|bytes| Digest::of(&bytes)));
            }
        }
    }
    Ok(others)
}

/// Returns the paths of the entries of the directory at `path`, which itself is called `name`; `None` if it
/// cannot be read or has a name that is not UTF-8.
fn names_in(path: &Path, name: &str) -> Option<Vec<String>> {
    let inner = |child: io::Result<DirEntry>| Some(format!("{name}/{}", child.ok()?.file_name().to_str()?));
    path.read_dir().ok()?.map(inner).collect()
}

/// Returns `true` if two copies are surely the same.
fn is_same((digest, others): &(Digest, OtherFiles), (digest_b, others_b): &(Digest, OtherFiles)) -> bool {
    digest == digest_b && others == others_b && others.values().all(Option::is_some)
}

/// Returns the names of files that differ between the copies or were not compared.
fn differing<'c>(contents: &'c [(Digest, OtherFiles)]) -> BTreeSet<&'c str> {
    let (_, first) = &contents[0];
    let all = contents.iter().flat_map(|(_, files)| files.keys());
    let is_different = |name: &&'c String| {
        let found = |files: &'c OtherFiles| files.get(*name);
        contents.iter().any(|(_, files)| found(files) != found(first) || found(files) == Some(&None))
    };
    all.filter(is_different).map(String::as_str).collect()
}

/// Returns `true` if a client needs a link at `path`: it reads that directory and not the one place. Of a
/// user, it is one on this machine that is not `connected`; a project is shared with others.
fn needs_link(places: &Places, owner: Owner, connected: &BTreeSet<&str>, path: &Path) -> bool {
    let folder = paths::resolved(path.parent().unwrap_or(path));
    CLIENT_DIRECTORIES.iter().any(|client| {
        let read = places.directories(client, owner);
        let is_served = || connected.contains(client.id) || !places.has_sign_of(client);
        read.iter().any(|it| paths::resolved(it) == folder)
            && !read.iter().any(|it| it.ends_with(CANONICAL))
            && !(owner == Owner::User && is_served())
    })
}

/// Returns the copy to move to `target`, if it is not there, and the copies to put aside. The error is the
/// reason that the skill is left alone, and whether that is because it is not said which copy counts.
fn gathered(
    registry: &Registry,
    others: OtherFilesReader<'_>,
    target: &Path,
    from: &[PathBuf],
    copies: &[Copy<'_>],
    base: &Path,
) -> Result<(Option<PathBuf>, Vec<PathBuf>), (String, bool)> {
    let digest = |copy: &Copy<'_>| -> Result<Digest, String> {
        block_on(registry.digest(copy.entry)).map_err(|error| error.to_string())
    };
    let contents: Result<Vec<(Digest, OtherFiles)>, String> =
        copies.iter().map(|copy| Ok((digest(copy)?, other_files(others, &copy.path)?))).collect();
    let contents = contents.map_err(|reason| (reason, false))?;
    let is_target = |copy: &&Copy<'_>| paths::resolved(&copy.path) == paths::resolved(target);
    let chosen = copies.iter().find(|copy| copy.is_from(from));
    if let Some((chosen, reason)) = chosen.and_then(|chosen| Some((chosen, chosen.fixed?))) {
        return Err((format!("{} cannot be moved: {reason}", paths::shown(base, &chosen.path)), false));
    }
    if chosen.is_none() && !contents.iter().skip(1).all(|content| is_same(content, &contents[0])) {
        let places: Vec<String> = copies.iter().map(|copy| paths::shown(base, &copy.path)).collect();
        let places = places.join(", ");
        let reason = if contents.iter().any(|(digest, _)| *digest != contents[0].0) {
            format!("its copies differ ({places})")
        } else {
            let files = differing(&contents).into_iter().take(MAX_NAMED).collect::<Vec<_>>().join(", ");
            format!(
                "its copies ({places}) have hidden files or links that differ or could not be compared: {files}"
            )
        };
        return Err((reason, true));
    }
    // Something else may stand in the one place: a link, or a directory that is not a skill.
    if target.symlink_metadata().is_ok()
        && !copies.iter().any(|copy| copy.fixed.is_none() && is_target(&copy))
    {
        return Err((format!("something else stands at {}", paths::shown(base, target)), false));
    }
    let movable = || copies.iter().filter(|copy| copy.fixed.is_none());
    let Some(chosen) = chosen.or_else(|| movable().find(is_target)).or_else(|| movable().next()) else {
        return Ok((None, Vec::new()));
    };
    let moved = (!is_target(&chosen)).then(|| chosen.path.clone());
    let aside = movable().filter(|copy| copy.path != chosen.path).map(|copy| copy.path.clone()).collect();
    Ok((moved, aside))
}
