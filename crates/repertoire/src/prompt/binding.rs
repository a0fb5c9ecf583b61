//! The system prompt of an agent: its own prompt, the skills that are bound to it, and its instructions.
//!
//! Skills that are bound inline are read when the prompt is made, so that a specialist has its knowledge from
//! the first turn and cannot forget to ask for it. Every skill that an agent's definition names must exist
//! within its scope; otherwise the agent does not load.

use std::sync::Arc;

use repertoire_model::answer::{Answer, LoadAnswer, LoadedSkill, Render, Wording};
use repertoire_model::catalog::Tokenizer;
use repertoire_model::prompt::{self, Fragment, compose};
use repertoire_model::text::{escape_xml, shorten, visible_line};
use repertoire_model::tokens::approximate;
use repertoire_model::{Digest, Policy, SkillName, Standing};

use super::agent::{Agent, Bind};
use super::hiding::hiding_note;
use super::skill_text::{qualified_address, skill_text};
use super::template::{Jinja, Renderer};
use crate::event::{Event, Via};
use crate::provider::OpenedSkill;
use crate::registry::{Entry, Lookup, Registry, Snapshot};
use crate::session::SessionOptions;
use crate::{Error, ErrorKind};

/// The most skills that may be bound to one agent inline.
pub const MAX_BOUND_SKILLS: usize = 64;

/// The most bytes that the parts of an agent's prompt may have together.
pub const MAX_PROMPT_BYTES: usize = 4 * 1024 * 1024;

/// The most characters of a description that a hint shows.
const MAX_HINT_CHARS: usize = 160;

/// A skill that is part of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BoundSkill {
    /// Its name.
    pub name: SkillName,
    /// The digest of its text in the prompt.
    pub digest: Digest,
    /// The source that it came from.
    pub source: Arc<str>,
    /// Its identity; see [`Entry::record_identity`].
    pub identity: String,
    /// The tokens of its text, about.
    pub tokens: usize,
    /// The bytes of its text.
    pub bytes: usize,
    /// The reason that it is in the prompt: it is bound to the agent, or the skill of the role.
    pub via: Via,
}

impl BoundSkill {
    pub(super) fn new(entry: &Entry, skill: &LoadedSkill, via: Via) -> Self {
        let LoadedSkill { name, digest, tokens, body, .. } = skill;
        Self {
            name: name.clone(),
            digest: *digest,
            source: Arc::clone(&entry.source),
            identity: entry.record_identity(),
            tokens: *tokens,
            bytes: body.len(),
            via,
        }
    }

    /// Writes into `event` that a model has the skill in its prompt.
    pub fn describe(&self, event: &mut Event) {
        event.skill = Some(self.name.to_string());
        event.source = Some(self.source.to_string());
        event.identity = Some(self.identity.clone());
        event.digest = Some(self.digest);
        (event.tokens, event.bytes) = (self.tokens as u64, self.bytes as u64);
        event.via = self.via;
    }
}

repertoire_model::options! {
    /// The options of an agent's prompt.
    #[derive(Clone)]
    #[non_exhaustive]
    pub struct BindingOptions {
        /// Renders the template of the prompt.
        pub renderer: Arc<dyn Renderer> = Arc::new(Jinja),
        /// The names of tools and arguments in texts.
        pub wording: Wording,
        /// Counts tokens.
        pub tokenizer: Tokenizer,
        /// Gives a skill's frontmatter with its instructions.
        pub include_frontmatter: bool,
        /// Shows the directory of a skill.
        pub show_location: bool,
    }
}

impl BindingOptions {
    /// Returns the choices by which prompts hold what the tools of a session with `options` would answer.
    pub fn of(options: &SessionOptions) -> Self {
        Self {
            wording: options.wording(),
            tokenizer: options.catalog.tokenizer,
            include_frontmatter: options.loading.include_frontmatter,
            show_location: options.loading.show_location,
            ..Self::default()
        }
    }
}

