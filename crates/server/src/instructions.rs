//! The catalog in the server's `instructions`.

use repertoire::Catalog;
use repertoire_model::catalog::{CatalogOptions, OverBudget, Ranking, Tokenizer};
use repertoire_model::text::escape_xml;
use repertoire_model::tokens::approximate;

use crate::ServerOptions;

/// Safety margin on the approximate token count.
const CAUTION_PERCENT: usize = 8;

/// Maximum attempts to write a catalog that fits, each with a smaller budget.
const MAX_TRIES: usize = 6;

/// Each attempt reduces the budget by at least one part in this many.
const STEPS: usize = 16;

/// Clients that truncate instructions, and a length that is safe with each. The end of the text says how to find other skills.
const TRUNCATING_CLIENTS: &[(&str, usize)] = &[("claude-code", 4_000)];

/// Some clients have tools of the same names, and some prefix the tools of servers.
const PREAMBLE: &str = "The tools named here are those of this MCP server; your client may show them with a prefix before their names.\n\n";

/// The maximum length of instructions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InstructionsLimit {
    tokens: usize,
    characters: usize,
}

impl InstructionsLimit {
    /// Returns the limit for `client`.
    pub(crate) fn of(client: Option<&str>, options: &ServerOptions) -> Self {
        // Without tools, models cannot load skills.
        let tokens = if options.tools.is_on() { options.instructions_tokens } else { 0 };
        let truncating = TRUNCATING_CLIENTS.iter().find(|(name, _)| client == Some(name));
        Self { tokens, characters: truncating.map_or(usize::MAX, |(_, characters)| *characters) }
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

/// Returns the instructions with the catalog that `write` returns and `notices` behind it; empty if there is none or the limit is 0.
pub(crate) fn render(
    limit: InstructionsLimit,
    options: &CatalogOptions,
    notices: &[String],
    write: impl Fn(&CatalogOptions) -> Option<Catalog>,
) -> String {
    if limit.tokens == 0 {
        return String::new();
    }
    let write = |over_budget, budget| {
        let catalog = write(&CatalogOptions {
            budget_tokens: Some(budget),
            highlight: None,
            over_budget,
            // A server knows no task, but if not all names fit, some are better than none.
            ranking: Some(Ranking::default()),
            // An exact count would dominate the start-up time.
            tokenizer: Tokenizer::Chars4,
            ..options.clone()
        })?;
        let preamble = if catalog.text.is_empty() { "" } else { PREAMBLE };
        let mut text = format!("{preamble}{}", catalog.text);
        for notice in notices {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&format!("Note: {}.\n", escape_xml(notice)));
        }
        Some((text, catalog.report.over_budget))
    };
    // About four characters are a token.
    let mut budget = limit.tokens.min(limit.characters / 4);
    for _ in 0..MAX_TRIES {
        let Some((text, is_over)) = write(OverBudget::Tiers, budget) else { break };
        let share = limit.share(&text);
        if share <= 1000 {
            return text;
        }
        // Nothing is left to leave out.
        if is_over {
            break;
        }
        budget = (budget * 1000 / share).min(budget - budget.div_ceil(STEPS));
    }
    write(OverBudget::SearchOnly, limit.tokens).map(|(text, _)| text).unwrap_or_default()
}
