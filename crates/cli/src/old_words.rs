//! Words that were commands once, or are commands of other programs, and the commands to type instead.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::wire::shell_word;

/// The words, each with the command to type instead. Capitals stand for the first arguments; others follow.
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

/// Options that had another name, each with the option or the command to type instead.
const OLD_OPTIONS: &[(&str, &str)] = &[
    ("--agent", "--client"),
    ("--check", "--dry-run"),
    ("--print", "--dry-run"),
    ("--result", "--render"),
    ("--to project", "--project"),
    ("--to user", "--user"),
    ("--to", "--dir"),
    ("--undo", "undo"),
    ("--write", "--yes"),
];

/// Returns `error` of the command line `typed`, with what to type instead of an old word or option.
pub(crate) fn with_command(mut error: clap::Error, typed: &[OsString], rep: &clap::Command) -> clap::Error {
    let value = match (error.get(ContextKind::InvalidValue), error.get(ContextKind::InvalidArg)) {
        (Some(ContextValue::String(value)), _) | (None, Some(ContextValue::String(value))) => value.clone(),
        _ => String::new(),
    };
    if value.strip_prefix('-').is_some_and(|number| number.parse::<f64>().is_ok()) {
        let message = format!("`{value}` is negative, and numbers here are not\n");
        return clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(rep);
    }
    let typed: Vec<String> = typed.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let now = match (error.get(ContextKind::InvalidSubcommand), error.get(ContextKind::InvalidArg)) {
        (Some(ContextValue::String(word)), _) => with_new_word(rep, &typed, word),
        (_, Some(ContextValue::String(option))) => with_new_option(rep, &typed, option),
        _ => None,
    };
    let Some(now) = now else { return error };
    for similar in [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg] {
        error.remove(similar);
    }
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![format!("type `{now}`").into()]));
    error
}

/// Returns the command line to type instead of `typed` with the old `word`, less arguments that do not fit.
fn with_new_word(rep: &clap::Command, typed: &[String], word: &str) -> Option<String> {
    let at = typed.iter().position(|typed| typed == word)?;
    let before: Vec<&String> = typed[..at].iter().filter(|word| *word != "help").collect();
    // A word below a command is not an old one.
    if before.iter().any(|word| rep.find_subcommand(word).is_some()) {
        return None;
    }
    let mut after = typed[at + 1..].iter().peekable();
    let command = match (word, after.peek().map(|word| word.as_str())) {
        ("proposals", Some("show" | "approve" | "reject" | "rebase")) => "proposal",
        ("use", None) => "kit list",
        _ => OLD_WORDS.iter().find(|(old, _)| *old == word)?.1,
    };
    let is_placeholder = |word: &str| word.chars().all(|c| c.is_ascii_uppercase());
    let argument = |word: &str| {
        let argument = after.next_if(|argument| is_placeholder(word) && !argument.starts_with('-'));
        argument.map_or_else(|| word.to_owned(), Clone::clone)
    };
    let mut words: Vec<String> = command.split(' ').map(argument).collect();
    words.extend(after.cloned());
    if !is_known(rep, &words) {
        words = command.split(' ').map(str::to_owned).collect();
    }
    Some(line(before.into_iter().chain(&words)))
}

/// Returns the command line for `typed` with the old `option`: a command, or an option of the same command.
fn with_new_option(rep: &clap::Command, typed: &[String], option: &str) -> Option<String> {
    let typed = typed.join("\0");
    let of_option = |(old, _): &&(&str, &str)| old.split(' ').next() == Some(option);
    let with_new = |(old, new): &(&str, &str)| {
        if !new.starts_with("--") {
            return Some(format!("rep {new}"));
        }
        let old = old.replace(' ', "\0");
        let is_typed = typed.ends_with(&old) || typed.contains(&format!("{old}\0"));
        let words: Vec<String> = typed.replacen(&old, new, 1).split('\0').map(str::to_owned).collect();
        (is_typed && is_known(rep, &words)).then(|| line(&words))
    };
    OLD_OPTIONS.iter().filter(of_option).find_map(with_new)
}

/// Returns `words` as they are typed behind `rep`.
fn line<'w>(words: impl IntoIterator<Item = &'w String>) -> String {
    words.into_iter().fold("rep".to_owned(), |line, word| format!("{line} {}", shell_word(word)))
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
            let now = with_new_word(&command(), &old, &old[0]);
            assert_eq!(now.as_deref(), Some(expect), "{old:?}");
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
        check("ls --nope", "rep list");
        check("find it's", r"rep search 'it'\''s'");
        assert_eq!(with_new_word(&command(), &words("nothing"), "nothing"), None);
    }

    #[test]
    fn an_old_option_leads_to_one_of_the_same_command() {
        let now = |line: &str, option: &str| with_new_option(&command(), &words(line), option);
        for (old, option, expect) in [
            ("update pdf --check", "--check", "rep update pdf --dry-run"),
            ("connect --print cursor", "--print", "rep connect --dry-run cursor"),
            ("add o/r --to user --yes", "--to", "rep add o/r --user --yes"),
            ("disable pdf --agent codex", "--agent", "rep disable pdf --client codex"),
            ("connect --undo cursor --yes", "--undo", "rep undo"),
            ("migrate roles x --write", "--write", "rep migrate roles x --yes"),
            ("migrate roles x --to skills", "--to", "rep migrate roles x --dir skills"),
            ("serve --stdio --result json", "--result", "rep serve --stdio --render json"),
        ] {
            assert_eq!(now(old, option).as_deref(), Some(expect));
        }
        assert_eq!(now("events --check", "--check"), None);
    }
}
