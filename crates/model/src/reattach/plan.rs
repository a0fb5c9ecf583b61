//! Who gets how much of the budget.

use super::frame;
use crate::answer::Wording;
use crate::{Digest, SkillName};

/// A skill whose instructions could be put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// Its name.
    pub name: &'a SkillName,
    /// Its instructions.
    pub body: &'a str,
    /// The digest of `body`.
    pub digest: Digest,
    /// What matters most of them, as [`essence`](crate::essence::essence) finds it or a host wrote it; empty where there is nothing.
    pub essence: &'a str,
}

/// How much of a skill is put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Nothing; it is counted, if there is room for that.
    Omitted,
    /// Its name.
    Pointer,
    /// Its hard rules.
    Essence,
    /// All its instructions.
    Body,
}

impl Level {
    /// Returns the word used on every surface.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Omitted => "omitted",
            Self::Pointer => "pointer",
            Self::Essence => "essence",
            Self::Body => "body",
        }
    }
}

/// What is put back of one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The skill.
    pub name: SkillName,
    /// How much of it.
    pub level: Level,
    /// What that costs, taken alone.
    pub tokens: usize,
}

/// What is put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reattachment {
    /// The text; empty where there is nothing to put back or no room for it.
    pub text: String,
    /// The skills, in the order in which they were given.
    pub pieces: Vec<Piece>,
    /// What `text` costs.
    pub tokens: usize,
}

/// Returns what is put back of `candidates`, the last loaded first, in a text that `price` counts as at most `budget`.
///
/// Bodies stand first in the text, then essences, then pointers, each in the order of `candidates`.
pub fn plan(
    candidates: &[Candidate<'_>],
    budget: usize,
    price: &dyn Fn(&str) -> usize,
    wording: &Wording,
) -> Reattachment {
    let mut plan = Plan::new(candidates, price, wording);
    plan.pay_pointers(budget);
    plan.raise(Level::Body, budget);
    plan.raise(Level::Essence, budget);
    loop {
        let text = plan.text();
        // An empty text puts nothing into a context, whatever a counter says of it.
        let tokens = if text.is_empty() { 0 } else { price(&text) };
        if tokens <= budget {
            return Reattachment { text, pieces: plan.pieces(), tokens };
        }
        plan.take_back();
    }
}

/// The texts and prices of one candidate, by level.
struct Offer<'a> {
    name: &'a SkillName,
    level: Level,
    pointer: (String, usize),
    essence: Option<(String, usize)>,
    body: (String, usize),
}

struct Plan<'a> {
    offers: Vec<Offer<'a>>,
    /// The indices of what was raised above a pointer, in the order in which that happened.
    raised: Vec<usize>,
    counts_omitted: bool,
    spent: usize,
    price: &'a dyn Fn(&str) -> usize,
}

impl<'a> Plan<'a> {
    fn new(candidates: &[Candidate<'a>], price: &'a dyn Fn(&str) -> usize, wording: &Wording) -> Self {
        let priced = |text: String| {
            let tokens = price(&text);
            (text, tokens)
        };
        let offer = |candidate: &Candidate<'a>| Offer {
            name: candidate.name,
            level: Level::Omitted,
            pointer: priced(frame::pointer(candidate, wording)),
            essence: (!candidate.essence.trim().is_empty())
                .then(|| priced(frame::essence(candidate, wording))),
            body: priced(frame::body(candidate)),
        };
        let offers = candidates.iter().map(offer).collect();
        let spent = price(&frame::text(&[]));
        Self { offers, raised: Vec::new(), counts_omitted: false, spent, price }
    }

    fn pay_pointers(&mut self, budget: usize) {
        for offer in &mut self.offers {
            let spent = self.spent.saturating_add(offer.pointer.1);
            if spent > budget {
                break;
            }
            (self.spent, offer.level) = (spent, Level::Pointer);
        }
        if self.omitted() > 0 {
            let spent = self.spent.saturating_add((self.price)(&frame::omitted(self.omitted())));
            if spent <= budget {
                (self.spent, self.counts_omitted) = (spent, true);
            }
        }
    }

    /// Raises each pointer to `level` where that fits.
    fn raise(&mut self, level: Level, budget: usize) {
        for (index, offer) in self.offers.iter_mut().enumerate() {
            let wanted = match level {
                Level::Body => Some(&offer.body),
                _ => offer.essence.as_ref(),
            };
            let Some((_, tokens)) = wanted.filter(|_| offer.level == Level::Pointer) else { continue };
            let spent = self.spent.saturating_sub(offer.pointer.1).saturating_add(*tokens);
            if spent <= budget {
                (self.spent, offer.level) = (spent, level);
                self.raised.push(index);
            }
        }
    }

    /// Gives the last purchase back. Every call leaves less, down to nothing.
    fn take_back(&mut self) {
        if let Some(index) = self.raised.pop() {
            self.offers[index].level = Level::Pointer;
        } else if self.counts_omitted {
            self.counts_omitted = false;
        } else if let Some(offer) = self.offers.iter_mut().rfind(|offer| offer.level == Level::Pointer) {
            offer.level = Level::Omitted;
        }
    }

    fn omitted(&self) -> usize {
        self.offers.iter().filter(|offer| offer.level == Level::Omitted).count()
    }

    fn text(&self) -> String {
        let mut pieces = Vec::new();
        for level in [Level::Body, Level::Essence, Level::Pointer] {
            let offers = self.offers.iter().filter(|offer| offer.level == level);
            pieces.extend(offers.filter_map(|offer| Some(offer.at(level)?.0.as_str())));
        }
        if pieces.is_empty() {
            return String::new();
        }
        let omitted = frame::omitted(self.omitted());
        pieces.extend(self.counts_omitted.then_some(omitted.as_str()));
        frame::text(&pieces)
    }

    fn pieces(&self) -> Vec<Piece> {
        let piece = |offer: &Offer<'_>| Piece {
            name: offer.name.clone(),
            level: offer.level,
            tokens: offer.at(offer.level).map_or(0, |(_, tokens)| *tokens),
        };
        self.offers.iter().map(piece).collect()
    }
}

impl Offer<'_> {
    fn at(&self, level: Level) -> Option<&(String, usize)> {
        match level {
            Level::Omitted => None,
            Level::Pointer => Some(&self.pointer),
            Level::Essence => self.essence.as_ref(),
            Level::Body => Some(&self.body),
        }
    }
}
