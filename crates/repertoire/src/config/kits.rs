//! The tables `[kits.NAME]`, and the skills of the kits that are in use.

use std::borrow::Cow;
use std::collections::BTreeMap;

use repertoire_model::text::nearest;
use repertoire_model::{Pattern, SkillName};
use toml::Spanned;
use toml::de::DeValue;

use super::agents::ConfiguredAgent;
use super::error::{ConfigError, ConfigFault};
use super::input::KitChoice;

/// The most kits that an unknown name is answered with.
const MAX_SHOWN: usize = 20;

/// Returns the skills of the kit `name` that `table` defines, and adds its errors to `faults`.
pub(super) fn parse_kit(
    name: &Spanned<Cow<'_, str>>,
    table: &Spanned<DeValue<'_>>,
    faults: &mut Vec<ConfigFault>,
) -> Vec<Pattern> {
    let given = name.get_ref();
    let mut fault = |range, message, help| faults.push(ConfigFault { range, message, help });
    if SkillName::new(given).is_none_or(|name| name.as_str() != given) {
        let help = SkillName::slug(given).map(|near| format!("did you mean `{near}`?"));
        fault(name.span(), format!("`{given}` is not a valid name for a kit"), help);
    }
    let usage =
        || Some(format!("write `[kits.{given}]` on a line of its own, and `skills = [\"NAME\"]` below"));
    let DeValue::Table(keys) = table.get_ref() else {
        fault(table.span(), format!("`kits.{given}` is a table of keys"), usage());
        return Vec::new();
    };
    for (key, _) in keys.iter().filter(|(key, _)| key.get_ref() != "skills") {
        let message = format!("unknown key `kits.{given}.{}`", key.get_ref());
        fault(key.span(), message, Some("a kit has `skills` and nothing else".to_owned()));
    }
    let Some(skills) = keys.get("skills") else {
        fault(name.span(), format!("the kit `{given}` has no `skills`"), usage());
        return Vec::new();
    };
    let words = skills.get_ref().as_array().map(|items| {
        items.iter().map(|item| Some((item.span(), item.get_ref().as_str()?))).collect::<Option<Vec<_>>>()
    });
    let Some(Some(words)) = words else {
        let help = "it takes a list of patterns over names or source:name".to_owned();
        fault(skills.span(), format!("bad value for `kits.{given}.skills`"), Some(help));
        return Vec::new();
    };
    let mut patterns = Vec::new();
    for (range, word) in words {
        match Pattern::new(word) {
            Ok(pattern) => patterns.push(pattern),
            Err(bad) => fault(range, format!("bad pattern in `kits.{given}.skills`: {bad}"), None),
        }
    }
    patterns
}

pub(super) fn skills_in_use(
    kits: &BTreeMap<String, Vec<Pattern>>,
    choice: &KitChoice,
) -> Result<Vec<Pattern>, ConfigError> {
    let unknown = |name: &String| {
        let message = format!("there is no kit `{name}`, which {} chose", choice.origin);
        ConfigError::new(message).hint(kit_hint(kits, name))
    };
    let skills = choice.names.iter().map(|name| kits.get(name).ok_or_else(|| unknown(name)));
    Ok(skills.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().cloned().collect())
}

/// Adds the skills of its kits to the skills that `agent` may see.
pub(super) fn resolve_agent(
    agent: &mut ConfiguredAgent,
    kits: &BTreeMap<String, Vec<Pattern>>,
) -> Result<(), ConfigError> {
    for name in &agent.kits {
        let Some(skills) = kits.get(name) else {
            let message =
                format!("the agent `{}` has the kit `{name}`, which does not exist", agent.agent.name);
            return Err(ConfigError::new(message).hint(kit_hint(kits, name)));
        };
        agent.agent.scope.allow.get_or_insert_default().extend(skills.iter().cloned());
    }
    Ok(())
}

