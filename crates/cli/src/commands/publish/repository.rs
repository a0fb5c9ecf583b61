//! `rep publish --to git`.

use repertoire_model::text::count;
use repertoire_sources::{GitPublication, Source, is_real_directory};
use serde_json::{Value, json};

use super::args::PublishArgs;
use super::skill_copies::{PublishedFiles, SkillCopy, copies, show};
use crate::error::{CliError, not_written};
use crate::exit::Exit;
use crate::ui::{Consent, Progress, Style, Ui, escape};
use crate::wire::Workspace;

/// The directory of a repository that skills are written to, unless the address names another.
const DIRECTORY: &str = "skills";

/// The most skills that a commit message names.
const MAX_NAMED: usize = 5;

/// A repository to publish to.
struct Target {
    url: String,
    branch: Option<String>,
    directory: String,
}

/// Commits `skills` to the repository at `address` and pushes them.
pub(super) fn publish(
    ui: &mut Ui,
    workspace: &Workspace,
    args: &PublishArgs,
    address: &str,
    skills: &[PublishedFiles<'_>],
) -> Result<Exit, CliError> {
    let target = target(workspace, args, address)?;
    let options = workspace.fetch_options(ui.git_prompt(), None)?;
    let repository = {
        let _progress = Progress::start(&workspace.env, "fetching");
        GitPublication::clone(&target.url, target.branch.as_deref(), &options)?
    };
    let (root, directory) = (repository.root(), &target.directory);
    if !is_real_directory(&root, directory) {
        return Err(CliError::no(format!("{directory} of {} is not a directory", target.url))
            .hint("nothing was published; name another directory behind `//` of the address"));
    }
    let copies = copies(&root.join(directory), skills)?;
    show(ui, &copies)?;
    let new: Vec<&SkillCopy<'_>> = copies.iter().filter(|copy| copy.is_new()).collect();
    let place = format!("{}, branch {}", target.url, repository.branch());
    let is_new = !new.is_empty() || repository.is_new_branch();
    let pushed = match new.len() {
        0 => "the new branch".to_owned(),
        number => count(number, "skill"),
    };
    let consent = match new.len() {
        _ if !is_new => Consent::Given,
        _ if args.dry_run => Consent::Refused,
        0 => ui.consent(&format!("push the new branch {}?", escape(&place)), args.yes)?,
        number => {
            let question = format!("commit {} and push to {}?", count(number, "skill"), escape(&place));
            ui.consent(&question, args.yes)?
        }
    };
    let mut commit = None;
    if consent == Consent::Given && is_new {
        new.iter().try_for_each(|copy| copy.write())?;
        let paths: Vec<String> = new.iter().map(|copy| format!("{directory}/{}", copy.name)).collect();
        let _progress = Progress::start(&workspace.env, "pushing");
        commit = repository.publish(&paths, &message(args, &new))?;
    }
    if ui.is_json() {
        let skills: Vec<Value> = copies.iter().map(SkillCopy::described).collect();
        ui.write_json(&json!({
            "repository": target.url,
            "branch": repository.branch(),
            "directory": directory,
            "commit": commit,
            "skills": skills,
        }))?;
    } else if let Some(commit) = &commit {
        let short: String = commit.chars().take(10).collect();
        let line = format!("pushed {pushed} to {} as {short}", escape(&place));
        ui.line(Style::Good, &line)?;
    } else if args.dry_run && is_new && new.is_empty() {
        writeln!(ui.out(), "the new branch would be pushed to {}", escape(&place))?;
    } else if consent == Consent::Given {
        writeln!(ui.out(), "{} has these skills already", escape(&place))?;
    }
    if consent != Consent::Given && !args.dry_run {
        return Err(not_written(consent, format!("{pushed} would be pushed")));
    }
    Ok(Exit::Success)
}

fn target(workspace: &Workspace, args: &PublishArgs, address: &str) -> Result<Target, CliError> {
    let parsed = workspace.source(address, workspace.env.working_directory())?;
    let (url, reference, path) = match parsed.source {
        Source::Git(git) if git.tree.is_none() && parsed.skill.is_none() => {
            (git.url, git.reference, git.path)
        }
        Source::Directory(path) => (path.display().to_string(), None, None),
        _ => {
            return Err(CliError::usage(format!("`{}` is not a repository to push to", escape(address)))
                .hint(
                    "name owner/repo, the address of a repository, or the path of one such as ../skills.git",
                ));
        }
    };
    let branch = args.branch.clone().or(reference);
    Ok(Target { url, branch, directory: path.unwrap_or_else(|| DIRECTORY.to_owned()) })
}

fn message(args: &PublishArgs, new: &[&SkillCopy<'_>]) -> String {
    if let Some(message) = &args.message {
        return message.clone();
    }
    if new.len() > MAX_NAMED {
        return format!("Publish {}", count(new.len(), "skill"));
    }
    let names: Vec<&str> = new.iter().map(|copy| copy.name).collect();
    format!("Publish {}", names.join(", "))
}
