//! Tokens: the secrets by which a server knows people and programs.

use std::time::{Duration, SystemTime};

use repertoire_model::bundle::Digest;
use repertoire_model::scope::{Pattern, Scope};
use repertoire_model::words;
use serde_json::{Value, json};

use crate::{Error, ErrorKind};

/// The start of every token, by which people and scanners recognise one.
pub const TOKEN_PREFIX: &str = "rep_";

/// The most tokens in a store that are neither revoked nor have ended.
pub const MAX_TOKENS: u64 = 10_000;

/// The time for which a store keeps tokens that have ended: people get one each time that they sign in.
pub const ENDED_TOKEN_TIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The most characters of the name of a person or program.
const MAX_NAME: usize = 64;

/// Returns `true` if a person or program can be called `name`: 1 to 64 letters, digits, or `- _ . @ + |`.
pub fn is_principal_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_alphanumeric() || "-_.@+|".contains(c);
    (1..=MAX_NAME).contains(&name.chars().count()) && name.chars().all(is_allowed)
}

words! {
    /// The rights of a person or program with a token. Each role has the rights of the ones before it.
    #[derive(PartialOrd, Ord, Default)]
    Role {
        /// Reads skills and runs their tools.
        #[default]
        Reader "reader",
        /// Publishes and proposes skills, for others to decide about.
        Author "author",
        /// Decides about proposals of others, publishes without a review, and restores versions.
        Reviewer "reviewer",
        /// Does everything.
        Admin "admin",
    }
}

/// The skills that a token gives access to, beside the scope of its agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenScope {
    /// The patterns.
    pub scope: Scope,
    /// The names of kits of the server's configuration. Their skills are allowed, too.
    pub kits: Vec<String>,
}

impl TokenScope {
    /// Returns the scope as JSON, as stores keep it.
    pub fn to_json(&self) -> String {
        let texts = |patterns: &[Pattern]| patterns.iter().map(ToString::to_string).collect::<Vec<_>>();
        let allow = self.scope.allow.as_deref().map(texts);
        json!({"allow": allow, "deny": texts(&self.scope.deny), "kits": self.kits}).to_string()
    }

    /// Returns the scope that [`TokenScope::to_json`] wrote.
    ///
    /// Fails if anything in it is not understood: a scope that is read in part would show too much.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let damage = || Error::new(ErrorKind::Store).because("the scope of a token is damaged");
        let value: Value = serde_json::from_str(text).map_err(|_| damage())?;
        let words = |key: &str| -> Result<Vec<String>, Error> {
            let items = value[key].as_array().ok_or_else(damage)?;
            items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(damage)).collect()
        };
        let patterns = |key: &str| -> Result<Vec<Pattern>, Error> {
            words(key)?.iter().map(|word| Pattern::for_scope(word).map_err(|_| damage())).collect()
        };
        let allow = if value["allow"].is_null() { None } else { Some(patterns("allow")?) };
        Ok(Self { scope: Scope { allow, deny: patterns("deny")? }, kits: words("kits")? })
    }
}

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenRecord {
    /// The SHA-256 digest of the token.
    pub digest: Digest,
    /// The name of the person or program that it stands for. Several tokens may stand for one.
    pub name: String,
    /// Its rights.
    pub role: Role,
    /// The agent of the server's configuration whose skills and prompts it gets.
    pub agent: Option<String>,
    /// The skills that it gives access to.
    pub scope: TokenScope,
    /// The person that made it.
    pub author: Option<String>,
    /// When it was made.
    pub created: SystemTime,
    /// When it ends; `None` if it does not.
    pub expires: Option<SystemTime>,
    /// When it was revoked.
    pub revoked: Option<SystemTime>,
}

impl TokenRecord {
    /// Returns the record of the token `secret`, which stands for `name`, sees everything and does not end.
    pub fn new(secret: &str, name: impl Into<String>, role: Role, created: SystemTime) -> Self {
        Self {
            digest: Digest::of(secret.as_bytes()),
            name: name.into(),
            role,
            agent: None,
            scope: TokenScope::default(),
            author: None,
            created,
            expires: None,
            revoked: None,
        }
    }

    /// Returns the short name of the token, by which it can be revoked.
    pub fn id(&self) -> String {
        self.digest.to_hex().chars().take(12).collect()
    }

    /// Returns `true` if the token is accepted at the time `now`.
    pub fn is_valid(&self, now: SystemTime) -> bool {
        self.revoked.is_none() && self.expires.is_none_or(|expires| now < expires)
    }
}

/// Tokens of people and programs.
pub trait Tokens: Send + Sync {
    /// Adds a token, and removes tokens that had ended [`ENDED_TOKEN_TIME`] before it was made. Fails if
    /// there are [`MAX_TOKENS`] already, or if there is one with its digest.
    fn add_token(&self, token: &TokenRecord) -> Result<(), Error>;

    /// Returns all tokens, sorted by name and then from the oldest to the newest.
    fn tokens(&self) -> Result<Vec<TokenRecord>, Error>;

    /// Returns the tokens that are accepted at the time `now`, in the same order.
    fn active_tokens(&self, now: SystemTime) -> Result<Vec<TokenRecord>, Error>;

    /// Revokes the token with this digest. Returns `false` if there is not one, or if it was revoked before.
    fn revoke_token(&self, digest: &Digest, time: SystemTime) -> Result<bool, Error>;
}

/// Returns the error of a store that has [`MAX_TOKENS`] tokens.
pub fn too_many_tokens() -> Error {
    Error::new(ErrorKind::Store).because(format!("there are {MAX_TOKENS} tokens already; revoke some"))
}

/// Returns the error of a store that has a token with the same digest.
pub fn token_exists() -> Error {
    Error::new(ErrorKind::Store).because("the store has this token already")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_read_as_they_were_written_and_in_whole() {
        let pattern = |text: &str| Pattern::new(text).unwrap();
        let scope = Scope { allow: Some(vec![pattern("a\"\n:b")]), deny: vec![pattern("git-*")] };
        for scope in [TokenScope::default(), TokenScope { scope, kits: vec!["web".to_owned()] }] {
            assert_eq!(TokenScope::parse(&scope.to_json()).unwrap(), scope);
        }
        for bad in ["", "{}", "{\"allow\":[\"\"],\"deny\":[],\"kits\":[]}", "{\"deny\":[1],\"kits\":[]}"] {
            assert!(TokenScope::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_role_has_the_rights_of_those_before_it() {
        assert!(Role::ALL.is_sorted());
        assert_eq!(Role::parse("reviewer"), Some(Role::Reviewer));
    }
}
