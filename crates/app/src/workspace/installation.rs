//! The places of added skills, and what is needed to fetch and change them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use repertoire::change::{self, ChangePlace, ChangeSteps, Recovery, RecoveryEnd, WriterLock};
use repertoire::config::FileTrust;
use repertoire::regular_file;
use repertoire::store::LazyStore;
use repertoire_clients::link::{LinkKind, LinkedSkill, NewLinks, added_links};
use repertoire_clients::{CANONICAL, Owner, Places, paths};
use repertoire_model::SkillName;
use repertoire_model::patch::SkillFiles;
use repertoire_sources::{
    Change, FetchOptions, GitPrompt, Installation, LOCK_FILE, LockedSkill, SKILLS_LOCK_FILE, Source,
    SourceText, apply, begin, record_versions, recover,
};

use super::environment::{self as env, Env};
use super::handle::Workspace;
use super::store::local_store;
use crate::error::Error;

/// The largest file with a token, in bytes.
const MAX_TOKEN: u64 = 16 * 1024;

/// The directory of a project for what is not a part of it.
const OWN_DIRECTORY: &str = ".repertoire";

/// A change that was interrupted, and is completed or undone now as far as possible.
pub struct InterruptedChange {
    /// The outcome, in words.
    pub message: String,
    /// The advice for the user.
    pub hints: Vec<String>,
}

/// Completes or undoes changes whose program was killed.
pub fn finish_interrupted_changes(env: &Env) -> Vec<InterruptedChange> {
    let store = local_store(env);
    let places = env.places();
    let mut changes = Vec::new();
    for owner in [Owner::Project, Owner::User] {
        let Some(installation) = installation(env, &places, owner) else { continue };
        let (message, hints) = match recover(&installation, &store) {
            Ok(None) => continue,
            Ok(Some(Recovery { command, end })) => {
                let command = format!("a `{command}` that was interrupted");
                match end {
                    RecoveryEnd::Completed => (format!("{command} is completed"), Vec::new()),
                    RecoveryEnd::Undone => (format!("{command} is undone"), Vec::new()),
                    RecoveryEnd::Abandoned(directories) => {
                        let names = directories.iter().filter_map(|directory| directory.file_name());
                        let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
                        let place = places.option(owner);
                        (
                            format!(
                                "{command} can be neither completed nor undone, because files of it are not stored any more; \
                                 left as they are: {}",
                                names.join(", ")
                            ),
                            vec![format!(
                                "`rep sync{place} --frozen` tells what differs from the lock, and `rep sync{place} --force` restores it"
                            )],
                        )
                    }
                }
            }
            Err(error) => {
                let error = Error::from(error);
                let reason = error.message_with_causes();
                let message = format!("a change was interrupted and cannot be completed: {reason}");
                (message, error.hints().to_vec())
            }
        };
        let message = format!("{}: {message}", installation.base.display());
        changes.push(InterruptedChange { message, hints });
    }
    changes
}

/// The place where the changes of an owner are made, with the store of what files were.
pub struct ChangeSite {
    installation: Installation,
    store: LazyStore,
}

impl ChangeSite {
    /// Returns the place for `owner`.
    pub fn of(env: &Env, owner: Owner) -> Result<Self, Error> {
        let installation = installation(env, &env.places(), owner).ok_or_else(no_installation)?;
        Ok(Self { installation, store: local_store(env) })
    }

    /// Returns the place.
    pub fn place(&self) -> ChangePlace {
        self.installation.change_place()
    }

    /// Waits until no other process makes a change there; until the result is dropped, others wait.
    pub fn begin(&self) -> Result<WriterLock, Error> {
        Ok(begin(&self.installation, &self.store)?)
    }

    /// Carries out `change`, all of it or nothing. Returns a note for the user if it cannot be undone.
    pub fn apply(&self, lock: &WriterLock, change: &ChangeSteps<'_>) -> Result<Option<String>, Error> {
        let outcome = change::apply(lock, &self.place(), &self.store, change);
        let unrecorded = outcome.map_err(|failed| {
            let error = Error::from(failed.error);
            match failed.undo {
                None => error,
                Some(second) => error
                    .hint(format!("what was changed already could not be taken back: {second}"))
                    .hint("the next command tries it again"),
            }
        })?;
        Ok(unrecorded.map(|error| format!("this change cannot be undone: {}", error.chain())))
    }
}

fn no_installation() -> Error {
    Error::usage("there is no home directory, or no directory for state")
        .hint("set HOME, or REPERTOIRE_STATE_DIR")
}

fn installation(env: &Env, places: &Places, owner: Owner) -> Option<Installation> {
    let base = places.base(owner)?;
    let state = env.state_directory()?;
    Some(match owner {
        Owner::Project => Installation {
            skills: base.join(CANONICAL),
            lock: base.join(LOCK_FILE),
            skills_lock: Some(base.join(SKILLS_LOCK_FILE)),
            state: state.join("changes"),
            conflicts: base.join(OWN_DIRECTORY).join("conflicts"),
            base,
        },
        Owner::User => Installation {
            skills: base.join(CANONICAL),
            lock: env.config_home()?.join("repertoire").join(LOCK_FILE),
            skills_lock: None,
            conflicts: state.join("conflicts"),
            state: state.join("changes"),
            base,
        },
    })
}

