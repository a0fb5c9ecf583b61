//! Disables skills for clients that read them from files, by links and by client switches, and enables them.
//!
//! A file that cannot be changed is reported, and the others are changed all the same: all of them or none.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use repertoire::Entry;
use repertoire::change::{FileStep, MAX_FILE_BYTES, PathStep, check_user_file};
use repertoire::discovery::{ClientDirectories, Place};
use repertoire::record::{Record, RecordKind};
use repertoire::regular_file;
use repertoire_model::{Pattern, SkillName};

use super::client_switch::{self, RecordedSwitch, missing_switch, switch_file};
use super::record::{RecordedChange, add};
use crate::Error;
use crate::edit::EditFault;
use crate::link::{RecordedLink, SwitchedLinks, links_to_skill, remove_links, restore_links};
use crate::{Client, ClientReader, Owner, Places, SkillOnDisk};
use crate::{client_readers, paths, record_file};

/// The state of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeState {
    /// It would be made.
    Planned,
    /// It was made.
    Done,
    /// It is not made, for a reason that is not an error.
    LeftAlone,
    /// It could not be made.
    Failed,
}

impl ChangeState {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Done => "done",
            Self::LeftAlone => "left_alone",
            Self::Failed => "failed",
        }
    }
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// A link that is removed or made again.
    Link,
    /// A switch of a client.
    Switch,
}

impl ChangeKind {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Switch => "switch",
        }
    }
}

/// The line about one change.
#[derive(Debug)]
pub struct ChangeLine {
    /// The kind of the change.
    pub kind: ChangeKind,
    /// The skill.
    pub skill: String,
    /// The name by which the client of a switch knows the skill.
    key: String,
    /// The clients that it is for.
    pub clients: Vec<String>,
    /// The link, or the file of the client.
    pub path: String,
    /// The state.
    pub state: ChangeState,
    /// The reason that it is not made.
    pub reason: Option<String>,
}

impl ChangeLine {
    /// Returns the line about the link or switch for `skill` at `path`, which is to be changed.
    fn planned(kind: ChangeKind, skill: &str, clients: Vec<String>, path: String) -> Self {
        let (skill, key) = (skill.to_owned(), skill.to_owned());
        Self { kind, skill, key, clients, path, state: ChangeState::Planned, reason: None }
    }

    fn left_alone(self, reason: impl Into<String>) -> Self {
        Self { state: ChangeState::LeftAlone, reason: Some(reason.into()), ..self }
    }

    /// Returns the titles of the clients.
    pub fn titles(&self) -> String {
        let titles: Vec<&str> = self.clients.iter().map(|id| title(id)).collect();
        titles.join(", ")
    }

    /// Returns what is changed, in words. `path` is the path as it is shown.
    pub fn subject(&self, path: &str) -> String {
        match self.kind {
            ChangeKind::Link => format!("the link {path}"),
            ChangeKind::Switch => {
                let id = self.clients.first().map(String::as_str).unwrap_or_default();
                format!("{} in {path}", client_switch::in_words(id, &self.skill, &self.key))
            }
        }
    }

    /// Returns the sentence that the change is not made. `path` is the path as it is shown.
    pub fn refusal(&self, path: &str) -> String {
        let (skill, reason) = (&self.skill, self.reason.as_deref().unwrap_or_default());
        match self.kind {
            ChangeKind::Link => format!("the link {path} is left alone: {reason}"),
            ChangeKind::Switch if self.path.is_empty() => still_reads(&self.titles(), skill, reason),
            ChangeKind::Switch => {
                format!("{path} of {} is not changed for {skill}: {reason}", self.titles())
            }
        }
    }

    /// Returns `true` if it says that `switch` could not be changed.
    fn is_failure_of(&self, switch: &RecordedSwitch) -> bool {
        self.kind == ChangeKind::Switch
            && self.state == ChangeState::Failed
            && self.key == switch.key()
            && self.clients.contains(&switch.client)
    }
}

