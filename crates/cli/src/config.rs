//! The configuration of `rep`: the library's, with environment variables and flags on top.

use std::path::PathBuf;

use repertoire::config::{
    ConfigError, ConfigInput, ConfigOverride, KEYS, OverrideValue, Settings, ValueKind,
};
use repertoire_model::Severity;
use repertoire_model::text::nearest;

use crate::env::{self, Env};
use crate::error::CliError;
use crate::globals::Globals;
use crate::kit_choice;
use crate::ui::{Note, render_note};

/// The most errors of a file that are shown.
const MAX_FAULTS_SHOWN: usize = 50;

/// Returns the settings of all layers.
pub(crate) fn load(env: &Env, globals: &Globals, is_coloured: bool) -> Result<Settings, CliError> {
    let mut input = input(env, globals);
    input.kits = kit_choice::chosen(env)?;
    Settings::load(&input).map_err(|error| {
        let is_about_kits = error.file().is_none() && load_without_kits(env, globals, is_coloured).is_ok();
        let converted = cli_error(&error, is_coloured);
        if is_about_kits {
            let none = if env.get(env::KITS).is_some() {
                format!("unset {}", env::KITS)
            } else {
                "rep use --none".to_owned()
            };
            converted.hint(format!("run `rep use` to see the kits, `{none}` to use none"))
        } else {
            converted
        }
    })
}

/// Returns the settings of all layers as they are while no kit is in use.
pub(crate) fn load_without_kits(
    env: &Env,
    globals: &Globals,
    is_coloured: bool,
) -> Result<Settings, CliError> {
    Settings::load(&input(env, globals)).map_err(|error| cli_error(&error, is_coloured))
}

/// Returns the directories and overrides that the configuration is loaded from.
pub(crate) fn input(env: &Env, globals: &Globals) -> ConfigInput {
    let mut input = ConfigInput::new(env.working_directory());
    input.home = env.home();
    input.config_home = env.config_home();
    input.client_homes = env.client_homes();
    input.file = globals.config.clone().or_else(|| env.get(env::CONFIG).map(PathBuf::from));
    for key in KEYS {
        let origin = env::variable_of(key.name);
        let Some(value) = env.get(&origin) else { continue };
        let value = if matches!(key.kind, ValueKind::Paths) {
            OverrideValue::Paths(env.paths(&origin))
        } else {
            OverrideValue::Word(value.to_string_lossy().into_owned())
        };
        input.overrides.push(ConfigOverride { key: key.name.to_owned(), value, origin });
    }
    if let Some(profile) = &globals.profile {
        let (value, origin) = (OverrideValue::Word(profile.clone()), "--profile".to_owned());
        input.overrides.push(ConfigOverride { key: "profile".to_owned(), value, origin });
    }
    input
}

/// Returns the error that shows `error`, with the lines of the file it is about.
pub(crate) fn cli_error(error: &ConfigError, is_coloured: bool) -> CliError {
    let Some(file) = error.file() else {
        let mut converted = CliError::usage(error.message());
        if let Some(source) = std::error::Error::source(error) {
            converted = converted.because(anyhow::anyhow!("{source}"));
        }
        return match error.help() {
            Some(hint) => converted.hint(hint),
            None => converted,
        };
    };
    let shown = file.path.display().to_string();
    let notes = file.faults.iter().take(MAX_FAULTS_SHOWN).map(|fault| Note {
        severity: Severity::Error,
        rule: None,
        message: &fault.message,
        help: fault.help.as_deref(),
        path: &shown,
        place: Some((&file.text, fault.range.clone())),
        line: None,
    });
    let mut rendered: Vec<String> = notes.map(|note| render_note(&note, usize::MAX, is_coloured)).collect();
    let more = file.faults.len().saturating_sub(MAX_FAULTS_SHOWN);
    if more > 0 {
        rendered.push(format!("and {more} more\n"));
    }
    CliError::rendered(error.message(), rendered.join("\n"))
}

/// Returns the variables with Repertoire's prefix that are unknown, each with the nearest known one.
pub(crate) fn unknown_variables(env: &Env) -> Vec<(String, Option<String>)> {
    let mut known: Vec<String> = KEYS.iter().map(|key| env::variable_of(key.name)).collect();
    known.extend(env::VARIABLES.iter().map(|(name, _)| (*name).to_owned()));
    env.own()
        .filter(|name| !known.iter().any(|known| known == name))
        .map(|name| (name.to_owned(), nearest(name, known.iter().map(String::as_str)).map(str::to_owned)))
        .collect()
}

#[cfg(test)]
mod tests {
    use repertoire::config::{HTTP_CONNECTIONS, INSTRUCTIONS_TOKENS};
    use repertoire_web::http::HttpLimits;

    #[test]
    fn settings_of_other_crates_have_their_defaults() {
        assert_eq!(INSTRUCTIONS_TOKENS, repertoire_mcp::INSTRUCTIONS_TOKENS);
        assert_eq!(HTTP_CONNECTIONS, HttpLimits::default().connections);
    }
}
