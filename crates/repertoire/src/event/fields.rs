//! The fields of an event.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use repertoire_model::bundle::Digest;
use repertoire_model::words;

repertoire_model::options! {
    /// One use of a skill, or one call of a tool, and its outcome.
    ///
    /// Fields are added over time: make one with [`Event::new`] and set the known ones.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use repertoire::event::{Event, EventKind, Outcome};
    ///
    /// let mut event = Event::new(EventKind::SkillLoaded, "load_skill", "s1", SystemTime::now());
    /// event.skill = Some("pdf-tables".to_owned());
    /// event.outcome = Outcome::NotFound;
    /// event.duration = Duration::from_micros(40);
    /// assert_eq!(event.kind.as_str(), "skill_loaded");
    /// ```
    #[derive(Debug, Clone, PartialEq)]
    #[non_exhaustive]
    pub struct Event {
        /// The kind of the call.
        pub kind: EventKind = EventKind::ToolCalled,
        /// The skill it was about, as the agent named it.
        pub skill: Option<String>,
        /// The file of the skill it was about.
        pub file: Option<String>,
        /// The source that the skill came from.
        pub source: Option<String>,
        /// The identity of the skill, if found: [`Entry::record_identity`](crate::Entry::record_identity).
        pub identity: Option<String>,
        /// The agent that called, if the host names it.
        pub agent: Option<String>,
        /// The session it was called in; empty outside of sessions.
        pub session: String,
        /// The tool that was called; the operation, such as `resources/read`, where there was no tool.
        pub tool: String,
        /// Its outcome.
        pub outcome: Outcome = Outcome::Ok,
        /// The bytes that were put before the agent.
        pub bytes: u64,
        /// The tokens that were put before the agent.
        pub tokens: u64,
        /// The duration of the call.
        pub duration: Duration,
        /// The digest of the content that was served.
        pub digest: Option<Digest>,
        /// The error, in one line.
        pub error: Option<String>,
        /// The search query, shortened.
        pub query: Option<String>,
        /// The number of search results.
        pub results: Option<u64>,
        /// When the call began.
        pub time: SystemTime = SystemTime::UNIX_EPOCH,
        /// The rank of the loaded skill among the skills that the last task of the session needs, from 1.
        pub rank: Option<u64>,
        /// The number of skills that the last task of the session was taken to need; `None` without a task.
        pub ranked: Option<u64>,
        /// The tool of the skill that was called, where one was.
        pub skill_tool: Option<String>,
        /// The sandbox that a command ran in, or `none`.
        pub sandbox: Option<&'static str>,
        /// The exit code of the command, if it exited by itself.
        pub exit_code: Option<i32>,
        /// The name of the token that the caller of an HTTP server authenticated with.
        pub principal: Option<String>,
        /// The surface that it was asked for on.
        pub surface: Surface,
        /// The way in which the skill came.
        pub via: Via,
        /// The place among the events of one call, from 0: its answer may hold several skills or files.
        pub part: usize,
    }
}

impl Event {
    /// Returns an event about nothing in particular that went well.
    pub fn new(
        kind: EventKind,
        tool: impl Into<String>,
        session: impl Into<String>,
        time: SystemTime,
    ) -> Self {
        Self { kind, session: session.into(), tool: tool.into(), time, ..Self::default() }
    }

    /// Returns the skill whose usage the event counts for: none for a download, which no model reads, and for
    /// a request that was refused, whatever name it had.
    pub fn used_skill(&self) -> Option<&str> {
        let is_use = !matches!(self.kind, EventKind::AccessRefused | EventKind::SkillDownloaded);
        self.skill.as_deref().filter(|_| is_use)
    }
}

words! {
    /// The kind of a call.
    #[non_exhaustive]
    EventKind {
        /// The instructions of a skill were requested.
        SkillLoaded "skill_loaded",
        /// A skill or a file of one was downloaded, to be installed or looked at.
        SkillDownloaded "skill_downloaded",
        /// A skill was set aside by its agent.
        SkillUnloaded "skill_unloaded",
        /// A file of a skill was requested.
        FileRead "file_read",
        /// The files of a skill were requested.
        FilesListed "files_listed",
        /// The list of skills was requested.
        SkillsListed "skills_listed",
        /// Skills were searched.
        SkillsSearched "skills_searched",
        /// A tool that a skill brings along was called.
        SkillToolCalled "skill_tool_called",
        /// A script of a skill was run.
        ScriptRun "script_run",
        /// A change of a skill or a new skill was proposed.
        ProposalMade "proposal_made",
        /// Proposals were read or decided about.
        ProposalReviewed "proposal_reviewed",
        /// The catalog or the tools of a session changed; its tokens count the part of the cached prompt that
        /// is no longer valid.
        CatalogChanged "catalog_changed",
        /// A skill was switched off or on for all agents.
        SkillSwitched "skill_switched",
        /// Some other tool was called.
        ToolCalled "tool_called",
        /// A version of a skill was published to a server.
        SkillPublished "skill_published",
        /// A token was made or revoked.
        TokenChanged "token_changed",
        /// A request was refused: its token is not valid, or has no right to it.
        AccessRefused "access_refused",
    }
}

words! {
    /// The outcome of a call.
    #[non_exhaustive]
    Outcome {
        /// The request was served.
        Ok "ok",
        /// There is no such skill, file or tool.
        NotFound "not_found",
        /// It exists, but the agent may not have it.
        Denied "denied",
        /// Missing arguments, or arguments of the wrong kind.
        Invalid "invalid",
        /// It could not be done.
        Error "error",
    }
}

words! {
    /// The surface that something was asked for on.
    #[derive(Default)]
    #[non_exhaustive]
    Surface {
        /// The library, in the process of a host; the default.
        #[default]
        Library "library",
        /// A command line.
        Cli "cli",
        /// A session over standard input and output.
        Session "session",
        /// The agent loop of `rep agent`.
        Agent "agent",
        /// MCP, over standard input and output or HTTP.
        Mcp "mcp",
        /// HTTP, without MCP.
        Http "http",
    }
}

words! {
    /// The way in which a skill came to a model.
    #[derive(Default)]
    #[non_exhaustive]
    Via {
        /// A call of a tool asked for it; the default.
        #[default]
        Call "call",
        /// Another skill that was loaded requires it.
        Required "required",
        /// It is bound to the agent: its prompt holds it.
        Bound "bound",
        /// It is the skill of a role: the prompt of the role holds it.
        Role "role",
        /// It was put back after a compaction.
        Reattached "reattached",
        /// A person invoked it as a prompt.
        Prompt "prompt",
        /// A client read it as a resource.
        Resource "resource",
        /// A client downloaded it from the well-known index.
        Download "download",
    }
}

/// The origin of a call: the part of its event that the call itself does not tell.
///
/// ```
/// use repertoire::event::{CallOrigin, Via};
/// let mut origin = CallOrigin::default();
/// origin.principal = Some("laptop".into());
/// assert_eq!(origin.via, Via::Call);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallOrigin {
    /// The name of the token that the caller authenticated with.
    pub principal: Option<Arc<str>>,
    /// The way in which the skill comes.
    pub via: Via,
    /// The conversation that the call belongs to, where several share a session.
    pub conversation: Option<Arc<str>>,
    /// The method of a protocol that the host answers by the call; events name it in place of the tool.
    pub method: Option<&'static str>,
}
