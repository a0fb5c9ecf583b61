//! The budget: decides which skills keep their description. The documentation of the [catalog](super)
//! explains the rule.

use std::collections::HashMap;

use super::options::CatalogOptions;
use super::options::FAIR_PERCENT;
use super::render::Page;
use super::report::{Reason, Tier};
use super::rotation::{self, Turn};

/// Estimates of the bytes of a token and the tokens of an entry's markup, precise enough to form turns.
const TOKEN_BYTES: usize = 4;
const MARKUP_TOKENS: usize = 8;

/// A text that is as near to the budget as the rule brings it.
pub(super) struct Fit {
    pub(super) text: String,
    pub(super) tokens: usize,
    pub(super) tiers: Vec<Tier>,
    pub(super) reasons: Vec<Reason>,
    pub(super) turns: Option<usize>,
}

/// Returns the text with as many descriptions as `budget` pays for, and, without a ranking, with every name.
pub(super) fn fit(page: &Page<'_>, budget: usize) -> Fit {
    let mut allocator = BudgetAllocator::new(page, budget);
    let turns = allocator.spend();
    loop {
        let text = page.tiered(&allocator.tiers);
        let tokens = page.options.tokenizer.count(&text);
        if tokens <= budget || !(allocator.give_back(tokens - budget) || allocator.name_the_best()) {
            return Fit { text, tokens, reasons: allocator.reasons(), tiers: allocator.tiers, turns };
        }
    }
}

/// Something of a skill that was bought.
struct Purchase {
    index: usize,
    price: usize,
    before: Tier,
    reason: Reason,
}

/// The purchases, and the budget that is left.
///
/// Each entry is counted alone, with its line break. Hardly a token spans one, so the sum is nearly the count
/// of the whole; the count at the end settles the rest.
struct BudgetAllocator<'a> {
    page: &'a Page<'a>,
    left: usize,
    tiers: Vec<Tier>,
    /// The cost of each item as it is shown.
    paid: Vec<usize>,
    purchases: Vec<Purchase>,
    /// The one that is named although nothing fits, and why.
    best: Option<(usize, Reason)>,
}

impl<'a> BudgetAllocator<'a> {
    /// Returns an allocator that has paid for the frame and for every name, unless there is a ranking and the
    /// names take more than half of what the frame leaves: then the descriptions of the skills that the task
    /// needs come first.
    fn new(page: &'a Page<'a>, budget: usize) -> Self {
        let CatalogOptions { tokenizer, ranking, .. } = page.options;
        // A name takes a token at least, so names need not be counted where they outnumber the tokens.
        if ranking.is_some() && page.items.len() > budget {
            return Self::of_some(page, budget);
        }
        let tiers: Vec<Tier> = (0..page.items.len()).map(|index| named(page, index)).collect();
        let paid: Vec<usize> = (0..).zip(&tiers).map(|(index, tier)| cost(page, index, *tier)).collect();
        let names = paid.iter().sum::<usize>();
        let left = budget.saturating_sub(tokenizer.count(&page.frame()) + names);
        if ranking.is_some() && names > left {
            return Self::of_some(page, budget);
        }
        Self { page, left, tiers, paid, purchases: Vec::new(), best: None }
    }

    /// Returns an allocator that has paid for the frame, and for the name of the highlighted skill.
    fn of_some(page: &'a Page<'a>, budget: usize) -> Self {
        let total = page.items.len();
        let frame = page.options.tokenizer.count(&page.frame_of_some());
        let (mut tiers, mut paid) = (vec![Tier::Omitted; total], vec![0; total]);
        if page.items.first().is_some_and(|item| item.primary) {
            tiers[0] = named(page, 0);
            paid[0] = cost(page, 0, tiers[0]);
        }
        let left = budget.saturating_sub(frame + paid.iter().sum::<usize>());
        Self { page, left, tiers, paid, purchases: Vec::new(), best: None }
    }

