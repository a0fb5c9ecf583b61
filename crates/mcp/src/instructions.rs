//! The catalog in the server's `instructions`, or for clients that do not show these in the description of
//! `load_skill`.

use std::sync::{Arc, PoisonError};

use repertoire::serve::AgentView;
use repertoire::{Catalog, Session};
use repertoire_model::catalog::{CatalogOptions, OverBudget, Ranking, Tier, Tokenizer};
use repertoire_model::text::escape_xml;
use repertoire_model::tokens::approximate;

use crate::McpOptions;

/// Safety margin on the approximate token count.
const CAUTION_PERCENT: usize = 8;

/// Maximum attempts to write a catalog that fits, each with a smaller budget.
const MAX_TRIES: usize = 6;

/// Each attempt reduces the budget by at least one part in this many.
const STEPS: usize = 16;

/// Clients that show the model a server's instructions, by the names that they introduce themselves with, and
/// the length that they do not truncate: the end of the text says how to find other skills.
const INSTRUCTED_CLIENTS: &[(&str, usize)] = &[
    ("claude-code", 4_000),
    ("codex-mcp-client", usize::MAX),
    ("gemini-cli-mcp-client", usize::MAX),
    ("goose", usize::MAX),
    ("goose-cli", usize::MAX),
    ("goose-desktop", usize::MAX),
    ("kilo", usize::MAX),
    ("opencode", usize::MAX),
];

/// Some clients have tools of the same names, and some prefix the tools of servers.
const PREAMBLE: &str = "The tools named here are those of this MCP server; your client may show them with a prefix before their names.\n\n";

/// Returns the length of instructions that `client` shows the model; `None` if it is not known to show any.
fn shown_characters(client: Option<&str>) -> Option<usize> {
    INSTRUCTED_CLIENTS.iter().find(|(name, _)| client == Some(name)).map(|(_, characters)| *characters)
}

/// The maximum length of the text with the catalog.
#[derive(Debug, Clone, Copy)]
struct InstructionsLimit {
    tokens: usize,
    characters: usize,
}

impl InstructionsLimit {
    fn of(client: Option<&str>, options: &McpOptions) -> Self {
        // Without tools, models cannot load skills.
        let tokens = if options.tools { options.instructions_tokens } else { 0 };
        Self { tokens, characters: shown_characters(client).unwrap_or(usize::MAX) }
    }

    /// Returns the share of the limit that `text` uses, in thousandths.
    fn share(self, text: &str) -> usize {
        let tokens = approximate(text) * (100 + CAUTION_PERCENT) / 100;
        // The truncating clients are JavaScript programs, which count UTF-16 units.
        let characters = text.encode_utf16().count();
        let thousandths = |size: usize, room: usize| size.saturating_mul(1000).div_ceil(room.max(1));
        thousandths(tokens, self.tokens).max(thousandths(characters, self.characters))
    }
}

/// Returns `true` if `session` has the tool that loads skills; without skills it has not.
pub(crate) fn has_load(session: &Session) -> bool {
    session.tools().iter().any(|tool| tool.name == session.options().tools.names.load)
}

/// The catalog of a client.
#[derive(Debug, Clone)]
pub(crate) struct ClientCatalog {
    /// Its text; empty without skills.
    text: Arc<str>,
    /// It leaves out descriptions or names.
    pub(crate) is_cut: bool,
    /// It is in the description of `load_skill`, and not in the instructions.
    is_described: bool,
}

impl ClientCatalog {
    /// Returns the catalog of `view` for `client`.
    pub(crate) fn of(view: &AgentView, client: Option<&str>, options: &McpOptions) -> Self {
        if shown_characters(client).is_some() || !has_load(&view.session) {
            let (text, is_cut) = catalog(view, client, options);
            return Self { text: text.into(), is_cut, is_described: false };
        }
        // Requests without a session, and sessions of one snapshot, share it.
        let number = view.shared.registry.snapshot().number();
        let mut last = view.described.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_none_or(|(of, ..)| *of != number) {
            let (text, is_cut) = catalog(view, client, options);
            *last = Some((number, text.into(), is_cut));
        }
        let (text, is_cut) =
            last.as_ref().map(|(_, text, is_cut)| (Arc::clone(text), *is_cut)).unwrap_or_default();
        Self { text, is_cut, is_described: true }
    }

