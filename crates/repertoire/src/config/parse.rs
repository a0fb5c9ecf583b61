//! The parser of configuration files, which reports every error with its position.

use std::ops::Range;
use std::path::Path;

use repertoire_model::RuleId;
use repertoire_model::scope::Pattern;
use repertoire_model::text::nearest;
use repertoire_model::toolbox::is_tool_name;
use repertoire_model::validate::RULES;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::agents::parse_agent;
use super::error::ConfigFault;
use super::gone::{gone_keys, hint_about_gone};
use super::input::ConfiguredPath;
use super::keys::{
    AGENTS_KEY, ConfigValue, KEYS, KITS_KEY, Key, OIDC_GROUPS_KEY, RULES_KEY, SEVERITIES, ValueKind, find_key,
};
use super::kits::parse_kit;
use super::oidc::parse_group;
use super::profile_choice::{PROFILES, ProfileChoice};
use super::tools::{hidden_arguments, hidden_arguments_word, is_line, offered, offered_word};
use super::trust::{FileTrust, Objection};

/// The value of one key in a layer.
#[derive(Clone)]
pub(super) struct Assignment {
    /// The key.
    pub key: &'static Key,
    /// Its value.
    pub value: ConfigValue,
}

/// Returns the assignments of `text`, which is trusted as far as `trust`, and all of its errors. Paths are
/// relative to `directory`.
pub(super) fn parse(text: &str, directory: &Path, trust: &FileTrust) -> (Vec<Assignment>, Vec<ConfigFault>) {
    let mut parser = Parser { directory, trust, assignments: Vec::new(), faults: Vec::new() };
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let range = error.span().unwrap_or(0..0);
        parser.faults.push(ConfigFault { range, message: error.message().to_owned(), help: None });
    }
    if parser.faults.is_empty() {
        parser.table("", document.get_ref());
    }
    parser.faults.sort_by_key(|fault| fault.range.start);
    (parser.assignments, parser.faults)
}

/// Returns the value of this kind that `word` of the environment or a flag is, or describes valid ones.
pub(super) fn parse_word(kind: ValueKind, word: &str, directory: &Path) -> Result<ConfigValue, String> {
    let value = match kind {
        ValueKind::Word(_) | ValueKind::Name | ValueKind::Text | ValueKind::File | ValueKind::Profile => {
            DeValue::String(word.into())
        }
        ValueKind::Switch => match word {
            "true" | "1" => DeValue::Boolean(true),
            "false" | "0" => DeValue::Boolean(false),
            _ => DeValue::String(word.into()),
        },
        ValueKind::Number(..) => match word.parse::<usize>() {
            Ok(number) => return in_bounds(kind, number),
            Err(_) => DeValue::String(word.into()),
        },
        ValueKind::OfferedTools => {
            let expected = || format!("{}, with commas between them", kind.describe());
            return offered_word(word).map(ConfigValue::OfferedTools).ok_or_else(expected);
        }
        ValueKind::OptionalArguments => {
            let expected = || format!("{}, with commas between them", kind.describe());
            let names = hidden_arguments_word(word).ok_or_else(expected)?;
            return Ok(ConfigValue::Words(names.into_iter().collect()));
        }
        ValueKind::Words
        | ValueKind::Patterns
        | ValueKind::Paths
        | ValueKind::Severity
        | ValueKind::Agent
        | ValueKind::Kit
        | ValueKind::OidcGroup
        | ValueKind::Table(..) => {
            return Err(format!("{}, which only a configuration file can hold", kind.describe()));
        }
    };
    convert(kind, &value, directory)
}

struct Parser<'a> {
    directory: &'a Path,
    trust: &'a FileTrust,
    assignments: Vec<Assignment>,
    faults: Vec<ConfigFault>,
}

impl Assignment {
    /// Returns the name under which the key is set, with the entry of a table.
    pub(super) fn name(&self) -> String {
        match &self.value {
            ConfigValue::Entry(entry, _) => format!("{}.{entry}", self.key.name),
            _ => self.key.name.to_owned(),
        }
    }
}

