//! The newest states of the skills of a lock.

use std::path::{Path, PathBuf};

use repertoire::Entry;
use repertoire_clients::Owner;
use repertoire_sources::{GitPrompt, Installation, Lock, LockedSkill, Newest, UpdateCheck, check_updates};

use crate::error::Error;
use crate::workspace::Workspace;

/// Returns the skills called `names`, or all, each with its newest state.
pub fn checks(
    workspace: &Workspace,
    prompt: GitPrompt,
    names: &[String],
    owner: Owner,
    token_file: Option<&Path>,
) -> Result<(Installation, Vec<UpdateCheck>), Error> {
    let installation = workspace.installation(owner)?;
    let lock = Lock::read(&installation.lock)?;
    let skills = named(&lock, names)?;
    workspace.expect_one_server(skills.iter().copied(), token_file)?;
    let options = workspace.fetch_options(prompt, token_file)?;
    let _progress = workspace.progress("asking the sources");
    let home = workspace.env.home();
    let policy = &workspace.settings.policy;
    let store = workspace.content_store();
    let checks = check_updates(&lock, &skills, &store, &installation.base, home.as_deref(), &options, policy);
    Ok((installation, checks))
}

/// Returns the newest state of `entry`, which its source is asked for; `None` if it is not in a lock.
pub fn check_of(workspace: &Workspace, entry: &Entry) -> Result<Option<UpdateCheck>, Error> {
    // A skill without a directory, such as one of a store, is in no lock.
    let Ok(directory) = Path::new(entry.directory()).canonicalize() else { return Ok(None) };
    for owner in [Owner::Project, Owner::User] {
        let Ok(installation) = workspace.installation(owner) else { continue };
        let lock = Lock::read(&installation.lock)?;
        let Some(locked) = lock.get(entry.name().as_str()) else { continue };
        let is_same = |found: PathBuf| found == directory;
        if !installation.directory(&locked.name).canonicalize().is_ok_and(is_same) {
            continue;
        }
        let options = workspace.unattended_fetch_options()?;
        let (home, store) = (workspace.env.home(), workspace.content_store());
        let policy = &workspace.settings.policy;
        let mut checks =
            check_updates(&lock, &[locked], &store, &installation.base, home.as_deref(), &options, policy);
        return Ok(checks.pop());
    }
    Ok(None)
}

/// Returns the newest version, the new name, or the reason that there is not one.
pub fn newest_in_words(newest: &Newest) -> Option<String> {
    match newest {
        Newest::Changed(newest) => {
            Some(short(newest.locked.resolved.as_deref(), &newest.locked.digest.to_string()))
        }
        Newest::Renamed(newest) => Some(newest.locked.name.to_string()),
        Newest::Broken(reason) => Some(reason.clone()),
        Newest::Unreachable(error) => Some(error.to_string()),
        Newest::Current | Newest::Gone => None,
    }
}

/// Returns the skills of `lock` that are called `names`, or all of them.
pub fn named<'l>(lock: &'l Lock, names: &[String]) -> Result<Vec<&'l LockedSkill>, Error> {
    if names.is_empty() {
        return Ok(lock.skills().collect());
    }
    let find = |name: &String| {
        lock.get(name).ok_or_else(|| {
            let known: Vec<&str> = lock.skills().map(|skill| skill.name.as_str()).collect();
            let error = Error::no(format!("`{name}` is not in the lock"));
            if known.is_empty() {
                error.hint("no skill was added yet; run `rep add`")
            } else {
                error.hint(format!("there are: {}", known.join(", ")))
            }
        })
    };
    names.iter().map(find).collect()
}

/// Returns the word for the newest state of a skill.
pub fn word(newest: &Newest) -> &'static str {
    match newest {
        Newest::Current => "current",
        Newest::Changed(_) => "outdated",
        Newest::Renamed(_) => "renamed",
        Newest::Gone => "removed",
        Newest::Broken(_) => "broken",
        Newest::Unreachable(_) => "unreachable",
    }
}

/// Returns a version as it is shown: the start of a commit or of a digest, or a version in full.
pub fn short(resolved: Option<&str>, digest: &str) -> String {
    let text = resolved.unwrap_or(digest);
    let hex = text.strip_prefix("sha256:").unwrap_or(text);
    let is_hex = hex.len() >= 40 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex { hex.chars().take(10).collect() } else { text.to_owned() }
}