    /// Returns the instructions where `load` loads skills; empty without skills.
    pub(crate) fn instructions(&self, load: &str) -> String {
        if self.described().is_empty() {
            return self.text.to_string();
        }
        format!("The description of the tool `{load}` lists the skills of this server.\n")
    }

    /// Returns the text at the end of the description of `load_skill`.
    pub(crate) fn described(&self) -> &str {
        if self.is_described { &self.text } else { "" }
    }
}

/// Returns the catalog of `view` for `client`, the same bytes for the same snapshot, and whether it leaves
/// out descriptions or names; empty if there is not one.
fn catalog(view: &AgentView, client: Option<&str>, options: &McpOptions) -> (String, bool) {
    let snapshot = view.shared.registry.snapshot();
    // A client is given no prompt of the agent, so the catalog is written as without one.
    let mut catalog = view.session.catalog_options();
    catalog.bound.clear();
    let limit = InstructionsLimit::of(client, options);
    let (visible, lookup) = (view.visible(&snapshot), view.session.lookup());
    let notices = lookup.notices(&snapshot);
    render(limit, &catalog, &notices, |catalog: &CatalogOptions| {
        snapshot.catalog_of(catalog, |entry| visible.contains(entry) && lookup.is_listed(entry)).ok()
    })
}

/// Returns the instructions with the catalog that `write` returns and behind it those of `notices` for which
/// there is room; without text if there is not one or the limit is 0.
fn render(
    limit: InstructionsLimit,
    options: &CatalogOptions,
    notices: &[String],
    write: impl Fn(&CatalogOptions) -> Option<Catalog>,
) -> (String, bool) {
    if limit.tokens == 0 {
        return (String::new(), true);
    }
    let write = |over_budget, budget| {
        let mut options = options.clone();
        options.budget_tokens = Some(budget);
        options.highlight = None;
        options.over_budget = over_budget;
        // A server knows no task, but if not all names fit, some are better than none.
        options.ranking = Some(Ranking::default());
        // An exact count would dominate the start-up time.
        options.tokenizer = Tokenizer::Chars4;
        let catalog = write(&options)?;
        let preamble = if catalog.text.is_empty() { "" } else { PREAMBLE };
        let is_cut = catalog.report.tiers.iter().any(|skill| skill.tier != Tier::Full);
        Some((format!("{preamble}{}", catalog.text), is_cut, catalog.report.over_budget))
    };
    // About four characters are a token.
    let mut budget = limit.tokens.min(limit.characters / 4);
    for _ in 0..MAX_TRIES {
        let Some((text, is_cut, is_over)) = write(OverBudget::Tiers, budget) else { break };
        let share = limit.share(&text);
        if share <= 1000 {
            return (with_notices(text, notices, limit), is_cut);
        }
        // Nothing is left to leave out.
        if is_over {
            break;
        }
        budget = (budget * 1000 / share).min(budget - budget.div_ceil(STEPS));
    }
    let (text, is_cut, _) = write(OverBudget::SearchOnly, limit.tokens).unwrap_or_default();
    (with_notices(text, notices, limit), is_cut)
}

/// Returns `text` with those of `notices` behind it that do not exceed the limit.
fn with_notices(mut text: String, notices: &[String], limit: InstructionsLimit) -> String {
    for notice in notices {
        let separator = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let longer = format!("{text}{separator}Note: {}.\n", escape_xml(notice));
        if limit.share(&longer) <= 1000 {
            text = longer;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_take_the_room_that_the_catalog_leaves() {
        let limit = InstructionsLimit { tokens: 1_000, characters: 60 };
        let notices = ["x".repeat(60), "1 skill is broken: <a>".to_owned()];
        let text = with_notices("the catalog".to_owned(), &notices, limit);
        assert_eq!(text, "the catalog\nNote: 1 skill is broken: &lt;a&gt;.\n");
        let full = "c".repeat(60);
        assert_eq!(with_notices(full.clone(), &notices, limit), full);
    }
}
