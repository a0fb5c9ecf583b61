//! The arguments of `rep publish`.

use std::path::{Path, PathBuf, is_separator};

use clap::{ArgAction, Args};

use crate::error::CliError;
use crate::served::{STABLE, channel_name};
use crate::ui::escape;

/// Publishes skills to a store, a server, a git repository or a directory
///
/// All skills in the directories are checked, and nothing is published if one has an error. In a store, one
/// release makes all changes at once: servers that `rep serve --store` started see them within a second.
/// Content that is damaged in the store is stored again. `rep team channel` shows what is published, promotes
/// it and rolls it back.
///
/// `--to https://HOST` sends each skill to a server that `rep serve --http --store` started, as the version
/// in its frontmatter or the one of `--as`. The token decides if it is released at once or waits for a
/// review. A version never changes; the skills are sent one after another.
///
/// `--to git REPOSITORY` shows the differences, asks, commits the skills to the directory skills of a
/// repository, and pushes them, with your own git; nothing is forced. `--to dir PATH` does the same with a
/// directory. `--to well-known PATH` writes an index and archives for any web server, so that
/// `rep add https://HOST` and other installers find them.
#[derive(Debug, Args)]
pub(crate) struct PublishArgs {
    /// The skills: directories of skills, or of a single one
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(super) directories: Vec<PathBuf>,
    /// The store: postgres://user@host/database or the path of a SQLite file; `store.url` by default. Or else
    /// https://HOST, `git` and a repository, as owner/repo, an address or a path, `dir` and a path, or
    /// `well-known` and a path
    #[arg(long, value_names = ["STORE|KIND", "PLACE"], num_args = 1..=2, action = ArgAction::Set)]
    pub(super) to: Option<Vec<String>>,
    /// The branch of the repository; its default branch if none is given
    #[arg(long, value_name = "BRANCH")]
    pub(super) branch: Option<String>,
    /// The message of the commit
    #[arg(long, short, value_name = "TEXT")]
    pub(super) message: Option<String>,
    /// A file with the token for the server
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(super) token_file: Option<PathBuf>,
    /// The version to publish the skills as on a server
    #[arg(long = "as", value_name = "VERSION")]
    pub(super) published_version: Option<String>,
    /// The channel of a store, stable by default; or of a server, its last one by default
    #[arg(long, value_name = "CHANNEL", value_parser = channel_name)]
    pub(super) channel: Option<String>,
    /// Remove this skill from the channel
    #[arg(long, value_name = "NAME")]
    pub(super) remove: Vec<String>,
    /// Remove all skills from the channel that are not in the directories
    #[arg(long)]
    pub(super) prune: bool,
    /// Only say what would change
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Write to a repository or a directory without asking
    #[arg(long, short)]
    pub(super) yes: bool,
}

/// The place that skills are published to.
pub(super) enum Destination {
    /// The store of the configuration, or the one at this address.
    Store(Option<String>),
    /// The server at this address.
    Server(String),
    Git(String),
    Directory(PathBuf),
    WellKnown(PathBuf),
}

impl PublishArgs {
    /// Returns the place, and the directories with the skills.
    pub(super) fn parsed(&self, working_directory: &Path) -> Result<(Destination, Vec<PathBuf>), CliError> {
        let mut directories = self.directories.clone();
        let words: Vec<&str> = self.to.iter().flatten().map(String::as_str).collect();
        let path = |place: &str| working_directory.join(place);
        let destination = match words.as_slice() {
            ["git", place] => Destination::Git((*place).to_owned()),
            ["dir", place] => Destination::Directory(path(place)),
            ["well-known", place] => Destination::WellKnown(path(place)),
            [kind @ ("git" | "dir" | "well-known")] => {
                return Err(CliError::usage(format!("`--to {kind}` needs a place"))
                    .hint("it is `--to git REPOSITORY`, `--to dir PATH` or `--to well-known PATH`"));
            }
            [address, more @ ..] if is_server_address(address) => {
                directories.extend(more.iter().map(PathBuf::from));
                Destination::Server((*address).to_owned())
            }
            [address, more @ ..] => {
                if !is_store_address(address) {
                    return Err(CliError::usage(format!(
                        "`{}` is not the address of a store",
                        escape(address)
                    ))
                    .hint("a store is postgres://user@host/database, or a SQLite file as fleet.db or ./fleet")
                    .hint(
                        "other places are `--to git REPOSITORY`, `--to dir PATH` and `--to well-known PATH`",
                    ));
                }
                // A store has no second word: what follows is a directory of skills.
                directories.extend(more.iter().map(PathBuf::from));
                Destination::Store(Some((*address).to_owned()))
            }
            [] => Destination::Store(None),
        };
        let is_store = matches!(destination, Destination::Store(_));
        let is_git = matches!(destination, Destination::Git(_));
        let is_well_known = matches!(destination, Destination::WellKnown(_));
        let is_server = matches!(destination, Destination::Server(_));
        if directories.is_empty() && (self.remove.is_empty() || self.prune || !is_store) {
            return Err(CliError::usage("no directory of skills is named").hint("run `rep publish DIR`"));
        }
        for (is_given, is_fit, option, place) in [
            (self.channel.is_some(), is_store || is_server, "channel", "a store or a server"),
            (self.token_file.is_some(), is_server, "token-file", "a server"),
            (self.published_version.is_some(), is_server, "as", "a server"),
            (!self.remove.is_empty(), is_store, "remove", "a store"),
            (self.prune, is_store, "prune", "a store"),
            (self.branch.is_some(), is_git, "branch", "a git repository"),
            (self.message.is_some(), is_git, "message", "a git repository"),
            (
                self.dry_run,
                !is_well_known && !is_server,
                "dry-run",
                "a store, a git repository or a directory",
            ),
        ] {
            if is_given && !is_fit {
                return Err(CliError::usage(format!("`--{option}` does not fit this place"))
                    .hint(format!("it is for publishing to {place}")));
            }
        }
        Ok((destination, directories))
    }

    /// Returns the channel of a store.
    pub(super) fn channel(&self) -> &str {
        self.channel.as_deref().unwrap_or(STABLE)
    }
}

fn is_server_address(address: &str) -> bool {
    address.starts_with("https://") || address.starts_with("http://")
}

/// Returns `true` if `address` looks like a store. A bare word does not: it is rather a kind of place.
fn is_store_address(address: &str) -> bool {
    let is_file = [".db", ".sqlite", ".sqlite3"].iter().any(|ending| address.ends_with(ending));
    is_file || address.contains("://") || address.contains(is_separator)
}