    /// Buys in the order of the rule until nothing more fits, and returns the number of turns.
    fn spend(&mut self) -> Option<usize> {
        let indices = self.indices_by_name();
        for index in self.chosen(&indices) {
            self.buy_most(index, Reason::Host);
        }
        let Some(ranking) = &self.page.options.ranking else {
            self.spend_by_price();
            return None;
        };
        let ranked: Vec<(usize, usize)> = (1..)
            .zip(&ranking.names)
            .filter_map(|(rank, name)| Some((rank, *indices.get(name.as_str())?)))
            .collect();
        let turn = self.spend_by_turns(ranking.epoch);
        self.spend_by_rank(&ranked);
        // Skills of this turn that did not fit half of the rest come after the skills that the task needs.
        for index in &turn.now {
            if self.tiers[*index] < Tier::FirstSentence {
                self.buy_most(*index, Reason::FairShare);
            }
        }
        if self.tiers.contains(&Tier::Omitted) {
            self.spend_on_the_rest(&ranked, &turn);
        } else {
            self.spend_by_price();
        }
        Some(turn.turns)
    }

    /// Buys the cheapest first, ties by name.
    fn spend_by_price(&mut self) {
        if self.left == 0 {
            return;
        }
        let sentences = self.cheapest_first(Tier::FirstSentence);
        if sentences.iter().map(|(price, _)| price).sum::<usize>() <= self.left {
            for (price, index) in sentences {
                self.buy(index, Tier::FirstSentence, price, Reason::Tier);
            }
            self.complete();
            return;
        }
        for tier in [Tier::Full, Tier::FirstSentence] {
            for (price, index) in self.cheapest_first(tier) {
                if !self.buy(index, tier, price, Reason::Tier) {
                    break;
                }
            }
        }
    }

    /// Buys the rest of descriptions that show their first sentence, cheapest first, ties by name.
    fn complete(&mut self) {
        let begun = (0..self.tiers.len()).filter(|index| self.tiers[*index] == Tier::FirstSentence);
        let mut prices: Vec<(usize, usize)> =
            begun.map(|index| (self.price(index, Tier::Full), index)).collect();
        prices.sort_unstable();
        for (price, index) in prices {
            if !self.buy(index, Tier::Full, price, Reason::Tier) {
                break;
            }
        }
    }

    /// Buys the descriptions of the skills of this turn, or else their first sentences.
    ///
    /// Turns are formed by lengths, so that ten thousand skills need not be counted for the few of one turn;
    /// these few may cost more than the share, but never more than half of what is left.
    fn spend_by_turns(&mut self, epoch: u64) -> Turn {
        let waiting = (0..self.tiers.len()).filter(|index| self.tiers[*index] != Tier::Full);
        let skills = waiting.map(|index| {
            let item = &self.page.items[index];
            (index, &*item.name, MARKUP_TOKENS + (item.name.len() + item.description.len()) / TOKEN_BYTES)
        });
        let turn = rotation::turn(skills, self.left * FAIR_PERCENT / 100, epoch);
        let kept = self.left - self.left / 2;
        self.left -= kept;
        for index in &turn.now {
            self.buy_most(*index, Reason::FairShare);
        }
        self.left += kept;
        turn
    }

    /// Buys the most that still fits of the skills that the task needs, best first.
    fn spend_by_rank(&mut self, ranked: &[(usize, usize)]) {
        let mut fits_so_far = true;
        for (rank, index) in ranked {
            let reason = Reason::Task { rank: *rank };
            if self.tiers[*index] == Tier::Full {
                // It would have been shown without its turn, too.
                self.explain(*index, reason, fits_so_far);
                continue;
            }
            fits_so_far &= self.buy_most(*index, reason);
        }
    }

    /// Lists what it can where not even the names of all fit: the names of the skills that the task may need
    /// and of those whose turn it is, then descriptions of those whose turn is next, until one does not fit,
    /// then names of these. A few skills with a description are of more use than many without.
    fn spend_on_the_rest(&mut self, ranked: &[(usize, usize)], turn: &Turn) {
        let needed = ranked.iter().map(|(rank, index)| (*index, Reason::Task { rank: *rank }));
        let due = turn.now.iter().map(|index| (*index, Reason::FairShare));
        if !self.spend_on_names(needed.chain(due)) {
            return;
        }
        for index in &turn.next {
            if !self.buy_most(*index, Reason::Tier) {
                break;
            }
        }
        self.spend_on_names(turn.next.iter().map(|index| (*index, Reason::Tier)));
    }

    /// Lists names until one does not fit, and returns whether all did.
    fn spend_on_names(&mut self, mut skills: impl Iterator<Item = (usize, Reason)>) -> bool {
        skills.all(|(index, reason)| {
            let is_listed = self.tiers[index] != Tier::Omitted;
            is_listed || {
                let tier = named(self.page, index);
                self.buy(index, tier, self.price(index, tier), reason)
            }
        })
    }

