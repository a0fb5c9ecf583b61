//! Takes changes back: recorded ones, and connections, links and gathered copies without a record.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use repertoire::change::{
    DoneChange, PathStep, TakenBack, UNDO, done_changes, remove_made, take_back, undone,
};
use repertoire_clients::connect::{
    Connection, OwnEntries, broken_files, connections, connections_in_words, removal,
};
use repertoire_clients::{Owner, adopt, hook, link, paths};
use repertoire_model::Pattern;

use crate::error::Error;
use crate::switch::switched_on;
use crate::view::ChangeView;
use crate::workspace::{ChangeSite, Workspace};

/// The words of a change that registered hooks.
pub const CONNECT_HOOKS: &str = "rep connect --hooks";

/// A change in the list.
pub struct ListedChange {
    /// The answer about it.
    pub view: ChangeView,
    owner: Owner,
    /// The change. Of what stands without a record it has the paths, and nothing else to be taken back.
    change: DoneChange,
}

/// Returns all changes that are recorded, the newest first, and behind them what stands without a record.
/// Changes that can be taken back from here have numbers.
pub fn changes(workspace: &Workspace) -> Result<Vec<ListedChange>, Error> {
    let project = ChangeSite::of(&workspace.env, Owner::Project)?.place();
    let user = ChangeSite::of(&workspace.env, Owner::User).ok().map(|site| site.place().name());
    let done = done_changes(&project)?;
    let undone = undone(&done);
    let mut listed = Vec::new();
    for change in done {
        let is_of_user = user.as_ref() == Some(&change.place);
        let owner = Owner::user_if(is_of_user);
        let state = match () {
            () if change.command == UNDO => "undo",
            () if undone.contains(&(change.place.clone(), change.time)) => "undone",
            () if !is_of_user && change.place != project.name() => "elsewhere",
            () if change.is_back() || is_disconnected(workspace, owner, &change) => continue,
            () => "made",
        };
        let view = ChangeView::new(&change, state);
        listed.push(ListedChange { view, owner, change });
    }
    listed.extend(standing(workspace, &listed));
    let numbered = listed.iter_mut().filter(|listed| matches!(listed.view.state, "made" | "stands"));
    for (index, listed) in numbered.enumerate() {
        listed.view.number = Some(index + 1);
    }
    Ok(listed)
}

/// Returns the connections, links and gathered copies that no change in `listed` made.
fn standing(workspace: &Workspace, listed: &[ListedChange]) -> Vec<ListedChange> {
    let places = workspace.env.places();
    let [connected, linked, adopted] = ["rep connect", "rep link", "rep adopt"].map(|command| {
        let made = listed.iter().filter(|it| it.view.state == "made" && it.change.command == command);
        made.flat_map(|listed| listed.change.paths().map(Path::to_owned)).collect::<BTreeSet<PathBuf>>()
    });
    let mut found = Vec::new();
    let mut add = |command: &str, about: String, owner: Owner, paths: Vec<PathBuf>| {
        let steps = paths.into_iter().map(|path| PathStep::Link { path, before: None, after: None });
        let change = DoneChange {
            base: places.base(owner).unwrap_or_default(),
            command: command.to_owned(),
            about: vec![about],
            steps: steps.collect(),
            ..DoneChange::default()
        };
        found.push(ListedChange { view: ChangeView::new(&change, "stands"), owner, change });
    };
    for Connection { client, owner, path, name, .. } in connections(&OwnEntries::new(&places), &places) {
        if !connected.contains(&path) && !connected.contains(&paths::resolved(&path)) {
            add("rep connect", Connection::in_words(client, &name), owner, vec![path]);
        }
    }
    let mut bases = BTreeSet::new();
    for owner in [Owner::User, Owner::Project] {
        let base = places.base(owner).filter(|base| bases.insert(paths::resolved(base)));
        let Some(base) = base else { continue };
        let (mut links, mut copies): (BTreeMap<String, Vec<PathBuf>>, BTreeMap<_, _>) = Default::default();
        // A record that cannot be read is reported by the commands that write it.
        for made in link::made(&places, owner, &base).unwrap_or_default() {
            let path = base.join(&made.path);
            for client in made.clients.into_iter().filter(|_| !linked.contains(&path)) {
                links.entry(client).or_default().push(path.clone());
            }
        }
        for (name, path) in adopt::gathered(&places, owner, &base).unwrap_or_default() {
            if !adopted.contains(&path) {
                copies.insert(name, Vec::new());
            }
        }
        for (command, found) in [("rep link", links), ("rep adopt", copies)] {
            found.into_iter().for_each(|(about, paths)| add(command, about, owner, paths));
        }
    }
    found
}