impl Parser<'_> {
    fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let key = if prefix.is_empty() {
                name.get_ref().to_string()
            } else {
                format!("{prefix}.{}", name.get_ref())
            };
            self.entry(&key, &name.span(), value);
        }
    }

    fn entry(&mut self, name: &str, name_range: &Range<usize>, value: &Spanned<DeValue<'_>>) {
        if let Some(rule) = name.strip_prefix("rules.") {
            return self.rule(rule, name_range, value);
        }
        if let ("agents", DeValue::Table(agents)) = (name, value.get_ref()) {
            return self.agents(agents);
        }
        if let ("kits", DeValue::Table(kits)) = (name, value.get_ref()) {
            return self.kits(kits);
        }
        if let ("oidc.groups", DeValue::Table(groups)) = (name, value.get_ref()) {
            return self.oidc_groups(groups);
        }
        if let Some(key) = find_key(name) {
            match convert(key.value_kind(), value.get_ref(), self.directory) {
                Ok(converted) => {
                    self.mistrust(name, &converted, value);
                    self.patterns(key, value.get_ref());
                    self.assignments.push(Assignment { key, value: key.value(name, converted) });
                }
                Err(expected) => self.bad_value(name, &expected, key.value_kind(), value),
            }
            return;
        }
        let is_table_name = KEYS
            .iter()
            .flat_map(Key::names)
            .chain(gone_keys().map(str::to_owned))
            .any(|key| key.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')));
        match value.get_ref() {
            DeValue::Table(table) if is_table_name => self.table(name, table),
            _ if is_table_name => self.fault(
                value.span(),
                format!("`{name}` is a table of keys and has no value of its own"),
                Some(format!("write `[{name}]` on a line of its own, and its keys below")),
            ),
            _ => self.unknown(name, name_range),
        }
    }

    /// Reports the texts of a list that are not patterns.
    fn patterns(&mut self, key: &Key, value: &DeValue<'_>) {
        let (ValueKind::Patterns, DeValue::Array(items)) = (key.kind, value) else { return };
        for item in items.iter() {
            if let Some(Err(fault)) = item.get_ref().as_str().map(Pattern::new) {
                self.fault(item.span(), format!("bad pattern in `{}`: {fault}", key.name), None);
            }
        }
    }

    fn agents(&mut self, agents: &DeTable<'_>) {
        for (name, table) in agents {
            let agent = parse_agent(name, table, self.directory, self.trust, &mut self.faults);
            let value = ConfigValue::Agent(Box::new(agent));
            let key = KEYS.iter().find(|key| key.name == AGENTS_KEY);
            self.assignments.extend(key.map(|key| Assignment { key, value }));
        }
    }

    fn kits(&mut self, kits: &DeTable<'_>) {
        for (name, table) in kits {
            let skills = parse_kit(name, table, &mut self.faults);
            let value = ConfigValue::Kit(name.get_ref().to_string(), skills);
            let key = KEYS.iter().find(|key| key.name == KITS_KEY);
            self.assignments.extend(key.map(|key| Assignment { key, value }));
        }
    }

    fn oidc_groups(&mut self, groups: &DeTable<'_>) {
        for (name, table) in groups {
            let group = parse_group(name, table, self.trust, &mut self.faults);
            let value = ConfigValue::OidcGroup(name.get_ref().to_string(), Box::new(group));
            let key = KEYS.iter().find(|key| key.name == OIDC_GROUPS_KEY);
            self.assignments.extend(key.map(|key| Assignment { key, value }));
        }
    }

    /// Reports a value that a file without full trust may not set.
    fn mistrust(&mut self, name: &str, converted: &ConfigValue, written: &Spanned<DeValue<'_>>) {
        self.object(written.span(), self.trust.objection_to_key(name));
        match (converted, written.get_ref()) {
            (ConfigValue::Profile(ProfileChoice::File(_)), _) => {
                self.object(written.span(), self.trust.objection_to_file(name));
            }
            (ConfigValue::Number(number), _) => {
                let objection = self.trust.objection_to_number(name, *number);
                self.object(written.span(), objection);
            }
            (ConfigValue::Paths(roots), DeValue::Array(items)) => {
                for (root, item) in roots.iter().zip(items.iter()) {
                    self.object(item.span(), self.trust.objection_to_path(name, &root.path));
                }
            }
            _ => {}
        }
    }

    fn object(&mut self, range: Range<usize>, objection: Option<Objection>) {
        if let Some((message, help)) = objection {
            self.fault(range, message, Some(help));
        }
    }

    fn rule(&mut self, name: &str, name_range: &Range<usize>, value: &Spanned<DeValue<'_>>) {
        let Some(rule) = RuleId::parse(name) else {
            let help = nearest(name, RULES.iter().map(|rule| rule.name))
                .map(|near| format!("did you mean `{near}`?"))
                .unwrap_or_else(|| "every rule is listed in https://github.com/repertoire-rs/repertoire/blob/main/docs/reference/rules.md".to_owned());
            return self.fault(name_range.clone(), format!("there is no rule `{name}`"), Some(help));
        };
        let word = value.get_ref().as_str();
        match SEVERITIES.iter().find(|(known, _)| Some(*known) == word) {
            Some((_, severity)) => {
                self.object(value.span(), self.trust.objection_to_severity(rule, *severity));
                let (key, value) =
                    (KEYS.iter().find(|key| key.name == RULES_KEY), ConfigValue::Severity(rule, *severity));
                self.assignments.extend(key.map(|key| Assignment { key, value }));
            }
            None => {
                self.bad_value(
                    &format!("rules.{name}"),
                    &ValueKind::Severity.describe(),
                    ValueKind::Severity,
                    value,
                );
            }
        }
    }

    fn bad_value(&mut self, name: &str, expected: &str, kind: ValueKind, value: &Spanned<DeValue<'_>>) {
        let words = match kind {
            ValueKind::Word(words) => words(),
            ValueKind::Profile => PROFILES.to_vec(),
            ValueKind::Severity => SEVERITIES.iter().map(|(word, _)| *word).collect(),
            ValueKind::OfferedTools => vec!["needed", "all", "minimal"],
            _ => Vec::new(),
        };
        let near = value.get_ref().as_str().and_then(|word| nearest(word, words));
        let help = match near {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("it takes {}", expected.replace('`', "")),
        };
        self.fault(value.span(), format!("bad value for `{name}`"), Some(help));
    }

    fn unknown(&mut self, name: &str, range: &Range<usize>) {
        if let Some(help) = hint_about_gone(name) {
            return self.fault(range.clone(), format!("the key `{name}` is gone"), Some(help));
        }
        let (table, last) = name.rsplit_once('.').unwrap_or(("", name));
        let keys: Vec<String> = KEYS.iter().flat_map(Key::names).collect();
        let names = || keys.iter().map(String::as_str);
        let tables = names().filter_map(|key| key.split_once('.')).map(|(table, _)| table);
        let near = nearest(name, names().chain(tables))
            .or_else(|| names().find(|key| key.rsplit('.').next() == Some(last)))
            .map(|near| near.strip_prefix(table).and_then(|rest| rest.strip_prefix('.')).unwrap_or(near));
        let help = match near {
            Some(near) => match near.split_once('.') {
                Some((table, key)) => format!("did you mean `{key}` in the table `[{table}]`?"),
                None => format!("did you mean `{near}`?"),
            },
            None => "every key is listed in https://github.com/repertoire-rs/repertoire/blob/main/docs/reference/configuration.md".to_owned(),
        };
        self.fault(range.clone(), format!("unknown key `{name}`"), Some(help));
    }

    fn fault(&mut self, range: Range<usize>, message: String, help: Option<String>) {
        self.faults.push(ConfigFault { range, message, help });
    }
}

