//! What says what texts mean, as configured.

use std::io::Write as _;
use std::sync::Arc;

use repertoire::search::http::{HttpEmbedder, HttpOptions};
use repertoire::search::{BuiltinEmbedder, Embedder};

use super::Context;
use crate::config::Embeddings;
use crate::env::Env;
use crate::error::CliError;
use crate::ui::escape;

/// The directory of the cache in which answers of servers are kept.
const DIRECTORY: &str = "embeddings";

/// Returns what says what texts mean; without it skills are found by their words alone.
pub(super) fn embedder(context: &Context) -> Result<Option<Arc<dyn Embedder>>, CliError> {
    match context.settings.search.embeddings {
        Embeddings::Builtin => Ok(Some(Arc::new(BuiltinEmbedder))),
        Embeddings::Off => Ok(None),
        Embeddings::Http => http(context),
    }
}

/// Returns an error if texts cannot mean what the configuration says, and tells where they merely do not.
pub(super) fn expect(context: &Context) -> Result<(), CliError> {
    let search = &context.settings.search;
    if search.embeddings == Embeddings::Http && key(context).is_none() {
        notice(&format!("the variable {} of `search.key_env` is not set", search.key_env));
    }
    embedder(context).map(|_| ())
}

/// Returns the key of the server, where it wants one; `None` where that is not set.
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

/// Says on standard error why skills are found by their words alone; searches go on.
fn notice(message: &str) {
    let message = escape(message);
    // There is nobody left to tell when stderr is gone.
    let _ = writeln!(std::io::stderr(), "warning: skills are found by their words alone: {message}");
}
