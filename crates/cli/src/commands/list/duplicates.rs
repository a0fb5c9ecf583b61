//! `rep list --duplicates`: skills, but not links, of one name in several directories or with the same files.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use pollster::block_on;
use rayon::prelude::*;
use repertoire::history::capture;
use repertoire::{Entry, State};
use repertoire_clients::{Owner, Places};
use repertoire_model::Digest;
use repertoire_model::patch::{self, SkillFiles};
use repertoire_model::text::count;
use serde::Serialize;

use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Style, Ui, escape};
use crate::wire::{Library, Workspace};

#[derive(Serialize)]
struct DuplicatesJson {
    duplicates: Vec<GroupJson>,
}

#[derive(Serialize)]
struct GroupJson {
    names: Vec<String>,
    /// `identical` or `different`.
    content: &'static str,
    skills: Vec<CopyJson>,
}

#[derive(Serialize)]
struct CopyJson {
    name: String,
    source: String,
    directory: String,
    state: &'static str,
    digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

/// Skills that share a name or their content.
struct Group<'a> {
    skills: Vec<&'a Entry>,
    digests: Vec<Option<Digest>>,
}

impl Group<'_> {
    fn names(&self) -> BTreeSet<String> {
        self.skills.iter().map(|entry| entry.name().to_string()).collect()
    }

    fn is_identical(&self) -> bool {
        self.digests.iter().all(|digest| digest.is_some() && *digest == self.digests[0])
    }

    /// Returns the command that gathers several copies in the project or home directory; the first counts.
    fn adopt_command(&self, places: &Places) -> Option<String> {
        let name = self.names().into_iter().next().filter(|_| self.names().len() == 1)?;
        let of_owner = |owner: Owner| {
            let prefix = format!("{}:", owner.as_str());
            let directory = |entry: &&Entry| entry.source.strip_prefix(&prefix).map(str::to_owned);
            let directories: Vec<String> = self.skills.iter().filter_map(directory).collect();
            let from = format!(" --from {}", directories.first()?);
            let from = if self.is_identical() { "" } else { &from };
            (directories.len() > 1).then(|| format!("rep adopt{} {name}{from}", places.option(owner)))
        };
        [Owner::Project, Owner::User].into_iter().find_map(of_owner)
    }

    /// Returns the difference of the skill at `index` from the first; `None` for that or unreadable files.
    fn diff(&self, library: &Library, index: usize) -> Option<String> {
        let files = |entry: &Entry| -> Option<SkillFiles> {
            Some(block_on(capture(&library.registry, entry)).ok()?.0)
        };
        let first = files(self.skills.first().filter(|_| index > 0)?)?;
        Some(patch::diff(&first, &files(self.skills.get(index)?)?))
    }
}

/// Writes the skills that are there more than once.
pub(super) fn write(
    ui: &mut Ui,
    workspace: &Workspace,
    names: &[String],
    has_diff: bool,
) -> Result<Exit, CliError> {
    let library = workspace.inspect(workspace.settings.policy.clone());
    for name in names {
        library.find_any(name)?;
    }
    let mut groups = groups(&library);
    groups.retain(|group| names.is_empty() || names.iter().any(|name| group.names().contains(name)));
    if ui.is_json() {
        let duplicates = groups.iter().map(|group| group_json(&library, has_diff, group)).collect();
        return Ok(ui.answer(&DuplicatesJson { duplicates })?);
    }
    for group in &groups {
        write_group(ui, workspace, &library, has_diff, group)?;
    }
    ui.flush()?;
    let different = groups.iter().filter(|group| !group.is_identical()).count();
    let summary = match groups.len() {
        0 => "no skill is there more than once".to_owned(),
        all => format!("{} more than once, {different} of them with differences", count(all, "skill")),
    };
    let summary = ui.paint_err(Style::Heading, &summary);
    writeln!(ui.err(), "{summary}")?;
    if different > 0 && !has_diff {
        ui.hint("`--diff` shows the differences")?;
    }
    // Copies are gathered from the directories of clients alone.
    let places = workspace.env.places();
    let command = || groups.iter().find_map(|group| group.adopt_command(&places));
    if let Some(command) = workspace.options.roots.is_empty().then(command).flatten() {
        ui.hint(&format!("`{command}` gathers its copies in one place and links the others to it"))?;
    }
    Ok(Exit::Success)
}

/// Returns the groups: first those of one name, then those of one content and different names.
fn groups<'l>(library: &'l Library) -> Vec<Group<'l>> {
    let entries = library.snapshot.entries();
    let digest = |entry: &Entry| block_on(library.registry.digest(entry)).ok();
    let mut by_name: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        by_name.entry(entry.name().as_str()).or_default().push(entry);
    }
    let mut by_digest: BTreeMap<Digest, Vec<&Entry>> = BTreeMap::new();
    let mut digests: HashMap<String, Digest> = HashMap::new();
    for (digest, entry) in
        entries.par_iter().filter_map(|entry| Some((digest(entry)?, entry))).collect::<Vec<_>>()
    {
        by_digest.entry(digest).or_default().push(entry);
        digests.insert(entry.directory().to_owned(), digest);
    }
    let is_of_many_names =
        |skills: &Vec<&Entry>| skills.iter().map(|entry| entry.name()).collect::<BTreeSet<_>>().len() > 1;
    let named = by_name.into_values().filter(|skills| skills.len() > 1);
    let alike = by_digest.into_values().filter(is_of_many_names);
    let group = |skills: Vec<&'l Entry>| {
        let digests = skills.iter().map(|entry| digests.get(entry.directory()).copied()).collect();
        Group { skills, digests }
    };
    named.chain(alike).map(group).collect()
}

fn group_json(library: &Library, has_diff: bool, group: &Group<'_>) -> GroupJson {
    let copy = |(index, entry): (usize, &&Entry)| CopyJson {
        name: entry.name().to_string(),
        source: entry.source.to_string(),
        directory: entry.directory().to_owned(),
        state: entry.state.as_str(),
        digest: group.digests[index].map(|digest| digest.to_string()),
        diff: has_diff.then(|| group.diff(library, index)).flatten(),
    };
    GroupJson {
        names: group.names().into_iter().collect(),
        content: if group.is_identical() { "identical" } else { "different" },
        skills: group.skills.iter().enumerate().map(copy).collect(),
    }
}

fn write_group(
    ui: &mut Ui,
    workspace: &Workspace,
    library: &Library,
    has_diff: bool,
    group: &Group<'_>,
) -> Result<(), CliError> {
    let names: Vec<String> = group.names().into_iter().collect();
    let names = ui.paint(Style::Name, &escape(&names.join(", ")));
    let content = if group.is_identical() { "the same files" } else { "different files" };
    writeln!(ui.out(), "{names}: {} with {content}", count(group.skills.len(), "place"))?;
    for entry in &group.skills {
        let directory = ui.shown(&workspace.shown(entry.directory()));
        // The path comes last, because it may be longer than a line.
        let width = State::Quarantined.as_str().len();
        let state = ui.paint(Style::Faint, &format!("{:<width$}", entry.state.as_str()));
        writeln!(ui.out(), "  {state} {directory}")?;
    }
    if !has_diff || group.is_identical() {
        return Ok(());
    }
    for (index, entry) in group.skills.iter().enumerate().skip(1) {
        match group.diff(library, index) {
            Some(diff) => ui.write_diff_lines(&diff)?,
            None => {
                ui.warn(&format!("the files of {} cannot be compared", workspace.shown(entry.directory())))?
            }
        }
    }
    Ok(())
}