fn kit_hint(kits: &BTreeMap<String, Vec<Pattern>>, name: &str) -> String {
    if let Some(near) = nearest(name, kits.keys().map(String::as_str)) {
        return format!("did you mean `{near}`?");
    }
    let names: Vec<&str> = kits.keys().take(MAX_SHOWN).map(String::as_str).collect();
    if names.is_empty() {
        return format!("no kit is configured; `rep kit new {name} SKILL...` makes it");
    }
    format!("kits are: {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::input::ConfigInput;
    use super::super::parse::parse;
    use super::super::settings::Settings;
    use super::super::trust::FileTrust;
    use super::*;

    #[test]
    fn a_kit_has_a_name_and_skills() {
        let faults = |text: &str| -> Vec<String> {
            parse(text, Path::new(""), &FileTrust::Whole).1.into_iter().map(|fault| fault.message).collect()
        };
        assert_eq!(faults("[kits.web]\nskills = [\"front-*\", \"user:*:a11y\"]"), [""; 0]);
        assert_eq!(faults("[kits.web]"), ["the kit `web` has no `skills`"]);
        assert_eq!(faults("kits.web = 1"), ["`kits.web` is a table of keys"]);
        assert_eq!(faults("kits = 1"), ["`kits` is a table of keys and has no value of its own"]);
        assert_eq!(faults("kits.web.skills = \"a\""), ["bad value for `kits.web.skills`"]);
        assert_eq!(faults("kits.web = { skills = [], skill = [] }"), ["unknown key `kits.web.skill`"]);
        assert_eq!(faults("[kits.\"a b\"]\nskills = []"), ["`a b` is not a valid name for a kit"]);
        let bad = "bad pattern in `kits.web.skills`: no skill's name contains '[', so it matches nothing";
        assert_eq!(faults("kits.web.skills = [\"[\"]"), [bad]);
    }

    /// Returns the settings of a user's and a project's file, with the kits `names` in use.
    fn settings(user: &str, project: &str, names: &[&str]) -> Result<Settings, String> {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("project");
        std::fs::create_dir_all(home.path().join(".config/repertoire")).unwrap();
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(home.path().join(".config/repertoire/config.toml"), user).unwrap();
        std::fs::write(directory.join("repertoire.toml"), project).unwrap();
        let mut input = ConfigInput::new(&directory).home(home.path());
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        input.kits = (!names.is_empty()).then(|| KitChoice { names, origin: "`rep kit use`".to_owned() });
        let text = |error: ConfigError| format!("{}; {}", error.message(), error.help().unwrap_or_default());
        Settings::load(&input).map_err(text)
    }

    #[test]
    fn skills_outside_the_kits_in_use_are_disabled() {
        let (user, project) =
            ("kits.web.skills = [\"a\"]", "kits.web.skills = [\"*\"]\nkits.docs.skills = [\"b\"]");
        let disabled = |names: &[&str]| {
            let policy = settings(user, project, names).unwrap().policy;
            ["a", "b", "c"].map(|name| policy.disables("user:skills", name))
        };
        assert_eq!(disabled(&[]), [false; 3]);
        assert_eq!(disabled(&["web"]), [false, true, true]);
        assert_eq!(disabled(&["web", "docs"]), [false, false, true]);
        assert_eq!(
            settings(user, project, &["wbe"]).unwrap_err(),
            "there is no kit `wbe`, which `rep kit use` chose; did you mean `web`?"
        );
    }

    #[test]
    fn an_agent_sees_the_skills_of_its_kits() {
        let sees = |user: &str, project: &str| {
            let scope = settings(user, project, &[]).map(|it| it.agents["x"].agent.scope.clone())?;
            Ok::<_, String>(["a", "b", "c"].map(|name| scope.allows("user:skills", name, &[])))
        };
        let kits = "kits.web.skills = [\"a\"]\n";
        let agent = "[agents.x.skills]\nkits = [\"web\"]\n";
        assert_eq!(sees(&format!("{kits}{agent}"), ""), Ok([true, false, false]));
        assert_eq!(sees(kits, agent), Ok([true, false, false]));
        assert_eq!(sees("", &format!("{kits}{agent}allow = [\"b\"]\n")), Ok([true, true, false]));
        assert_eq!(sees(&format!("{kits}{agent}deny = [\"a\"]\n"), ""), Ok([false; 3]));
        // A project could widen what an agent of the user sees.
        let error = sees(agent, kits).unwrap_err();
        assert!(error.starts_with("the agent `x` has the kit `web`, which does not exist"), "{error}");
    }
}
