//! A principal with the views that its requests see.

use std::sync::Arc;

use async_lock::Mutex;
use percent_encoding::percent_decode_str;
use repertoire_model::scope::{Pattern, Scope};
use repertoire_model::text::shorten;

use super::agent_view::AgentView;
use super::principal::Principal;
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

    /// Returns the view for a request whose URL has this query: only the skills it names, if it names some.
    ///
    /// Fails with the reason if it names skills wrongly.
    pub async fn view_of(&self, query: Option<&str>) -> Result<Arc<AgentView>, String> {
        match parse(query)? {
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

/// The parameter with the names and patterns.
const PARAMETER: &str = "skills";

/// Maximum number of names and patterns.
const MAX_PATTERNS: usize = 64;

/// Maximum characters of a pattern that are quoted in an error.
const MAX_QUOTED: usize = 80;

/// Returns the skills that `query` names, the same value for the same patterns; `None` without the parameter.
///
/// Fails with the reason if a pattern is invalid: a request must not see other skills than it means to.
fn parse(query: Option<&str>) -> Result<Option<Scope>, String> {
    let parameters = query.unwrap_or_default().split('&').filter_map(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        (name == PARAMETER).then_some(value)
    });
    // A comma that is part of a pattern is percent-encoded.
    let texts: Vec<&str> = parameters.flat_map(|value| value.split(',')).collect();
    if texts.is_empty() {
        return Ok(None);
    }
    if texts.len() > MAX_PATTERNS {
        return Err(format!("{PARAMETER}: too many patterns; send at most {MAX_PATTERNS}"));
    }
    let patterns = texts.into_iter().map(|text| {
        let invalid = |why: String| format!("{PARAMETER}: `{}`: {why}", shorten(text, MAX_QUOTED));
        let decoded =
            percent_decode_str(text).decode_utf8().map_err(|_| invalid("it is not UTF-8".to_owned()))?;
        Pattern::for_scope(&decoded).map_err(|fault| invalid(fault.to_string()))
    });
    let mut patterns = patterns.collect::<Result<Vec<Pattern>, String>>()?;
    patterns.sort_by_cached_key(ToString::to_string);
    patterns.dedup();
    Ok(Some(Scope { allow: Some(patterns), ..Scope::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_patterns_are_read_from_the_query() {
        let check = |query: &str, expect: Option<&[&str]>| {
            let scope = parse(Some(query)).unwrap();
            let expect = expect.map(|patterns| Scope {
                allow: Some(patterns.iter().map(|text| Pattern::new(text).unwrap()).collect()),
                ..Scope::default()
            });
            assert_eq!(scope, expect, "{query}");
        };
        check("", None);
        check("skill=a&Skills=b", None);
        check("skills=pdf,git-*", Some(&["git-*", "pdf"]));
        check("x=1&skills=pdf&skills=git-%2A,pdf", Some(&["git-*", "pdf"]));
        check("skills=project:a%2Cb/skills:g?t", Some(&["project:a,b/skills:g?t"]));
        assert_eq!(parse(None), Ok(None));
    }

    #[test]
    fn invalid_patterns_are_refused() {
        for (query, reason) in [
            ("skills", "skills: ``: it is empty and matches nothing"),
            ("skills=a,,b", "skills: ``: it is empty and matches nothing"),
            ("skills=a%20b", "skills: `a%20b`: no skill's name contains ' ', so it matches nothing"),
            ("skills=%FF", "skills: `%FF`: it is not UTF-8"),
            ("skills=../x", "skills: `../x`: no skill's name contains '/', so it matches nothing"),
        ] {
            assert_eq!(parse(Some(query)), Err(reason.to_owned()));
        }
        let many = format!("skills={}", vec!["a"; MAX_PATTERNS + 1].join(","));
        assert_eq!(parse(Some(&many)), Err("skills: too many patterns; send at most 64".to_owned()));
    }
}
