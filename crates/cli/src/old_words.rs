//! Words that were commands once, or are commands of other programs, and the commands to type instead.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::wire::shell_word;

/// The words, each with the command to type instead. Words in capitals stand for the first arguments; all others follow.
const OLD_WORDS: &[(&str, &str)] = &[
    ("approvals", "approve --list"),
    ("channel", "team channel"),
    ("clients", "connect"),
    ("diff", "history NAME --diff"),
    ("duplicates", "list --duplicates"),
    ("files", "show NAME --files"),
    ("find", "search"),
    ("import-lock", "sync --import"),
    ("info", "show"),
    ("install", "add"),
    ("lint", "check"),
    ("ls", "list"),
    ("mcp", "serve --stdio"),
    ("outdated", "update --dry-run"),
    ("proposals", "proposal list"),
    ("propose", "proposal new"),
    ("rm", "remove"),
    ("rollback", "history NAME --restore VERSION"),
    ("status", "doctor"),
    ("token", "team token"),
    ("uninstall", "remove"),
    ("upgrade", "update"),
    ("use", "kit use"),
    ("validate", "check"),
    ("verify", "list --origin --changed"),
];

/// Returns `error` of the command line `typed`, with the command of `rep` to type if it is about an old word.
pub(crate) fn with_command(mut error: clap::Error, typed: &[OsString], rep: &clap::Command) -> clap::Error {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let typed: Vec<String> = typed.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let Some(at) = typed.iter().position(|typed| typed == word) else { return error };
    let before: Vec<String> = typed[..at].iter().filter(|word| *word != "help").cloned().collect();
    // A word below a command is not an old one.
    if before.iter().any(|word| rep.find_subcommand(word).is_some()) {
        return error;
    }
    let Some(now) = command_now(rep, &before, word, &typed[at + 1..]) else { return error };
    error.remove(ContextKind::SuggestedSubcommand);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![format!("type `{now}`").into()]));
    error
}

/// Returns the command line to type for the old `word` between the arguments `before` and `after`, which is left out if it does not fit.
fn command_now(rep: &clap::Command, before: &[String], word: &str, after: &[String]) -> Option<String> {
    let command = match (word, after.first().map(String::as_str)) {
        ("proposals", Some("show" | "approve" | "reject" | "rebase")) => "proposal",
        ("use", None) => "kit list",
        _ => OLD_WORDS.iter().find(|(old, _)| *old == word)?.1,
    };
    let is_placeholder = |word: &str| word.chars().all(|c| c.is_ascii_uppercase());
    let mut after = after.iter().peekable();
    let argument = |word: &str| {
        let argument = after.next_if(|argument| is_placeholder(word) && !argument.starts_with('-'));
        argument.map_or_else(|| word.to_owned(), Clone::clone)
    };
    let mut words: Vec<String> = command.split(' ').map(argument).collect();
    words.extend(after.cloned());
    if !is_known(rep, &words) {
        words = command.split(' ').map(str::to_owned).collect();
    }
    let words = before.iter().chain(&words).map(|word| format!(" {}", shell_word(word)));
    Some(format!("rep{}", words.collect::<String>()))
}

/// Returns `true` if there is a command with these words, although some may be missing.
fn is_known(rep: &clap::Command, words: &[String]) -> bool {
    let unknown = [ErrorKind::InvalidSubcommand, ErrorKind::UnknownArgument, ErrorKind::ArgumentConflict];
    let line = std::iter::once("rep").chain(words.iter().map(String::as_str));
    rep.clone().try_get_matches_from(line).map_or_else(|error| !unknown.contains(&error.kind()), |_| true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn every_old_word_leads_to_a_command() {
        for (old, now) in OLD_WORDS {
            // A word that is a command needs no other.
            assert!(
                command().find_subcommand(old).is_some() || is_known(&command(), &words(now)),
                "{old}: {now}"
            );
        }
    }

    #[test]
    fn the_command_has_the_arguments_that_fit() {
        let check = |old: &str, expect: &str| {
            let old = words(old);
            assert_eq!(command_now(&command(), &[], &old[0], &old[1..]).as_deref(), Some(expect), "{old:?}");
        };
        check("outdated", "rep update --dry-run");
        check("outdated pdf --user", "rep update --dry-run pdf --user");
        check("rollback git 1 --yes", "rep history git --restore 1 --yes");
        check("rollback git", "rep history git --restore VERSION");
        check("diff git 1 3", "rep history git --diff 1 3");
        check("diff", "rep history NAME --diff");
        check("proposals", "rep proposal list");
        check("proposals --all", "rep proposal list --all");
        check("proposals show 3 --json", "rep proposal show 3 --json");
        check("propose git --diff change.diff", "rep proposal new git --diff change.diff");
        check("use", "rep kit list");
        check("use --none", "rep kit use --none");
        check("use web docs", "rep kit use web docs");
        check("rm pdf", "rep remove pdf");
        check("ls --verbose", "rep list");
        check("find it's", r"rep search 'it'\''s'");
        assert_eq!(command_now(&command(), &[], "nothing", &[]), None);
    }
}
