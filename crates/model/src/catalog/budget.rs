//! The budget: which skills keep their description. The rule is told in the documentation of the [catalog](super).

use std::collections::HashMap;

use super::render::Page;
use super::report::Tier;

/// A text that is as near to the budget as the rule brings it.
pub(super) struct Fit {
    pub(super) text: String,
    pub(super) tokens: usize,
    pub(super) tiers: Vec<Tier>,
}

/// Returns the text with every name and as many descriptions as `budget` pays for.
pub(super) fn fit(page: &Page<'_>, budget: usize) -> Fit {
    let mut purse = Purse::new(page, budget);
    purse.spend();
    loop {
        let text = page.tiered(&purse.tiers);
        let tokens = page.options.tokenizer.count(&text);
        if tokens <= budget || !purse.give_back(tokens - budget) {
            return Fit { text, tokens, tiers: purse.tiers };
        }
    }
}

/// A description that was bought.
struct Purchase {
    index: usize,
    price: usize,
}

/// What is bought, and what is left to buy with.
///
/// Each entry is counted alone, with its line break. Hardly a token spans one, so the sum is nearly the count of the
/// whole; the count at the end settles the rest.
struct Purse<'a> {
    page: &'a Page<'a>,
    left: usize,
    tiers: Vec<Tier>,
    name_costs: Vec<usize>,
    purchases: Vec<Purchase>,
}

impl<'a> Purse<'a> {
    /// Returns a purse that has paid for the frame and for every name.
    fn new(page: &'a Page<'a>, budget: usize) -> Self {
        let indices = 0..page.items.len();
        let name_costs: Vec<usize> = indices.map(|index| cost(page, index, Tier::NameOnly)).collect();
        let frame = page.options.tokenizer.count(&page.frame());
        // Where there is no description, the name is all there is.
        let tier = |bare| if bare { Tier::Full } else { Tier::NameOnly };
        Self {
            page,
            left: budget.saturating_sub(frame + name_costs.iter().sum::<usize>()),
            tiers: page.items.iter().map(|item| tier(item.description.is_empty())).collect(),
            name_costs,
            purchases: Vec::new(),
        }
    }

    /// Buys in the order of the rule until nothing more fits.
    fn spend(&mut self) {
        for index in self.ranked() {
            if !self.buy(index, Tier::Full, self.price(index, Tier::Full)) {
                self.buy(index, Tier::FirstSentence, self.price(index, Tier::FirstSentence));
            }
        }
        for tier in [Tier::Full, Tier::FirstSentence] {
            if self.left == 0 {
                return;
            }
            for (price, index) in self.cheapest_first(tier) {
                if !self.buy(index, tier, price) {
                    break;
                }
            }
        }
    }

    /// Returns the highlighted item and those the host gave priority to, in this order.
    fn ranked(&self) -> Vec<usize> {
        let (items, priority) = (self.page.items, &self.page.options.priority);
        let mut ranked: Vec<usize> = items.iter().take(1).filter(|item| item.primary).map(|_| 0).collect();
        if !priority.is_empty() {
            let indices: HashMap<&str, usize> =
                items.iter().enumerate().map(|(index, item)| (&*item.name, index)).collect();
            ranked.extend(priority.iter().filter_map(|name| indices.get(name.as_str())));
        }
        ranked
    }

    /// Returns the items that still show their name only, with the price of `tier`.
    fn cheapest_first(&self, tier: Tier) -> Vec<(usize, usize)> {
        let waiting = (0..self.tiers.len()).filter(|index| self.tiers[*index] == Tier::NameOnly);
        let mut prices: Vec<(usize, usize)> = waiting.map(|index| (self.price(index, tier), index)).collect();
        prices.sort_unstable();
        prices
    }

    /// Returns what showing an item as `tier` costs more than its name alone.
    fn price(&self, index: usize, tier: Tier) -> usize {
        cost(self.page, index, tier).saturating_sub(self.name_costs[index])
    }

    /// Shows an item as `tier` if there is enough left, and returns whether it is shown as more than its name.
    fn buy(&mut self, index: usize, tier: Tier, price: usize) -> bool {
        if self.tiers[index] != Tier::NameOnly {
            return true;
        }
        if price > self.left {
            return false;
        }
        self.left -= price;
        self.tiers[index] = tier;
        self.purchases.push(Purchase { index, price });
        true
    }

    /// Returns the latest purchases until `tokens` are saved; `false` if there was none.
    fn give_back(&mut self, tokens: usize) -> bool {
        let mut saved = 0;
        let before = self.purchases.len();
        while saved < tokens
            && let Some(purchase) = self.purchases.pop()
        {
            self.tiers[purchase.index] = Tier::NameOnly;
            saved += purchase.price;
        }
        self.purchases.len() < before
    }
}

/// Returns the tokens of one entry.
fn cost(page: &Page<'_>, index: usize, tier: Tier) -> usize {
    let mut entry = String::new();
    page.entry(&mut entry, index, tier);
    page.options.tokenizer.count(&entry)
}

#[cfg(test)]
mod tests {
    use super::super::entry::prepare;
    use super::super::{CatalogEntry, CatalogOptions, Format, Tokenizer};
    use super::Tier::{FirstSentence, Full, NameOnly};
    use super::*;

    /// In a menu the descriptions cost 18, 6, 6 and 16 tokens more than the names; the last two have a first sentence for 4.
    const SKILLS: &[(&str, &str)] = &[
        ("alpha", "A description of seventy characters, all of them in just one sentence."),
        ("beta", "Twenty characters it"),
        ("delta", "Ten it is. Ten more."),
        ("gamma", "It has ten. And this makes it sixty characters all together"),
    ];

    /// Returns what is bought with `spare` tokens beyond the frame and the names.
    fn bought(spare: usize, options: CatalogOptions) -> Vec<Tier> {
        let options = CatalogOptions { format: Format::Menu, tokenizer: Tokenizer::Chars4, ..options };
        let entry = |&(name, description)| CatalogEntry { name, description, location: None };
        let items = prepare(&SKILLS.iter().map(entry).collect::<Vec<_>>(), &options).unwrap();
        let page = Page::new(&items, &options);
        let mut purse = Purse { left: spare, ..Purse::new(&page, 0) };
        purse.spend();
        purse.tiers
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
    fn what_turns_out_too_dear_is_given_back_last_first() {
        let options =
            CatalogOptions { format: Format::Menu, tokenizer: Tokenizer::Chars4, ..Default::default() };
        let entry = |&(name, description)| CatalogEntry { name, description, location: None };
        let items = prepare(&SKILLS.iter().map(entry).collect::<Vec<_>>(), &options).unwrap();
        let page = Page::new(&items, &options);
        let mut purse = Purse { left: 16, ..Purse::new(&page, 0) };
        purse.spend();
        assert!(purse.give_back(5));
        assert_eq!(purse.tiers, [NameOnly, Full, NameOnly, NameOnly]);
        assert!(purse.give_back(1));
        assert!(!purse.give_back(1));
    }
}
