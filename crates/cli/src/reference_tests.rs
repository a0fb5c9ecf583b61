//! Generates the pages of the reference documentation and compares them with the repository.

#![allow(
    clippy::disallowed_methods,
    reason = "it reads and writes pages, and a variable that tests are run with"
)]

use std::fmt::Write as _;
use std::path::PathBuf;

use repertoire::config::{AGENT_KEYS, KEYS, PROFILES, Settings, ValueKind};
use repertoire_app::view::{
    CatalogView, ClientView, DoctorView, ExplanationView, FileListView, ListingView, OriginReportView,
    ProposalDetailView, ProposalListView, ProposalView, RollbackView, SearchView, SkillDetailView, SkillView,
    StatsView, UndoListView, UndoView, VersionDiffView, VersionListView,
};
use repertoire_model::fields::{CLIENT_FIELDS, FIELDS};
use repertoire_model::validate::RULES;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Value, json};

use crate::cli::{ROOT, command};
use crate::{env, exit};

/// The variable that makes these tests write the pages instead of comparing them.
const UPDATE: &str = "UPDATE_DOCS";

fn path_of(page: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(page)
}

fn check(page: &str, expect: &str) {
    let path = path_of(page);
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, expect).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expect,
        "docs/reference/{page} is stale; regenerate it with `{UPDATE}=1 cargo test -p repertoire-cli --bin rep`"
    );
}

#[test]
fn cli() {
    let mut page = String::from(
        "# Command line\n\nEvery command of `rep` with its arguments and options, as `rep help COMMAND` prints them. Start with the \
         [tutorial](../tutorial.md); `rep` alone shows the commands of every day.\n\
         See also [exit codes](exit-codes.md), [JSON](json.md) and [configuration](configuration.md).\n",
    );
    let mut root = command();
    root.build();
    sections(&mut page, "rep", &root, &root);
    check("cli.md", &page);
}

/// Writes the help of `command` and of every command below it. The options of `root` are listed once.
fn sections(page: &mut String, heading: &str, command: &clap::Command, root: &clap::Command) {
    let mut own = command.clone().term_width(100).mut_args(|arg| {
        let is_of_root = (arg.is_global_set() || arg.get_id() == ROOT)
            && root.get_arguments().any(|other| other.get_id() == arg.get_id());
        arg.hide(is_of_root && heading != "rep")
    });
    let help = own.render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(page, "\n## {heading}\n\n```text\n{}\n```\n", help.join("\n").trim_end());
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        sections(page, &format!("{heading} {}", below.get_name()), below, root);
    }
}

