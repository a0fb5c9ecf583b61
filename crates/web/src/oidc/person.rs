//! The rights of a person, by the claims of a token.

use std::time::SystemTime;

use repertoire::config::OidcGroup;
use repertoire::store::{TokenRecord, TokenScope, is_principal_name};
use repertoire_model::Digest;

use super::fault::OidcFault;
use super::jwt::Claims;
use super::options::OidcOptions;

/// A person or program that the provider vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Person {
    /// The name that events tell.
    pub(crate) name: String,
    rights: OidcGroup,
}

impl Person {
    pub(super) fn new(claims: &Claims, options: &OidcOptions) -> Result<Self, OidcFault> {
        let name = name(claims, options)?;
        let groups = claims.texts(&options.groups_claim);
        let rights = rights(&groups, options).ok_or_else(|| OidcFault::NoGroup(name.clone()))?;
        Ok(Self { name, rights })
    }

    pub(crate) fn token(&self, secret: &str, now: SystemTime) -> TokenRecord {
        let mut token = TokenRecord::new(secret, &self.name, self.rights.role, now);
        token.agent.clone_from(&self.rights.agent);
        token.scope.clone_from(&self.rights.scope);
        token
    }

    /// Returns the record that stands for the person without being in a store. It stays the same from one
    /// token of the provider to the next, and so do sessions.
    pub(crate) fn record(&self) -> TokenRecord {
        let OidcGroup { role, agent, scope } = &self.rights;
        let agent = agent.as_deref().unwrap_or_default();
        let identity = format!("oidc\n{}\n{role}\n{agent}\n{}", self.name, scope.to_json());
        let mut record = self.token("", SystemTime::UNIX_EPOCH);
        record.digest = Digest::of(identity.as_bytes());
        record
    }
}

/// Returns the name of a person: the configured claim, or the verified address, or else the subject.
fn name(claims: &Claims, options: &OidcOptions) -> Result<String, OidcFault> {
    let is_verified = claims.get("email_verified").and_then(serde_json::Value::as_bool);
    let (claim, is_usable) = match options.name_claim.as_deref() {
        // Some providers verify all addresses, and say nothing about it.
        Some("email") => ("email", is_verified != Some(false)),
        Some(claim) => (claim, true),
        None if claims.text("email").is_some() && is_verified == Some(true) => ("email", true),
        None => ("sub", true),
    };
    let name = claims.text(claim).filter(|name| is_usable && is_principal_name(name));
    name.map(str::to_owned).ok_or_else(|| OidcFault::Name(claim.to_owned()))
}

/// Returns the rights of people in `groups`: those of the listed group with the highest role. Several of that
/// role and of one agent give access to the skills of all of them, less what one of them denies.
fn rights(groups: &[&str], options: &OidcOptions) -> Option<OidcGroup> {
    let listed = options.groups.iter().filter(|(name, _)| groups.contains(&name.as_str()));
    let listed: Vec<&OidcGroup> = listed.map(|(_, group)| group).collect();
    let Some(role) = listed.iter().map(|group| group.role).max() else {
        return options.role.map(|role| OidcGroup { role, ..OidcGroup::default() });
    };
    let mut highest = listed.into_iter().filter(|group| group.role == role);
    let mut rights = highest.next()?.clone();
    for group in highest.filter(|group| group.agent == rights.agent).cloned().collect::<Vec<_>>() {
        rights.scope = joined(rights.scope, group.scope);
    }
    Some(rights)
}

/// Returns the scope of the skills of both, less what one of them denies.
fn joined(mut one: TokenScope, other: TokenScope) -> TokenScope {
    let is_limited = |scope: &TokenScope| scope.scope.allow.is_some() || !scope.kits.is_empty();
    if is_limited(&one) && is_limited(&other) {
        one.scope.allow.get_or_insert_default().extend(other.scope.allow.into_iter().flatten());
        one.kits.extend(other.kits);
    } else {
        (one.scope.allow, one.kits) = (None, Vec::new());
    }
    one.scope.deny.extend(other.scope.deny);
    one
}

