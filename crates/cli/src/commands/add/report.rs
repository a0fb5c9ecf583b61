//! Shows skills of a source, and what was added.

use repertoire_app::view::DiagnosticView;
use repertoire_model::catalog::first_sentence;
use repertoire_model::text::count;
use repertoire_model::{Severity, diagnostic};
use repertoire_sources::{FetchedTree, FoundSkill, Installation, PluginElsewhere};
use serde_json::{Value, json};

use crate::error::CliError;
use crate::ui::{Align, Style, Table, Ui, escape, wrap_indented};
use crate::wire::{Workspace, shell_word};

/// The most scripts and findings of a skill that are shown.
const MAX_SHOWN: usize = 10;

/// The blanks before the lines about a skill behind the first.
const INDENT: usize = 2;

/// Returns the number of tokens of the `SKILL.md`.
fn tokens(workspace: &Workspace, skill: &FoundSkill) -> usize {
    workspace.settings.session.catalog.tokenizer.count(&skill.text())
}

/// Writes the skills of the source.
pub(super) fn list(
    ui: &mut Ui,
    workspace: &Workspace,
    tree: &FetchedTree,
    found: &[FoundSkill],
) -> Result<(), CliError> {
    if ui.is_json() {
        let skills: Vec<Value> = found.iter().map(|skill| described(workspace, skill)).collect();
        let document = json!({
            "source": tree.source.to_string(),
            "ref": tree.source.reference(),
            "resolved": tree.resolved,
            "left_out": tree.left_out,
            "plugins": plugins_json(tree),
            "skills": skills,
        });
        return Ok(ui.write_json(&document)?);
    }
    table(workspace, found, false).write(ui)?;
    faults(ui, found)
}

/// Writes which plugins of a marketplace lie elsewhere, and how their skills are added.
pub(super) fn plugins(ui: &mut Ui, tree: &FetchedTree) -> Result<(), CliError> {
    for PluginElsewhere { name, source } in &tree.plugins {
        let message = format!("the plugin {name} of the marketplace lies elsewhere");
        ui.message(Style::Warning, "left out:", &message)?;
        match source {
            Some(source) => ui.hint(&format!("this adds its skills: rep add {}", shell_word(source)))?,
            None => ui.hint("its skills cannot be added from there")?,
        }
    }
    Ok(())
}

/// Returns the same, for programs.
pub(super) fn plugins_json(tree: &FetchedTree) -> Value {
    tree.plugins.iter().map(|plugin| json!({"name": plugin.name, "source": plugin.source})).collect()
}

/// Writes why skills cannot be added.
fn faults(ui: &mut Ui, found: &[FoundSkill]) -> Result<(), CliError> {
    for skill in found {
        if let Some(fault) = &skill.fault {
            ui.message(Style::Warning, "broken:", &format!("{}: {fault}", skill.name))?;
        }
    }
    Ok(())
}

/// Writes the skills of the source with numbers to choose by.
pub(super) fn numbered(ui: &mut Ui, workspace: &Workspace, found: &[FoundSkill]) -> Result<(), CliError> {
    table(workspace, found, true).write(ui)?;
    faults(ui, found)
}

fn table<'a>(workspace: &Workspace, found: &'a [FoundSkill], is_numbered: bool) -> Table<'a> {
    let mut columns = Vec::new();
    if is_numbered {
        columns.push(("", Align::Right, Some(Style::Faint)));
    }
    columns.push(("NAME", Align::Left, Some(Style::Name)));
    columns.push(("TOKENS", Align::Right, None));
    columns.push(("FILES", Align::Right, None));
    columns.push(("CHECK", Align::Left, None));
    columns.push(("DESCRIPTION", Align::Elastic, None));
    let mut table = Table::new(columns);
    for (number, skill) in found.iter().enumerate() {
        if is_numbered {
            table.cell((number + 1).to_string());
        }
        table.cell(skill.name.as_str());
        table.cell(tokens(workspace, skill).to_string());
        table.cell(skill.files.len().to_string());
        table.cell(match (&skill.fault, diagnostic::worst(skill.findings.iter())) {
            (Some(_), _) => "broken",
            (None, Some(Severity::Error)) => "errors",
            (None, Some(Severity::Warning)) => "warnings",
            _ => "ok",
        });
        table.cell(&*skill.description);
    }
    table
}

