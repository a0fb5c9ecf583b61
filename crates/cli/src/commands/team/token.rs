//! `rep team token`.

use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand};
use repertoire::event::jsonl::rfc3339;
use repertoire::event::{Event, EventKind, Surface};
use repertoire::store::{Role, Store, TOKEN_PREFIX, TokenRecord, is_principal_name};
use repertoire_model::Pattern;
use repertoire_model::scope::Scope;
use serde_json::{Value, json};

use crate::age::age;
use crate::complete::agent_names;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Align, Table, Ui, escape};
use crate::wire::Workspace;

/// The bytes of randomness of a token.
const SECRET_BYTES: usize = 32;

/// Makes, lists and revokes tokens of people and programs for `rep serve --http`
///
/// Tokens are kept as digests in the store, and take effect on running servers within seconds.
#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub(super) enum TokenAction {
    /// Makes a token and prints it, once
    Create(CreateArgs),
    /// Lists the tokens, without their secrets
    List {
        /// Revoked and expired tokens, too
        #[arg(long)]
        all: bool,
    },
    /// Revokes tokens
    Revoke {
        /// The names of people or programs, each with all of its tokens, or the ids of single tokens
        #[arg(value_name = "NAME|ID", required = true)]
        tokens: Vec<String>,
    },
}

#[derive(Debug, Args)]
pub(super) struct CreateArgs {
    /// The person or program that it stands for; events and proposals name it
    #[arg(long, value_name = "NAME", value_parser = principal_name)]
    name: String,
    /// Its rights: a reader reads, an author publishes for review, a reviewer decides, an admin does
    /// everything
    #[arg(long, value_name = "ROLE", default_value = "reader", value_parser = Role::ALL.map(Role::as_str))]
    role: String,
    /// The agent of the server's configuration whose skills and prompts it gets
    #[arg(long, value_name = "NAME", add = agent_names())]
    agent: Option<String>,
    /// The time after which it ends, such as 90d or 12h
    #[arg(long, value_name = "TIME", value_parser = age)]
    expires: Option<Duration>,
    /// Give access to skills that match this pattern only: NAME, SOURCE:NAME or tag=TAG, with * and ?
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    allow: Vec<Pattern>,
    /// Give no access to skills that match this pattern
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    deny: Vec<Pattern>,
    /// Give access to the skills of this kit of the server's configuration only, beside those of --allow
    #[arg(long, value_name = "KIT")]
    kit: Vec<String>,
}

fn pattern(text: &str) -> Result<Pattern, String> {
    Pattern::for_scope(text).map_err(|fault| fault.to_string())
}

/// Returns `text` if it can be the name of a person or program.
fn principal_name(text: &str) -> Result<String, String> {
    if is_principal_name(text) {
        Ok(text.to_owned())
    } else {
        Err("a name has 1 to 64 letters, digits, or one of - _ . @ + |".to_owned())
    }
}

pub(super) fn run(
    ui: &mut Ui,
    workspace: &Workspace,
    location: Option<&str>,
    action: &TokenAction,
) -> Result<Exit, CliError> {
    match action {
        TokenAction::Create(args) => create(ui, workspace, location, args),
        TokenAction::List { all } => list(ui, &*workspace.store_at(location)?, *all),
        TokenAction::Revoke { tokens } => {
            let store = workspace.store_at(location)?;
            let option = Workspace::store_option(location, &*store);
            revoke(ui, workspace, &*store, tokens, &option)
        }
    }
}

fn create(
    ui: &mut Ui,
    workspace: &Workspace,
    location: Option<&str>,
    args: &CreateArgs,
) -> Result<Exit, CliError> {
    let store = workspace.store_to(location)?;
    let now = SystemTime::now();
    let secret = secret()?;
    let role = Role::parse(&args.role).unwrap_or_default();
    let mut token = TokenRecord::new(&secret, &args.name, role, now);
    token.agent.clone_from(&args.agent);
    let is_limited = !args.allow.is_empty() || !args.kit.is_empty();
    token.scope.scope = Scope { allow: is_limited.then(|| args.allow.clone()), deny: args.deny.clone() };
    token.scope.kits.clone_from(&args.kit);
    token.author = Some(workspace.person());
    if let Some(time) = args.expires {
        let end = now.checked_add(time).ok_or_else(|| CliError::usage("the token would end too late"))?;
        token.expires = Some(end);
    }
    store.add_token(&token)?;
    record(workspace, &*store, "token create", &token)?;
    if ui.is_json() {
        let mut shown = shown(&token);
        shown["token"] = secret.into();
        shown["store"] = store.location().into();
        ui.write_json(&shown)?;
    } else {
        writeln!(ui.out(), "{secret}")?;
        let end =
            token.expires.map_or("it does not end".to_owned(), |end| format!("it ends {}", rfc3339(end)));
        let (id, name) = (token.id(), &token.name);
        writeln!(ui.err(), "token {id} of {name}, {role}; {end}. It is shown this once.")?;
    }
    warn_of_unknown(ui, workspace, &token)?;
    Ok(Exit::Success)
}

/// Warns of an agent and of kits that the configuration here does not have; the server may have another.
fn warn_of_unknown(ui: &mut Ui, workspace: &Workspace, token: &TokenRecord) -> Result<(), CliError> {
    let settings = &workspace.settings;
    let agents = token.agent.iter().filter(|name| !settings.agents.contains_key(*name));
    let kits = token.scope.kits.iter().filter(|name| !settings.kits.contains_key(*name));
    let names = agents.map(|name| ("agent", name)).chain(kits.map(|name| ("kit", name)));
    for (noun, name) in names {
        let name = escape(name);
        ui.warn(&format!("the configuration here has no {noun} `{name}`; the server's needs one"))?;
    }
    Ok(())
}

