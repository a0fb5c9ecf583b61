//! A principal with the views that its requests see.

use std::sync::Arc;

use async_lock::Mutex;
use repertoire_model::scope::Scope;

use super::agent_view::AgentView;
use super::principal::Principal;
use super::skill_query;
use crate::error::Error;

const UNBOUND: &str = "skills: name the skills that are bound to the agent as well";

/// Maximum number of views of one principal for requests that are limited to some skills. One more replaces
/// the one that was not used longest; sessions keep theirs.
const MAX_NARROWED: usize = 32;

/// A principal with the views that its requests see.
pub struct Caller {
    /// The view of requests that name no skills.
    pub view: Arc<AgentView>,
    /// The principal.
    pub principal: Principal,
    /// The views for requests that are limited to some skills, the one that was used last at the end.
    narrowed: Mutex<Vec<(Scope, Arc<AgentView>)>>,
}

impl Caller {
    /// Returns the caller whose requests see `view`.
    pub fn new(view: Arc<AgentView>, principal: Principal) -> Self {
        Self { view, principal, narrowed: Mutex::default() }
    }

    /// Returns the view for a request whose URL has this query: one of only the skills that it names, if it names some.
    ///
    /// Fails with the reason if it names skills wrongly.
    pub async fn view_of(&self, query: Option<&str>) -> Result<Arc<AgentView>, String> {
        match skill_query::parse(query)? {
            Some(limit) => {
                let view = self.narrowed(limit).await;
                view.map_err(|error| format!("{UNBOUND}: {}", error.chain()))
            }
            None => Ok(Arc::clone(&self.view)),
        }
    }

    /// Returns the view of those skills of the caller that `limit` allows.
    async fn narrowed(&self, limit: Scope) -> Result<Arc<AgentView>, Error> {
        let mut narrowed = self.narrowed.lock().await;
        let known = narrowed.iter().position(|(other, _)| *other == limit);
        let (limit, view) = match known.map(|index| narrowed.remove(index)) {
            Some(known) => known,
            None => (limit.clone(), self.view.narrowed(limit).await?),
        };
        if narrowed.len() >= MAX_NARROWED {
            narrowed.remove(0);
        }
        narrowed.push((limit, Arc::clone(&view)));
        Ok(view)
    }
}