/// The file of a client as it is to be.
struct EditedFile {
    /// The client that it was read for first.
    client: String,
    path: PathBuf,
    before: Option<String>,
    after: String,
}

impl EditedFile {
    /// Returns the step that writes it, or removes it if nothing is left of a file made for a switch.
    fn into_step(self) -> Option<PathStep> {
        let Self { path, before, mut after, .. } = self;
        if before.as_deref().unwrap_or_default() == after {
            return None;
        }
        if before.is_none() && !after.ends_with('\n') {
            after.push('\n');
        }
        let after = Some(after).filter(|after| !after.is_empty());
        Some(PathStep::UserFile(FileStep { path, before, after }))
    }
}

/// Changes for the clients of a project or a user.
pub struct ClientChanges {
    places: Places,
    owner: Owner,
    base: PathBuf,
    /// The only client that is meant.
    client: Option<&'static Client>,
    record: Record<Vec<RecordedChange>>,
    pending: Vec<RecordedChange>,
    files: Vec<EditedFile>,
    /// `true` if a change stays recorded, because it could not be undone.
    is_unfinished: bool,
    /// The lines about them.
    pub lines: Vec<ChangeLine>,
}

impl ClientChanges {
    /// Returns the changes of `owner`, none yet, for `client` or for all; `None` without a home directory.
    pub fn open(places: Places, owner: Owner, client: Option<&str>) -> Result<Option<Self>, Error> {
        let Some(base) = places.base(owner) else { return Ok(None) };
        let record = record_file::read(&places, owner, &base, RecordKind::Disabled)?;
        let client = client.and_then(Client::named);
        let (pending, files, lines) = (Vec::new(), Vec::new(), Vec::new());
        let is_unfinished = false;
        Ok(Some(Self { places, owner, base, client, record, pending, files, is_unfinished, lines }))
    }

    /// Returns the patterns that are recorded.
    pub fn recorded_patterns(&self) -> impl Iterator<Item = &str> {
        self.record.entries.iter().map(|change| change.pattern.as_str())
    }

    /// Returns `true` if it is recorded that the skills of `pattern` are disabled for the client.
    pub fn has(&self, pattern: &Pattern) -> bool {
        let client = self.client.map(|client| client.id);
        self.record.entries.iter().any(|change| change.is_about(pattern, client))
    }

    /// Plans to disable `entries`, which are the skills of `pattern` in a library of the places `searched`.
    pub fn disable(
        &mut self,
        pattern: &Pattern,
        entries: &[&Entry],
        searched: &[Place],
    ) -> Result<(), Error> {
        let client = self.client.map(|client| client.id.to_owned());
        let also = self.client.map(|client| client.id);
        let mut readers = client_readers(&self.places, searched, BTreeMap::new(), also.as_slice());
        readers.retain(|reader| also.is_none_or(|client| client == reader.client.id));
        let mut change =
            RecordedChange { pattern: pattern.to_string(), client, links: Vec::new(), switches: Vec::new() };
        for entry in entries {
            let (name, skill) = (entry.name(), SkillOnDisk::of(entry));
            let mut removed = Vec::new();
            for found in
                links_to_skill(&self.places, self.owner, &self.base, (name, &skill.directory), self.client)?
            {
                let is_planned = |earlier: &RecordedChange| earlier.links.contains(&found.link);
                if is_planned(&change) || self.pending.iter().any(is_planned) {
                    continue;
                }
                let (clients, path) = (found.link.clients.clone(), found.link.path.clone());
                let line = ChangeLine::planned(ChangeKind::Link, name.as_str(), clients, path);
                if let Some(obstacle) = found.obstacle {
                    self.lines.push(line.left_alone(obstacle));
                } else {
                    self.lines.push(line);
                    removed.push(place_of(&found.path));
                    change.links.push(found.link);
                }
            }
            for reader in &readers {
                let mut seen = BTreeSet::new();
                let routes = reader.routes(&skill).iter();
                for route in routes.filter(|route| !removed.contains(&place_of(&route.path))) {
                    let id = reader.client.id;
                    if let Some(reason) = missing_switch(id, route.plugin.as_deref()) {
                        if seen.insert(reason.clone()) {
                            let clients = vec![id.to_owned()];
                            let kind = ChangeKind::Switch;
                            let line = ChangeLine::planned(kind, name.as_str(), clients, String::new());
                            self.lines.push(line.left_alone(reason));
                        }
                    } else if let Some(client) = Client::named(id) {
                        let key = reader.switch_key(route, &skill);
                        if seen.insert(key.clone()) {
                            change.switches.extend(self.turn_off(client, name, key));
                        }
                    }
                }
            }
        }
        if !change.is_empty() {
            self.pending.push(change);
        }
        Ok(())
    }