#[test]
fn configuration() {
    let profiles = PROFILES.map(|profile| (profile, Settings::of_profile(profile).unwrap()));
    let mut page = String::from(
        "# Configuration\n\nEvery key of `repertoire.toml` and every environment variable, with its values, its default and the option \
         that does the same for one command. Nothing has to be configured.\n\n\
         There are four layers; a later one wins:\n\n\
         1. the project's file, the nearest `repertoire.toml` from the working directory up to the repository root;\n\
         2. the user's file, `repertoire/config.toml` in `$XDG_CONFIG_HOME` or `~/.config`;\n\
         3. environment variables;\n\
         4. flags.\n\n\
         A project's file comes with a clone, so the user's has the last word over it. Lists of directories add up \
         instead: the environment's come first, then the project's, then the user's.\n`--config FILE` or `REPERTOIRE_CONFIG` names one file to read instead of both. Paths in a file are \
         relative to that\nfile. An unknown key or a bad value is an error that shows the line. `rep init` writes a \
         file with the ten keys that people change most.\n\
         In a variable, the words of a list have commas between them, and directories are separated as in `PATH`. \
         Each entry of a table has a variable: `REPERTOIRE_DISCOVERY_USER` is for `discovery.user`.\n\n\
         The user's file, the environment and flags are trusted, and so is a file named with `--config`. A project's \
         `repertoire.toml` comes with a clone and is bounded:\n\n\
         - `roots`, `packs.directories`, `roles.directories` and the `prompt` of an agent must lie within the repository \
         (or, outside of one, within the directory of the file), links resolved.\n\
         - `requires.max_tokens` may not exceed its default.\n\
         - The rules `invisible-characters`, `control-characters`, `file-symlink`, `file-special` and `name-tool` may not \
         be turned off or lowered.\n\
         - The user's alone are the keys of `model`, `store`, `proposals`, `events`, `scope`, `tools.names`, \
         `tools.args`, `tools.descriptions`, `http`, `oidc` and `exec`.\n\
         - So are `load.reload`, `render.load`, `search.embeddings`, `search.url`, `search.model`, `search.key_env` and \
         `search.rerank`.\n\
         - So are `token_file`, `reviews`, `tools.names`, `tools.args` and `tools.descriptions` of an agent.\n\n\
         A profile that only the project chooses is in force except for `load.reload = \"short_ack\"`, and `text` and `body` for `render.load` and `mcp.result`;\n\
         `rep doctor` names what is left out. \
         Every file must be a regular file of at most 1 MiB.\n\n\
         Skills are looked for in this order, and the first place wins: the project's directories, the user's \
         directories,\n`roots`, packs. `--root` replaces all of them.\n\n\
         ## Keys\n\n| key | takes | default | variable | flag | meaning |\n|---|---|---|---|---|---|\n",
    );
    for key in KEYS {
        let standard = (key.get)(&profiles[0].1);
        let mut default = match (key.kind, standard.as_str()) {
            (ValueKind::Agent | ValueKind::Kit | ValueKind::OidcGroup, _) => "none".to_owned(),
            (_, "") => "by rule".to_owned(),
            _ => format!("`{standard}`"),
        };
        for (profile, settings) in &profiles[1..] {
            let other = (key.get)(settings);
            if other != standard && key.name != "profile" {
                let _ = write!(default, "; {} `{}`", profile, difference(&other, &standard));
            }
        }
        let variable = match key.kind {
            ValueKind::Words
            | ValueKind::Patterns
            | ValueKind::Severity
            | ValueKind::Agent
            | ValueKind::Kit
            | ValueKind::OidcGroup => "-".to_owned(),
            ValueKind::Table(..) => format!("`{}_…`", env::variable_of(key.name)),
            _ => format!("`{}`", env::variable_of(key.name)),
        };
        let flag = key.flag.map_or("-".to_owned(), |flag| format!("`{flag}`"));
        let takes = key.kind.describe();
        let _ = writeln!(
            page,
            "| `{}` | {takes} | {default} | {variable} | {flag} | {} |",
            key.name, key.summary
        );
    }
    page.push_str(
        "\n## Agents\n\n`[agents.NAME]` defines an agent; the name is one that a skill could have. \
         See [agents and roles](../guides/agents-and-roles.md).\n\n\
         | key | takes | meaning | example |\n|---|---|---|---|\n",
    );
    for key in AGENT_KEYS {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | `{}` |",
            key.name,
            key.takes.replace(" * ", " `*` ").replace(" ? ", " `?` "),
            key.summary,
            key.example
        );
    }
    page.push_str("\n## Variables\n\nBeside those above:\n\n| variable | meaning |\n|---|---|\n");
    for (name, meaning) in env::VARIABLES {
        let _ = writeln!(page, "| `{name}` | {meaning} |");
    }
    page.push_str(
        "\n## Rules\n\n`[rules]` sets the severity of single rules; they are listed in [rules](rules.md).\n",
    );
    check("configuration.md", &page);
}

/// Returns `value` without the entries of a table that `standard` has as well.
fn difference(value: &str, standard: &str) -> String {
    let entries = |table: &str| -> Option<Vec<String>> {
        let inner = table.strip_prefix("{ ")?.strip_suffix(" }")?;
        Some(inner.split(", ").map(str::to_owned).collect())
    };
    let (Some(own), Some(usual)) = (entries(value), entries(standard)) else { return value.to_owned() };
    let own: Vec<String> = own.into_iter().filter(|entry| !usual.contains(entry)).collect();
    format!("{{ {} }}", own.join(", "))
}

