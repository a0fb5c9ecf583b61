//! The commented configuration file that `rep init` writes.

use std::fmt::Write as _;

use repertoire_model::Profile;

use super::agents::{AGENT_KEYS, AgentKey};
use super::keys::{AGENTS_KEY, KEYS, KITS_KEY, RULES_KEY};
use super::settings::Settings;
use super::trust::is_users_alone;

/// The width that comments are folded to.
const WIDTH: usize = 100;

/// Returns a configuration file that holds every key a project may set with its default, commented out.
pub fn template() -> String {
    let settings = Settings::of(Profile::Standard);
    let mut text = String::from(
        "# Configuration of Repertoire for this project. Every key that a project may set is here with its\n\
         # default; take the mark away to change it. Paths are relative to this file. `rep doctor` tells what is in force.\n",
    );
    let mut table = "";
    for key in KEYS.iter().filter(|key| !is_users_alone(key.name)) {
        let (its_table, name) = key.name.split_once('.').unwrap_or(("", key.name));
        if its_table != table {
            table = its_table;
            let _ = write!(text, "\n[{table}]\n");
        } else {
            text.push('\n');
        }
        if key.name == AGENTS_KEY {
            write_agent(&mut text, key.summary);
            continue;
        }
        let takes = key.kind.describe().replace('`', "");
        let flag = key.flag.map(|flag| format!(" Flag: {flag}.")).unwrap_or_default();
        for line in folded(&format!("{} Takes: {takes}.{flag}", key.summary)) {
            let _ = writeln!(text, "# {line}");
        }
        let example = if key.name == RULES_KEY {
            "description-when = \"info\"".to_owned()
        } else if key.name == KITS_KEY {
            "web.skills = [\"frontend-*\", \"accessibility\"]".to_owned()
        } else {
            format!("{name} = {}", (key.get)(&settings))
        };
        let _ = writeln!(text, "# {example}");
    }
    text
}

/// Writes the example of an agent, one dotted key after the other, so that each can be used alone.
fn write_agent(text: &mut String, summary: &str) {
    for line in folded(&format!("{summary} Here is one that is called reviewer.")) {
        let _ = writeln!(text, "# {line}");
    }
    let is_projects = |key: &&AgentKey| !is_users_alone(&format!("agents.reviewer.{}", key.name));
    for key in AGENT_KEYS.iter().filter(is_projects) {
        text.push('\n');
        for line in folded(&format!("{} Takes: {}.", key.summary, key.takes.replace('`', ""))) {
            let _ = writeln!(text, "# {line}");
        }
        let _ = writeln!(text, "# reviewer.{} = {}", key.name, key.example);
    }
}

fn folded(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > WIDTH {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::parse::parse;
    use super::super::trust::FileTrust;
    use super::*;

    #[test]
    fn the_template_is_valid_with_and_without_its_marks() {
        let template = template();
        let (assignments, faults) = parse(&template, Path::new(""), &FileTrust::Whole);
        assert_eq!((assignments.len(), faults), (0, vec![]));
        let is_setting = |line: &str| line.strip_prefix("# ").is_some_and(|line| line.contains(" = "));
        let bare: Vec<&str> =
            template.lines().map(|line| if is_setting(line) { &line[2..] } else { line }).collect();
        let project = tempfile::tempdir().unwrap();
        let trust = FileTrust::Within(project.path().to_owned());
        let (assignments, faults) = parse(&bare.join("\n"), project.path(), &trust);
        assert_eq!(faults, []);
        let users = KEYS.iter().filter(|key| is_users_alone(key.name)).count();
        assert_eq!((assignments.len(), users), (KEYS.len() - users, 77));
    }
}