    fn indices_by_name(&self) -> HashMap<&'a str, usize> {
        let CatalogOptions { priority, ranking, .. } = self.page.options;
        let is_asked_for =
            !priority.is_empty() || ranking.as_ref().is_some_and(|ranking| !ranking.names.is_empty());
        let items: &'a [_] = if is_asked_for { self.page.items } else { &[] };
        items.iter().enumerate().map(|(index, item)| (&*item.name, index)).collect()
    }

    /// Returns the highlighted item and those the host gave priority to, in this order.
    fn chosen(&self, indices: &HashMap<&str, usize>) -> Vec<usize> {
        let (items, priority) = (self.page.items, &self.page.options.priority);
        let mut chosen: Vec<usize> = items.iter().take(1).filter(|item| item.primary).map(|_| 0).collect();
        chosen.extend(priority.iter().filter_map(|name| indices.get(name.as_str())));
        chosen
    }

    /// Returns the items that still show their name only, with the price of `tier`.
    fn cheapest_first(&self, tier: Tier) -> Vec<(usize, usize)> {
        let waiting = (0..self.tiers.len()).filter(|index| self.tiers[*index] == Tier::NameOnly);
        let mut prices: Vec<(usize, usize)> = waiting.map(|index| (self.price(index, tier), index)).collect();
        prices.sort_unstable();
        prices
    }

    /// Returns the additional price of showing an item as `tier`.
    fn price(&self, index: usize, tier: Tier) -> usize {
        cost(self.page, index, tier).saturating_sub(self.paid[index])
    }

    /// Shows an item's description, or else its first sentence, if it fits; returns whether all is shown.
    fn buy_most(&mut self, index: usize, reason: Reason) -> bool {
        if self.tiers[index] == Tier::Full
            || self.buy(index, Tier::Full, self.price(index, Tier::Full), reason)
        {
            return true;
        }
        self.buy(index, Tier::FirstSentence, self.price(index, Tier::FirstSentence), reason);
        false
    }

    /// Shows an item as `tier` if there is enough left, and returns whether it is shown as that or more.
    fn buy(&mut self, index: usize, tier: Tier, price: usize, reason: Reason) -> bool {
        if self.tiers[index] >= tier {
            return true;
        }
        if price > self.left {
            return false;
        }
        self.left -= price;
        self.paid[index] += price;
        let before = std::mem::replace(&mut self.tiers[index], tier);
        self.purchases.push(Purchase { index, price, before, reason });
        true
    }

    /// Changes the reason of purchases that were made by turn.
    fn explain(&mut self, index: usize, reason: Reason, is_so: bool) {
        let is_turn =
            |purchase: &&mut Purchase| purchase.index == index && purchase.reason == Reason::FairShare;
        if is_so && let Some(purchase) = self.purchases.iter_mut().find(is_turn) {
            purchase.reason = reason;
        }
    }

    /// Returns the latest purchases until `tokens` are saved; `false` if there was not one.
    fn give_back(&mut self, tokens: usize) -> bool {
        let mut saved = 0;
        let before = self.purchases.len();
        while saved < tokens
            && let Some(purchase) = self.purchases.pop()
        {
            self.tiers[purchase.index] = purchase.before;
            self.paid[purchase.index] -= purchase.price;
            saved += purchase.price;
        }
        self.purchases.len() < before
    }

    /// Names the skill that the task needs most, if nothing at all is listed: the text is over the budget
    /// anyway, and a name is better than none. Returns whether it did.
    fn name_the_best(&mut self) -> bool {
        if self.tiers.iter().any(|tier| *tier != Tier::Omitted) {
            return false;
        }
        let indices = self.indices_by_name();
        let names = self.page.options.ranking.iter().flat_map(|ranking| &ranking.names);
        let best = (1..).zip(names).find_map(|(rank, name)| Some((rank, *indices.get(name.as_str())?)));
        let Some((rank, index)) = best else { return false };
        self.tiers[index] = named(self.page, index);
        self.best = Some((index, Reason::Task { rank }));
        true
    }

    /// Returns the reason for the tier of each item.
    fn reasons(&self) -> Vec<Reason> {
        let reason = |tier: &Tier| if *tier == Tier::Omitted { Reason::Omitted } else { Reason::Tier };
        let mut reasons: Vec<Reason> = self.tiers.iter().map(reason).collect();
        for (index, reason) in
            self.purchases.iter().map(|purchase| (purchase.index, purchase.reason)).chain(self.best)
        {
            reasons[index] = reason;
        }
        reasons
    }
}

