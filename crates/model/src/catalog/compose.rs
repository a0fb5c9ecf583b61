//! Renders catalog entries to text, with a report.

use super::budget::{self, Fit};
use super::entry::{CatalogEntry, Item, prepare};
use super::options::{CatalogError, CatalogOptions, OverBudget};
use super::render::Page;
use super::report::{CatalogReport, Reason, SkillTier, Tier};

/// The text for the system prompt, and the report on its skills.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Catalog {
    /// The text; empty where there are no skills.
    pub text: String,
    /// A report on how each skill is shown.
    pub report: CatalogReport,
}

impl Catalog {
    /// Returns the tokens of the text, counting them if rendering did not.
    pub fn tokens(&self) -> usize {
        self.report.tokens.unwrap_or_else(|| self.report.tokenizer.count(&self.text))
    }
}

/// Returns the catalog of `entries`, which may come in any order.
///
/// An empty set gives the empty text, independent of the options.
///
/// # Errors
///
/// If the skill to highlight is not among the entries, or the format needs locations and one is missing.
pub fn render(entries: &[CatalogEntry<'_>], options: &CatalogOptions) -> Result<Catalog, CatalogError> {
    let items = if entries.is_empty() { Vec::new() } else { prepare(entries, options)? };
    let page = Page::new(&items, options);
    // No skill is shorter than a token, so many of them need not be written to know that they do not fit.
    if options.over_budget == OverBudget::Tiers
        && let Some(budget) = options.budget_tokens
        && items.len() > budget
    {
        return Ok(tiered(&page, budget));
    }
    let every = |tier| vec![tier; items.len()];
    let full = if items.is_empty() { String::new() } else { page.full() };
    let Some(budget) = options.budget_tokens else {
        return Ok(catalog(&items, options, full, None, &every(Tier::Full)));
    };
    if let Some(tokens) = options.tokenizer.count_up_to(&full, budget) {
        return Ok(catalog(&items, options, full, Some(tokens), &every(Tier::Full)));
    }
    Ok(match options.over_budget {
        OverBudget::Tiers => tiered(&page, budget),
        OverBudget::SearchOnly => {
            let text = page.search_only();
            let tokens = options.tokenizer.count(&text);
            catalog(&items, options, text, Some(tokens), &every(Tier::Omitted))
        }
        OverBudget::Verbatim => {
            let tokens = options.tokenizer.count(&full);
            catalog(&items, options, full, Some(tokens), &every(Tier::Full))
        }
    })
}

fn tiered(page: &Page<'_>, budget: usize) -> Catalog {
    let Fit { text, tokens, tiers, reasons, turns } = budget::fit(page, budget);
    let mut catalog = catalog(page.items, page.options, text, Some(tokens), &tiers);
    for (skill, reason) in catalog.report.tiers.iter_mut().zip(reasons) {
        skill.reason = reason;
    }
    catalog.report.turns = turns;
    catalog
}

fn catalog(
    items: &[Item<'_>],
    options: &CatalogOptions,
    text: String,
    tokens: Option<usize>,
    tiers: &[Tier],
) -> Catalog {
    let reason = |tier| if tier == Tier::Omitted { Reason::Omitted } else { Reason::Tier };
    let tiers = items.iter().zip(tiers).map(|(item, tier)| SkillTier {
        name: item.name.to_string(),
        tier: *tier,
        reason: reason(*tier),
    });
    let report = CatalogReport {
        tokenizer: options.tokenizer,
        budget_tokens: options.budget_tokens,
        tokens,
        over_budget: tokens.zip(options.budget_tokens).is_some_and(|(tokens, budget)| tokens > budget),
        tiers: tiers.collect(),
        clipped: items.iter().filter(|item| item.clipped).count(),
        turns: None,
    };
    Catalog { text, report }
}
