//! The settings of Claude Code that change its listing, as its documentation has them.

use std::collections::BTreeMap;

use repertoire::change::MAX_FILE_BYTES;
use repertoire::regular_file;
use serde_json::Value;

use super::rule::{ListingBudget, ListingRule};
use crate::{Owner, Places};

/// The variable with the characters for all skills, which wins over the part of the window.
pub const BUDGET_VARIABLE: &str = "SLASH_COMMAND_TOOL_CHAR_BUDGET";
const PART: &str = "skillListingBudgetFraction";
const LONGEST: &str = "skillListingMaxDescChars";

/// The project's settings files, which win over the user's.
const PROJECT_FILES: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];

/// Returns `rule` as the settings of the user and the project change it, and each that does with its place.
/// `variable` is the value of [`BUDGET_VARIABLE`] around this program.
pub fn with_settings(
    mut rule: ListingRule,
    places: &Places,
    variable: Option<&str>,
) -> (ListingRule, Vec<String>) {
    let number =
        |value: &Value| value.as_f64().or_else(|| value.as_str()?.parse().ok()).filter(|it| *it > 0.0);
    let mut found: BTreeMap<&str, (f64, String)> = BTreeMap::new();
    let around = variable.and_then(|text| number(&text.into()));
    found.extend(around.map(|it| (BUDGET_VARIABLE, (it, "the environment".to_owned()))));
    let of_project = PROJECT_FILES.map(|file| places.path(Owner::Project, file));
    for path in [places.path(Owner::User, "$CLAUDE/settings.json")].into_iter().chain(of_project).flatten() {
        let bytes = regular_file::read(&path, MAX_FILE_BYTES).unwrap_or_default();
        let settings: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        for (key, around) in [(PART, &settings), (LONGEST, &settings), (BUDGET_VARIABLE, &settings["env"])] {
            found.extend(number(&around[key]).map(|it| (key, (it, path.display().to_string()))));
        }
    }
    if let Some((characters, _)) = found.get(BUDGET_VARIABLE) {
        rule.room = Some(*characters as usize);
        found.remove(PART);
    }
    rule.longest = found.get(LONGEST).map(|(most, _)| *most as usize).or(rule.longest);
    if let (Some((set, _)), ListingBudget::MostUsed(part, ..)) = (found.get(PART), &mut rule.budget) {
        *part = set.min(1.0);
    }
    let settings = found.into_iter().map(|(key, (value, place))| format!("{key} = {value} in {place}"));
    (rule, settings.collect())
}
