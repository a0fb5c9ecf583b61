//! Divides the token budget among the skills to put back.

use serde_json::{Value, json};

use super::frame::{self, ReattachCandidate};
use crate::SkillName;
use crate::answer::Wording;

/// The most skills that are named and not given; the others are counted.
const MAX_NAMED: usize = 64;

crate::words! {
    /// The share of a skill that is put back.
    #[derive(PartialOrd, Ord)]
    #[non_exhaustive]
    Level {
        /// Nothing; it is counted, if there is room for that.
        Omitted "omitted",
        /// Its name.
        Pointer "pointer",
        /// Its hard rules.
        Essence "essence",
        /// All its instructions.
        Body "body",
    }
}

/// The part of one skill that is put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The skill.
    pub name: SkillName,
    /// The share of it.
    pub level: Level,
    /// Its tokens, counted alone.
    pub tokens: usize,
}

/// The text that puts skills back, and its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reattachment {
    /// The text; empty where there is nothing to put back or no room for it.
    pub text: String,
    /// The skills, in the order in which they were given.
    pub pieces: Vec<Piece>,
    /// The tokens of `text`.
    pub tokens: usize,
}

impl Reattachment {
    /// Returns the metadata of the message that holds the text: the skills that it puts into the context.
    pub fn metadata(&self) -> Option<Value> {
        let whole = self.pieces.iter().filter(|piece| piece.level == Level::Body);
        let ids: Vec<&str> = whole.map(|piece| piece.name.as_str()).collect();
        (!ids.is_empty()).then(|| json!({ "skillInjection": true, "skillIds": ids }))
    }
}

/// Returns the text for `candidates`, the last used first, which `price` counts as at most `budget`.
///
/// Bodies stand first in the text, then essences, each in the order of `candidates`, then one line with the
/// names of the others. `more` is the number of lost skills beside the candidates; that line counts them.
pub fn plan(
    candidates: &[ReattachCandidate<'_>],
    more: usize,
    budget: usize,
    price: &dyn Fn(&str) -> usize,
    wording: &Wording,
) -> Reattachment {
    let mut plan = ReattachPlan::new(candidates, more, price, wording);
    let (mut allowance, mut step) = (budget, 0_usize);
    loop {
        plan.spend(allowance);
        let text = plan.text();
        // An empty text puts nothing into a context, even if a counter counts it.
        let tokens = if text.is_empty() { 0 } else { price(&text) };
        if tokens <= budget {
            return Reattachment { text, pieces: plan.pieces(), tokens };
        }
        // The whole costs more than its parts together, so less is bought.
        step = (tokens - budget).max(step.saturating_mul(2));
        let Some(less) = allowance.checked_sub(step) else {
            plan.give_up();
            return Reattachment { text: String::new(), pieces: plan.pieces(), tokens: 0 };
        };
        allowance = less;
    }
}

/// The texts and prices of one candidate.
struct Offer<'a> {
    name: &'a SkillName,
    level: Level,
    essence: Option<(String, usize)>,
    body: (String, usize),
}

struct ReattachPlan<'a> {
    offers: Vec<Offer<'a>>,
    more: usize,
    /// The line that names the rest, if it was bought.
    rest: Option<String>,
    /// The tokens of the wrapper and of the shortest line about the rest.
    frame: usize,
    reserve: usize,
    price: &'a dyn Fn(&str) -> usize,
}

impl<'a> ReattachPlan<'a> {
    fn new(
        candidates: &[ReattachCandidate<'a>],
        more: usize,
        price: &'a dyn Fn(&str) -> usize,
        wording: &Wording,
    ) -> Self {
        let priced = |text: String| {
            let tokens = price(&text);
            (text, tokens)
        };
        let offer = |candidate: &ReattachCandidate<'a>| Offer {
            name: candidate.name,
            level: Level::Omitted,
            essence: (!candidate.essence.trim().is_empty())
                .then(|| priced(frame::essence(candidate, wording))),
            body: priced(frame::body(candidate)),
        };
        let offers: Vec<Offer<'a>> = candidates.iter().map(offer).collect();
        let reserve = price(&frame::rest(&[], offers.len().saturating_add(more)));
        Self { offers, more, rest: None, frame: price(&frame::text(&[])), reserve, price }
    }

