//! One script in every way of putting skills before a model.

use repertoire::session::ToolExposure;
use repertoire::tool::OfferedTools;
use repertoire::{Library, SessionOptions};
use repertoire_model::answer::Render;
use repertoire_model::catalog::Format;
use repertoire_model::ledger::Reload;
use repertoire_model::prompt::{BOUND_SKILLS, Fragment};
use repertoire_model::tokens::Tokenizer;
use serde_json::json;

use super::conversation::{Measurement, ScriptedConversation};
use super::prices::Prices;
use super::prompt_cache::CacheRules;
use super::script::{Action, ActionKind, Script};
use super::whole_library::WholeLibrary;
use crate::error::AgentError;

/// A way of putting skills before a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Disclosure {
    /// All instructions are in the system prompt, and all tools of skills among the tools.
    Upfront,
    /// A menu in the system prompt marks the loaded skills, whose tools are among the tools.
    Marked,
    /// Catalog and tools never change; one tool calls those of skills.
    Stable,
    /// The catalog never changes; the tools of loaded skills are added behind the others.
    Append,
    /// The catalog never changes; the tools of loaded skills are among the others while the skill is loaded.
    Dynamic,
}

impl Disclosure {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Upfront, Self::Marked, Self::Stable, Self::Append, Self::Dynamic];

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Upfront => "upfront",
            Self::Marked => "marked",
            Self::Stable => "stable",
            Self::Append => "append",
            Self::Dynamic => "dynamic",
        }
    }

    /// Returns the options of its sessions, which differ from `base` where the way requires it.
    ///
    /// Tools of skills are told to models whether or not something could run them here.
    pub fn options(self, base: &SessionOptions) -> SessionOptions {
        let mut options = base.clone();
        options.host_runs_tools = true;
        options.unload_tool = true;
        options.show_loaded = false;
        options.exposure = match self {
            Self::Stable => ToolExposure::Stable,
            Self::Append => ToolExposure::Append,
            Self::Upfront | Self::Marked | Self::Dynamic => ToolExposure::Dynamic,
        };
        if self == Self::Marked {
            // As in the profile `harness`, and files can be read as everywhere else.
            options.show_loaded = true;
            options.catalog.format = Format::Menu;
            options.render = Render::Text;
            options.include_frontmatter = true;
            options.reload = Reload::ShortAck;
            let offered = ["unload_skill", "read_skill_file"].map(str::to_owned);
            options.offered = OfferedTools::Only(offered.into());
            let hidden = ["reference", "script", "asset", "force"].map(str::to_owned);
            options.hidden_arguments.extend(hidden);
        }
        options
    }
}

/// The tokens and price of a script in one way.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outlay {
    /// The way.
    pub disclosure: Disclosure,
    /// The measured tokens.
    pub measurement: Measurement,
    /// Their price, in US dollars.
    pub cost: f64,
}

/// The prices that decide whether a skill is cheaper in every system prompt or loaded on demand: its break-even.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BreakEven {
    /// The name of the skill.
    pub skill: String,
    /// The price of a session that neither has the skill nor loads it.
    pub without: f64,
    /// The price of a session with the skill in its system prompt.
    pub bound: f64,
    /// The price of a session that loads the skill in its first turn.
    pub loaded: f64,
}

impl BreakEven {
    /// Returns the number of sessions of 100 that have to use the skill, or `None` if binding it is never cheaper.
    pub fn sessions_of_100(&self) -> Option<f64> {
        let share = 100.0 * (self.bound - self.without) / (self.loaded - self.without);
        (0.0..=100.0).contains(&share).then_some(share)
    }
}

/// The tokens and prices of a script in several ways.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Comparison {
    /// One for each way, in the order of the libraries.
    pub outlays: Vec<Outlay>,
    /// For the skill that the script loads first, if it loads one.
    pub break_even: Option<BreakEven>,
}

/// Runs a script with the sessions of each library and returns their tokens and prices.
///
/// Each library is opened with the [options](Disclosure::options) of its way; `whole` is loaded from one of them.
pub async fn compare(
    libraries: &[(Disclosure, Library)],
    whole: &WholeLibrary,
    script: &Script,
    prices: &Prices,
    tokenizer: Tokenizer,
) -> Result<Comparison, AgentError> {
    let rules = CacheRules::of(prices);
    let mut outlays = Vec::new();
    for (disclosure, library) in libraries {
        let prefix = (*disclosure == Disclosure::Upfront).then(|| whole.prefix());
        let session = library.session().await?;
        let mut conversation = ScriptedConversation::with_prefix(session, rules, tokenizer, prefix);
        let measurement = conversation.run(script).await?;
        let cost = prices.cost(measurement.usage);
        outlays.push(Outlay { disclosure: *disclosure, measurement, cost });
    }
    let stable = libraries.iter().find(|(disclosure, _)| *disclosure == Disclosure::Stable);
    let break_even = match (stable, script.first_loaded()) {
        (Some((_, library)), Some(skill)) => {
            Some(break_even(library, script, skill, prices, tokenizer).await?)
        }
        _ => None,
    };
    Ok(Comparison { outlays, break_even })
}

async fn break_even(
    library: &Library,
    script: &Script,
    skill: &str,
    prices: &Prices,
    tokenizer: Tokenizer,
) -> Result<BreakEven, AgentError> {
    let load = Action { turn: 1, action: ActionKind::Load, skill: skill.to_owned(), path: None };
    let without = Script { actions: Vec::new(), ..script.clone() };
    let loading = Script { actions: vec![load], ..script.clone() };
    let session = library.session().await?;
    let (names, arguments) = (&session.options().names, &session.options().arguments);
    let reply = session.call(&names.load, &json!({arguments.name.as_str(): skill})).await;
    let bound = Fragment::new("bound-skill", BOUND_SKILLS, reply.text());
    let mut costs = [0.0; 3];
    let cases = [(&without, vec![]), (&without, vec![bound]), (&loading, vec![])];
    for (cost, (script, fragments)) in costs.iter_mut().zip(cases) {
        let session = library.session().await?.with_fragments(fragments);
        let mut conversation = ScriptedConversation::new(session, CacheRules::of(prices), tokenizer);
        *cost = prices.cost(conversation.run(script).await?.usage);
    }
    let [without, bound, loaded] = costs;
    Ok(BreakEven { skill: skill.to_owned(), without, bound, loaded })
}