/// Returns the tier of an item that shows its name: without a description, that is all of it.
fn named(page: &Page<'_>, index: usize) -> Tier {
    if page.items[index].description.is_empty() { Tier::Full } else { Tier::NameOnly }
}

/// Returns the tokens of one entry.
fn cost(page: &Page<'_>, index: usize, tier: Tier) -> usize {
    let mut entry = String::new();
    page.entry(&mut entry, index, tier, page.items.len().saturating_sub(1));
    page.options.tokenizer.count(&entry)
}

#[cfg(test)]
mod tests {
    use super::super::entry::prepare;
    use super::super::{CatalogEntry, CatalogOptions, Format, Tokenizer};
    use super::Tier::{FirstSentence, Full, NameOnly};
    use super::*;

    /// In a menu the descriptions cost 18, 6, 6 and 16 tokens more than the names; the last two have a first
    /// sentence for 4.
    const SKILLS: &[(&str, &str)] = &[
        ("alpha", "A description of seventy characters, all of them in just one sentence."),
        ("beta", "Twenty characters it"),
        ("delta", "Ten it is. Ten more."),
        ("gamma", "It has ten. And this makes it sixty characters all together"),
    ];

    /// Returns the tiers that are bought with `spare` tokens beyond the frame and the names.
    fn bought(spare: usize, options: CatalogOptions) -> Vec<Tier> {
        let options = CatalogOptions { format: Format::Menu, tokenizer: Tokenizer::Chars4, ..options };
        let entry = |&(name, description)| CatalogEntry { name, description, location: None };
        let items = prepare(&SKILLS.iter().map(entry).collect::<Vec<_>>(), &options).unwrap();
        let page = Page::new(&items, &options);
        let mut allocator = BudgetAllocator { left: spare, ..BudgetAllocator::new(&page, 0) };
        allocator.spend();
        allocator.tiers
    }

    #[test]
    fn the_cheapest_are_whole_first_and_the_rest_buys_sentences() {
        let check =
            |spare, expected: [Tier; 4]| assert_eq!(bought(spare, CatalogOptions::default()), expected);
        check(0, [NameOnly; 4]);
        check(4, [NameOnly, NameOnly, FirstSentence, NameOnly]);
        check(6, [NameOnly, Full, NameOnly, NameOnly]);
        check(16, [NameOnly, Full, Full, FirstSentence]);
        check(28, [NameOnly, Full, Full, Full]);
        check(32, [Full, Full, FirstSentence, FirstSentence]);
        check(34, [Full, Full, Full, FirstSentence]);
        check(46, [Full; 4]);
    }

    #[test]
    fn the_highlighted_skill_and_the_priority_come_before_cheaper_ones() {
        let priority = vec!["unknown".to_owned(), "gamma".to_owned()];
        let ranked = CatalogOptions { priority, ..CatalogOptions::default() };
        assert_eq!(bought(17, ranked.clone()), [NameOnly, NameOnly, NameOnly, Full]);
        assert_eq!(bought(10, ranked.clone()), [NameOnly, Full, NameOnly, FirstSentence]);
        let highlighted = CatalogOptions { highlight: Some("alpha".to_owned()), ..ranked };
        assert_eq!(bought(24, highlighted), [Full, NameOnly, NameOnly, FirstSentence]);
    }

    #[test]
    fn purchases_over_the_budget_are_returned_last_first() {
        let options =
            CatalogOptions { format: Format::Menu, tokenizer: Tokenizer::Chars4, ..Default::default() };
        let entry = |&(name, description)| CatalogEntry { name, description, location: None };
        let items = prepare(&SKILLS.iter().map(entry).collect::<Vec<_>>(), &options).unwrap();
        let page = Page::new(&items, &options);
        let mut allocator = BudgetAllocator { left: 16, ..BudgetAllocator::new(&page, 0) };
        allocator.spend();
        assert!(allocator.give_back(5));
        assert_eq!(allocator.tiers, [NameOnly, Full, NameOnly, NameOnly]);
        assert!(allocator.give_back(1));
        assert!(!allocator.give_back(1));
    }
}
