//! The tools and scripts of skills: callable while the skill is loaded.

use std::sync::Arc;

use repertoire_model::answer::{Answer, FaultKind, LoadedSkill, Render, RunRefusal, ToolResult, ToolSchema};
use repertoire_model::toolbox::{Handler, MAX_TOOLBOX_BYTES, PYTHON_FILE, TOOLBOX_FILE, Toolbox, schema};
use repertoire_model::{Digest, FileEntry, LineRange, SkillTool};
use serde_json::{Map, Value};

use super::open::Session;
use super::options::{Account, ToolExposure};
use crate::handler::HostHandler;
use crate::registry::{Entry, PinnedEntry, Snapshot};
use crate::runner::{Runner, ScriptCall, SkillCaller, ToolRun, Trust};
use crate::tool::{CallFailure, CallResult, EventDetails, ToolReply, quoted, recorded_path};

const RUN: &str = "run_skill_script";

#[derive(Default)]
struct DeclaredTools {
    /// The tools that can be called.
    callable: Toolbox,
    /// The names of these and of the tools that something would run, were it allowed.
    names: Vec<String>,
    /// The tools that may not run, and why.
    refused: Vec<(String, RunRefusal)>,
    notes: Vec<String>,
}

/// The tools and scripts of skills, and which of them a model may call now.
#[derive(Clone, Copy)]
pub struct SkillTools<'a> {
    pub(super) session: &'a Session,
}

impl Session {
    /// Returns the tools of skills.
    pub fn skill_tools(&self) -> SkillTools<'_> {
        SkillTools { session: self }
    }
}

impl<'a> SkillTools<'a> {
    /// Returns `true` if models may call the tools of skills; it is the same for the whole session.
    pub fn are_offered(&self) -> bool {
        let resources = self.session.library().resources();
        resources.runner.is_some()
            || !resources.handlers.is_empty()
            || self.session.options().running.host_runs_tools
    }

    /// Returns `true` if later answers depend on the skills that were loaded, even without tracking of the
    /// context: their tools can be called, or they can be unloaded.
    pub fn remembers_loads(&self) -> bool {
        self.are_offered()
            || (self.session.options().loading.account == Account::None && self.session.is_on("unload_skill"))
    }

    /// Returns whether `name` is the name of a tool that a loaded skill brings along.
    pub fn has(&self, name: &str) -> bool {
        self.session.state().exposed.owner(name).is_some()
    }