/// The system prompt of an agent, in parts, without the catalog.
///
/// ```
/// # pollster::block_on(async {
/// use std::sync::Arc;
/// use repertoire::{Agent, AgentPrompt, BindingOptions, MemoryProvider, Policy, Registry, SkillDefinition};
/// let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "Be warm.\n");
/// let provider = Arc::new(MemoryProvider::new("builtin", vec![skill]));
/// let registry = Registry::open(vec![provider], Policy::default()).await?;
/// let mut agent = Agent::new("host");
/// agent.prompt = Some("You are a host.".to_owned());
/// agent.uses_skills = vec!["greet".to_owned()];
/// let prompt = AgentPrompt::load(&registry, &agent, &BindingOptions::default()).await?;
/// assert!(prompt.text().starts_with("You are a host.\n\n<skill name=\"greet\""));
/// assert_eq!(prompt.bound[0].name.as_str(), "greet");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentPrompt {
    /// The parts; a host adds its own, the catalog among them, and puts them together with [`compose`].
    pub fragments: Vec<Fragment>,
    /// The skills whose instructions are among them, in that order.
    pub bound: Vec<BoundSkill>,
}

impl AgentPrompt {
    /// Reads everything that `agent` needs and returns its prompt.
    ///
    /// Fails with [`ErrorKind::InvalidAgent`] if the agent names a skill that is missing, quarantined,
    /// disabled, outside its scope or found broken when it is read; the error names the skill and similar
    /// ones.
    pub async fn load(registry: &Registry, agent: &Agent, options: &BindingOptions) -> Result<Self, Error> {
        Self::load_within(registry, agent, &[], options).await
    }

    /// Reads the prompt of `agent` as [`AgentPrompt::load`] does, limited to the skills that `ceilings` see.
    ///
    /// Also fails with [`ErrorKind::InvalidAgent`] if it uses or names a skill that one of them does not see:
    /// otherwise an agent could read hidden skills by starting another agent.
    pub async fn load_within(
        registry: &Registry,
        agent: &Agent,
        ceilings: &[Agent],
        options: &BindingOptions,
    ) -> Result<Self, Error> {
        Self::load_from(registry, &registry.snapshot(), agent, ceilings, options).await
    }

    /// Reads the prompt as [`AgentPrompt::load_within`] does, with the skills that `snapshot` has.
    pub(crate) async fn load_from(
        registry: &Registry,
        snapshot: &Snapshot,
        agent: &Agent,
        ceilings: &[Agent],
        options: &BindingOptions,
    ) -> Result<Self, Error> {
        let reader = Reader { snapshot, agent, ceilings };
        let (inline, hints) = (reader.inline()?, reader.hints(&options.wording)?);
        let mut fragments = Vec::new();
        if let Some(template) = &agent.prompt {
            let variables = &agent.variables;
            let text = options
                .renderer
                .render(template, variables)
                .map_err(|error| error.about(agent.name.as_str()))?;
            fragments.push(Fragment::new("prompt", prompt::AGENT_PROMPT, text));
        }
        let (mut texts, mut bound) = (Vec::new(), Vec::new());
        for entry in inline {
            let opened = open(registry, agent, entry).await?;
            let skill = bindable(entry, &opened, registry.policy(), options);
            bound.push(BoundSkill::new(entry, &skill, Via::Bound));
            let note = hiding_note(snapshot, entry, [agent].into_iter().chain(ceilings));
            texts.push(element(skill, note, &options.wording));
        }
        fragments.push(Fragment::new("bound-skills", prompt::BOUND_SKILLS, texts.join("\n")));
        let instructions = agent.instructions.clone().unwrap_or_default();
        fragments.push(Fragment::new("instructions", prompt::INSTRUCTIONS, instructions));
        fragments.push(Fragment::new("hints", prompt::HINTS, hints));
        fragments.retain(|fragment| !fragment.text.trim().is_empty());
        let bytes: usize = fragments.iter().map(|fragment| fragment.text.len()).sum();
        if bytes > MAX_PROMPT_BYTES {
            let why = format!("its prompt has {bytes} bytes, more than {MAX_PROMPT_BYTES}");
            return Err(Error::new(ErrorKind::TooLarge).about(agent.name.as_str()).because(why));
        }
        Ok(Self { fragments, bound })
    }

