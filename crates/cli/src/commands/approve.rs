//! `rep approve`.

mod changes;
mod list;
pub(super) mod python;

use clap::Args;
use repertoire::{Entry, Trust};
use repertoire_exec::Approval;
use repertoire_exec::approval::Difference;
use repertoire_model::toolbox::{Interpreter, Needs, PYTHON_FILE, Toolbox};
use repertoire_model::{Bundle, Capabilities};
use serde_json::{Value, json};

use crate::complete::skill_names;
use crate::error::{CliError, expect_consent};
use crate::exit::Exit;
use crate::ui::{Style, Ui};
use crate::wire::Workspace;
use repertoire_app::approvals::TRUST_HINT;

/// Lets a skill run its tools and scripts, after showing what it will be able to do
///
/// The approval holds for the skill as it is now. Any change of its files ends it; then this shows what
/// changed. Whatever runs, runs in a sandbox. A tool that asks before every call does so until it is approved
/// by name, with --tool. `rep revoke` takes it back.
#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// The skill
    #[arg(value_name = "NAME", required_unless_present = "list", add = skill_names())]
    name: Option<String>,
    /// Let this tool of the skill run without being asked every time
    #[arg(long = "tool", value_name = "TOOL")]
    tools: Vec<String>,
    /// Approve without asking
    #[arg(long, short)]
    yes: bool,
    /// List the approved skills, and say which have changed since
    #[arg(long, conflicts_with_all = ["name", "tools", "yes"])]
    list: bool,
}

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &ApproveArgs) -> Result<Exit, CliError> {
    let Some(name) = &args.name else { return list::run(ui, workspace) };
    let library = workspace.open()?;
    let entry = library.find(name)?;
    if workspace.trust_levels().of(&entry.source) == Trust::Never {
        return Err(CliError::no(format!("skills of {} may not run anything", entry.source)).hint(TRUST_HINT));
    }
    let approvals = workspace.approvals()?;
    let earlier = approvals.find(entry)?;
    let bundle = pollster::block_on(library.registry.bundle(entry))?;
    let mut toolbox = pollster::block_on(library.registry.toolbox(entry));
    let schema = python::schema(ui, workspace, &library, entry, &bundle, earlier.as_ref())?;
    if let Some(schema) = &schema {
        toolbox = Toolbox::read(schema.as_bytes()).0;
    }
    let capabilities = Capabilities::of(&toolbox);
    let scripts = scripts(&bundle);
    if toolbox.is_empty() && scripts.is_empty() {
        return Err(CliError::no(format!("the skill `{}` has nothing that could run", entry.name())));
    }
    let holding = earlier.as_ref().filter(|earlier| earlier.holds(&bundle.digest(), &capabilities));
    let tools = named(name, &args.tools, &capabilities, holding)?;
    let mut approval = Approval::now(entry, &bundle, capabilities, tools);
    approval.schema = schema;
    let difference = earlier.as_ref().map(|earlier| earlier.difference(&approval));
    let is_news = holding.is_none_or(|holding| holding.tools != approval.tools);
    let texts = changes::texts(&library.registry, entry, &bundle);
    let (lines, omitted) = match (&earlier, &difference) {
        (Some(earlier), Some(difference)) => changes::unified(difference, &approvals.texts(earlier), &texts),
        _ => (Vec::new(), Vec::new()),
    };
    if is_news {
        show(ui, entry, &approval, &scripts, difference.as_ref().filter(|_| holding.is_none()))?;
        changes::show(ui, &lines, &omitted)?;
        if !lines.is_empty() || !omitted.is_empty() {
            ui.write_planned(None, "")?;
        }
        let consent = ui.consent("Approve it?", args.yes)?;
        expect_consent(consent, "nothing was approved", "a person has to run this command in a terminal")?;
        approvals.keep(approval.clone())?;
        approvals.keep_texts(&approval, &texts)?;
    }
    if ui.is_json() {
        ui.write_json(&json!({
            "name": approval.name,
            "source": approval.source,
            "directory": approval.directory,
            "digest": approval.digest.to_string(),
            "capabilities": approval.capabilities.lines(),
            "scripts": scripts,
            "tools": approval.tools,
            "difference": difference.map(|difference| difference_json(&difference, &lines)),
            "approved": true,
        }))?;
    } else {
        let word = if is_news { "approved" } else { "approved already" };
        let line = format!("{}: {word}", approval.name);
        ui.write_planned(Some(Style::Good), &line)?;
    }
    Ok(Exit::Success)
}

