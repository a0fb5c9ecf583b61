//! Plans the change of the files in which clients register hooks.

use std::path::{Path, PathBuf};

use repertoire::change::{FileStep, PathStep, check_user_file};
use serde_json::{Map, Value, json};

use super::rule::{COMPACTION, HookRule};
use crate::connect::{ConnectPlan, ConnectStep, REPAIR, broken, file_at, is_program_name};
use crate::edit::{self, EditFault};
use crate::{CLIENTS, Client, Error, Format, Owner, Places, SERVE, Server, paths};

/// Plans the hooks of each of `clients`, which run the program of `server` with its options; one that fails
/// does not keep the others from it.
pub fn plan(places: &Places, clients: &[&'static Client], server: &Server, owner: Owner) -> Vec<ConnectPlan> {
    let plan = |client: &&'static Client| {
        let (client, command) = (*client, command(server, client));
        let found =
            file(places, client, owner).and_then(|(rule, path)| Ok((rule, file_at(places, owner, &path)?)));
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
            let after = Some(after.map_err(|fault| broken(&own, &fault, REPAIR))?);
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
        edited(client, rule, source, Some(command)).map_err(|fault| broken(&path, &fault, REPAIR))?;
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
    let is_plain = |word: &str| word.chars().all(|c| c.is_alphanumeric() || "-_./:+@".contains(c));
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
    // PowerShell runs a quoted path only behind `&`.
    let powershell = if command.starts_with('\'') { format!("& {command}") } else { command.to_owned() };
    let flat = json!({ "type": "command", "bash": command, "powershell": powershell, "timeoutSec": timeout });
    let prompt = (rule.prompt, if rule.is_flat { flat } else { group });
    std::iter::once(prompt).chain(rule.session_start.map(|event| (event, after_compaction))).collect()
}

/// Returns `text` with hooks that run `command`, or without any; other hooks of this program go.
fn edited(client: &Client, rule: &HookRule, text: &str, command: Option<&str>) -> Result<String, EditFault> {
    let mut text = text.to_owned();
    let is_ours = |hook: &Value| is_ours(client, hook);
    let has_ours = |item: &&Value| is_ours(item) || item[GROUP].as_array().into_iter().flatten().any(is_ours);
    for (event, item) in items(rule, command.unwrap_or_default()) {
        let document = edit::parse(Format::Json, &text)?;
        let path = ["hooks", event];
        let list = document.get("hooks").and_then(|hooks| hooks.get(event));
        let ours: Option<Vec<&Value>> = match list.map(Value::as_array) {
            Some(None) => return Err(EditFault::of(format!("`hooks.{event}` is not a list"))),
            list => list.flatten().map(|items| items.iter().filter(has_ours).collect()),
        };
        let added = command.map(|_| &item);
        text = match (ours, added) {
            (None, Some(added)) => edit::set_value(&text, &path, &json!([added]))?.text,
            (Some(ours), added) if ours != Vec::from_iter(added) => {
                let after = edit::edit_list(&text, &path, GROUP, &is_ours, added)?;
                // A list that is empty without the hook was made for it.
                edit::restore_value(&after, &path, &json!([]), None, 1)?.unwrap_or(after)
            }
            _ => text,
        };
        if command.is_some() && rule.is_flat && !document.contains_key("version") {
            text = edit::set_value(&text, &["version"], &json!(1))?.text;
        }
    }
    Ok(text)
}

/// The list of commands in an item that is a group.
const GROUP: &str = "hooks";

/// Returns `true` if the command of `hook` is `rep hook CLIENT`.
fn is_ours(client: &Client, hook: &Value) -> bool {
    let command = hook["command"].as_str().or_else(|| hook["bash"].as_str()).unwrap_or_default();
    let program = command.split_once(&format!(" hook {}", client.id)).map(|(program, _)| program);
    program.is_some_and(|program| is_program_name(program.trim_matches(['\'', '"'])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Environment;

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
    fn comments_and_layout_in_a_list_stay() {
        let (claude, rule) = client("claude");
        let list = "[\n      // Logs.\n      {\"hooks\": [{\"type\": \"command\",   \"command\": \"./log\"}]} // mine\n    ]";
        let before = format!("{{\n  \"hooks\": {{\n    \"UserPromptSubmit\": {list}\n  }}\n}}\n");
        let after = edited(claude, rule, &before, Some("rep hook claude-code")).unwrap();
        assert!(after.contains("// Logs.") && after.contains("\"command\",   \"command\""), "{after}");
        let changed = after.replace("// Logs.", "// Writes a log.");
        let back = edited(claude, rule, &changed, None).unwrap();
        assert_eq!(back, before.replace("// Logs.", "// Writes a log."));
        // Lists that were made go, and a list that was there does not.
        let after = edited(claude, rule, "{\"a\": 1}", Some("rep hook claude-code")).unwrap();
        assert_eq!(edited(claude, rule, &after, None).unwrap(), "{\"a\": 1}");
        let empty = "{\"hooks\": {\"UserPromptSubmit\": []}}";
        assert_eq!(edited(claude, rule, empty, None).unwrap(), empty);
    }

    #[test]
    fn a_hook_in_a_group_with_another_command_is_not_registered_twice() {
        let (claude, rule) = client("claude");
        let mixed = "{\"hooks\": {\"UserPromptSubmit\": [{\"hooks\": [{\"command\": \"./log\"}, {\"command\": \"rep hook claude-code\"}]}]}}";
        let after = edited(claude, rule, mixed, Some("rep hook claude-code")).unwrap();
        let prompt = edit::parse(Format::Json, &after).unwrap()["hooks"]["UserPromptSubmit"].to_string();
        assert_eq!((prompt.matches("rep hook").count(), prompt.matches("./log").count()), (1, 1), "{after}");
        assert_eq!(edited(claude, rule, &after, Some("rep hook claude-code")).unwrap(), after);
        assert!(edited(claude, rule, mixed, None).unwrap().contains("./log"));
    }

    #[test]
    fn a_file_that_is_there_is_read_and_a_link_that_leads_nowhere_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let places =
            Places::new(Environment { home: Some(home.path().to_owned()), ..Environment::new(home.path()) });
        let server = stdio("rep");
        let planned = || plan(&places, &[client("claude").0], &server, Owner::User).remove(0);
        let path = home.path().join(".claude/settings.json");
        std::fs::create_dir(home.path().join(".claude")).unwrap();
        std::fs::write(&path, "{}\n").unwrap();
        let found = planned();
        assert!(matches!(&found.step, Ok(ConnectStep::Write { before: Some(text), .. }) if text == "{}\n"));
        assert_eq!(found.entry["command"], "rep hook claude-code --root '/a b'");
        std::fs::write(&path, "{").unwrap();
        let hints = planned().step.unwrap_err().hints().join(" ");
        assert!(hints.contains("run this again"), "{hints}");
        #[cfg(unix)]
        {
            std::fs::remove_file(&path).unwrap();
            std::os::unix::fs::symlink("nowhere", &path).unwrap();
            assert!(planned().step.unwrap_err().to_string().contains("leads nowhere"));
        }
    }

    fn stdio(program: &str) -> Server {
        let args = [&SERVE[..], &["--root", "/a b"]].concat().into_iter().map(str::to_owned).collect();
        Server::Stdio { command: program.to_owned(), path: program.to_owned(), args }
    }

    #[test]
    fn words_with_unusual_characters_are_quoted() {
        let claude = client("claude").0;
        let line = |program: &str| command(&stdio(program), claude);
        assert_eq!(line("/opt/rep-1.0/rep"), "/opt/rep-1.0/rep hook claude-code --root '/a b'");
        let windows = line(r"C:\Users\me\rep.exe");
        assert_eq!(windows, r"'C:\Users\me\rep.exe' hook claude-code --root '/a b'");
        assert!(is_ours(claude, &json!({"command": windows})));
        assert!(line("/it's/rep").starts_with(r"'/it'\''s/rep' hook"));
        let (copilot, rule) = client("copilot");
        let flat = items(rule, &command(&stdio(r"C:\rep.exe"), copilot)).remove(0).1;
        assert!(flat["powershell"].as_str().unwrap().starts_with(r"& 'C:\rep.exe' hook copilot"), "{flat}");
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
