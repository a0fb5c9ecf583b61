//! The configuration: the library's, with environment variables and options on top.

use std::path::PathBuf;

use repertoire::config::{
    ConfigInput, ConfigOverride, KEYS, Key, OverrideValue, Settings, ValueKind, gone_keys,
};
use repertoire_model::text::nearest;

use super::environment::{self as env, Env};
use super::kit_choice;
use super::options::WorkspaceOptions;
use crate::error::Error;

/// Returns the settings of all layers.
pub fn load(env: &Env, options: &WorkspaceOptions) -> Result<Settings, Error> {
    let mut input = input(env, options);
    input.kits = kit_choice::chosen(env)?;
    Settings::load(&input).map_err(|error| {
        let is_about_kits = error.file().is_none() && load_without_kits(env, options).is_ok();
        let converted = Error::from(error);
        if is_about_kits {
            let none = if env.get(env::KITS).is_some() {
                format!("unset {}", env::KITS)
            } else {
                "rep kit use --none".to_owned()
            };
            converted.hint(format!("run `rep kit list` to see the kits, `{none}` to use none"))
        } else {
            converted
        }
    })
}

/// Returns the settings of all layers as they are while no kit is in use.
pub fn load_without_kits(env: &Env, options: &WorkspaceOptions) -> Result<Settings, Error> {
    Ok(Settings::load(&input(env, options))?)
}

/// Returns the directories and overrides that the configuration is loaded from.
pub fn input(env: &Env, options: &WorkspaceOptions) -> ConfigInput {
    let mut input = ConfigInput::new(env.working_directory());
    input.home = env.home();
    input.config_home = env.config_home();
    input.client_homes = env.client_homes();
    input.file = options.config.clone().or_else(|| env.get(env::CONFIG).map(PathBuf::from));
    for (name, is_list) in names().chain(gone_keys().map(|name| (name.to_owned(), false))) {
        let origin = env::variable_of(&name);
        let Some(value) = env.get(&origin) else { continue };
        let value = if is_list {
            OverrideValue::Paths(env.paths(&origin))
        } else {
            OverrideValue::Word(value.to_string_lossy().into_owned())
        };
        input.overrides.push(ConfigOverride { key: name, value, origin });
    }
    if let Some(profile) = &options.profile {
        let (value, origin) = (OverrideValue::Word(profile.clone()), "--profile".to_owned());
        input.overrides.push(ConfigOverride { key: "profile".to_owned(), value, origin });
    }
    input
}

/// Returns every name under which a key is set, and whether its value is a list of paths.
fn names() -> impl Iterator<Item = (String, bool)> {
    let is_list = |key: &Key| matches!(key.kind, ValueKind::Paths);
    KEYS.iter().flat_map(move |key| key.names().into_iter().map(move |name| (name, is_list(key))))
}

/// Returns the variables with Repertoire's prefix that are unknown, each with the nearest known one.
pub fn unknown_variables(env: &Env) -> Vec<(String, Option<String>)> {
    let mut known: Vec<String> = names().map(|(name, _)| env::variable_of(&name)).collect();
    known.extend(env::VARIABLES.iter().map(|(name, _)| (*name).to_owned()));
    env.own()
        .filter(|name| !known.iter().any(|known| known == name))
        .map(|name| (name.to_owned(), nearest(name, known.iter().map(String::as_str)).map(str::to_owned)))
        .collect()
}