/// Returns the schema of a file called `name`, in the form that editors and SchemaStore take.
fn schema_file(name: &str, title: &str, mut schema: Value) -> String {
    let address = format!("{}/raw/main/docs/reference/schemas/{name}", env!("CARGO_PKG_REPOSITORY"));
    schema["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    schema["$id"] = address.into();
    schema["title"] = title.into();
    schema["type"] = "object".into();
    serde_json::to_string_pretty(&schema).unwrap() + "\n"
}

/// Returns the schema of the values that a key of this kind takes.
fn schema_of(kind: &ValueKind) -> Value {
    let strings = json!({"type": "array", "items": {"type": "string"}});
    match kind {
        ValueKind::Word(words) => json!({"enum": words()}),
        ValueKind::Number(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
        ValueKind::Switch => json!({"type": "boolean"}),
        ValueKind::Name | ValueKind::Text | ValueKind::File | ValueKind::Profile => json!({"type": "string"}),
        ValueKind::Words | ValueKind::Patterns | ValueKind::OptionalArguments | ValueKind::Paths => strings,
        ValueKind::OfferedTools => json!({"oneOf": [{"enum": ["needed", "all", "minimal"]}, strings]}),
        ValueKind::Severity => json!({"enum": ["off", "info", "warning", "error"]}),
        ValueKind::Kit => json!({
            "type": "object", "properties": {"skills": strings}, "required": ["skills"], "additionalProperties": false,
        }),
        ValueKind::Table(entries, kind) => {
            let properties: serde_json::Map<String, Value> =
                entries.iter().map(|entry| ((*entry).to_owned(), schema_of(kind))).collect();
            json!({"type": "object", "properties": properties, "additionalProperties": false})
        }
        ValueKind::Agent => {
            let mut schema = json!({"type": "object", "additionalProperties": false});
            for key in AGENT_KEYS {
                insert(&mut schema, key.name, json!({"description": key.summary}));
            }
            schema
        }
        ValueKind::OidcGroup => json!({"type": "object", "required": ["role"]}),
    }
}

/// Adds `value` to the properties of `schema` below the tables that `name` has, as in `catalog.format`.
fn insert(schema: &mut Value, name: &str, value: Value) {
    match name.split_once('.') {
        Some((table, rest)) => {
            let table = &mut schema["properties"][table];
            if table.is_null() {
                *table = json!({"type": "object", "additionalProperties": false});
            }
            insert(table, rest, value);
        }
        None if name.starts_with('<') => schema["additionalProperties"] = value,
        None => schema["properties"][name] = value,
    }
}

#[test]
fn schemas() {
    let mut configuration = json!({"additionalProperties": false});
    for key in KEYS {
        let mut value = schema_of(&key.kind);
        value["description"] = key.summary.into();
        insert(&mut configuration, key.name, value);
    }
    let off = json!({"enum": ["off", "info", "warning", "error"]});
    for rule in RULES {
        let mut value = off.clone();
        value["description"] = rule.summary.into();
        insert(&mut configuration, &format!("rules.{}", rule.name), value);
    }
    configuration["properties"]["rules"]["additionalProperties"] = false.into();
    check(
        "schemas/repertoire.json",
        &schema_file("repertoire.json", "Configuration of Repertoire", configuration),
    );

    let mut frontmatter = json!({"required": ["name", "description"]});
    for field in FIELDS.iter().chain(CLIENT_FIELDS) {
        let value = match *field {
            "name" => json!({"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$", "maxLength": 64}),
            "description" => json!({"type": "string", "minLength": 1, "maxLength": 1024}),
            "compatibility" => json!({"type": "string", "minLength": 1, "maxLength": 500}),
            "metadata" => json!({"type": "object", "additionalProperties": {"type": "string"}}),
            "license" | "version" | "author" | "allowed-tools" => json!({"type": "string"}),
            "disable-model-invocation" | "user-invocable" => json!({"type": "boolean"}),
            field if FIELDS.contains(&field) => json!({"type": "array", "items": {"type": "string"}}),
            _ => json!({}),
        };
        insert(&mut frontmatter, field, value);
    }
    check(
        "schemas/skill-frontmatter.json",
        &schema_file("skill-frontmatter.json", "Frontmatter of a SKILL.md", frontmatter),
    );
}

#[test]
fn exit_codes() {
    let mut page = String::from(
        "# Exit codes\n\nThe numbers with which `rep` ends, for scripts: 0 is success, 1 is the answer no, everything else is a failure.\n\n\
         | code | name | meaning |\n|---|---|---|\n",
    );
    for (exit, name, meaning) in exit::TABLE {
        let _ = writeln!(page, "| {} | {name} | {meaning} |", exit.code());
    }
    page.push_str(
        "\n`rep run` and `rep session --exec` that a signal asks to end, as Ctrl-C does, end what runs and put right what it made.\nThen they end as others \
         do by that signal, for a shell with 128 and its number: 129 (SIGHUP), 130 (SIGINT), 143 (SIGTERM). `rep serve` and `rep watch` end with 0.\n\n\
         `rep check --compat skills-ref` exits as the reference library does: 0, 1, or 2 for usage.\n",
    );
    check("exit-codes.md", &page);
}

/// The commands that print a view, with it.
const VIEWS: &[(&str, SchemaOf)] = &[
    ("`rep list`, each of `skills`", SchemaGenerator::subschema_for::<SkillView>),
    ("`rep list --client`", SchemaGenerator::subschema_for::<ListingView>),
    ("`rep catalog`", SchemaGenerator::subschema_for::<CatalogView>),
    ("`rep show`", SchemaGenerator::subschema_for::<SkillDetailView>),
    ("`rep explain`", SchemaGenerator::subschema_for::<ExplanationView>),
    ("`rep connect` without a client, each of `clients`", SchemaGenerator::subschema_for::<ClientView>),
    ("`rep doctor`", SchemaGenerator::subschema_for::<DoctorView>),
    ("`rep stats`", SchemaGenerator::subschema_for::<StatsView>),
    ("`rep list --origin --changed`", SchemaGenerator::subschema_for::<OriginReportView>),
    ("`rep show --files`", SchemaGenerator::subschema_for::<FileListView>),
    ("`rep search`", SchemaGenerator::subschema_for::<SearchView>),
    ("`rep history NAME`", SchemaGenerator::subschema_for::<VersionListView>),
    ("`rep history NAME --diff`", SchemaGenerator::subschema_for::<VersionDiffView>),
    ("`rep history NAME --restore`", SchemaGenerator::subschema_for::<RollbackView>),
    ("`rep undo`", SchemaGenerator::subschema_for::<UndoView>),
    ("`rep undo --list`", SchemaGenerator::subschema_for::<UndoListView>),
    ("`rep proposal list`", SchemaGenerator::subschema_for::<ProposalListView>),
    ("`rep proposal new`, `approve`, `reject` and `rebase`", SchemaGenerator::subschema_for::<ProposalView>),
    ("`rep proposal show`", SchemaGenerator::subschema_for::<ProposalDetailView>),
];

/// Views with the keys of another one and more.
const EXTENSIONS: &[(&str, &str)] = &[
    ("ProposalDetailView", "ProposalView"),
    ("RecordedSkillView", "OriginView"),
    ("SkillDetailView", "SkillView"),
    ("UndoView", "ChangeView"),
    ("UsedSkillView", "UsageView"),
];

type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Returns the kind of value that `schema` describes, with a link to a view.
fn kind_of(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(kinds) = schema["anyOf"].as_array() {
        return kinds.iter().map(kind_of).collect::<Vec<_>>().join(" or ");
    }
    let kinds = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => vec![kind.as_str().unwrap_or("any")],
    };
    let kinds = kinds.into_iter().map(|kind| match kind {
        "array" if schema["items"].is_object() => format!("list of {}", kind_of(&schema["items"])),
        kind => kind.to_owned(),
    });
    kinds.collect::<Vec<_>>().join(" or ")
}

#[test]
fn json() {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut page = String::from("\n## Views\n\n| output | view |\n|---|---|\n");
    for (commands, schema_of) in VIEWS {
        let _ = writeln!(page, "| {commands} | {} |", kind_of(schema_of(&mut generator).as_value()));
    }
    let views = generator.take_definitions(true);
    for (name, view) in &views {
        let base = EXTENSIONS.iter().find(|(extension, _)| extension == name).map(|(_, base)| *base);
        let description = view["description"].as_str().unwrap_or_default();
        let _ = write!(page, "\n### {name}\n\n{description}");
        if let Some(base) = base {
            let _ = write!(page, " It has the keys of [{base}](#{}), and:", base.to_lowercase());
        }
        page.push_str("\n\n| key | value | meaning |\n|---|---|---|\n");
        let keys = view["properties"].as_object().unwrap();
        for (key, schema) in keys {
            if base.is_some_and(|base| views[base]["properties"].get(key).is_some()) {
                continue;
            }
            let meaning = schema["description"].as_str().unwrap_or_default().replace('\n', " ");
            let mut kind = kind_of(schema);
            if !view["required"].as_array().is_some_and(|keys| keys.iter().any(|other| other == key)) {
                kind = format!("{}, optional", kind.trim_end_matches(" or null"));
            }
            let _ = writeln!(page, "| `{key}` | {kind} | {meaning} |");
        }
    }
    // The sections before it are written by hand.
    let found = std::fs::read_to_string(path_of("json.md")).unwrap_or_default();
    let head = found.split_once("\n## Views\n").map_or(found.as_str(), |(head, _)| head);
    check("json.md", &(head.to_owned() + &page));
}
