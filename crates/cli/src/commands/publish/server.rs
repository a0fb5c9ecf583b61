//! `rep publish --to https://HOST`: versions for a server of a team.

use repertoire_sources::{VersionToSend, send_version};
use repertoire_web::pack_files;
use serde_json::{Value, json};

use super::args::PublishArgs;
use super::skill_copies::PublishedFiles;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Progress, Style, Ui, escape};
use crate::wire::Workspace;

/// Sends `skills` to the server at `address`, one after another, until one is refused.
pub(super) fn publish(
    ui: &mut Ui,
    workspace: &Workspace,
    args: &PublishArgs,
    address: &str,
    skills: &[PublishedFiles<'_>],
) -> Result<Exit, CliError> {
    let options = workspace.fetch_options(ui.git_prompt(), args.token_file.as_deref())?;
    let mut versions = Vec::new();
    for skill in skills {
        let version = args.published_version.as_deref().or(skill.version).ok_or_else(|| {
            CliError::usage(format!("`{}` has no version", skill.name))
                .hint("set `version` in the `metadata` of its SKILL.md, or give `--as VERSION`")
        })?;
        versions.push((skill.name, version, skill));
    }
    let mut answers = Vec::new();
    for (name, version, skill) in versions {
        let archive = archive(skill).map_err(|error| CliError::no("cannot pack the skill").because(error))?;
        let channel = args.channel.as_deref();
        let sent = {
            let _progress = Progress::start(&workspace.env, "sending skills");
            send_version(address, VersionToSend { name, version, channel, archive: &archive }, &options)?
        };
        let answer = accepted(name, version, sent)?;
        if !ui.is_json() {
            write_row(ui, &answer)?;
        }
        answers.push(answer);
    }
    if ui.is_json() {
        ui.write_json(&json!({"server": address, "skills": answers}))?;
    }
    Ok(Exit::Success)
}

fn archive(skill: &PublishedFiles<'_>) -> std::io::Result<Vec<u8>> {
    let files = skill.files.iter();
    let files: Vec<(String, bool, Vec<u8>)> =
        files.map(|(path, file)| (path.to_string(), file.executable, file.bytes.clone())).collect();
    pack_files(&files)
}

/// Returns the answer of the server, if it took the version.
fn accepted(name: &str, version: &str, (status, body): (u16, Vec<u8>)) -> Result<Value, CliError> {
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    if matches!(status, 200..=202) && answer.is_object() {
        return Ok(answer);
    }
    let reason = match answer["error"]["message"].as_str() {
        Some(message) => message.to_owned(),
        None => String::from_utf8_lossy(&body).lines().next().unwrap_or_default().to_owned(),
    };
    let error = CliError::no(format!("the server refused {name} {version} with status {status}"))
        .because(escape(&reason).into_owned());
    Err(match status {
        401 => error.hint("pass a file with the token with `--token-file`"),
        404 => error.hint("a server takes versions if it was started with `--store` or `--channel`"),
        409 if answer["error"]["code"] == "version_exists" => {
            error.hint("a version never changes; give it another one")
        }
        _ => error,
    })
}

fn write_row(ui: &mut Ui, answer: &Value) -> Result<(), CliError> {
    let word = |key: &str| escape(answer[key].as_str().unwrap_or_default());
    let outcome = match (answer["state"].as_str(), answer["proposal"].as_u64()) {
        (_, Some(id)) => format!("waits for a review as proposal {id}"),
        (Some("released"), _) => "released".to_owned(),
        _ => "there already".to_owned(),
    };
    let row = format!("{} {}: {outcome}, channel {}", word("name"), word("version"), word("channel"));
    ui.line(Style::Good, &row)?;
    Ok(())
}