/// Returns a new secret.
fn secret() -> Result<String, CliError> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| CliError::no("the system gives no random numbers").because(error))?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{TOKEN_PREFIX}{digits}"))
}

/// Records in the journal of the store that a token was made or revoked.
fn record(
    workspace: &Workspace,
    store: &dyn Store,
    command: &str,
    token: &TokenRecord,
) -> Result<(), CliError> {
    let mut event = Event::new(EventKind::TokenChanged, command, "", SystemTime::now());
    event.surface = Surface::Cli;
    event.principal = Some(workspace.person());
    event.agent.clone_from(&token.agent);
    event.query = Some(format!("{} {} {}", token.id(), token.name, token.role));
    Ok(store.append(&[event])?)
}

/// Returns the token without its secret.
fn shown(token: &TokenRecord) -> Value {
    let texts = |patterns: &[Pattern]| patterns.iter().map(ToString::to_string).collect::<Vec<_>>();
    json!({
        "id": token.id(),
        "name": token.name,
        "role": token.role.as_str(),
        "agent": token.agent,
        "allow": token.scope.scope.allow.as_deref().map(texts),
        "deny": texts(&token.scope.scope.deny),
        "kits": token.scope.kits,
        "author": token.author,
        "created": rfc3339(token.created),
        "expires": token.expires.map(rfc3339),
        "revoked": token.revoked.map(rfc3339),
    })
}

fn list(ui: &mut Ui, store: &dyn Store, all: bool) -> Result<Exit, CliError> {
    let (mut tokens, now) = (store.tokens()?, SystemTime::now());
    tokens.retain(|token| all || token.is_valid(now));
    if ui.is_json() {
        let tokens: Vec<Value> = tokens.iter().map(shown).collect();
        return Ok(ui.answer(&json!({"store": store.location(), "tokens": tokens}))?);
    }
    if tokens.is_empty() {
        writeln!(ui.err(), "there are no tokens")?;
        return Ok(Exit::Success);
    }
    let headings = ["ID", "NAME", "ROLE", "AGENT", "ENDS", "SKILLS"];
    let column = |heading| {
        let align = if heading == "SKILLS" { Align::Elastic } else { Align::Left };
        (heading, align, None)
    };
    let mut table = Table::new(headings.map(column).to_vec());
    for token in &tokens {
        table.cell(token.id());
        table.cell(token.name.as_str());
        table.cell(token.role.as_str());
        table.cell(token.agent.as_deref().unwrap_or("-"));
        table.cell(match (token.revoked, token.expires) {
            (Some(_), _) => "revoked".to_owned(),
            (None, Some(end)) => rfc3339(end).chars().take(16).collect(),
            (None, None) => "never".to_owned(),
        });
        table.cell(skills(token));
    }
    table.write(ui)?;
    Ok(Exit::Success)
}

/// Returns the skills that a token gives access to, for people.
fn skills(token: &TokenRecord) -> String {
    let scope = &token.scope;
    let mut words: Vec<String> = scope.kits.iter().map(|kit| format!("kit {kit}")).collect();
    words.extend(scope.scope.allow.iter().flatten().map(ToString::to_string));
    if scope.scope.allow.is_none() {
        words.push("all".to_owned());
    }
    words.extend(scope.scope.deny.iter().map(|pattern| format!("not {pattern}")));
    words.join(", ")
}

fn revoke(
    ui: &mut Ui,
    workspace: &Workspace,
    store: &dyn Store,
    wanted: &[String],
    option: &str,
) -> Result<Exit, CliError> {
    let tokens = store.active_tokens(SystemTime::now())?;
    let mut found: Vec<&TokenRecord> = Vec::new();
    for word in wanted {
        let before = found.len();
        found.extend(tokens.iter().filter(|token| token.name == *word || token.id() == *word));
        if found.len() == before {
            let message = format!("there is no token of `{word}`, nor one with this id");
            return Err(
                CliError::no(message).hint(format!("run `rep team token list{option}` to see the tokens"))
            );
        }
    }
    let mut revoked = Vec::new();
    for token in found {
        if store.revoke_token(&token.digest, SystemTime::now())? {
            record(workspace, store, "token revoke", token)?;
            revoked.push(token);
        }
    }
    if ui.is_json() {
        let ids: Vec<Value> =
            revoked.iter().map(|token| json!({"id": token.id(), "name": token.name})).collect();
        ui.write_json(&json!({"store": store.location(), "revoked": ids}))?;
    } else {
        for token in revoked {
            writeln!(ui.out(), "revoked {} of {}", token.id(), escape(&token.name))?;
        }
    }
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_without_blanks() {
        for name in ["ann", "ci-bot_2", "ann@example.com", "Zoë"] {
            assert!(principal_name(name).is_ok(), "{name}");
        }
        for name in ["", "a b", "a\nb", "a:b", "\u{202e}a", &"x".repeat(65)] {
            assert!(principal_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn secrets_differ_and_are_recognisable() {
        let (one, two) = (secret().unwrap(), secret().unwrap());
        assert!(one.starts_with(TOKEN_PREFIX) && one.len() == TOKEN_PREFIX.len() + 64 && one != two);
    }
}
