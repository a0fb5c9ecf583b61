//! Search as configured: the embedder and the file of the index.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use repertoire::config::Embeddings;
use repertoire::discovery::Place;
use repertoire_model::Policy;
use repertoire_search::http::{HttpEmbedder, HttpEmbedderOptions};
use repertoire_search::{EmbeddedModel, Embedder, SearchOptions, SkillSearch};

use super::handle::Workspace;
use super::reporter::Reporter;
use crate::docs::docs;
use crate::error::Error;

/// The time that an embedding server has to answer a trial.
const TRIAL: Duration = Duration::from_secs(5);

/// The directory of the cache for the answers of embedding servers.
const DIRECTORY: &str = "embeddings";

impl Workspace {
    /// Returns the searcher of the skills of `places`: as configured, with an index beside the cache.
    ///
    /// Without an embedder where the configured one does not work; see [`Workspace::expect_search`].
    pub fn searcher(&self, places: &[Place], policy: &Policy) -> SkillSearch {
        let sources = places.iter().map(|place| (place.root.label.as_str(), place.root.path.as_path()));
        let location = self.store_location().unwrap_or_default();
        let channels = self.served.iter().map(|channel| (channel.as_str(), Path::new(&location)));
        let sources = sources.chain(channels);
        let mut options = SearchOptions::default();
        options.file =
            self.cache_directory().map(|directory| SearchOptions::file_in(&directory, policy, sources));
        options.embedder = embedder(self).ok().flatten();
        SkillSearch::new(options)
    }

    /// Returns an error if search does not work as configured, for commands that search.
    pub fn expect_search(&self) -> Result<(), Error> {
        if let Some(fault) = self.missing_key() {
            notice(&*self.reporter, &fault);
        }
        embedder(self).map(|_| ())
    }

    /// Returns why search does not work as configured, if it does not. An embedding server is sent one word.
    pub fn search_fault(&self) -> Option<String> {
        let fault = self.missing_key();
        fault.or_else(|| embedder(self).err().map(|error| error.message_with_causes())).or_else(|| {
            let is_http = self.settings.search.embeddings == Embeddings::Http;
            let mut options = http_options(self).filter(|_| is_http)?;
            (options.cache, options.notice) = (None, None);
            (options.timeout, options.retries) = (TRIAL, 0);
            let embedder = HttpEmbedder::new(options).ok()?;
            pollster::block_on(embedder.query("skill")).err().map(|error| error.chain())
        })
    }

    fn missing_key(&self) -> Option<String> {
        let search = &self.settings.search;
        let is_missing = search.embeddings == Embeddings::Http && key(self).is_none();
        is_missing.then(|| format!("the variable {} of `search.key_env` is not set", search.key_env))
    }
}

/// Returns the configured embedder; without one skills are found by their words alone.
fn embedder(workspace: &Workspace) -> Result<Option<Arc<dyn Embedder>>, Error> {
    match workspace.settings.search.embeddings {
        Embeddings::Builtin => Ok(Some(Arc::new(EmbeddedModel))),
        Embeddings::Off => Ok(None),
        Embeddings::Http => http(workspace),
    }
}

/// Returns the key of the embedding server, if it needs one; `None` if its variable is not set.
fn key(workspace: &Workspace) -> Option<Option<String>> {
    match workspace.settings.search.key_env.as_str() {
        "" => Some(None),
        name => workspace.env.named(name).map(Some),
    }
}

/// Returns the options of the embedding server; `None` if the variable of its key is not set.
fn http_options(workspace: &Workspace) -> Option<HttpEmbedderOptions> {
    let search = &workspace.settings.search;
    let mut options = HttpEmbedderOptions::new(&search.url, &search.model);
    options.http = workspace.env.http.clone();
    options.key = key(workspace)?;
    options.cache = workspace.cache_directory().map(|cache| cache.join(DIRECTORY));
    let reporter = Arc::clone(&workspace.reporter);
    options.notice = Some(Arc::new(move |message: &str| notice(&*reporter, message)));
    Some(options)
}

fn http(workspace: &Workspace) -> Result<Option<Arc<dyn Embedder>>, Error> {
    let Some(options) = http_options(workspace) else { return Ok(None) };
    match HttpEmbedder::new(options) {
        Ok(embedder) => Ok(Some(Arc::new(embedder))),
        Err(error) => {
            Err(Error::usage("`search.embeddings = \"http\"` does not work").because(error).hint(format!(
                "`search.url` and `search.model` say which server and model; see {}",
                docs("guides/search-by-meaning")
            )))
        }
    }
}

/// Warns that skills are found by their words alone; searches go on.
fn notice(reporter: &dyn Reporter, message: &str) {
    reporter.warn(&format!("skills are found by their words alone: {message}"));
}