/// Writes everything about a skill that a person should know before it is put in place.
pub(crate) fn print_skill(ui: &mut Ui, workspace: &Workspace, skill: &FoundSkill) -> Result<(), CliError> {
    let name = skill.name.as_str();
    // The table of `--list` and the skill itself have all of it.
    let text = format!("{name}: {}", escape(&first_sentence(&skill.description)));
    let text = wrap_indented(&text, ui.width(), INDENT);
    let (name, rest) = (ui.paint(Style::Name, name), text.strip_prefix(name).unwrap_or_default());
    writeln!(ui.out(), "{name}{rest}")?;
    let size = skill.bytes().div_ceil(1024);
    let (files, tokens) = (count(skill.files.len(), "file"), tokens(workspace, skill));
    writeln!(ui.out(), "  {files}, {size} KiB, {tokens} tokens of instructions")?;
    // One that is alone is the `SKILL.md`.
    let paths: Vec<&str> = skill.files.keys().map(AsRef::as_ref).filter(|_| skill.files.len() > 1).collect();
    shortened(ui, "files", &paths)?;
    let scripts: Vec<&str> = skill.scripts().into_iter().map(AsRef::as_ref).collect();
    shortened(ui, "scripts, not approved", &scripts)?;
    let capabilities = skill.capabilities.lines();
    let capabilities: Vec<&str> = capabilities.iter().map(String::as_str).collect();
    shortened(ui, "tools, not approved", &capabilities)?;
    let allowed: Vec<&str> = skill.allowed_tools.iter().map(String::as_str).collect();
    shortened(ui, "asks for", &allowed)?;
    for found in skill.findings.iter().filter(|found| found.severity != Severity::Info).take(MAX_SHOWN) {
        let word = ui.paint(found.severity.into(), &format!("{}:", found.severity));
        writeln!(ui.out(), "  {word} {} [{}]", escape(&found.message), found.rule)?;
    }
    Ok(())
}

fn shortened(ui: &mut Ui, what: &str, items: &[&str]) -> Result<(), CliError> {
    if items.is_empty() {
        return Ok(());
    }
    let shown: Vec<String> = items.iter().take(MAX_SHOWN).map(|item| escape(item).into_owned()).collect();
    let more = match items.len().saturating_sub(MAX_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let line = wrap_indented(&format!("{what}: {}{more}", shown.join(", ")), ui.width(), "    ".len());
    writeln!(ui.out(), "  {line}")?;
    Ok(())
}

/// Returns everything about a skill, for programs.
pub(crate) fn described(workspace: &Workspace, skill: &FoundSkill) -> Value {
    let file = |(path, file): (&repertoire_model::SkillPath, &repertoire_model::patch::FileData)| json!({"path": path.as_str(), "size": file.bytes.len(), "executable": file.executable});
    let finding = |found: &repertoire_model::Diagnostic| {
        let file = found.file.clone().unwrap_or_else(|| skill.manifest_file.clone());
        json!(DiagnosticView::new(found, format!("{}/{file}", skill.path)))
    };
    let scripts: Vec<&str> = skill.scripts().into_iter().map(AsRef::as_ref).collect();
    json!({
        "name": skill.name.as_str(),
        "description": skill.description,
        "path": skill.path,
        "digest": skill.digest.to_string(),
        "tokens": tokens(workspace, skill),
        "bytes": skill.bytes(),
        "files": skill.files.iter().map(file).collect::<Vec<_>>(),
        "scripts": scripts,
        "tools": skill.capabilities.lines(),
        "allowed_tools": skill.allowed_tools,
        "findings": skill.findings.iter().map(finding).collect::<Vec<_>>(),
        "fault": skill.fault,
    })
}

/// Writes what was added.
pub(super) fn added(
    ui: &mut Ui,
    workspace: &Workspace,
    installation: &Installation,
    new: &[&FoundSkill],
    links: &[&str],
) -> Result<(), CliError> {
    for skill in new {
        let directory = installation.directory(&skill.name);
        let shown = ui.shown(&workspace.shown(&directory.display().to_string()));
        let line = ui.paint(Style::Good, &format!("added {}", escape(skill.name.as_str())));
        writeln!(ui.out(), "{line} to {shown}")?;
    }
    if !links.is_empty() {
        let paths = links.iter().map(|link| installation.base.join(link).display().to_string());
        let paths: Vec<String> = paths.map(|path| workspace.shown(&path)).collect();
        ui.write_planned(None, &format!("linked for other clients: {}", paths.join(", ")))?;
    }
    if let Some(skill) = new.iter().find(|skill| !skill.scripts().is_empty()) {
        ui.hint(&format!("nothing of it runs until you approve it: `rep approve {}`", skill.name))?;
    }
    Ok(())
}