    /// Returns the parts put together.
    pub fn text(&self) -> String {
        compose(&self.fragments)
    }
}

/// Returns an error if `agent` names a skill that is missing, quarantined, disabled or outside its scope.
///
/// [`AgentPrompt::load`] does this, too. Call it before an agent's skills are shown without its prompt: a
/// skill that is bound as hidden under a misspelt name would be seen.
pub fn check(snapshot: &Snapshot, agent: &Agent) -> Result<(), Error> {
    Reader { snapshot, agent, ceilings: &[] }.inline().map(drop)
}

/// Reads the bindings in an agent's definition.
struct Reader<'a> {
    snapshot: &'a Snapshot,
    agent: &'a Agent,
    /// Agents that must see every skill of this one.
    ceilings: &'a [Agent],
}

impl<'a> Reader<'a> {
    /// Returns the skills bound inline: those of `uses_skills` as declared, then those of `bind` by name.
    fn inline(&self) -> Result<Vec<&'a Entry>, Error> {
        let agent = self.agent;
        for id in agent.bind.keys() {
            self.named(id)?;
        }
        let mut entries: Vec<&Entry> = Vec::new();
        for id in &agent.uses_skills {
            let entry = self.shown(id)?;
            if let Some(bind) = agent.bound(entry).filter(|bind| *bind != Bind::Inline) {
                let why = format!("`{id}` is in uses_skills, and bound as {}", bind.as_str());
                return Err(invalid(agent, why));
            }
            entries.push(entry);
        }
        for (id, _) in agent.bind.iter().filter(|(_, bind)| **bind == Bind::Inline) {
            entries.push(self.shown(id)?);
        }
        let mut distinct: Vec<&Entry> = Vec::new();
        for entry in entries {
            match distinct.iter().find(|other| other.name() == entry.name()) {
                None => distinct.push(entry),
                Some(other) if std::ptr::eq(*other, entry) => {}
                Some(other) => {
                    let (one, two) = (other.qualified_name(), entry.qualified_name());
                    let why = format!("`{one}` and `{two}` have one name and cannot both be bound");
                    return Err(invalid(agent, why));
                }
            }
        }
        if distinct.len() > MAX_BOUND_SKILLS {
            let why = format!("{} skills are bound to it, more than {MAX_BOUND_SKILLS}", distinct.len());
            return Err(invalid(agent, why));
        }
        Ok(distinct)
    }

    /// Returns one line for each skill that the prompt asks the agent to load.
    fn hints(&self, wording: &Wording) -> Result<String, Error> {
        let mut lines = Vec::new();
        for (id, _) in self.agent.bind.iter().filter(|(_, bind)| **bind == Bind::Hint) {
            let entry = self.shown(id)?;
            lines.push(hint(&qualified_address(entry), &entry.document.description, wording));
        }
        Ok(lines.join("\n"))
    }

    /// Returns the skill that the agent names `id` and that is put before it.
    fn shown(&self, id: &str) -> Result<&'a Entry, Error> {
        let entry = self.named(id)?;
        match self.ceilings.iter().find(|ceiling| !ceiling.sees(entry)) {
            None => Ok(entry),
            Some(ceiling) => {
                let why =
                    format!("the skill `{id}` is kept from the agent `{}` that starts it", ceiling.name);
                Err(invalid(self.agent, why))
            }
        }
    }

    /// Returns the skill that the agent names `id`, exactly so spelled.
    fn named(&self, id: &str) -> Result<&'a Entry, Error> {
        let agent = self.agent;
        match self.snapshot.find(id) {
            Lookup::Found(entry) if entry.name().as_str() != id && entry.qualified_name() != id => {
                Err(self.missing(id, &[entry.name()]))
            }
            Lookup::Found(entry) if !entry.is_within(&agent.scope) => {
                Err(invalid(agent, format!("the skill `{id}` is outside its scope")))
            }
            Lookup::Found(entry) => Ok(entry),
            Lookup::Quarantined(entry) => {
                let diagnostics = entry.diagnostics().cloned().collect();
                Err(invalid(agent, format!("the skill `{id}` is quarantined"))
                    .at(&*entry.path)
                    .with(diagnostics))
            }
            Lookup::Disabled(_) => Err(invalid(agent, format!("the skill `{id}` is disabled"))),
            Lookup::Unknown(names) => Err(self.missing(id, &names)),
        }
    }

    fn missing(&self, id: &str, near: &[&SkillName]) -> Error {
        // An error may end up in a log that the agent reads, so it names only what the agent may see.
        let may_see = |entry: &Entry| [self.agent].into_iter().chain(self.ceilings).all(|a| a.sees(entry));
        let is_seen = |name: &&&SkillName| matches!(self.snapshot.find(name.as_str()), Lookup::Found(entry) if may_see(entry));
        let near: Vec<&str> = near.iter().filter(is_seen).map(|name| name.as_str()).collect();
        let near = if near.is_empty() { String::new() } else { format!("; near it: {}", near.join(", ")) };
        invalid(self.agent, format!("there is no skill `{id}`{near}"))
    }
}

