//! What one agent, or everybody, is served.

use std::sync::Arc;

use futures_util::future::join_all;
use repertoire::{Agent, Entry, Session, Snapshot};
use repertoire_model::catalog::CatalogOptions;
use tokio::sync::{Semaphore, watch};

use crate::instructions::{Instructions, Room};
use crate::server::Shared;
use crate::shelf::{PublishedSkill, Renewal, Standing};
use crate::{Error, ServerOptions};

/// The most calls of one audience that run at a time, for each processor; others wait. What they wait for is files that are
/// mostly in memory, so more of them would be no quicker, and each takes a thread.
const CALLS_PER_PROCESSOR: usize = 4;

/// The most calls of one audience that run something of a skill at a time, for each processor; others of that kind wait. Commands take
/// as long as they take, and nobody who reads waits for them.
const RUNS_PER_PROCESSOR: usize = 4;

/// How many skills are worked out at a time.
pub(crate) const AT_A_TIME: usize = 16;

/// How often each list changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Epochs {
    pub(crate) tools: u64,
    pub(crate) prompts: u64,
    pub(crate) resources: u64,
}

/// What one agent, or everybody, is served.
pub(crate) struct Audience {
    pub(crate) shared: Arc<Shared>,
    /// Answers the calls. It is one for all connections: a server sees no transcript to keep account of.
    pub(crate) session: Arc<Session>,
    agent: Option<Agent>,
    /// The library as it was when clients could first be told of it.
    opened: Arc<Snapshot>,
    instructions: Instructions,
    epochs: watch::Sender<Epochs>,
    pub(crate) calls: Semaphore,
    pub(crate) runs: Semaphore,
}

impl Audience {
    pub(crate) async fn open(shared: Arc<Shared>, agent: Option<&str>) -> Result<Arc<Self>, Error> {
        let opened = shared.registry.snapshot();
        // Whoever is served first must not wait until everything is watched. `follow` catches up.
        let session = Arc::new(shared.library.session_at_once(agent).await?);
        let agent = session.agent().cloned();
        Ok(Arc::new(Self {
            shared,
            session,
            agent,
            opened,
            instructions: Instructions::default(),
            epochs: watch::Sender::default(),
            calls: Semaphore::new(CALLS_PER_PROCESSOR * processors()),
            runs: Semaphore::new(RUNS_PER_PROCESSOR * processors()),
        }))
    }

    pub(crate) fn options(&self) -> &ServerOptions {
        &self.shared.options
    }

    /// Returns how often each list changed, to be waited upon.
    pub(crate) fn epochs(&self) -> watch::Receiver<Epochs> {
        self.epochs.subscribe()
    }

    /// Returns whether the skill is one that the audience may know of.
    pub(crate) fn sees(&self, entry: &Entry) -> bool {
        self.agent.as_ref().is_none_or(|agent| agent.sees(entry))
    }

    /// Opens a session of its own for one conversation.
    pub(crate) async fn own_session(&self) -> Result<Arc<Session>, Error> {
        let agent = self.agent.as_ref().map(|agent| agent.name.as_str());
        Ok(Arc::new(self.shared.library.session_at_once(agent).await?))
    }

