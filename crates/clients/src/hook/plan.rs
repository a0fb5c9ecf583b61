//! Plans the change of the files in which clients register hooks.

use std::path::{Path, PathBuf};

use repertoire::change::{FileStep, PathStep, check_user_file};
use serde_json::{Map, Value, json};

use super::rule::{COMPACTION, HookRule};
use crate::connect::{ConnectAction, ConnectPlan, ConnectStep, broken, file_at, is_program_name};
use crate::edit::{self, EditFault};
use crate::{CLIENTS, Client, Error, Format, Owner, Places, SERVE, Server, paths};

/// Plans the hooks of each of `clients`, which run the program of `server` with its options; one that fails
/// does not keep the others from it.
pub fn plan(
    places: &Places,
    clients: &[&'static Client],
    server: &Server,
    owner: Owner,
    action: ConnectAction,
) -> Vec<ConnectPlan> {
    let plan = |client: &&'static Client| {
        let (client, command) = (*client, command(server, client));
        let found = file(places, client, owner).and_then(|(rule, path)| {
            // Nothing but the hooks is printed, so no file is read.
            let is_shown = action == ConnectAction::Show;
            Ok((rule, if is_shown { (path, None) } else { file_at(places, owner, &path)? }))
        });
        let path = found.as_ref().map(|(_, (path, _))| path.clone()).unwrap_or_default();
        let step = found.and_then(|(rule, file)| step(client, rule, file, &command));
        let note = client.hooks.and_then(|rule| rule.note.map(str::to_owned));
        let warnings = note.into_iter().filter(|_| matches!(step, Ok(ConnectStep::Write { .. }))).collect();
        let entry = Map::from_iter([("command".to_owned(), Value::from(command))]);
        ConnectPlan { client, path, entry, step, warnings }
    };
    clients.iter().map(plan).collect()
}

/// Returns the step that removes the hooks of one of `ids` from its file of `owner`, if that is at `path`.
pub fn removal(
    places: &Places,
    ids: &[String],
    owner: Owner,
    path: &Path,
) -> Result<Option<PathStep>, Error> {
    for client in ids.iter().filter_map(|id| Client::named(id)) {
        let (rule, own) = file(places, client, owner)?;
        let (own, before) = file_at(places, owner, &own)?;
        if own == paths::resolved(path) {
            let after = edited(client, rule, before.as_deref().unwrap_or_default(), None);
            let after = Some(after.map_err(|fault| broken(client, &own, fault))?);
            return Ok(Some(PathStep::UserFile(FileStep { path: own, before, after })));
        }
    }
    Ok(None)
}

/// Returns the hooks of `client` with the file of `owner` that registers them.
fn file(places: &Places, client: &Client, owner: Owner) -> Result<(&'static HookRule, PathBuf), Error> {
    let others =
        || CLIENTS.iter().filter(|it| it.hooks.is_some()).map(|it| it.id).collect::<Vec<_>>().join(", ");
    let rule = client.hooks.ok_or_else(|| {
        Error::invalid(format!("{} has no hooks that may add text to a prompt", client.title()))
            .hint(format!("these have: {}", others()))
    })?;
    let homeless = || Error::invalid("there is no home directory to register hooks in").hint("set HOME");
    let path = places.path(owner, rule.files[usize::from(owner == Owner::Project)]);
    Ok((rule, path.ok_or_else(homeless)?))
}

/// Returns the step that registers `command` in a file with its text, if it is there.
fn step(
    client: &Client,
    rule: &HookRule,
    (path, before): (PathBuf, Option<String>),
    command: &str,
) -> Result<ConnectStep, Error> {
    let source = before.as_deref().unwrap_or_default();
    let mut after =
        edited(client, rule, source, Some(command)).map_err(|fault| broken(client, &path, fault))?;
    if after == source {
        return Ok(ConnectStep::Already);
    }
    after.extend(before.is_none().then_some('\n'));
    check_user_file(&path, before.as_deref())?;
    Ok(ConnectStep::Write { before, after })
}

