//! Candidates for shell completion, and the names that arguments may have.

use std::path::PathBuf;
use std::sync::Arc;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use repertoire_app::workspace::{WorkspaceOptions, settings};
use repertoire_clients::{CLIENTS, Client};

use crate::env;
use crate::wire::Workspace;

/// Returns the completer of skill names.
pub(crate) fn skill_names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let env = env::capture();
        // The command line is not parsed while it is being typed; only the roots on it matter here.
        let words = env::arguments();
        let words = words.iter().skip_while(|word| *word != "--");
        let roots = words.clone().zip(words.skip(1)).filter(|(word, _)| *word == "--root");
        let roots = roots.map(|(_, root)| PathBuf::from(root)).collect();
        let options = WorkspaceOptions { roots, ..WorkspaceOptions::default() };
        // Nothing but the settings is read: `Workspace::load` may ask the store.
        let Ok(settings) = settings::load(&env, &options) else { return Vec::new() };
        let workspace = Workspace::new(env, options, settings, Arc::new(()));
        let library = workspace.inspect(workspace.settings.policy.clone());
        let candidate = |entry: &repertoire::Entry| {
            let description = entry.document.description.to_string();
            CompletionCandidate::new(entry.name().to_string()).help(Some(description.into()))
        };
        library.snapshot.active().map(candidate).collect()
    })
}

/// Returns the completer of the disabled skills, as the configuration names them.
pub(crate) fn disabled_names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let settings = settings::load(&env::capture(), &WorkspaceOptions::default());
        let disabled = settings.map(|settings| settings.disabled).unwrap_or_default();
        disabled.into_iter().map(|it| CompletionCandidate::new(it.pattern.to_string())).collect()
    })
}

/// Returns the completer of the names of configured kits.
pub(crate) fn kit_names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let settings = settings::load_without_kits(&env::capture(), &WorkspaceOptions::default());
        let kits = settings.map(|settings| settings.kits).unwrap_or_default();
        kits.into_keys().map(CompletionCandidate::new).collect()
    })
}

/// Returns the completer of the names of configured agents.
pub(crate) fn agent_names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let settings = settings::load(&env::capture(), &WorkspaceOptions::default());
        let agents = settings.map(|settings| settings.agents).unwrap_or_default();
        agents.into_keys().map(CompletionCandidate::new).collect()
    })
}

pub(crate) fn client_names() -> PossibleValuesParser {
    let value = |client: &Client| PossibleValue::new(client.id).aliases(client.aliases).help(client.title());
    PossibleValuesParser::new(CLIENTS.iter().map(value))
}
