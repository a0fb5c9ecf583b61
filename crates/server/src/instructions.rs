//! The catalog in the server's `instructions`.

use std::sync::{Arc, Mutex, PoisonError};

use repertoire::{Catalog, Snapshot};
use repertoire_model::catalog::{CatalogOptions, OverBudget, Ranking, Tokenizer};
use repertoire_model::tokens::approximate;

use crate::ServerOptions;

/// By how much the approximate count of a catalog's tokens is taken to be too low: it errs to both sides.
const CAUTION_PERCENT: usize = 8;

/// How often a catalog is written with less room because it came out too large; characters say little about tokens.
const MAX_TRIES: usize = 6;

/// The part of the room that a catalog which came out too large has less the next time, at least: less than an entry changes nothing.
const STEPS: usize = 16;

/// Clients that cut the instructions of a server, and after how many characters: what comes last, such as how to find the rest, would
/// never be read.
const CUTTING: &[(&str, usize)] = &[("claude-code", 4_000)];

/// Clients have tools of their own that may go by the same names, and put a prefix before those of servers.
const PREAMBLE: &str = "The tools named here are those of this MCP server; your client may show them with a prefix before their names.\n\n";

/// How long instructions may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    tokens: usize,
    characters: usize,
}

impl Room {
    /// Returns what there is room for with `client`.
    pub(crate) fn of(client: Option<&str>, options: &ServerOptions) -> Self {
        // Without tools there is nothing that the text could tell a model to call.
        let tokens = if options.tools.is_on() { options.instructions_tokens } else { 0 };
        let cutting = CUTTING.iter().find(|(name, _)| client == Some(name));
        Self { tokens, characters: cutting.map_or(usize::MAX, |(_, characters)| *characters) }
    }

    /// Returns how many times as long as it may be `text` is, in parts of a thousand.
    fn share(self, text: &str) -> usize {
        let tokens = approximate(text) * (100 + CAUTION_PERCENT) / 100;
        // As programs in JavaScript count, which all that cut are.
        let characters = text.encode_utf16().count();
        let thousandths = |size: usize, room: usize| size.saturating_mul(1000).div_ceil(room.max(1));
        thousandths(tokens, self.tokens).max(thousandths(characters, self.characters))
    }
}

/// The instructions that were written for the newest snapshot.
#[derive(Default)]
pub(crate) struct Instructions(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    snapshot: u64,
    written: Vec<(Room, Arc<str>)>,
}

impl Instructions {
    /// Returns the instructions for `snapshot`, with a catalog that `write` writes; empty where there is none, or no room.
    pub(crate) fn of(
        &self,
        snapshot: &Snapshot,
        room: Room,
        options: &CatalogOptions,
        write: impl Fn(&CatalogOptions) -> Option<Catalog>,
    ) -> Arc<str> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.snapshot != snapshot.number() {
            *kept = Kept { snapshot: snapshot.number(), written: Vec::new() };
        }
        if let Some((_, text)) = kept.written.iter().find(|(other, _)| *other == room) {
            return Arc::clone(text);
        }
        let text: Arc<str> = written(room, options, write).into();
        kept.written.push((room, Arc::clone(&text)));
        text
    }
}

fn written(
    room: Room,
    options: &CatalogOptions,
    write: impl Fn(&CatalogOptions) -> Option<Catalog>,
) -> String {
    if room.tokens == 0 {
        return String::new();
    }
    let write = |over_budget, budget| {
        let catalog = write(&CatalogOptions {
            budget_tokens: Some(budget),
            highlight: None,
            over_budget,
            // A server knows no task. But where not all names fit, those that do are better than none.
            ranking: Some(Ranking::default()),
            // An exact count would take most of the time to the first answer, and most of the memory.
            tokenizer: Tokenizer::Chars4,
            ..options.clone()
        })?;
        let preamble = if catalog.text.is_empty() { "" } else { PREAMBLE };
        Some((format!("{preamble}{}", catalog.text), catalog.report.over_budget))
    };
    let mut budget = room.tokens;
    for _ in 0..MAX_TRIES {
        let Some((text, is_over)) = write(OverBudget::Tiers, budget) else { break };
        let share = room.share(&text);
        if share <= 1000 {
            return text;
        }
        // There is nothing more to leave out.
        if is_over {
            break;
        }
        budget = (budget * 1000 / share).min(budget - budget.div_ceil(STEPS));
    }
    write(OverBudget::SearchOnly, room.tokens).map(|(text, _)| text).unwrap_or_default()
}