/// Returns the command line of the hook of `client`, with the options of `server`, as a shell reads it.
fn command(server: &Server, client: &Client) -> String {
    let Server::Stdio { command, args, .. } = server else { return String::new() };
    let options = args.iter().skip(SERVE.len()).map(String::as_str);
    let is_plain = |word: &str| word.chars().all(|c| c.is_alphanumeric() || "-_./:+@\\".contains(c));
    let words = [command.as_str(), "hook", client.id].into_iter().chain(options);
    let quoted = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
    let words = words.map(|word| if is_plain(word) { word.to_owned() } else { quoted(word) });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the lists of the file, each with the item that it gets for `command`.
fn items(rule: &HookRule, command: &str) -> Vec<(&'static str, Value)> {
    let timeout = rule.timeout;
    let group = json!({ "hooks": [{ "type": "command", "command": command, "timeout": timeout }] });
    let mut after_compaction = group.clone();
    after_compaction["matcher"] = COMPACTION.into();
    let flat = json!({ "type": "command", "bash": command, "powershell": command, "timeoutSec": timeout });
    let prompt = (rule.prompt, if rule.is_flat { flat } else { group });
    std::iter::once(prompt).chain(rule.session_start.map(|event| (event, after_compaction))).collect()
}

/// Returns `text` with hooks that run `command`, or without any; other hooks of this program go.
fn edited(client: &Client, rule: &HookRule, text: &str, command: Option<&str>) -> Result<String, EditFault> {
    let mut text = text.to_owned();
    for (event, item) in items(rule, command.unwrap_or_default()) {
        let document = edit::parse(Format::Json, &text)?;
        let list = document.get("hooks").and_then(|hooks| hooks.get(event));
        let before = match list.map(Value::as_array) {
            Some(None) => return Err(EditFault::of(format!("`hooks.{event}` is not a list"))),
            list => list.flatten().cloned().unwrap_or_default(),
        };
        let mut after: Vec<Value> = before.iter().filter(|item| !is_ours(client, item)).cloned().collect();
        after.extend(command.map(|_| item));
        if after != before {
            text = edit::set_value(&text, &["hooks", event], &Value::Array(after))?.text;
        }
        if command.is_some() && rule.is_flat && !document.contains_key("version") {
            text = edit::set_value(&text, &["version"], &json!(1))?.text;
        }
    }
    Ok(text)
}

/// Returns `true` if all commands of `item` are `rep hook CLIENT`.
fn is_ours(client: &Client, item: &Value) -> bool {
    let commands: Vec<&str> = match item["hooks"].as_array() {
        Some(hooks) => hooks.iter().filter_map(|hook| hook["command"].as_str()).collect(),
        None => item["bash"].as_str().into_iter().collect(),
    };
    let is_hook = |command: &&str| {
        let Some((program, _)) = command.split_once(&format!(" hook {}", client.id)) else { return false };
        is_program_name(program.trim_matches(['\'', '"']))
    };
    !commands.is_empty() && commands.iter().all(is_hook)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(id: &str) -> (&'static Client, &'static HookRule) {
        let client = Client::named(id).unwrap();
        (client, client.hooks.unwrap())
    }

    #[test]
    fn hooks_are_added_once_replaced_and_taken_out() {
        let (claude, rule) = client("claude");
        let before = "{\n  // Mine.\n  \"hooks\": {\n    \"UserPromptSubmit\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"./log hook claude-code\"}]}\n    ]\n  }\n}\n";
        let after = edited(claude, rule, before, Some("rep hook claude-code")).unwrap();
        assert_eq!(after.matches("\"rep hook claude-code\"").count(), 2, "{after}");
        assert!(after.contains("// Mine.") && after.contains("./log hook"), "{after}");
        assert_eq!(edited(claude, rule, &after, Some("rep hook claude-code")).unwrap(), after);
        let moved = edited(claude, rule, &after, Some("/opt/rep hook claude-code --root '/a b'")).unwrap();
        assert_eq!((moved.matches("rep hook").count(), moved.matches("/opt/rep").count()), (2, 2), "{moved}");
        let back = edited(claude, rule, &moved, None).unwrap();
        let meaning =
            |text: &str| edit::parse(Format::Json, text).unwrap()["hooks"]["UserPromptSubmit"].clone();
        assert_eq!(meaning(&back), meaning(before));
        assert!(back.contains("// Mine."), "{back}");
    }

    #[test]
    fn each_client_gets_its_own_form() {
        let written = |id: &str| {
            let (client, rule) = client(id);
            let text = edited(client, rule, "", Some(&format!("rep hook {id}"))).unwrap();
            Value::Object(edit::parse(Format::Json, &text).unwrap())
        };
        let group = |command: &str, timeout: u64| json!({"hooks": [{"type": "command", "command": command, "timeout": timeout}]});
        let flat = json!({
            "type": "command", "bash": "rep hook copilot", "powershell": "rep hook copilot", "timeoutSec": 5,
        });
        assert_eq!(written("copilot"), json!({"version": 1, "hooks": {"userPromptSubmitted": [flat]}}));
        let gemini = json!({"hooks": {"BeforeAgent": [group("rep hook gemini", 5_000)]}});
        assert_eq!(written("gemini"), gemini);
        let mut start = group("rep hook codex", 5);
        start["matcher"] = "compact".into();
        let hooks = json!({"UserPromptSubmit": [group("rep hook codex", 5)], "SessionStart": [start]});
        assert_eq!(written("codex"), json!({"hooks": hooks}));
    }

    #[test]
    fn what_is_not_a_list_is_left_alone() {
        let (claude, rule) = client("claude");
        for text in ["{\"hooks\": []}", "{\"hooks\": {\"UserPromptSubmit\": {}}}", "[]", "{"] {
            assert!(edited(claude, rule, text, Some("rep hook claude-code")).is_err(), "{text}");
        }
    }
}
