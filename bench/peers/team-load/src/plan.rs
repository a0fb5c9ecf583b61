//! The plan of a run: servers, people and skills.

use std::collections::HashSet;

use serde::Deserialize;

/// The plan of a run.
#[derive(Deserialize)]
pub struct Plan {
    /// The addresses of the servers, as in `127.0.0.1:7437`.
    pub servers: Vec<String>,
    /// The names of the skills at the start.
    pub skills: Vec<String>,
    /// The names of skills that are published for the first time.
    pub new_skills: Vec<String>,
    /// The scopes: patterns over names, `*` for any text.
    pub scopes: Vec<Vec<String>>,
    /// The people.
    pub people: Vec<Person>,
    /// The token that publishes.
    pub publisher: String,
    /// The versions to publish, in turn.
    pub publications: Vec<Publication>,
    /// The number of versions that are published in a minute.
    pub publications_per_minute: u64,
    /// Texts to search for.
    pub queries: Vec<String>,
}

/// Somebody with a token.
#[derive(Deserialize)]
pub struct Person {
    pub token: String,
    /// The index of the scope.
    pub scope: usize,
}

/// A version of a skill to be published.
#[derive(Deserialize)]
pub struct Publication {
    pub skill: String,
    pub version: String,
    /// The file with the archive.
    pub archive: String,
    /// A text that only this version has.
    pub mark: String,
    /// Somebody who may see the skill.
    pub reader: usize,
}

impl Plan {
    pub fn read(file: &str) -> Self {
        let text = std::fs::read_to_string(file).expect("the plan can be read");
        serde_json::from_str(&text).expect("the plan is valid")
    }

    /// Returns the indices of the skills of each scope.
    pub fn members(&self) -> Vec<Vec<usize>> {
        let of = |scope: &Vec<String>| {
            let skills = self.skills.iter().enumerate();
            skills.filter(|(_, name)| is_within(scope, name)).map(|(index, _)| index).collect()
        };
        self.scopes.iter().map(of).collect()
    }

    /// Returns the names of all skills that there are at any time.
    pub fn names(&self) -> HashSet<&str> {
        self.skills.iter().chain(&self.new_skills).map(String::as_str).collect()
    }
}

/// Returns whether a scope has the skill `name`.
pub fn is_within(scope: &[String], name: &str) -> bool {
    scope.iter().any(|pattern| matches(pattern.as_bytes(), name.as_bytes()))
}

fn matches(pattern: &[u8], text: &[u8]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some((b'*', rest)) => (0..=text.len()).any(|from| matches(rest, &text[from..])),
        Some((byte, rest)) => text.split_first().is_some_and(|(first, text)| first == byte && matches(rest, text)),
    }
}