    /// Buys what `allowance` is enough for, from the start.
    fn spend(&mut self, allowance: usize) {
        self.give_up();
        if self.frame > allowance {
            return;
        }
        let mut spent = self.frame;
        self.buy(Level::Body, &mut spent, allowance);
        self.buy(Level::Essence, &mut spent, allowance);
        self.name_rest(allowance.saturating_sub(spent));
    }

    fn give_up(&mut self) {
        self.offers.iter_mut().for_each(|offer| offer.level = Level::Omitted);
        self.rest = None;
    }

    /// Buys `level` of each skill without any, if that fits and leaves room to say that there are others.
    fn buy(&mut self, level: Level, spent: &mut usize, allowance: usize) {
        let mut rest = self.offers.iter().filter(|offer| offer.level == Level::Omitted).count() + self.more;
        for offer in self.offers.iter_mut().filter(|offer| offer.level == Level::Omitted) {
            let wanted = if level == Level::Body { Some(&offer.body) } else { offer.essence.as_ref() };
            let Some((_, tokens)) = wanted else { continue };
            let after = spent.saturating_add(*tokens);
            let reserve = if rest > 1 { self.reserve } else { 0 };
            if after.saturating_add(reserve) <= allowance {
                (*spent, offer.level) = (after, level);
                rest -= 1;
            }
        }
    }

    /// Names as many of the others as fit, and counts the rest.
    fn name_rest(&mut self, allowance: usize) {
        let rest: Vec<usize> =
            (0..self.offers.len()).filter(|index| self.offers[*index].level == Level::Omitted).collect();
        let names: Vec<&str> = rest.iter().map(|index| self.offers[*index].name.as_str()).collect();
        let line = |named: usize| {
            frame::rest(&names[..named], names.len().saturating_sub(named).saturating_add(self.more))
        };
        let fits = |named: &usize| (self.price)(&line(*named)) <= allowance;
        let most = names.len().min(MAX_NAMED);
        let named = if fits(&most) { most } else { (0..most).take_while(fits).last().unwrap_or_default() };
        let is_wanted = names.len() + self.more > 0 && fits(&named);
        let is_said = named > 0 || self.offers.iter().any(|offer| offer.level > Level::Omitted);
        self.rest = (is_wanted && is_said).then(|| line(named));
        if self.rest.is_some() {
            rest[..named].iter().for_each(|index| self.offers[*index].level = Level::Pointer);
        }
    }

    fn text(&self) -> String {
        let mut pieces = Vec::new();
        for level in [Level::Body, Level::Essence] {
            let offers = self.offers.iter().filter(|offer| offer.level == level);
            pieces.extend(offers.filter_map(|offer| Some(offer.bought()?.0.as_str())));
        }
        pieces.extend(self.rest.as_deref());
        if pieces.is_empty() { String::new() } else { frame::text(&pieces) }
    }

    fn pieces(&self) -> Vec<Piece> {
        let piece = |offer: &Offer<'_>| Piece {
            name: offer.name.clone(),
            level: offer.level,
            tokens: match offer.level {
                Level::Pointer => (self.price)(offer.name.as_str()),
                _ => offer.bought().map_or(0, |(_, tokens)| *tokens),
            },
        };
        self.offers.iter().map(piece).collect()
    }
}

impl Offer<'_> {
    fn bought(&self) -> Option<&(String, usize)> {
        match self.level {
            Level::Omitted | Level::Pointer => None,
            Level::Essence => self.essence.as_ref(),
            Level::Body => Some(&self.body),
        }
    }
}