fn in_bounds(kind: ValueKind, number: usize) -> Result<ConfigValue, String> {
    match kind {
        ValueKind::Number(least, most) if (least..=most).contains(&number) => Ok(ConfigValue::Number(number)),
        _ => Err(kind.describe()),
    }
}

/// Returns `value` converted to this kind, or a description of valid values.
fn convert(kind: ValueKind, value: &DeValue<'_>, directory: &Path) -> Result<ConfigValue, String> {
    let expected = || kind.describe();
    match (kind, value) {
        (ValueKind::Word(words), DeValue::String(word)) if words().iter().any(|known| known == word) => {
            Ok(ConfigValue::Word(word.to_string()))
        }
        (ValueKind::Name, DeValue::String(name)) if is_tool_name(name) => {
            Ok(ConfigValue::Word(name.to_string()))
        }
        (ValueKind::Text, DeValue::String(text)) if is_line(text) => Ok(ConfigValue::Word(text.to_string())),
        (ValueKind::Switch, DeValue::Boolean(switch)) => Ok(ConfigValue::Switch(*switch)),
        (ValueKind::Number(..), DeValue::Integer(integer)) => {
            let number = usize::from_str_radix(integer.as_str(), integer.radix()).map_err(|_| expected())?;
            in_bounds(kind, number)
        }
        (ValueKind::Words | ValueKind::Patterns, DeValue::Array(items)) => {
            let words = items.iter().map(|item| item.get_ref().as_str().map(str::to_owned));
            words.collect::<Option<_>>().map(ConfigValue::Words).ok_or_else(expected)
        }
        (ValueKind::OfferedTools, value) => {
            offered(value).map(ConfigValue::OfferedTools).ok_or_else(expected)
        }
        (ValueKind::OptionalArguments, value) => {
            let arguments =
                hidden_arguments(value).map(|names| ConfigValue::Words(names.into_iter().collect()));
            arguments.ok_or_else(expected)
        }
        (ValueKind::Profile, DeValue::String(word)) => {
            ProfileChoice::parse(word, directory).map(ConfigValue::Profile).ok_or_else(expected)
        }
        (ValueKind::File, DeValue::String(file)) => {
            let file = Some(file).filter(|file| !file.is_empty());
            let file =
                file.map(|file| ConfiguredPath { given: (**file).into(), path: directory.join(&**file) });
            Ok(ConfigValue::Paths(file.into_iter().collect()))
        }
        (ValueKind::Paths, DeValue::Array(items)) => {
            let roots = items.iter().map(|item| item.get_ref().as_str().filter(|path| !path.is_empty()));
            let roots = roots.map(|root| {
                root.map(|root| ConfiguredPath { given: root.into(), path: directory.join(root) })
            });
            roots.collect::<Option<_>>().map(ConfigValue::Paths).ok_or_else(expected)
        }
        _ => Err(expected()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::agents::AGENT_KEYS;
    use super::*;
    use crate::tool::OfferedTools;

    fn faults(text: &str) -> Vec<String> {
        parse(text, Path::new(""), &FileTrust::Whole).1.into_iter().map(|fault| fault.message).collect()
    }

    #[test]
    fn h30_lists_of_words_are_written_with_commas_in_a_variable() {
        let parse =
            |name: &str, word: &str| parse_word(find_key(name).unwrap().value_kind(), word, Path::new(""));
        let offered = |word: &str| parse("tools.offer", word);
        assert_eq!(offered("minimal"), Ok(ConfigValue::OfferedTools(OfferedTools::Minimal)));
        let only = OfferedTools::Only(["list_skills", "read_skill_file"].map(str::to_owned).into());
        assert_eq!(offered("list_skills, read_skill_file"), Ok(ConfigValue::OfferedTools(only)));
        let error = offered("list_skills,nope").unwrap_err();
        assert!(error.ends_with("`unload_skill`, with commas between them"), "{error}");
        let hidden = ["end_line", "start_line"].map(str::to_owned).into();
        assert_eq!(parse("tools.hide_args", "start_line,end_line"), Ok(ConfigValue::Words(hidden)));
        assert_eq!(
            parse("name.reserved", "a").unwrap_err(),
            "a list of strings, which only a configuration file can hold"
        );
    }

    #[test]
    fn a_bad_pattern_is_an_error() {
        assert_eq!(
            faults("proposals.locked = [\"git-*\", \"[\", \"user:*\"]"),
            ["bad pattern in `proposals.locked`: no skill's name contains '[', so it matches nothing"]
        );
    }

    #[test]
    fn only_keys_of_the_table_are_accepted() {
        let is_table = |key: &&Key| [RULES_KEY, AGENTS_KEY, KITS_KEY, OIDC_GROUPS_KEY].contains(&key.name);
        for name in KEYS.iter().filter(|key| !is_table(key)).flat_map(Key::names) {
            // Every key refuses a date, so it is known; with a letter more it is not.
            assert_eq!(faults(&format!("{name} = 1979-05-27")), [format!("bad value for `{name}`")]);
            assert_eq!(faults(&format!("{name}x = 1")), [format!("unknown key `{name}x`")]);
        }
        for rule in RULES {
            let (assignments, faults) =
                parse(&format!("rules.{} = \"off\"", rule.name), Path::new(""), &FileTrust::Whole);
            assert_eq!((assignments.len(), faults), (1, vec![]));
        }
    }

    #[test]
    fn an_agent_has_the_keys_of_its_own_table() {
        for key in AGENT_KEYS {
            let agents = |line: String| faults(&format!("[agents.a]\n{line}"));
            assert_eq!(agents(format!("{} = {}", key.name, key.example)), [""; 0], "{}", key.name);
            let bad = [format!("bad value for `agents.a.{}`", key.name)];
            assert_eq!(agents(format!("{} = 1979-05-27", key.name)), bad);
            let unknown = [format!("unknown key `agents.a.{}x`", key.name)];
            assert_eq!(agents(format!("{}x = 1", key.name)), unknown);
        }
        let (_, offered) = parse("agents.a.tools.offer = [\"nope\"]", Path::new(""), &FileTrust::Whole);
        let help = offered[0].help.as_deref().unwrap();
        assert!(help.starts_with("it takes needed, all, minimal, or a list of call_skill_tool, "), "{help}");
        assert_eq!(faults("[agents.\"a b\"]"), ["`a b` is not a valid name for an agent"]);
        assert_eq!(faults("agents.a = 1"), ["`agents.a` is a table of keys"]);
        assert_eq!(faults("agents = 1"), ["`agents` is a table of keys and has no value of its own"]);
        assert_eq!(faults("[agents.a]\nbind.x = \"hidde\""), ["bad value for `agents.a.bind.x`"]);
        assert_eq!(
            faults("[agents.a]\nskills.deny = [\"a b\"]"),
            ["bad pattern in `agents.a.skills.deny`: no skill's name contains ' ', so it matches nothing"]
        );
    }

    #[test]
    fn a_key_that_is_gone_is_an_error_that_has_its_value() {
        for name in gone_keys() {
            let (_, faults) = parse(&format!("{name} = 1"), Path::new(""), &FileTrust::Whole);
            assert_eq!(faults[0].message, format!("the key `{name}` is gone"));
        }
        let (_, faults) = parse("tools.enum_limit = 7", Path::new(""), &FileTrust::Whole);
        assert_eq!(faults[0].help.as_deref(), Some("its value is fixed at 100; take it away"));
    }

    #[test]
    fn a_table_is_not_a_value() {
        assert_eq!(faults("catalog = 1"), ["`catalog` is a table of keys and has no value of its own"]);
        assert_eq!(faults("[profile]\nx = 1"), ["bad value for `profile`"]);
        assert_eq!(faults("[nope]\nx = 1"), ["unknown key `nope`"]);
    }
}