    /// Returns the runner, unless the host runs everything itself.
    pub(super) fn runner(&self) -> Option<&'a Arc<dyn Runner>> {
        self.session.library().runner().filter(|_| !self.session.options().running.host_runs_tools)
    }

    /// Returns `true` if a model can call the tools of a loaded skill: by name or with `call_skill_tool`.
    fn can_call_skill_tools(&self) -> bool {
        let options = self.session.options();
        self.are_offered()
            && (options.running.exposure != ToolExposure::Stable
                || options.tools.offered.includes("call_skill_tool"))
    }

    /// Returns the reason why no command of the skill runs, whichever it is.
    fn refusal_of(&self, entry: &Entry) -> Option<RunRefusal> {
        match &self.session.library().resources().runner {
            _ if self.session.options().running.host_runs_tools => None,
            None => Some(RunRefusal::Off),
            Some(runner) => (runner.trust(&entry.source) == Trust::Never).then_some(RunRefusal::Source),
        }
    }

    /// Returns the reason why `tool` cannot be called, if it would run something of a loaded skill, and the
    /// skill's address if the tool belongs to one.
    pub(super) fn refusal(&self, tool: &str) -> Option<(Option<String>, RunRefusal)> {
        let names = &self.session.options().tools.names;
        let is_ours =
            [names.call.as_str(), "call_skill_tool", names.run_script.as_str(), RUN].contains(&tool);
        if is_ours {
            return self.runner().is_none().then_some((None, RunRefusal::Off));
        }
        let state = self.session.state();
        let ((skill, _), why) = state.refused.iter().find(|((_, refused), _)| refused == tool)?;
        Some((Some(skill.clone()), *why))
    }

    /// Returns the reason why `tool` of the skill with this `address` cannot be called, if there is one.
    fn refusal_for(&self, address: &str, tool: &str) -> Option<RunRefusal> {
        self.session.state().refused.get(&(address.to_owned(), tool.to_owned())).copied()
    }

    /// Returns those tools of the skill that can be called; none where models may not call any.
    ///
    /// Left out is what nothing runs, and what has the name of another tool or of a skill that goes before.
    pub(crate) async fn callable(&self, entry: &Entry, files: &[FileEntry]) -> Toolbox {
        self.declared(entry, files).await.callable
    }

    /// Returns the content of `file` of the skill, if it can be read.
    async fn read_file(&self, entry: &Entry, file: Option<&FileEntry>) -> Option<Vec<u8>> {
        let content = self.session.registry().read(entry, &file?.path, LineRange::default()).await;
        content.ok().map(|content| content.bytes)
    }

    /// Returns the note about a `tools.py` without a `schema.json` whose functions were not read yet.
    fn unread_python(&self, entry: &Entry) -> Option<String> {
        let functions = format!("The functions of its {PYTHON_FILE}");
        match self.refusal_of(entry) {
            Some(RunRefusal::Off) => {
                Some(format!("{functions} cannot be called. {}", self.session.wording.running_is_off()))
            }
            Some(_) => None,
            None => {
                let how = self.approve_command(entry);
                Some(format!("{functions} become tools when a person approves the skill{how}."))
            }
        }
    }

    /// Returns the end of a sentence that asks for an approval of the skill: the command, where there is one.
    fn approve_command(&self, entry: &Entry) -> String {
        let command = self.session.wording.approve.as_ref();
        let how = command.map(|command| format!(": ask the user to run `{command} {}`", entry.name()));
        how.unwrap_or_default()
    }

    /// Returns the note about tools that wait for the approval of a person.
    async fn missing_approval(&self, entry: &Entry, toolbox: &Toolbox) -> Option<String> {
        let why = self.runner()?.missing_approval(self.session.registry(), entry, toolbox).await?;
        let reason = match why {
            RunRefusal::Changed => ", because it changed since the last approval",
            _ => "",
        };
        let how = self.approve_command(entry);
        Some(format!("Its tools cannot be called before a person approves the skill{reason}{how}."))
    }

    async fn declared(&self, entry: &Entry, files: &[FileEntry]) -> DeclaredTools {
        let mut declared = DeclaredTools::default();
        let find = |name: &str| files.iter().find(|file| file.path.as_str() == name);
        let python = self.read_file(entry, find(PYTHON_FILE)).await;
        let schema = match (find(TOOLBOX_FILE), &python) {
            (Some(file), _) if file.size.is_none_or(|size| size <= MAX_TOOLBOX_BYTES as u64) => {
                self.read_file(entry, Some(file)).await
            }
            (None, Some(python)) => {
                let resources = self.session.library().resources();
                let runner = match self.refusal_of(entry) {
                    None => resources.runner.as_ref(),
                    Some(RunRefusal::Off) => resources.recorded_tools.as_ref(),
                    Some(_) => None,
                };
                let schema = runner.and_then(|runner| runner.python_tools(entry, &Digest::of(python)));
                // A host that runs tools itself, without records of approvals, describes them to its models.
                let is_known = self.session.library().runner().is_some()
                    || !self.session.options().running.host_runs_tools;
                if schema.is_none() && is_known {
                    declared.notes.extend(self.unread_python(entry));
                }
                schema.map(String::into_bytes)
            }
            _ => None,
        };
        let Some(schema) = schema else { return declared };
        let mut toolbox = Toolbox::read(&schema).0;
        let python = python.as_ref().and_then(|bytes| std::str::from_utf8(bytes).ok());
        let snapshot = self.session.registry().snapshot();
        let resources = self.session.library().resources();
        let refusal = self.refusal_of(entry);
        let missing_approval = self.missing_approval(entry, &toolbox).await;
        let mut is_run = false;
        toolbox.tools.retain(|tool| {
            let is_tool = resources.has_tool(&tool.name);
            if is_tool || self.goes_before(&snapshot, &tool.name, entry) {
                let whose = if is_tool { "another tool" } else { "a skill" };
                declared.notes.push(format!("Its tool `{}` is left out: {whose} has that name.", tool.name));
                return false;
            }
            let is_hosts = self.host_handler(entry, &tool.name).is_some();
            let is_handled = || is_hosts || Handler::of(tool, files, python).is_some();
            if !self.session.options().running.host_runs_tools
                && refusal != Some(RunRefusal::Off)
                && !is_handled()
            {
                return false;
            }
            declared.names.push(tool.name.clone());
            if let Some(why) = refusal.filter(|_| !is_hosts) {
                declared.refused.push((tool.name.clone(), why));
                return false;
            }
            is_run |= !is_hosts && self.can_call_skill_tools();
            self.can_call_skill_tools()
        });
        declared.notes.extend(missing_approval.filter(|_| is_run));
        if let Some((_, why)) = declared.refused.first() {
            let names: Vec<&str> = declared.refused.iter().map(|(name, _)| name.as_str()).collect();
            let which = if toolbox.is_empty() {
                "Its tools cannot be called".to_owned()
            } else {
                format!("Of its tools, these cannot be called ({})", names.join(", "))
            };
            declared.notes.push(match why {
                RunRefusal::Off => format!("{which}. {}", self.session.wording.running_is_off()),
                _ => format!("{which}: skills of its source may not run anything."),
            });
        }
        declared.callable = toolbox;
        declared
    }

    /// Returns `true` if a skill called `name` prevents a tool of `entry` from having that name.
    ///
    /// One of the same source does, because its author can fix it. One of another source does only if it is
    /// active, and is trusted more, or as much and comes first: an inactive skill takes no tool away.
    fn goes_before(&self, snapshot: &Snapshot, name: &str, entry: &Entry) -> bool {
        let Some(other) = snapshot.held_as(name, |entry| self.session.lookup().sees(entry)) else {
            return false;
        };
        if other.source == entry.source {
            return true;
        }
        let is_active = self.session.context().loaded().iter().any(|active| active.as_str() == name)
            || self.session.state().exposed.skills().any(|address| address == name);
        let standing = |entry: &Entry| (self.rank_of(entry), std::cmp::Reverse(entry.provider));
        is_active && standing(other) > standing(entry)
    }

    /// Returns the rank of trust in the source of a skill, least first.
    fn rank_of(&self, entry: &Entry) -> u8 {
        let runner = self.session.library().resources().runner.as_ref();
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
        let DeclaredTools { callable: toolbox, names: tools, refused, notes } =
            self.declared(entry, files).await;
        let refused = refused.into_iter().map(|(tool, why)| ((skill.address.clone(), tool), why));
        self.session.state().refused.extend(refused);
        let schema = |tool: &SkillTool| ToolSchema {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
        };
        let schemas = match self.session.options().running.exposure {
            ToolExposure::Stable => toolbox.tools.iter().map(schema).collect(),
            ToolExposure::Append | ToolExposure::Dynamic => Vec::new(),
        };
        (LoadedSkill { tools, schemas, ..skill }, toolbox, notes)
    }

    /// Makes the tools of a loaded skill callable, and returns notes about names that another skill has.
    pub(crate) fn expose(&self, address: String, toolbox: Toolbox) -> Vec<String> {
        if !self.remembers_loads() {
            return Vec::new();
        }
        let mut notes = Vec::new();
        let mut state = self.session.state();
        if self.session.options().running.exposure != ToolExposure::Stable {
            let is_other = |name: &&str| state.exposed.owner(name).is_some_and(|owner| owner != address);
            let call = &self.session.options().tools.names.call;
            let how = if self.session.is_on("call_skill_tool") {
                format!("is called with `{call}`, and what it takes is in its {TOOLBOX_FILE}")
            } else {
                "cannot be called".to_owned()
            };
            notes.extend(
                toolbox
                    .names()
                    .filter(is_other)
                    .map(|name| format!("Another loaded skill has a tool `{name}` too; this one {how}.")),
            );
        }
        state.exposed.open(address, toolbox);
        notes
    }

    /// Withdraws the tools of the skill with this `address`, and returns whether they were callable.
    pub(crate) fn withdraw(&self, address: &str) -> bool {
        self.session.state().exposed.close(address)
    }

    /// Makes the tools of the skills callable that are active from the start: those of the prompt, and those
    /// of the agent that started this one.
    pub(super) async fn expose_active(&self) {
        if !self.are_offered() {
            return;
        }
        let snapshot = self.session.registry().snapshot();
        let mut names: Vec<String> =
            self.session.context().loaded().iter().map(ToString::to_string).collect();
        names.extend(
            self.session.bound.iter().filter(|name| !names.contains(name)).cloned().collect::<Vec<_>>(),
        );
        for name in names {
            let Some(entry) = self.session.lookup().visible(&snapshot, &name) else { continue };
            if let Ok(listing) = self.session.registry().files(entry).await {
                let toolbox = self.callable(entry, &listing.files).await;
                self.expose(name, toolbox);
            }
        }
    }

    /// Makes the tools of a skill in the context callable, however it was loaded, and returns a note about
    /// them: the model may not have seen their parameters.
    pub(crate) async fn expose_loaded(&self, entry: &PinnedEntry) -> Option<String> {
        if !self.are_offered() {
            return None;
        }
        let toolbox = self.loaded_tools(entry, &self.session.lookup().address(entry)).await?;
        let call = self.session.wording.call.as_ref().filter(|_| !toolbox.is_empty())?;
        let names = toolbox.names().collect::<Vec<_>>().join(", ");
        let files = self.session.registry().files(entry).await.ok()?.files;
        let is_declared = files.iter().any(|file| file.path.as_str() == TOOLBOX_FILE);
        let file = if is_declared { TOOLBOX_FILE } else { PYTHON_FILE };
        Some(format!("Its tools are called with `{call}`: {names}. What they take is in its {file}."))
    }

    async fn loaded_tools(&self, entry: &PinnedEntry, address: &str) -> Option<Toolbox> {
        if let Some(toolbox) = self.session.state().exposed.get(address) {
            return Some(toolbox.clone());
        }
        // A transcript may show a loaded skill without a call of this session.
        if !self.session.context().is_accounted(entry) || !self.session.context().is_active(entry.name()) {
            return None;
        }
        let listing = self.session.registry().files(entry).await.ok()?;
        let toolbox = self.callable(entry, &listing.files).await;
        self.expose(address.to_owned(), toolbox.clone());
        Some(toolbox)
    }

    pub(crate) async fn call(&self, asked: &str, tool: &str, arguments: &Map<String, Value>) -> CallResult {
        let entry = self.session.lookup().find(asked).await?;
        let details = EventDetails { skill_tool: Some(quoted(tool)), ..EventDetails::of(&entry) };
        let address = self.session.lookup().address(&entry);
        let ran = match self.loaded_tools(&entry, &address).await {
            None => Err(FaultKind::NotLoaded { tool: quoted(tool) }),
            Some(toolbox) => match toolbox.get(tool) {
                None => Err(match self.refusal_for(&address, tool) {
                    Some(why) => FaultKind::NotApproved { tool: quoted(tool), why },
                    None => {
                        let tools = toolbox.names().map(str::to_owned).collect();
                        FaultKind::NoSkillTool { tool: quoted(tool), tools }
                    }
                }),
                Some(_) if !self.is_below_ceiling(tool) => {
                    Err(FaultKind::NotApproved { tool: quoted(tool), why: RunRefusal::Ceiling })
                }
                Some(found) => self.run_tool(&entry, &address, found, arguments).await,
            },
        };
        replied(asked, &entry, ran, details)
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
        match self.runner() {
            Some(runner) => runner.run_tool(self.caller(entry, address), tool, arguments).await,
            None => Err(FaultKind::NoHandler { tool: tool.name.clone() }),
        }
    }

    fn host_handler(&self, entry: &Entry, tool: &str) -> Option<&'a HostHandler> {
        let mut handlers = self.session.library().resources().handlers.iter();
        handlers.find(|own| own.skill == entry.name().as_str() && own.tool == tool)
    }

    fn caller<'c>(&self, entry: &'c Entry, address: &'c str) -> SkillCaller<'c>
    where
        'a: 'c,
    {
        let is_terse = self.session.options().render == Render::Text;
        SkillCaller { registry: self.session.registry(), entry, address, is_terse }
    }

    pub(crate) async fn run_script(&self, asked: &str, call: ScriptCall) -> CallResult {
        let entry = self.session.lookup().find(asked).await?;
        let tool = quoted(&call.path);
        let details = EventDetails { file: Some(recorded_path(&call.path)), ..EventDetails::of(&entry) };
        let address = self.session.lookup().address(&entry);
        let ran = if self.loaded_tools(&entry, &address).await.is_none() {
            Err(FaultKind::NotLoaded { tool })
        } else if !self.is_below_ceiling(RUN) {
            Err(FaultKind::NotApproved { tool, why: RunRefusal::Ceiling })
        } else {
            match self.runner() {
                Some(runner) => runner.run_script(self.caller(&entry, &address), call).await,
                None => Err(FaultKind::NoHandler { tool }),
            }
        };
        replied(asked, &entry, ran, details)
    }
}

/// Returns the reply to a call for the skill `entry`, called `asked`, that came to `ran`.
fn replied(
    asked: &str,
    entry: &Entry,
    ran: Result<ToolRun, FaultKind>,
    mut details: EventDetails,
) -> CallResult {
    match ran {
        Ok(ToolRun { mut result, sandbox, exit_code, digest }) => {
            result.source = entry.told_source();
            (details.sandbox, details.exit_code, details.digest) = (sandbox, exit_code, digest);
            Ok(ToolReply { answer: Answer::Tool(Box::new(result)), details })
        }
        Err(kind) => Err(CallFailure::of(asked, kind, details)),
    }
}
