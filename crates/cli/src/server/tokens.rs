//! The tokens of an HTTP server: from files and from the environment, never from a command line or a project.

use std::path::Path;

use repertoire::regular_file;
use repertoire_web::http::Token;

use crate::env::HTTP_TOKEN;
use crate::error::CliError;
use crate::ui::say;
use crate::wire::Workspace;

/// The most bytes of a file with a token.
const MAX_BYTES: u64 = 8 * 1024;

/// Returns the tokens of `file` and of the environment, for `agent`, and the tokens of configured agents.
pub(super) fn read(
    workspace: &Workspace,
    file: Option<&Path>,
    agent: Option<&str>,
) -> Result<Vec<Token>, CliError> {
    let mut tokens = Vec::new();
    let agent = agent.map(str::to_owned);
    if let Some(file) = file {
        tokens.push(from_file(&workspace.env.working_directory().join(file), agent.clone())?);
    }
    if let Some(value) = workspace.env.get(HTTP_TOKEN) {
        tokens.push(Token::new(&value.to_string_lossy(), agent, HTTP_TOKEN)?);
    }
    for (name, configured) in &workspace.settings.agents {
        if let Some(file) = &configured.token_file {
            tokens.push(from_file(&file.path, Some(name.clone()))?);
        }
    }
    Ok(tokens)
}

/// Returns the text of a file with a secret, called `noun` in messages.
pub(super) fn read_secret(path: &Path, noun: &str) -> Result<String, CliError> {
    let about = || format!("cannot read the {noun} in {}", path.display());
    let bytes =
        regular_file::read(path, MAX_BYTES).map_err(|error| CliError::usage(about()).because(error))?;
    String::from_utf8(bytes).map_err(|error| CliError::usage(about()).because(error))
}

/// Warns if others can read the file with a secret, called `noun` in messages.
pub(super) fn warn_of_readers(path: &Path, noun: &str) {
    if is_readable_by_others(path) {
        let path = path.display();
        say(&format!("others on this machine can read the {noun} in {path}; `chmod 600` keeps it to you"));
    }
}

fn from_file(path: &Path, agent: Option<String>) -> Result<Token, CliError> {
    let text = read_secret(path, "token")?;
    let is_of_agent = agent.is_some();
    let mut token = Token::new(&text, agent, &format!("in {}", path.display()))?;
    if let Some(name) = path.file_name().filter(|_| !is_of_agent) {
        token.name = name.to_string_lossy().into_owned();
    }
    warn_of_readers(path, "token");
    Ok(token)
}

#[cfg(unix)]
fn is_readable_by_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o044 != 0)
}

#[cfg(not(unix))]
fn is_readable_by_others(_: &Path) -> bool {
    false
}
