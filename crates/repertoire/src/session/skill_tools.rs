//! The tools and scripts of skills: callable while the skill is loaded.

use repertoire_model::answer::{Answer, FaultKind, LoadedSkill, Render, RunRefusal, ToolResult, ToolSchema};
use repertoire_model::toolbox::{Handler, MAX_TOOLBOX_BYTES, PYTHON_FILE, TOOLBOX_FILE, Toolbox, schema};
use repertoire_model::{FileEntry, LineRange, SkillTool};
use serde_json::{Map, Value};

use super::find::FoundSkill;
use super::open::Session;
use super::options::{Account, ToolExposure};
use crate::handler::HostHandler;
use crate::registry::{Entry, Snapshot};
use crate::runner::{ScriptCall, SkillCaller, ToolRun, Trust};
use crate::tool::{CallFailure, CallResult, EventDetails, ToolReply, quoted};

/// The tool that runs scripts of skills.
const RUN: &str = "run_skill_script";

impl Session {
    /// Returns `true` if models may call the tools of skills; it is the same for the whole session.
    pub fn offers_skill_tools(&self) -> bool {
        let resources = self.library().resources();
        resources.runner.is_some() || !resources.handlers.is_empty()
    }

    /// Returns whether `name` is the name of a tool that a loaded skill brings along.
    pub fn is_skill_tool(&self, name: &str) -> bool {
        self.state().exposed.owner(name).is_some()
    }

    /// Returns `true` if the built-in tool `canonical` is offered.
    pub(super) fn is_on(&self, canonical: &str) -> bool {
        let options = self.options();
        match canonical {
            // If a toolbox can be opened, it can be closed, even without tracking of the context.
            "unload_skill" => {
                options.unload_tool || (options.account == Account::None && self.offers_skill_tools())
            }
            "call_skill_tool" => self.offers_skill_tools(),
            RUN => self.library().runner().is_some(),
            "search_skills" => self.library().searcher().is_some(),
            _ => true,
        }
    }

    /// Returns those tools of the skill that can be called; none where models may not call any.
    ///
    /// Left out is what nothing runs, and what has the name of another tool or of a skill that goes before.
    pub(crate) async fn callable(&self, entry: &Entry, files: &[FileEntry]) -> Toolbox {
        self.callable_and_notes(entry, files).await.0
    }

    /// Returns the tools of the skill that can be called, and notes about the others.
    async fn callable_and_notes(&self, entry: &Entry, files: &[FileEntry]) -> (Toolbox, Vec<String>) {
        let none = || (Toolbox::default(), Vec::new());
        let find = |name: &str| files.iter().find(|file| file.path.as_str() == name);
        let Some(file) = find(TOOLBOX_FILE).filter(|_| self.offers_skill_tools()) else { return none() };
        if file.size > MAX_TOOLBOX_BYTES as u64 {
            return none();
        }
        let Ok(content) = self.registry().read(entry, &file.path, LineRange::default()).await else {
            return none();
        };
        let mut toolbox = Toolbox::read(&content.bytes).0;
        let python = match find(PYTHON_FILE) {
            Some(file) => self.registry().read(entry, &file.path, LineRange::default()).await.ok(),
            None => None,
        };
        let python = python.as_ref().and_then(|content| std::str::from_utf8(&content.bytes).ok());
        let snapshot = self.registry().snapshot();
        let resources = self.library().resources();
        let trust = resources.runner.as_ref().map(|runner| runner.trust(&entry.source));
        let runs = trust.is_some_and(|trust| trust != Trust::Never);
        let is_handled = |tool: &SkillTool| {
            self.host_handler(entry, &tool.name).is_some()
                || (runs && Handler::of(tool, files, python).is_some())
        };
        let mut notes = Vec::new();
        toolbox.tools.retain(|tool| {
            let is_tool = resources.has_tool(&tool.name);
            if is_tool || self.goes_before(&snapshot, &tool.name, entry) {
                let whose = if is_tool { "another tool" } else { "a skill" };
                notes.push(format!("Its tool `{}` is left out: {whose} has that name.", tool.name));
                return false;
            }
            is_handled(tool)
        });
        (toolbox, notes)
    }

