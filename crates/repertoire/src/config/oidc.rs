//! The keys of OpenID Connect, and the tables `[oidc.groups.NAME]`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use repertoire_model::Pattern;
use repertoire_model::text::nearest;
use toml::Spanned;
use toml::de::DeValue;

use super::error::ConfigFault;
use super::input::ConfiguredPath;
use super::trust::FileTrust;
use crate::store::{Role, TokenScope};

const GROUP_KEYS: [&str; 5] = ["role", "agent", "allow", "deny", "kits"];

repertoire_model::options! {
    /// The settings of OpenID Connect.
    #[derive(Debug, Clone)]
    #[non_exhaustive]
    pub struct OidcSettings {
        /// The address of the provider; empty for none.
        pub issuer: String,
        /// The name under which the provider knows the server.
        pub client_id: String,
        /// The file with the secret that the provider knows the server by.
        pub client_secret_file: Option<ConfiguredPath>,
        /// The audience of tokens that programs send; empty for the client id.
        pub audience: String,
        /// The claim with the name of a person; empty for the verified address, or else the subject.
        pub name_claim: String,
        /// The claim with the groups of a person.
        pub groups_claim: String = "groups".to_owned(),
        /// The role of people in no listed group.
        pub role: Option<Role>,
        /// The groups, by name.
        pub groups: BTreeMap<String, OidcGroup>,
    }
}

/// The words for the role of people in no listed group.
pub(super) const OTHERS_ROLES: &[(&str, Option<Role>)] = &[
    ("none", None),
    ("reader", Some(Role::Reader)),
    ("author", Some(Role::Author)),
    ("reviewer", Some(Role::Reviewer)),
    ("admin", Some(Role::Admin)),
];

/// The rights of people in a group of the provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OidcGroup {
    /// Their role.
    pub role: Role,
    /// The agent whose skills and prompts they get.
    pub agent: Option<String>,
    /// The skills that they have access to.
    pub scope: TokenScope,
}

/// Returns the group `name` that `table` defines, and adds its errors to `faults`.
pub(super) fn parse_group(
    name: &Spanned<Cow<'_, str>>,
    table: &Spanned<DeValue<'_>>,
    trust: &FileTrust,
    faults: &mut Vec<ConfigFault>,
) -> OidcGroup {
    let prefix = format!("oidc.groups.{}", name.get_ref());
    let mut group = OidcGroup::default();
    let mut fault = |range, message, help| faults.push(ConfigFault { range, message, help });
    if let Some((message, help)) = trust.objection_to_key(&prefix) {
        fault(name.span(), message, Some(help));
    }
    let DeValue::Table(keys) = table.get_ref() else {
        let help = "write `role = \"reader\"` and its other keys below `[oidc.groups.NAME]`".to_owned();
        fault(table.span(), format!("`{prefix}` is a table of keys"), Some(help));
        return group;
    };
    if !keys.contains_key("role") {
        let help = format!("write `role = \"{}\"`", Role::Reader);
        fault(name.span(), format!("`{prefix}` has no `role`"), Some(help));
    }
    for (key, value) in keys {
        let takes = match set(&mut group, key.get_ref(), value.get_ref()) {
            Ok(()) => continue,
            Err(takes) => takes,
        };
        match takes {
            Some(takes) => {
                let message = format!("bad value for `{prefix}.{}`", key.get_ref());
                fault(value.span(), message, Some(format!("it takes {takes}")));
            }
            None => {
                let near = nearest(key.get_ref(), GROUP_KEYS).map(|near| format!("did you mean `{near}`?"));
                let help = near.unwrap_or_else(|| format!("a group has: {}", GROUP_KEYS.join(", ")));
                fault(key.span(), format!("unknown key `{prefix}.{}`", key.get_ref()), Some(help));
            }
        }
    }
    group
}

/// Sets a key of a group. Fails with what the key takes, or with nothing if there is no such key.
fn set(group: &mut OidcGroup, key: &str, value: &DeValue<'_>) -> Result<(), Option<String>> {
    let words = || {
        let items = value.as_array()?.iter().map(|item| item.get_ref().as_str());
        items.collect::<Option<Vec<&str>>>()
    };
    let patterns = || -> Option<Vec<Pattern>> {
        words()?.into_iter().map(|word| Pattern::for_scope(word).ok()).collect()
    };
    let expected = |takes: &str| Some(takes.to_owned());
    let list = "a list of patterns: NAME, SOURCE:NAME or tag=TAG, with * and ?";
    match key {
        "role" => {
            let roles = Role::ALL.map(Role::as_str).join(", ");
            group.role = value.as_str().and_then(Role::parse).ok_or(Some(roles))?;
        }
        "agent" => group.agent = Some(value.as_str().ok_or(expected("the name of an agent"))?.to_owned()),
        "allow" => group.scope.scope.allow = Some(patterns().ok_or(expected(list))?),
        "deny" => group.scope.scope.deny = patterns().ok_or(expected(list))?,
        "kits" => {
            let kits = words().ok_or(expected("a list of names of kits"))?;
            group.scope.kits = kits.into_iter().map(str::to_owned).collect();
        }
        _ => return Err(None),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::parse::parse;
    use super::*;

    #[test]
    fn a_group_has_a_role_and_skills() {
        let faults = |text: &str| -> Vec<String> {
            parse(text, Path::new(""), &FileTrust::Whole).1.into_iter().map(|fault| fault.message).collect()
        };
        let whole = "[oidc.groups.\"/team/web\"]\nrole = \"reviewer\"\nagent = \"web\"\nallow = [\"tag=web\"]\ndeny = [\"x\"]\nkits = [\"web\"]";
        assert_eq!(faults(whole), [""; 0]);
        assert_eq!(faults("[oidc.groups.web]"), ["`oidc.groups.web` has no `role`"]);
        assert_eq!(faults("oidc.groups.web = 1"), ["`oidc.groups.web` is a table of keys"]);
        assert_eq!(
            faults("oidc.groups = 1"),
            ["`oidc.groups` is a table of keys and has no value of its own"]
        );
        assert_eq!(faults("oidc.groups.web.role = \"root\""), ["bad value for `oidc.groups.web.role`"]);
        let web = "oidc.groups.web = { role = \"reader\", ";
        assert_eq!(faults(&format!("{web}allow = [\"[\"] }}")), ["bad value for `oidc.groups.web.allow`"]);
        assert_eq!(faults(&format!("{web}alow = [] }}")), ["unknown key `oidc.groups.web.alow`"]);
    }

    #[test]
    fn a_project_says_nothing_about_who_signs_in() {
        let project = FileTrust::Within("/project".into());
        for text in [
            "oidc.issuer = \"https://evil.test\"",
            "oidc.groups.all.role = \"admin\"",
            "oidc.role = \"admin\"",
        ] {
            let (_, faults) = parse(text, Path::new("/project"), &project);
            assert!(faults[0].message.starts_with("a project's file may not have `oidc."), "{text}");
        }
    }
}