impl Workspace {
    /// Returns the places of the skills of `owner`; fails if a link leads out of the project.
    pub fn installation(&self, owner: Owner) -> Result<Installation, Error> {
        let places = self.env.places();
        let installation = installation(&self.env, &places, owner).ok_or_else(no_installation)?;
        let trust = FileTrust::Within(places.project().to_owned());
        let leads_out = |path: &&Path| trust.objection_to_path("", path).is_some();
        let other_lock = installation.base.join(SKILLS_LOCK_FILE);
        let written = [&*installation.skills, &*installation.lock, &*installation.conflicts, &*other_lock];
        let outside = written.into_iter().find(leads_out).filter(|_| owner == Owner::Project);
        if let Some(path) = outside {
            return Err(Error::no(format!("{} leads out of the project", path.display()))
                .hint("nothing is written there; replace the link by a directory or a file"));
        }
        Ok(installation)
    }

    /// Waits until no other process changes `installation`, and completes or undoes an interrupted change.
    pub fn begin(&self, installation: &Installation) -> Result<WriterLock, Error> {
        Ok(begin(installation, &self.content_store())?)
    }

    /// Carries out `change`, all of it or nothing, and records it in the store of this machine, and in that
    /// of the configuration. Returns notes for the user.
    pub fn apply(
        &self,
        lock: &WriterLock,
        installation: &Installation,
        change: &Change,
    ) -> Result<Vec<String>, Error> {
        let mut notes = apply(lock, installation, &self.content_store(), change)?;
        if !self.settings.store_url.is_empty()
            && let Err(error) = record_versions(installation, &self.lazy_store(), change)
        {
            notes.push(format!("the new versions of the skills are not recorded: {}", error.chain()));
        }
        Ok(notes)
    }

    /// Returns the links that the clients which are found need to read `skills`, added ones with their files
    /// as they will be and others if they are there, and the change that makes them and removes the links
    /// `obsolete`. Links to disabled skills were taken away on purpose.
    pub fn added_links<'l>(
        &self,
        owner: Owner,
        kind: LinkKind,
        skills: impl Iterator<Item = (&'l SkillName, Option<&'l SkillFiles>)>,
        obsolete: &[PathBuf],
    ) -> Result<NewLinks, Error> {
        let (installation, policy) = (self.installation(owner)?, &self.settings.policy);
        let source = format!("{}:{CANONICAL}", owner.as_str());
        let is_disabled = |name: &str| {
            policy.leaves_out(&source, name) || policy.disabled.iter().any(|it| it.matches(&source, name))
        };
        let linked = skills.filter_map(|(name, files)| {
            let directory = installation.directory(name);
            let is_there = files.is_some() || directory.is_dir();
            (is_there && !is_disabled(name.as_str())).then(|| LinkedSkill {
                name: name.as_str(),
                source: &source,
                directory: paths::resolved(&directory),
                files,
            })
        });
        Ok(added_links(&self.env.places(), owner, kind, &linked.collect::<Vec<_>>(), obsolete)?)
    }

    /// Returns the options of fetching; git may ask for credentials. `token_file` is the token for a server.
    pub fn fetch_options(&self, prompt: GitPrompt, token_file: Option<&Path>) -> Result<FetchOptions, Error> {
        let mut options = self.unattended_fetch_options()?;
        options.prompt = prompt;
        options.token = token_file.map(|path| self.token(path)).transpose()?;
        Ok(options)
    }

    /// Returns the options for fetching where nobody can be asked for anything.
    pub fn unattended_fetch_options(&self) -> Result<FetchOptions, Error> {
        let state = self.env.state_directory().ok_or_else(|| {
            Error::usage("there is no state directory").hint("set HOME, or REPERTOIRE_STATE_DIR")
        })?;
        let mut options = FetchOptions::new(state.join("fetching"));
        options.prompt = GitPrompt::Never;
        options.http = self.env.http.clone();
        let registry = self.env.get(env::NPM_REGISTRY);
        if let Some(registry) = registry.or_else(|| self.env.get(env::NPM_REGISTRY_LOWER)) {
            options.npm = registry.to_string_lossy().into_owned();
        }
        Ok(options)
    }

    /// Fails if a token would be sent to more than one server.
    pub fn expect_one_server<'l>(
        &self,
        skills: impl Iterator<Item = &'l LockedSkill>,
        token_file: Option<&Path>,
    ) -> Result<(), Error> {
        let is_server = |source: &&str| {
            let parsed = self.source(source, Path::new("/")).map(|parsed| parsed.source);
            matches!(parsed, Ok(Source::WellKnown(_) | Source::ArchiveUrl(_)))
        };
        let servers: BTreeSet<&str> = skills.map(|skill| skill.source.as_str()).filter(is_server).collect();
        if token_file.is_some() && servers.len() > 1 {
            return Err(Error::usage("the token would be sent to several servers")
                .hint("name the skills of one server"));
        }
        Ok(())
    }

    fn token(&self, path: &Path) -> Result<String, Error> {
        let path = self.env.working_directory().join(path);
        let bytes = regular_file::read(&path, MAX_TOKEN).map_err(|error| Error::io("read", &path, error))?;
        let token = String::from_utf8_lossy(&bytes).trim().to_owned();
        let is_token = !token.is_empty() && token.chars().all(|c| c.is_ascii_graphic());
        let bad = || Error::usage(format!("{} holds no token", path.display()));
        is_token.then_some(token).ok_or_else(bad)
    }

    /// Returns the source that `text` names; relative paths count from `base`.
    pub fn source(&self, text: &str, base: &Path) -> Result<SourceText, Error> {
        Ok(SourceText::parse(text, base, self.env.home().as_deref())?)
    }
}