impl ListedChange {
    /// Plans to take it back.
    ///
    /// Fails if something that it is about was changed since, unless that is the configuration of a client:
    /// of that, only what the change put in is taken out.
    pub fn plan(&self, workspace: &Workspace) -> Result<TakenBack, Error> {
        let (places, owner, change) = (workspace.env.places(), self.owner, &self.change);
        let base = places.base(owner).unwrap_or_default();
        if let Some(instead) = &change.instead {
            return Err(Error::no(format!("`{}` changed a store, and no files here", self.view.words()))
                .hint(format!("take it back with `{instead}`")));
        }
        let mut back = TakenBack::default();
        if self.view.state == "stands" {
            back.changed.extend(change.paths().map(|path| (path.to_owned(), "has no entry".to_owned())));
        } else {
            // A link that leads out of the project may have come since.
            workspace.installation(owner)?;
            let place = ChangeSite::of(&workspace.env, owner)?.place();
            back = take_back(&place, &workspace.content_store(), change)?;
            if back.changed.is_empty() {
                return Ok(back);
            }
        }
        let is_about = |word: &str| change.about.iter().any(|about| about == word);
        back = match change.command.split(' ').nth(1) {
            Some("connect") => disconnected(workspace, owner, change, back)?,
            Some("link") => link::remove_made(&places, owner, &base, &|path, client| {
                is_about(client) && change.paths().any(|made| made == path)
            })?,
            Some("adopt") => adopt::put_back(&places, owner, &base, &is_about)?,
            Some("disable") => {
                let client = change.command.strip_prefix("rep disable --client ");
                let patterns = change.about.iter().filter_map(|text| Pattern::new(text).ok());
                switched_on(workspace, owner, client, &patterns.collect::<Vec<_>>())?
            }
            _ => TakenBack { changed: back.changed, ..TakenBack::default() },
        };
        if back.change.steps.is_empty() && back.change.skills.is_empty() {
            let error = Error::no(format!("`{}` cannot be taken back", self.view.words()));
            let sentences = back.changed.iter().map(|(path, reason)| format!("{} {reason}", path.display()));
            let error = sentences.fold(error, Error::because);
            let hint = match self.view.number {
                Some(1) => "`rep undo --list` has the numbers of older ones, which `rep undo N` takes back",
                _ => "a newer change may have to be taken back first",
            };
            return Err(error.hint(format!("nothing was changed; {hint}")));
        }
        (back.change.command, back.change.about) = (UNDO, vec![self.view.words()]);
        back.change.undoes = Some(change.time);
        Ok(back)
    }

    /// Takes it back as it was `shown`.
    pub fn take_back(&self, workspace: &Workspace, shown: &TakenBack) -> Result<(), Error> {
        let site = ChangeSite::of(&workspace.env, self.owner)?;
        let lock = site.begin()?;
        let back = self.plan(workspace)?;
        if back.change.steps != shown.change.steps || back.changed != shown.changed {
            let error = Error::no("files were changed meanwhile");
            return Err(error.hint("nothing was taken back; run it again"));
        }
        site.apply(&lock, &back.change)?;
        // The change is taken back, also if empty directories stay.
        let _ = remove_made(&site.place(), &back.change);
        Ok(())
    }
}

/// Returns the connections with the entries that `change` wrote, by the files that they are in.
fn connections_of(workspace: &Workspace, owner: Owner, change: &DoneChange) -> BTreeMap<PathBuf, Connection> {
    let places = workspace.env.places();
    let written = change.pieces.values().flatten().map(|piece| piece.now.clone()).collect();
    let ours = OwnEntries::new(&places).or_written(written);
    let found = connections_in_words(&ours, &places, owner, &change.about);
    found.into_iter().map(|connection| (paths::resolved(&connection.path), connection)).collect()
}

/// Returns `true` if `change` connected clients, and somebody removed the entries since. A file that cannot
/// be understood may have one.
fn is_disconnected(workspace: &Workspace, owner: Owner, change: &DoneChange) -> bool {
    let mut files = change.paths().map(paths::resolved);
    change.command == "rep connect" && !change.is_made() && {
        let connections = connections_of(workspace, owner, change);
        let broken: BTreeSet<PathBuf> =
            broken_files(&workspace.env.places()).keys().map(|path| paths::resolved(path)).collect();
        !files.any(|path| connections.contains_key(&path) || broken.contains(&path))
    }
}

/// Returns `back` with the steps that take the entries of `change` out of the files that were changed since.
fn disconnected(
    workspace: &Workspace,
    owner: Owner,
    change: &DoneChange,
    mut back: TakenBack,
) -> Result<TakenBack, Error> {
    let places = workspace.env.places();
    let hooks: &[String] = if change.command == CONNECT_HOOKS { &change.about } else { &[] };
    let connections = connections_of(workspace, owner, change);
    for (path, reason) in std::mem::take(&mut back.changed) {
        match (connections.get(&paths::resolved(&path)), hook::removal(&places, hooks, owner, &path)?) {
            (_, Some(step)) => back.change.steps.push(step),
            (Some(connection), None) => back.change.steps.push(removal(&places, connection)?),
            (None, None) => back.changed.push((path, reason)),
        }
    }
    Ok(back)
}