    /// Returns the skills that models are offered, sorted by name.
    pub(crate) fn offered<'s>(&self, snapshot: &'s Snapshot) -> impl Iterator<Item = &'s Entry> {
        snapshot.held(|entry| self.sees(entry)).filter(|entry| entry.is_offered())
    }

    /// Returns the skill called `name`, as far as the audience may know of it.
    pub(crate) fn find<'s>(&self, snapshot: &'s Snapshot, name: &str) -> Option<&'s Entry> {
        snapshot.held_as(name, |entry| self.sees(entry))
    }

    /// Returns what a skill is to clients of the extension now, and tells those who listen where that is news.
    pub(crate) async fn current(&self, entry: &Entry) -> Standing {
        let (standing, renewal) = self.shared.shelf.current(entry).await;
        self.told(entry, renewal);
        standing
    }

    /// Returns those of `entries` that are served, as they are now and in the same order.
    pub(crate) async fn published<'s>(&self, entries: &[&'s Entry]) -> Vec<(&'s Entry, Arc<PublishedSkill>)> {
        let mut published = Vec::with_capacity(entries.len());
        for chunk in entries.chunks(AT_A_TIME) {
            let mut standings = Vec::with_capacity(chunk.len());
            for entry in chunk {
                standings.push(self.current(entry));
            }
            let standings = join_all(standings).await;
            published.extend(chunk.iter().zip(standings).filter_map(|(entry, standing)| match standing {
                Standing::Published(skill) => Some((*entry, skill)),
                Standing::Withheld(_) => None,
            }));
        }
        published
    }

    /// Works a skill out anew because its files are not what clients were told, and tells those who listen.
    pub(crate) async fn renew(&self, entry: &Entry) {
        let (_, renewal) = self.shared.shelf.renewed(entry).await;
        self.told(entry, renewal);
    }

    fn told(&self, entry: &Entry, renewal: Renewal) {
        if renewal == Renewal::Changed {
            self.shared.announce(entry);
        }
    }

    /// Tells those who listen that resources are not what they were.
    pub(crate) fn resources_changed(&self) {
        // Without the extension nobody was told that there are any.
        if self.options().extension.is_on() {
            self.epochs.send_modify(|epochs| epochs.resources += 1);
        }
    }

    /// Tells those who listen that tools are not what they were.
    pub(crate) fn tools_changed(&self) {
        self.epochs.send_modify(|epochs| epochs.tools += 1);
    }

    /// Returns the catalog for `instructions` to `client`, the same bytes for the same snapshot; empty where there is none.
    pub(crate) fn instructions(&self, client: Option<&str>) -> Arc<str> {
        let snapshot = self.shared.registry.snapshot();
        let options = self.session.options().catalog_options();
        let catalog = |options: &CatalogOptions| match &self.agent {
            Some(agent) => snapshot.catalog_for(agent, options).ok(),
            None => snapshot.catalog(options).ok(),
        };
        self.instructions.of(&snapshot, Room::of(client, self.options()), &options, catalog)
    }

    /// Follows the library for as long as it is polled, and tells those who listen what changed.
    pub(crate) async fn follow(self: Arc<Self>) {
        let registry = &self.shared.registry;
        let mut changes = registry.subscribe();
        // What changed since the audience was opened is told of too.
        let (mut tools, mut snapshot) = (self.session.tools(), Arc::clone(&self.opened));
        loop {
            self.session.renew().await;
            let (new_tools, newest) = (self.session.tools(), registry.snapshot());
            let is_of_tools = self.options().tools.is_on() && tools != new_tools;
            let is_of_prompts = self.prompts_differ(&snapshot, &newest);
            let is_of_resources = self.options().extension.is_on() && self.skills_differ(&snapshot, &newest);
            (tools, snapshot) = (new_tools, newest);
            self.shared.shelf.prune(&snapshot);
            self.epochs.send_if_modified(|epochs| {
                epochs.tools += u64::from(is_of_tools);
                epochs.prompts += u64::from(is_of_prompts);
                epochs.resources += u64::from(is_of_resources);
                is_of_tools || is_of_prompts || is_of_resources
            });
            changes.next().await;
        }
    }

    fn prompts_differ(&self, before: &Snapshot, after: &Snapshot) -> bool {
        let listed = |entry: &Entry| (entry.name().clone(), entry.document.description.clone());
        !self.invocable(before).map(listed).eq(self.invocable(after).map(listed))
    }

    fn skills_differ(&self, before: &Snapshot, after: &Snapshot) -> bool {
        let is_same = |a: &Entry, b: &Entry| {
            Arc::ptr_eq(&a.document, &b.document) || (a.source == b.source && a.document == b.document)
        };
        !self.offered(before).eq_by_entries(self.offered(after), is_same)
    }

    /// Returns the skills that people may invoke, sorted by name.
    pub(crate) fn invocable<'s>(&self, snapshot: &'s Snapshot) -> impl Iterator<Item = &'s Entry> {
        let is_invocable = |entry: &&Entry| entry.document.manifest.user_invocable != Some(false);
        snapshot.held(|entry| self.sees(entry)).filter(is_invocable)
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Compares sequences of skills; the like of it in the standard library is not stable yet.
trait EqByEntries<'s>: Iterator<Item = &'s Entry> + Sized {
    fn eq_by_entries(
        mut self,
        mut others: impl Iterator<Item = &'s Entry>,
        is_same: impl Fn(&Entry, &Entry) -> bool,
    ) -> bool {
        loop {
            match (self.next(), others.next()) {
                (None, None) => return true,
                (Some(a), Some(b)) if is_same(a, b) => {}
                _ => return false,
            }
        }
    }
}

impl<'s, I: Iterator<Item = &'s Entry>> EqByEntries<'s> for I {}