    /// Returns `true` if a skill called `name` prevents a tool of `entry` from having that name.
    ///
    /// One of the same source does, because its author can fix it. One of another source does only if it is
    /// active, and is trusted more, or as much and comes first: an inactive skill elsewhere takes no tool
    /// away.
    fn goes_before(&self, snapshot: &Snapshot, name: &str, entry: &Entry) -> bool {
        let Some(other) = snapshot.held_as(name, |entry| self.sees(entry)) else { return false };
        if other.source == entry.source {
            return true;
        }
        let is_active = self.active().iter().any(|active| active.as_str() == name)
            || self.state().exposed.skills().any(|address| address == name);
        let standing = |entry: &Entry| (self.rank_of(entry), std::cmp::Reverse(entry.provider));
        is_active && standing(other) > standing(entry)
    }

    /// Returns the rank of trust in the source of a skill, least first.
    fn rank_of(&self, entry: &Entry) -> u8 {
        let runner = self.library().resources().runner.as_ref();
        match runner.map_or(Trust::Ask, |runner| runner.trust(&entry.source)) {
            Trust::Never => 0,
            Trust::Ask => 1,
            Trust::Trusted => 2,
        }
    }

    /// Returns `skill` with the descriptions of its tools, the tools, and the notes about them.
    pub(crate) async fn with_tools(
        &self,
        skill: LoadedSkill,
        entry: &Entry,
        files: &[FileEntry],
    ) -> (LoadedSkill, Toolbox, Vec<String>) {
        let (toolbox, notes) = self.callable_and_notes(entry, files).await;
        let tools = toolbox.names().map(str::to_owned).collect();
        let schema = |tool: &SkillTool| ToolSchema {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
        };
        let schemas = match self.options().exposure {
            ToolExposure::Stable => toolbox.tools.iter().map(schema).collect(),
            ToolExposure::Append | ToolExposure::Dynamic => Vec::new(),
        };
        (LoadedSkill { tools, schemas, ..skill }, toolbox, notes)
    }

    /// Makes the tools of a loaded skill callable, and returns notes about those whose names another loaded skill has.
    pub(crate) fn expose(&self, address: String, toolbox: Toolbox) -> Vec<String> {
        if !self.offers_skill_tools() {
            return Vec::new();
        }
        let mut notes = Vec::new();
        let mut state = self.state();
        if self.options().exposure != ToolExposure::Stable {
            let is_other = |name: &&str| state.exposed.owner(name).is_some_and(|owner| owner != address);
            let call = &self.options().names.call;
            notes.extend(toolbox.names().filter(is_other).map(|name| {
                format!(
                    "Another loaded skill has a tool `{name}` too; this one is called with `{call}`, and what it takes is in its {TOOLBOX_FILE}."
                )
            }));
        }
        state.exposed.open(address, toolbox);
        notes
    }

    /// Withdraws the tools of the skill with this `address`, and returns whether they were callable.
    pub(crate) fn withdraw(&self, address: &str) -> bool {
        self.state().exposed.close(address)
    }

    /// Makes the tools of the skills callable that are active from the start: those of the prompt, and those of the agent that
    /// started this one.
    pub(super) async fn expose_active(&self) {
        if !self.offers_skill_tools() {
            return;
        }
        let snapshot = self.registry().snapshot();
        let mut names: Vec<String> = self.active().iter().map(ToString::to_string).collect();
        names.extend(self.bound.iter().filter(|name| !names.contains(name)).cloned().collect::<Vec<_>>());
        for name in names {
            let Some(entry) = self.visible(&snapshot, &name) else { continue };
            if let Ok(listing) = self.registry().files(entry).await {
                let toolbox = self.callable(entry, &listing.files).await;
                self.expose(name, toolbox);
            }
        }
    }

    /// Makes the tools of a skill in the context callable, however it was loaded, and returns a note about
    /// them: the model may not have seen their parameters.
    pub(crate) async fn expose_loaded(&self, entry: &FoundSkill) -> Option<String> {
        if !self.offers_skill_tools() {
            return None;
        }
        let toolbox = self.loaded_tools(entry, &self.address(entry)).await?;
        let call = self.wording.call.as_ref().filter(|_| !toolbox.is_empty())?;
        let names = toolbox.names().collect::<Vec<_>>().join(", ");
        Some(format!("Its tools are called with `{call}`: {names}. What they take is in its {TOOLBOX_FILE}."))
    }