    /// Returns `true` if links of the project, which a change of the user keeps, lead to one of `entries`.
    pub fn leaves_links_of_project(&self, entries: &[&Entry]) -> bool {
        let Some(base) = self.places.base(Owner::Project).filter(|_| self.owner == Owner::User) else {
            return false;
        };
        entries.iter().any(|entry| {
            let real = paths::of(entry);
            let links =
                links_to_skill(&self.places, Owner::Project, &base, (entry.name(), &real), self.client);
            links.is_ok_and(|links| links.iter().any(|link| link.obstacle.is_none()))
        })
    }

    /// Returns the number of planned changes.
    pub fn planned(&self) -> usize {
        self.lines.iter().filter(|line| line.state == ChangeState::Planned).count()
    }

    /// Plans to turn off the switch of `client` for the skill `name`, known to it by name or path as `key`.
    fn turn_off(&mut self, client: &Client, name: &SkillName, key: String) -> Option<RecordedSwitch> {
        let clients = vec![client.id.to_owned()];
        let mut line = ChangeLine::planned(ChangeKind::Switch, name.as_str(), clients, String::new());
        let path = match switch_file(&self.places, self.owner, client) {
            Ok(path) => path,
            Err(reason) => {
                self.lines.push(line.left_alone(reason));
                return None;
            }
        };
        line.path = path.display().to_string();
        let edited = self.file(client.id, &path).and_then(|file| {
            let edited =
                client_switch::turn_off(&file.after, client, name, &key).map_err(|fault| in_words(&fault))?;
            Ok(edited.map(|(text, mut switch)| {
                switch.is_new_file = file.before.is_none() && file.after.is_empty();
                file.after = text;
                switch
            }))
        });
        match edited {
            // It was off already, which is not ours to change.
            Ok(None) => None,
            Ok(Some(switch)) => {
                line.key = switch.key().to_owned();
                self.lines.push(line);
                Some(switch)
            }
            Err(reason) => {
                (line.state, line.reason) = (ChangeState::Failed, Some(reason));
                self.lines.push(line);
                None
            }
        }
    }