#[cfg(test)]
mod tests {
    use super::*;
    use repertoire::store::Role;
    use repertoire_model::scope::{Pattern, Scope};
    use serde_json::json;

    fn group(role: Role, allow: &[&str], kits: &[&str], deny: &[&str]) -> OidcGroup {
        let patterns =
            |texts: &[&str]| texts.iter().map(|text| Pattern::new(text).unwrap()).collect::<Vec<_>>();
        let allow = (!allow.is_empty()).then(|| patterns(allow));
        let kits = kits.iter().map(|kit| (*kit).to_owned()).collect();
        OidcGroup {
            role,
            agent: None,
            scope: TokenScope { scope: Scope { allow, deny: patterns(deny) }, kits },
        }
    }

    fn options(groups: &[(&str, OidcGroup)]) -> OidcOptions {
        let mut options = OidcOptions::new("https://id.test", "rep");
        options.groups = groups.iter().map(|(name, group)| ((*name).to_owned(), group.clone())).collect();
        options
    }

    #[test]
    fn people_are_called_by_what_the_provider_verified() {
        let check = |claim: Option<&str>, claims: serde_json::Value, expect: Option<&str>| {
            let mut options = options(&[]);
            options.name_claim = claim.map(str::to_owned);
            assert_eq!(name(&Claims::of(claims.clone()), &options).ok().as_deref(), expect, "{claims}");
        };
        let ann = "ann@example.com";
        check(None, json!({"sub": "1", "email": ann, "email_verified": true}), Some(ann));
        check(None, json!({"sub": "1", "email": ann}), Some("1"));
        check(None, json!({"sub": "auth0|1", "email": ann, "email_verified": false}), Some("auth0|1"));
        check(None, json!({"sub": "a:b"}), None);
        check(None, json!({"email": ann}), None);
        check(Some("email"), json!({"sub": "1", "email": ann}), Some(ann));
        check(Some("email"), json!({"sub": "1", "email": ann, "email_verified": false}), None);
        check(Some("login"), json!({"sub": "1", "login": "ann"}), Some("ann"));
        for bad in [json!(1), json!(""), json!("a b"), json!("agent:x"), json!("x".repeat(65)), json!(null)] {
            check(Some("login"), json!({"sub": "1", "login": bad}), None);
        }
    }

    #[test]
    fn the_group_with_the_highest_role_counts() {
        let all = group(Role::Reader, &[], &[], &[]);
        let web = group(Role::Reviewer, &["css"], &["web"], &["x"]);
        let ops = group(Role::Reviewer, &["git"], &[], &["y"]);
        let mut options = options(&[("all", all.clone()), ("web", web.clone()), ("ops", ops)]);
        assert_eq!(rights(&["all"], &options), Some(all));
        assert_eq!(rights(&["all", "web", "unknown"], &options), Some(web));
        // In the order of their names.
        let both = group(Role::Reviewer, &["git", "css"], &["web"], &["y", "x"]);
        assert_eq!(rights(&["web", "ops"], &options), Some(both));
        assert_eq!(rights(&["unknown"], &options), None);
        assert_eq!(rights(&[], &options), None);
        options.role = Some(Role::Author);
        assert_eq!(rights(&[], &options), Some(group(Role::Author, &[], &[], &[])));
        assert_eq!(rights(&["all"], &options).map(|rights| rights.role), Some(Role::Reader));
    }

    #[test]
    fn groups_of_different_agents_are_not_joined() {
        let mut web = group(Role::Reader, &["css"], &[], &[]);
        web.agent = Some("web".to_owned());
        let options = options(&[("web", web), ("all", group(Role::Reader, &[], &[], &["x"]))]);
        assert_eq!(rights(&["web", "all"], &options), Some(group(Role::Reader, &[], &[], &["x"])));
    }
}
