//! Opens libraries whose sessions are served or called, and sessions in them.

use std::sync::Arc;

use pollster::block_on;
use repertoire::event::{Sinks, Surface};
use repertoire::proposal::ProposalMode;
use repertoire::{Library, LibraryBuilder, Runner, Session, SessionOptions, SessionRequest, Snapshot};
use repertoire_model::answer::Render;
use repertoire_model::scope::{Pattern, Scope};
use repertoire_model::text::nearest;

use super::handle::Workspace;
use crate::error::Error;

/// The sentences for models where `exec.enabled` is `false`.
const RUNNING_OFF: &str = "Running tools and scripts of skills is off. Ask the user to set `exec.enabled = true` in the \
    user's configuration, or go on without them.";

impl Workspace {
    /// Returns the options of sessions; `render` overrides how answers are written.
    pub fn session_options(&self, render: Option<&str>) -> SessionOptions {
        let mut options = self.settings.session.clone();
        options.render = render.and_then(Render::parse).unwrap_or(options.render);
        options.surface = Surface::Cli;
        options.running.approve_command = Some("rep approve".to_owned());
        options.running.running_off = (!self.settings.exec.enabled).then(|| RUNNING_OFF.to_owned());
        options
    }

    /// Returns the configured options of sessions of `agent`, or without one.
    pub(super) fn options_of_agent(&self, agent: Option<&str>) -> SessionOptions {
        let options = &self.settings.session;
        let agent = agent.and_then(|name| self.settings.agents.get(name));
        agent.map_or_else(|| options.clone(), |configured| options.with_tools(&configured.agent.tools))
    }

    /// Opens a session with `options` for the agent called `agent`, or for one that may see everything,
    /// limited to `skills` unless these are empty; `runner` runs what skills bring along.
    pub fn session_with(
        &self,
        options: SessionOptions,
        agent: Option<&str>,
        skills: &[String],
        runner: Option<Arc<dyn Runner>>,
    ) -> Result<Session, Error> {
        let library = self.library(options, agent.as_slice(), runner)?;
        let mut request = SessionRequest::default();
        request.agent = agent.map(str::to_owned);
        request.scopes.extend(narrowed(&library.snapshot(), skills)?);
        Ok(block_on(library.open_session(&request))?)
    }

    /// Opens a library whose sessions have `options` and run things with `runner`, and whose agents are those
    /// configured; `needed` ones must be sound.
    pub fn library(
        &self,
        options: SessionOptions,
        needed: &[&str],
        runner: Option<Arc<dyn Runner>>,
    ) -> Result<Library, Error> {
        let builder = self.library_builder(options, needed, runner)?;
        let library = self.open_library(builder)?;
        for name in needed {
            self.expect_enabled(&library.snapshot(), &self.agent(name)?)?;
        }
        Ok(library)
    }

    /// Opens a library whose sessions record nothing.
    pub fn unrecorded_library(&self, options: SessionOptions) -> Result<Library, Error> {
        self.open_library(self.library_builder(options, &[], None)?.sinks(Sinks::new()))
    }

    /// Opens the library of `builder`.
    pub fn open_library(&self, builder: LibraryBuilder) -> Result<Library, Error> {
        let progress = self.reporter.progress("reading skills");
        let library = block_on(builder.open())?;
        drop(progress);
        self.warn_of_missing_channels(&library);
        Ok(library)
    }

    /// Returns the builder of such a library.
    pub fn library_builder(
        &self,
        options: SessionOptions,
        needed: &[&str],
        runner: Option<Arc<dyn Runner>>,
    ) -> Result<LibraryBuilder, Error> {
        if let Some(name) = needed.iter().find(|name| !self.settings.agents.contains_key(**name)) {
            return Err(self.unknown_agent(name));
        }
        self.expect_search()?;
        let policy = self.settings.policy.clone();
        // Skills of a store are served instead of those on disk, unless a directory is named.
        let is_on_disk = self.served.is_empty() || !self.options.roots.is_empty();
        let places = if is_on_disk { self.places(&policy).0 } else { Vec::new() };
        // A directory that is not there yet may be by the time the session looks again.
        let links = self.link_scope(&places, &policy);
        let mut providers = self.providers(places.iter(), &links, self.past_versions());
        providers.extend(self.channel_providers());
        let mut builder = Library::builder()
            .providers(providers)
            .searcher(self.searcher(&places, &policy))
            .policy(policy)
            .session_options(options)
            .inherit(self.settings.subagent_inherit)
            .sinks(self.sinks());
        builder = self.with_reranker(builder);
        let is_off = self.settings.proposals.mode == ProposalMode::Off;
        // The files of skills in a store can be changed only by publishing them anew.
        if self.store_location().is_some() && !is_off && is_on_disk {
            builder = builder.proposer(self.proposer()?);
        }
        builder = match (runner, self.approvals()) {
            (Some(runner), _) => builder.runner(runner),
            (None, Ok(approvals)) => builder.recorded_tools(approvals),
            (None, Err(_)) => builder,
        };
        for name in self.settings.agents.keys() {
            match self.agent(name) {
                Ok(agent) => builder = builder.agent(agent),
                Err(error) if needed.contains(&name.as_str()) => return Err(error),
                // A broken prompt is reported when its agent is used.
                Err(_) => {}
            }
        }
        Ok(builder)
    }

    /// Returns the event sinks of a session.
    pub fn sinks(&self) -> Sinks {
        let mut sinks = Sinks::new();
        if let Some(journal) = self.journal() {
            sinks = sinks.with(journal);
        }
        if let Some(traces) = self.traces() {
            sinks = sinks.with(traces);
        }
        sinks
    }
}

/// Returns the scope of the skills that one of `patterns` matches; `None` if there are no patterns.
///
/// Fails if one of them matches no skill: it is misspelt, and the request would have fewer skills than meant.
pub fn narrowed(snapshot: &Snapshot, patterns: &[String]) -> Result<Option<Scope>, Error> {
    let mut allow = Vec::with_capacity(patterns.len());
    for text in patterns {
        let pattern = Pattern::for_scope(text)
            .map_err(|fault| Error::usage(format!("`{text}` is not a name of a skill: {fault}")))?;
        if !snapshot.entries().iter().any(|entry| pattern.matches(&entry.source, entry.name().as_str())) {
            let error = Error::no(format!("no skill matches `{text}`"));
            let names = snapshot.active().map(|entry| entry.name().as_str());
            return Err(match nearest(text, names) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint("run `rep list` to see the skills"),
            });
        }
        allow.push(pattern);
    }
    Ok((!allow.is_empty()).then(|| Scope { allow: Some(allow), ..Scope::default() }))
}