    /// Returns the file of a client at `path`, as it is planned so far, or why it cannot be changed.
    fn file(&mut self, client: &str, path: &Path) -> Result<&mut EditedFile, String> {
        if paths::leads_out(&self.places, self.owner, path) {
            return Err("it leads out of the project".to_owned());
        }
        // A link in the home directory stays one, and a file under two names is changed once.
        let path = paths::resolved(path);
        if let Some(at) = self.files.iter().position(|file| file.path == path) {
            return Ok(&mut self.files[at]);
        }
        let before = match regular_file::read(&path, MAX_FILE_BYTES) {
            Ok(bytes) => Some(String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(format!("it cannot be read: {error}")),
        };
        check_user_file(&path, before.as_deref()).map_err(|error| error.to_string())?;
        let after = before.clone().unwrap_or_default();
        self.files.push(EditedFile { client: client.to_owned(), path, before, after });
        let last = self.files.len() - 1;
        Ok(&mut self.files[last])
    }

    /// Returns the steps that disable skills as planned.
    pub fn disable_steps(&mut self) -> Result<Vec<PathStep>, Error> {
        if self.pending.is_empty() {
            return Ok(Vec::new());
        }
        let links: Vec<&RecordedLink> = self.pending.iter().flat_map(|change| &change.links).collect();
        let SwitchedLinks { mut steps, unwritable, .. } =
            remove_links(&self.places, self.owner, &self.base, &links)?;
        self.note_unwritable(&unwritable);
        for mut change in std::mem::take(&mut self.pending) {
            change.links.retain(|link| !unwritable.contains(&link.path));
            if !change.is_empty() {
                add(&mut self.record.entries, change);
            }
        }
        steps.extend(self.file_steps());
        steps.extend(self.record.steps()?);
        Ok(steps)
    }

    /// Plans to enable the skills of `pattern`; returns `false` if no change for them is recorded.
    pub fn enable(&mut self, pattern: &Pattern) -> bool {
        let client = self.client.map(|client| client.id);
        let is_meant = |change: &RecordedChange| match client {
            Some(_) => change.is_about(pattern, client),
            None => change.is_about(pattern, change.client.as_deref()),
        };
        let changes = std::mem::take(&mut self.record.entries);
        let (meant, others): (Vec<_>, Vec<_>) = changes.into_iter().partition(is_meant);
        self.record.entries = others;
        let is_found = !meant.is_empty();
        for change in meant {
            for link in &change.links {
                let skill = link.path.rsplit('/').next().unwrap_or_default();
                let (clients, path) = (link.clients.clone(), link.path.clone());
                self.lines.push(ChangeLine::planned(ChangeKind::Link, skill, clients, path));
            }
            for switch in &change.switches {
                self.turn_on(switch);
            }
            self.pending.push(change);
        }
        is_found
    }

    /// Plans to turn `switch` on.
    fn turn_on(&mut self, switch: &RecordedSwitch) {
        let Some(client) = Client::named(&switch.client) else { return };
        let Ok(path) = switch_file(&self.places, self.owner, client) else { return };
        let edited = self.file(client.id, &path).and_then(|file| {
            let text = client_switch::turn_on(&file.after, switch).map_err(|fault| in_words(&fault))?;
            Ok(text.map(|text| file.after = text))
        });
        let (state, reason) = match edited {
            Ok(Some(())) => (ChangeState::Planned, None),
            Ok(None) => (ChangeState::LeftAlone, Some("it was changed since".to_owned())),
            Err(reason) => (ChangeState::Failed, Some(reason)),
        };
        let (clients, path) = (vec![switch.client.clone()], path.display().to_string());
        let line = ChangeLine::planned(ChangeKind::Switch, &switch.skill, clients, path);
        self.lines.push(ChangeLine { key: switch.key().to_owned(), state, reason, ..line });
        if state == ChangeState::Planned {
            // The objects around it stay as long as another switch is in them.
            let others = self.record.entries.iter_mut().flat_map(|change| &mut change.switches);
            for heir in others.filter(|other| other.client == switch.client) {
                heir.inherit(switch);
            }
        }
        if switch.is_new_file
            && let Some(file) = self.files.iter_mut().find(|file| file.client == switch.client)
            && ["", "{}"].contains(&file.after.trim())
        {
            file.after.clear();
        }
    }

    /// Returns the steps that enable skills as planned. What cannot be changed stays recorded for later.
    pub fn enable_steps(&mut self) -> Result<Vec<PathStep>, Error> {
        if self.pending.is_empty() {
            return Ok(Vec::new());
        }
        let links: Vec<&RecordedLink> = self.pending.iter().flat_map(|change| &change.links).collect();
        let SwitchedLinks { mut steps, unwritable, obsolete } =
            restore_links(&self.places, self.owner, &self.base, &links)?;
        self.note_unwritable(&unwritable);
        for line in self.lines.iter_mut().filter(|line| line.kind == ChangeKind::Link) {
            if let Some(reason) = obsolete.get(&line.path) {
                (line.state, line.reason) = (ChangeState::Failed, Some((*reason).to_owned()));
            }
        }
        steps.extend(self.file_steps());
        for mut change in std::mem::take(&mut self.pending) {
            change.links.retain(|link| unwritable.contains(&link.path));
            change.switches.retain(|switch| self.lines.iter().any(|line| line.is_failure_of(switch)));
            if !change.is_empty() {
                self.is_unfinished = true;
                add(&mut self.record.entries, change);
            }
        }
        steps.extend(self.record.steps()?);
        Ok(steps)
    }

    /// Notes that the links `unwritable` could not be changed.
    fn note_unwritable(&mut self, unwritable: &BTreeSet<String>) {
        for line in self.lines.iter_mut().filter(|line| line.kind == ChangeKind::Link) {
            if unwritable.contains(&line.path) && line.state == ChangeState::Planned {
                let reason = "its directory cannot be written".to_owned();
                (line.state, line.reason) = (ChangeState::Failed, Some(reason));
            }
        }
    }

    /// Returns the steps that write the files of clients.
    fn file_steps(&mut self) -> Vec<PathStep> {
        std::mem::take(&mut self.files).into_iter().filter_map(EditedFile::into_step).collect()
    }

    /// Notes that the planned changes are made.
    pub fn finish(&mut self) {
        for line in self.lines.iter_mut().filter(|line| line.state == ChangeState::Planned) {
            line.state = ChangeState::Done;
        }
    }

    /// Returns `true` if a switch of `client` is changed or would be.
    pub fn has_switched(&self, client: &str) -> bool {
        let is_made = |line: &ChangeLine| matches!(line.state, ChangeState::Planned | ChangeState::Done);
        let is_switch = |line: &ChangeLine| matches!(line.kind, ChangeKind::Switch);
        let is_of_client = |line: &ChangeLine| line.clients.iter().any(|other| other == client);
        self.lines.iter().any(|line| is_made(line) && is_switch(line) && is_of_client(line))
    }

    /// Returns `true` if a change stays recorded, because it could not be undone.
    pub fn is_unfinished(&self) -> bool {
        self.is_unfinished
    }

    /// Returns `true` if a change could not be made.
    pub fn has_failed(&self) -> bool {
        self.lines.iter().any(|line| line.state == ChangeState::Failed)
    }
}

/// Returns the sentence that `client` reads `skill` although it is disabled.
fn still_reads(client: &str, skill: &str, reason: &str) -> String {
    format!("{client} still reads {skill}: {reason}")
}

/// Returns a sentence about each client that still reads `entry`, a disabled skill of the places `searched`.
pub fn still_read(places: &Places, searched: &[Place], entry: &Entry) -> Vec<String> {
    let skill = SkillOnDisk::of(entry);
    let sentence = |reader: &ClientReader| {
        let route = reader.routes_in_use(&skill).next()?;
        let reason = missing_switch(reader.client.id, route.plugin.as_deref())
            .unwrap_or_else(|| "its own switch is on".to_owned());
        Some(still_reads(reader.client.title, entry.name().as_str(), &reason))
    };
    client_readers(places, searched, BTreeMap::new(), &[]).iter().filter_map(sentence).collect()
}

/// Returns `path` with the links above it resolved.
fn place_of(path: &Path) -> PathBuf {
    let parent = path.parent().map(paths::resolved).unwrap_or_default();
    parent.join(path.file_name().unwrap_or_default())
}

/// Returns the name of the client `id` as written by its makers.
fn title(id: &str) -> &str {
    let title = ClientDirectories::of(id).title;
    if title.is_empty() { id } else { title }
}

fn in_words(fault: &EditFault) -> String {
    match fault.line {
        Some(line) => format!("line {line}: {}", fault.message),
        None => fault.message.clone(),
    }
}