/// Returns the skill that is bound to `agent`, as it is now; fails if it is broken.
async fn open(registry: &Registry, agent: &Agent, entry: &Entry) -> Result<OpenedSkill, Error> {
    let opened = registry.open_skill(entry).await.map_err(|error| match error.kind() {
        ErrorKind::Io => error.at(&*entry.path),
        _ => Error::new(ErrorKind::InvalidAgent).about(agent.name.as_str()).at(&*entry.path).because(error),
    })?;
    let document = &opened.skill.document;
    if document.standing != Standing::Sound {
        let why = format!("the skill `{}` is broken", entry.name());
        return Err(invalid(agent, why).at(&*entry.path).with(document.diagnostics.clone()));
    }
    Ok(opened)
}

fn invalid(agent: &Agent, why: String) -> Error {
    Error::new(ErrorKind::InvalidAgent).about(agent.name.as_str()).because(why)
}

fn hint(name: &str, description: &str, wording: &Wording) -> String {
    let line = escape_xml(&shorten(&visible_line(description), MAX_HINT_CHARS));
    let Wording { load, name: argument, .. } = wording;
    format!("To use the skill {name}, call {load} with the {argument} {name}: {line}")
}

/// Returns the skill as a prompt holds it: what `load_skill` would give of it.
pub(crate) fn bindable(
    entry: &Entry,
    opened: &OpenedSkill,
    policy: &Policy,
    options: &BindingOptions,
) -> LoadedSkill {
    // The same figure as in the answers of tools, where an exact count takes too long.
    let price = |text: &str| match options.tokenizer {
        Tokenizer::Chars4 => Tokenizer::Chars4.count(text),
        _ => approximate(text),
    };
    let skill = skill_text(entry, opened, policy, options.include_frontmatter, &price);
    LoadedSkill { location: options.show_location.then(|| entry.directory().to_owned()), ..skill }
}

/// Returns the instructions of `skill` in the element that `load_skill` answers with, which they cannot
/// close, and what there is of files; the `note` follows it.
///
/// One shape for both, so that a search of a conversation for skills finds those of the prompt, too.
pub(crate) fn element(skill: LoadedSkill, note: Option<String>, wording: &Wording) -> String {
    let notes = note.into_iter().collect();
    let loaded = LoadAnswer { first: Vec::new(), skill, is_changed: false, notes };
    Answer::Loaded(Box::new(loaded)).render(Render::Xml, wording)
}
