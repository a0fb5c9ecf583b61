//! Prices of models, from a table in a file.

use serde::Deserialize;

use super::input_error::InputError;
use crate::client::ModelApi;
use crate::usage::TokenUsage;

const BUILT_IN: &str = include_str!("../../data/prices.json");

/// The prices of one model, in US dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Prices {
    /// The service, whose rules of caching apply.
    pub provider: ModelApi,
    /// The name of the model, without the date of a version.
    pub model: String,
    /// Input that is neither read from the cache nor written to it.
    pub input: f64,
    /// Input that is written to the cache.
    pub cache_write: f64,
    /// Input that is read from the cache.
    pub cache_read: f64,
    /// Output.
    pub output: f64,
    /// The fewest tokens of a prefix that the service caches.
    pub cache_minimum: u64,
}

/// Prices of models, and the date that they are of.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PriceTable {
    /// The day on which the prices were looked up, as `YYYY-MM-DD`.
    pub date: String,
    /// A note on where they come from.
    #[serde(default)]
    pub note: String,
    /// The prices, one row for each model.
    pub models: Vec<Prices>,
}

impl Prices {
    /// Returns the prices of a model in the built-in table.
    pub fn of(model: &str) -> Option<Self> {
        PriceTable::built_in().of(model).cloned()
    }

    /// Returns the price of some tokens, in US dollars.
    pub fn cost(&self, usage: TokenUsage) -> f64 {
        let parts = [
            (usage.input, self.input),
            (usage.cache_write, self.cache_write),
            (usage.cache_read, self.cache_read),
            (usage.output, self.output),
        ];
        parts.iter().map(|(tokens, price)| *tokens as f64 * price).sum::<f64>() / 1e6
    }

    fn check(&self) -> Result<(), InputError> {
        let prices = [
            ("input", self.input),
            ("cache_write", self.cache_write),
            ("cache_read", self.cache_read),
            ("output", self.output),
        ];
        let wrong = prices.iter().find(|(_, price)| !price.is_finite() || *price < 0.0);
        match wrong {
            _ if self.model.is_empty() => Err(InputError::new("a row has an empty `model`")),
            Some((field, price)) => {
                Err(InputError::new(format!("`{field}` of `{}` is no price: {price}", self.model)))
            }
            None => Ok(()),
        }
    }
}

impl PriceTable {
    /// Returns the built-in table.
    pub fn built_in() -> Self {
        // A test parses it.
        Self::parse(BUILT_IN).unwrap_or_default()
    }

    /// Reads a table from the text of a JSON file.
    pub fn parse(text: &str) -> Result<Self, InputError> {
        let table: Self = serde_json::from_str(text).map_err(|error| InputError::new(error.to_string()))?;
        table.models.iter().try_for_each(Prices::check)?;
        Ok(table)
    }

    /// Returns the prices of a model: the row with its name, whatever the date of its version and the path before its name.
    ///
    /// A name that only begins like that of a row is another model, with other prices.
    pub fn of(&self, model: &str) -> Option<&Prices> {
        let name = model.rsplit('/').next().unwrap_or(model);
        let rows = self.models.iter().filter(|row| name.strip_prefix(&*row.model).is_some_and(is_version));
        rows.max_by_key(|row| row.model.len())
    }
}

/// Returns whether the end of a model's name is nothing, `-latest` or a date such as `-20250929` and `-2024-08-06`.
fn is_version(end: &str) -> bool {
    let Some(version) = end.strip_prefix(['-', '@']) else { return end.is_empty() };
    let digits = version.bytes().filter(u8::is_ascii_digit).count();
    version == "latest" || (digits == 8 && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_built_in_table_is_sound() {
        let table = PriceTable::parse(BUILT_IN).unwrap();
        assert!(table.models.len() > 20);
        assert_eq!(table.date.len(), "2026-10-10".len());
        for row in &table.models {
            assert_eq!(table.of(&row.model), Some(row), "one row for each model");
            assert!(0.0 < row.cache_read && row.cache_read < row.input, "{}", row.model);
            assert!(row.input <= row.cache_write && row.cache_write < row.output, "{}", row.model);
            assert!((512..=4096).contains(&row.cache_minimum), "{}", row.model);
        }
    }

    #[test]
    fn a_model_is_found_by_its_name_with_or_without_a_date() {
        let found = |model: &str| Prices::of(model).map(|prices| prices.model);
        for (model, row) in [
            ("claude-sonnet-4-5", "claude-sonnet-4-5"),
            ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
            ("claude-opus-4-20250514", "claude-opus-4"),
            ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
            ("claude-opus-4-1@20250805", "claude-opus-4-1"),
            ("gpt-4o-2024-08-06", "gpt-4o"),
            ("gpt-5-mini", "gpt-5-mini"),
            ("anthropic/claude-sonnet-5", "claude-sonnet-5"),
        ] {
            assert_eq!(found(model).as_deref(), Some(row), "{model}");
        }
        for model in ["gpt-5.5-pro", "claude-opus-4-9", "gpt-4o-audio", "qwen", "", "claude-sonnet-5-"] {
            assert_eq!(found(model), None, "{model}");
        }
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        let prices = Prices::of("claude-sonnet-4-5").unwrap();
        let million = 1_000_000;
        let usage = |input, cache_write, cache_read, output| TokenUsage {
            requests: 1,
            input,
            cache_read,
            cache_write,
            output,
        };
        assert_eq!(prices.cost(usage(million, 0, 0, 0)), 3.0);
        assert_eq!(prices.cost(usage(0, million, 0, 0)), 3.75);
        assert_eq!(prices.cost(usage(0, 0, million, 0)), 0.3);
        assert_eq!(prices.cost(usage(0, 0, 0, million)), 15.0);
        assert_eq!(prices.cost(TokenUsage::default()), 0.0);
    }

    #[test]
    fn unusable_tables_are_errors_that_name_the_field() {
        let row = |price: &str| {
            format!(
                r#"{{"date": "2026-01-01", "models": [{{"provider": "openai", "model": "m", "input": {price}, "cache_write": 1, "cache_read": 1, "output": 1, "cache_minimum": 1}}]}}"#
            )
        };
        assert!(PriceTable::parse(&row("1")).is_ok());
        for (text, error) in [
            ("".to_owned(), "EOF"),
            (row("-1"), "`input` of `m` is no price: -1"),
            (row("\"a\""), "expected f64"),
            (row("1").replace("\"m\"", "\"\""), "empty `model`"),
            (row("1").replace("openai", "acme"), "unknown variant `acme`"),
            (row("1").replace("cache_minimum", "minimum"), "unknown field `minimum`"),
        ] {
            let message = PriceTable::parse(&text).unwrap_err().to_string();
            assert!(message.contains(error), "{message}");
        }
    }
}
