//! Search as configured: the embedder and the file of the index.

use std::io::Write as _;
use std::sync::Arc;

use repertoire::config::{ConfiguredPlace, Embeddings};
use repertoire::search::http::{HttpEmbedder, HttpOptions};
use repertoire::search::{BuiltinEmbedder, Embedder, SearchOptions};
use repertoire_model::Policy;

use super::context::Context;

use crate::env::Env;
use crate::error::CliError;
use crate::ui::escape;

/// The directory of the cache for the answers of embedding servers.
const DIRECTORY: &str = "embeddings";

impl Context {
    /// Returns the search options for the skills of `places`: as configured, with an index beside the cache.
    ///
    /// Without an embedder where the configured one does not work; see [`Context::expect_search`].
    pub(crate) fn search_options(&self, places: &[ConfiguredPlace], policy: &Policy) -> SearchOptions {
        let sources = places.iter().map(|place| (place.label.as_str(), place.path.as_path()));
        let file =
            self.cache_directory().map(|directory| SearchOptions::file_in(&directory, policy, sources));
        let embedder = embedder(self).ok().flatten();
        SearchOptions { embedder, file, ..SearchOptions::default() }
    }

    /// Returns an error if search does not work as configured, for commands that search.
    pub(crate) fn expect_search(&self) -> Result<(), CliError> {
        let search = &self.settings.search;
        if search.embeddings == Embeddings::Http && key(self).is_none() {
            notice(&format!("the variable {} of `search.key_env` is not set", search.key_env));
        }
        embedder(self).map(|_| ())
    }
}

/// Returns the configured embedder; without one skills are found by their words alone.
fn embedder(context: &Context) -> Result<Option<Arc<dyn Embedder>>, CliError> {
    match context.settings.search.embeddings {
        Embeddings::Builtin => Ok(Some(Arc::new(BuiltinEmbedder))),
        Embeddings::Off => Ok(None),
        Embeddings::Http => http(context),
    }
}

/// Returns the key of the embedding server, if it needs one; `None` if its variable is not set.
fn key(context: &Context) -> Option<Option<String>> {
    match context.settings.search.key_env.as_str() {
        "" => Some(None),
        name => Env::named(name).map(Some),
    }
}

fn http(context: &Context) -> Result<Option<Arc<dyn Embedder>>, CliError> {
    let search = &context.settings.search;
    let Some(key) = key(context) else { return Ok(None) };
    let options = HttpOptions {
        key,
        cache: context.cache_directory().map(|cache| cache.join(DIRECTORY)),
        notice: Some(Arc::new(notice)),
        ..HttpOptions::new(&search.url, &search.model)
    };
    match HttpEmbedder::new(options) {
        Ok(embedder) => Ok(Some(Arc::new(embedder))),
        Err(refusal) => {
            Err(CliError::usage("`search.embeddings = \"http\"` does not work").because(refusal).hint(
                "`search.url` and `search.model` say which server and model; see docs/guides/embeddings.md",
            ))
        }
    }
}

/// Prints to standard error why skills are found by their words alone; searches go on.
fn notice(message: &str) {
    let message = escape(message);
    // Nothing can be reported when stderr is closed.
    let _ = writeln!(std::io::stderr(), "warning: skills are found by their words alone: {message}");
}