/// Returns the tools that are approved by name.
fn named(
    skill: &str,
    wanted: &[String],
    capabilities: &Capabilities,
    holding: Option<&Approval>,
) -> Result<Vec<String>, CliError> {
    let asking: Vec<&str> = capabilities
        .tools()
        .filter(|(_, needs): &(&str, &Needs)| needs.ask && needs.host.is_none())
        .map(|(name, _)| name)
        .collect();
    if let Some(other) = wanted.iter().find(|name| !asking.contains(&name.as_str())) {
        let error = CliError::usage(format!("`{skill}` has no tool `{other}` with `\"ask\": true`"));
        return Err(match asking.as_slice() {
            [] => error.hint(
                "it has no tool that can be approved by name; without --tool, all its tools are approved",
            ),
            names => error.hint(format!("these do: {}", names.join(", "))),
        });
    }
    let mut tools = wanted.to_vec();
    tools.extend(holding.iter().flat_map(|holding| holding.tools.clone()));
    tools.sort_unstable();
    tools.dedup();
    Ok(tools)
}

/// Returns the files of the skill that can be run as scripts, judging by their names.
fn scripts(bundle: &Bundle) -> Vec<String> {
    let runs = |file: &&repertoire_model::BundleFile| {
        file.executable || Interpreter::of(&file.path, b"", false).is_some()
    };
    bundle.files().iter().filter(runs).map(|file| file.path.to_string()).collect()
}

/// Shows what the skill will be able to do, and what changed.
fn show(
    ui: &mut Ui,
    entry: &Entry,
    approval: &Approval,
    scripts: &[String],
    difference: Option<&Difference>,
) -> Result<(), CliError> {
    ui.write_planned(None, &format!("{} ({}) in {}", approval.name, entry.source, approval.directory))?;
    ui.write_planned(Some(Style::Faint), &approval.digest.to_string())?;
    ui.write_planned(None, "")?;
    if approval.schema.is_some() && approval.capabilities.tools().next().is_some() {
        ui.write_planned(
            None,
            &format!("Its tools are the functions of its {PYTHON_FILE}, which Python's parser read."),
        )?;
        ui.write_planned(
            None,
            "Each starts in an empty directory and sees no file of the project. A schema.json beside it can declare more:",
        )?;
        ui.write_planned(
            None,
            "  `directory` (to read it), `write`, `repository`, `network`, `env`, `host`, and `ask`",
        )?;
    }
    if approval.capabilities.tools().next().is_some() {
        ui.write_planned(None, "Its tools, each in a sandbox unless the line says otherwise:")?;
        for line in approval.capabilities.lines() {
            ui.write_planned(None, &format!("  {line}"))?;
        }
    }
    if !approval.tools.is_empty() {
        ui.write_planned(None, &format!("Without being asked every time: {}", approval.tools.join(", ")))?;
    }
    if !scripts.is_empty() {
        ui.write_planned(
            None,
            "Its scripts, each in a sandbox, with no more than the configuration gives to scripts:",
        )?;
        changes::write_files(ui, None, " ", scripts)?;
    }
    if let Some(difference) = difference {
        ui.write_planned(None, "")?;
        ui.write_planned(None, "Since it was approved:")?;
        for line in &difference.added {
            ui.write_planned(Some(Style::Added), &format!("+ {line}"))?;
        }
        for line in &difference.removed {
            ui.write_planned(Some(Style::Removed), &format!("- {line}"))?;
        }
        changes::write_files(ui, Some(Style::Added), "new file:    ", &difference.new_files)?;
        changes::write_files(ui, None, "changed file:", &difference.changed_files)?;
        changes::write_files(ui, Some(Style::Removed), "gone file:   ", &difference.gone_files)?;
        changes::write_files(ui, None, "mode changed:", &difference.changed_modes)?;
    }
    ui.write_planned(None, "")?;
    Ok(())
}

fn difference_json(difference: &Difference, lines: &[String]) -> Value {
    json!({
        "added": difference.added,
        "removed": difference.removed,
        "new_files": difference.new_files,
        "changed_files": difference.changed_files,
        "gone_files": difference.gone_files,
        "changed_modes": difference.changed_modes,
        "diff": lines.join("\n"),
    })
}