    /// Returns the tools of the skill, if it is loaded.
    async fn loaded_tools(&self, entry: &FoundSkill, address: &str) -> Option<Toolbox> {
        if let Some(toolbox) = self.state().exposed.get(address) {
            return Some(toolbox.clone());
        }
        // A transcript may show a loaded skill without a call of this session.
        if !self.is_accounted(entry) || !self.is_active(entry.name()) {
            return None;
        }
        let listing = self.registry().files(entry).await.ok()?;
        let toolbox = self.callable(entry, &listing.files).await;
        self.expose(address.to_owned(), toolbox.clone());
        Some(toolbox)
    }

    /// Calls the tool `tool` of the skill `asked`.
    pub(crate) async fn call_skill_tool(
        &self,
        asked: &str,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> CallResult {
        let entry = self.find(asked).await?;
        let details = EventDetails { skill_tool: Some(quoted(tool)), ..EventDetails::of(&entry) };
        let address = self.address(&entry);
        let ran = match self.loaded_tools(&entry, &address).await {
            None => Err(FaultKind::NotLoaded { tool: quoted(tool) }),
            Some(toolbox) => match toolbox.get(tool) {
                None => {
                    let tools = toolbox.names().map(str::to_owned).collect();
                    Err(FaultKind::NoSkillTool { tool: quoted(tool), tools })
                }
                Some(_) if !self.is_below_ceiling(tool) => {
                    Err(FaultKind::NotApproved { tool: quoted(tool), why: RunRefusal::Ceiling })
                }
                Some(found) => self.run_tool(&entry, &address, found, arguments).await,
            },
        };
        replied(asked, ran, details)
    }

    /// Runs a tool with the handler of the host, or with the runner.
    async fn run_tool(
        &self,
        entry: &Entry,
        address: &str,
        tool: &SkillTool,
        arguments: &Map<String, Value>,
    ) -> Result<ToolRun, FaultKind> {
        let violations = schema::check(&tool.parameters, &Value::Object(arguments.clone()));
        if !violations.is_empty() {
            let problems = violations.iter().map(ToString::to_string).collect();
            return Err(FaultKind::BadArguments { tool: tool.name.clone(), problems });
        }
        if let Some(handler) = self.host_handler(entry, &tool.name) {
            let result = match handler.run(arguments).await {
                Ok(text) => ToolResult::new(address, &tool.name, text),
                Err(error) => {
                    ToolResult { error: Some(error.to_string()), ..ToolResult::new(address, &tool.name, "") }
                }
            };
            return Ok(ToolRun { result, sandbox: None, exit_code: None, digest: None });
        }
        match &self.library().resources().runner {
            Some(runner) => runner.run_tool(self.caller(entry, address), tool, arguments).await,
            None => Err(FaultKind::NoHandler { tool: tool.name.clone() }),
        }
    }

    fn host_handler(&self, entry: &Entry, tool: &str) -> Option<&HostHandler> {
        let mut handlers = self.library().resources().handlers.iter();
        handlers.find(|own| own.skill == entry.name().as_str() && own.tool == tool)
    }

    fn caller<'a>(&'a self, entry: &'a Entry, address: &'a str) -> SkillCaller<'a> {
        let is_terse = self.library().resources().options.render == Render::Text;
        SkillCaller { registry: self.registry(), entry, address, is_terse }
    }

    /// Runs a script of the skill `asked`.
    pub(crate) async fn run_skill_script(&self, asked: &str, call: ScriptCall) -> CallResult {
        let entry = self.find(asked).await?;
        let tool = quoted(&call.path);
        let details = EventDetails { file: Some(tool.clone()), ..EventDetails::of(&entry) };
        let address = self.address(&entry);
        let ran = if self.loaded_tools(&entry, &address).await.is_none() {
            Err(FaultKind::NotLoaded { tool })
        } else if !self.is_below_ceiling(RUN) {
            Err(FaultKind::NotApproved { tool, why: RunRefusal::Ceiling })
        } else {
            match &self.library().resources().runner {
                Some(runner) => runner.run_script(self.caller(&entry, &address), call).await,
                None => Err(FaultKind::NoHandler { tool }),
            }
        };
        replied(asked, ran, details)
    }
}

/// Returns the reply to a call for the skill `asked` that came to `ran`.
fn replied(asked: &str, ran: Result<ToolRun, FaultKind>, mut details: EventDetails) -> CallResult {
    match ran {
        Ok(ToolRun { result, sandbox, exit_code, digest }) => {
            (details.sandbox, details.exit_code, details.digest) = (sandbox, exit_code, digest);
            Ok(ToolReply { answer: Answer::Tool(Box::new(result)), details })
        }
        Err(kind) => Err(CallFailure::of(asked, kind, details)),
    }
}
