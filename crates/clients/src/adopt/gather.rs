//! The change that moves copies and makes links to them.

use std::path::{Path, PathBuf};

use repertoire::change::PathStep;
use repertoire::discovery::{CLIENT_DIRECTORIES, ClientDirectories};

use super::plan::{AdoptPlan, GatheredSkill};
use super::record::{self, AdoptedCopy, has_parent_outside, leads_out, original};
use crate::link::LinkRecord;
use crate::{Error, Owner, Places, paths};

impl AdoptPlan {
    /// Returns the steps that gather the skills and record them.
    pub fn steps(&self, places: &Places, owner: Owner, base: &Path) -> Result<Vec<PathStep>, Error> {
        let (mut record, mut links) =
            (record::load(places, owner, base)?, LinkRecord::load(places, owner, base)?);
        let mut steps = Vec::new();
        for skill in &self.skills {
            let copies: Vec<AdoptedCopy> = skill.copies(base).collect();
            record.entries.retain(|earlier| !copies.iter().any(|copy| copy.path == earlier.path));
            record.entries.extend(copies);
            // The one place is given up first, and taken again before links lead to it.
            if skill.aside.contains(&skill.target) {
                steps.push(put_aside(places, owner, base, &skill.target)?);
            }
            if let Some(moved) = &skill.moved {
                steps.push(PathStep::Move { from: moved.clone(), to: skill.target.clone() });
            }
            for path in skill.aside.iter().filter(|path| **path != skill.target) {
                steps.push(put_aside(places, owner, base, path)?);
            }
            for path in &skill.links {
                let to = skill.link_text(base, path);
                steps.push(PathStep::make_link(path, &to));
                links.add_link(base, path, &to, owners(places, owner, path));
            }
        }
        record.entries.sort_by(|a, b| a.path.cmp(&b.path));
        steps.extend(links.steps()?);
        steps.extend(record.steps()?);
        Ok(steps)
    }
}

impl GatheredSkill {
    /// Returns its copies as they are recorded.
    fn copies(&self, base: &Path) -> impl Iterator<Item = AdoptedCopy> {
        self.aside.iter().chain(&self.moved).map(move |path| AdoptedCopy {
            name: self.name.clone(),
            path: paths::shown(base, path),
            to: (*path != self.target).then(|| self.link_text(base, path).to_string_lossy().into_owned()),
            moved: self.moved.as_ref() == Some(path),
        })
    }

    /// Returns the text of the link at `path` that leads to the skill.
    pub fn link_text(&self, base: &Path, path: &Path) -> PathBuf {
        let (base, folder) = (paths::resolved(base), paths::resolved(path.parent().unwrap_or(path)));
        let target = paths::resolved(&self.target);
        if folder.starts_with(&base) && target.starts_with(&base) {
            paths::relative(&folder, &target)
        } else {
            target
        }
    }
}

/// Returns the step that moves the copy at `path` to where originals are kept.
fn put_aside(places: &Places, owner: Owner, base: &Path, path: &Path) -> Result<PathStep, Error> {
    let (from, to) = (path.to_owned(), original(base, path));
    if has_parent_outside(places, owner, &to) {
        return Err(leads_out(&to));
    }
    if to.symlink_metadata().is_ok() {
        return Err(Error::refused(format!("{} is there already", to.display()))
            .hint("it is the original of an earlier `rep adopt`; undo that first, or remove it"));
    }
    Ok(PathStep::Move { from, to })
}

/// Returns the clients whose own directory the link at `path` is in; others only read it too.
fn owners(places: &Places, owner: Owner, path: &Path) -> Vec<String> {
    let owns = |client: &&ClientDirectories| {
        places.directories(client, owner).first().is_some_and(|folder| path.parent() == Some(folder))
    };
    CLIENT_DIRECTORIES.iter().filter(owns).map(|client| client.id.to_owned()).collect()
}
