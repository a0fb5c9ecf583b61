//! `rep proposal`.

mod new;
mod triggers;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::{Args, Subcommand};
use repertoire::event::jsonl::rfc3339;
use repertoire::proposal::review::{ReviewFault, Reviewer};
use repertoire::store::{Proposal, ProposalKind, ProposalState, Store, skill_files};
use repertoire_app::view::{
    ProposalDetailView, ProposalListView, ProposalView, TokenChangeView, VersionView,
};
use repertoire_model::text::count;

use crate::error::{CliError, expect_consent};
use crate::exit::Exit;
use crate::ui::{Align, Style, Table, Ui, escape};
use crate::wire::{Library, Workspace};
use repertoire_app::review::recovered_library;
use repertoire_app::workspace::{record_approval, write_proposal};

/// Proposes changes of skills, lists them and decides about them
#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub(crate) enum ProposalAction {
    New(new::NewArgs),
    #[command(flatten)]
    Review(ReviewAction),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReviewAction {
    /// Lists the proposals about skills of this library that wait for a decision
    List {
        /// List decided proposals and proposals of other libraries, too
        #[arg(long)]
        all: bool,
    },
    /// Shows a proposal: its diff, its reasons, what the check finds, tokens before and after, and the effect
    /// on trigger evals
    Show(OneArgs),
    /// Approves a proposal: its files are written, all at once
    Approve(ApproveArgs),
    /// Rejects a proposal; the same change is not accepted again
    Reject {
        /// The number of the proposal
        id: u64,
        /// Why it is rejected
        #[arg(long, value_name = "TEXT")]
        why: String,
    },
    /// Repeats the change of a stale proposal on the skill as it is now
    Rebase(OneArgs),
}

#[derive(Debug, Args)]
pub(crate) struct OneArgs {
    /// The number of the proposal
    id: u64,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// The number of the proposal
    id: u64,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, action: &ProposalAction) -> Result<Exit, CliError> {
    match action {
        ProposalAction::New(args) => new::run(ui, workspace, args),
        ProposalAction::Review(action) => review(ui, workspace, action),
    }
}

fn review(ui: &mut Ui, workspace: &Workspace, action: &ReviewAction) -> Result<Exit, CliError> {
    let store = workspace.store()?;
    let library = recovered_library(workspace, &*store)?;
    let (author, rules) = (workspace.person(), workspace.proposal_rules()?);
    let mut reviewer = Reviewer::new(&*store, &library.registry, &author, SystemTime::now());
    reviewer.new_skills = rules.new_skills.as_deref();
    match action {
        ReviewAction::List { all } => {
            reviewer.find_stale()?;
            list(ui, &library, &reviewer, *all)
        }
        ReviewAction::Show(OneArgs { id }) => {
            let proposal = find(&*store, *id)?;
            show(ui, workspace, &*store, &library, &proposal)
        }
        ReviewAction::Approve(args) => approve(ui, workspace, &library, &reviewer, args),
        ReviewAction::Reject { id, why } => {
            if why.trim().is_empty() {
                return Err(CliError::usage("--why is empty: say why the proposal is rejected"));
            }
            let proposal = find(&*store, *id)?;
            // A proposal for a library that does not exist anymore can be rejected from everywhere.
            let library_of = proposal.content.directory().and_then(Path::parent);
            if library_of.is_some_and(Path::is_dir) {
                expect_here(&library, &reviewer, &proposal)?;
            }
            let proposal = reviewer.reject(*id, why)?;
            decided(ui, &proposal, &format!("proposal {id} is rejected"))
        }
        ReviewAction::Rebase(OneArgs { id }) => {
            expect_here(&library, &reviewer, &find(&*store, *id)?)?;
            rebase(ui, workspace, &reviewer, *id)
        }
    }
}

fn find(store: &dyn Store, id: u64) -> Result<Proposal, CliError> {
    store.proposal(id)?.ok_or_else(|| ReviewFault::NotFound(id).into())
}

/// Returns `true` if the proposal is about a skill of this library, or about a new skill for it.
fn is_here(library: &Library, reviewer: &Reviewer<'_>, proposal: &Proposal) -> bool {
    let mut entries = library.snapshot.entries().iter();
    reviewer.is_new_here(proposal)
        || entries.any(|entry| entry.record_identity() == proposal.content.skill)
        || proposal.content.directory().is_some_and(|directory| is_read(library, directory))
}

/// Returns an error if the proposal is about a skill of another library.
fn expect_here(library: &Library, reviewer: &Reviewer<'_>, proposal: &Proposal) -> Result<(), CliError> {
    let Some(directory) = proposal.content.directory() else { return Ok(()) };
    if is_here(library, reviewer, proposal) {
        return Ok(());
    }
    let parent = directory.parent().unwrap_or(directory);
    let hint = if parent.is_dir() {
        format!("run the command in the project of that skill, or with `--root {}`", parent.display())
    } else {
        format!("that library is gone; reject it with `rep proposal reject {} --why TEXT`", proposal.id)
    };
    Err(CliError::no(format!(
        "proposal {} is about {}, which is not in this library",
        proposal.id,
        directory.display()
    ))
    .hint(hint))
}

fn list(ui: &mut Ui, library: &Library, reviewer: &Reviewer<'_>, all: bool) -> Result<Exit, CliError> {
    let open = [ProposalState::Pending, ProposalState::Stale, ProposalState::Approved];
    let mut proposals = reviewer.store.proposals(if all { &[] } else { &open })?;
    let number = proposals.len();
    proposals.retain(|proposal| all || is_here(library, reviewer, proposal));
    let elsewhere = number - proposals.len();
    if ui.is_json() {
        let proposals = proposals.iter().map(ProposalView::new).collect();
        let elsewhere = Some(elsewhere);
        return Ok(ui.answer(&ProposalListView { proposals, elsewhere, total: None, next_cursor: None })?);
    }
    if proposals.is_empty() {
        writeln!(ui.err(), "no proposals wait for a decision")?;
        return hint_elsewhere(ui, elsewhere);
    }
    let mut columns = vec![
        ("ID", Align::Right, None),
        ("SKILL", Align::Left, None),
        ("KIND", Align::Left, None),
        ("STATE", Align::Left, None),
        ("AUTHOR", Align::Left, None),
        ("TIME", Align::Left, None),
        ("JUSTIFICATION", Align::Elastic, None),
    ];
    if all {
        columns.insert(6, ("DIRECTORY", Align::Left, None));
    }
    let mut table = Table::new(columns);
    for proposal in &proposals {
        table.cell(proposal.id.to_string());
        table.cell(proposal.content.name.as_str());
        table.cell(proposal.content.kind.as_str());
        table.cell(proposal.state.as_str());
        table.cell(proposal.content.author.as_str());
        table.cell(rfc3339(proposal.content.time));
        if all {
            let directory = proposal.content.directory().map(|directory| directory.display().to_string());
            table.cell(directory.unwrap_or_default());
        }
        table.cell(proposal.content.justification.as_str());
    }
    table.write(ui)?;
    hint_elsewhere(ui, elsewhere)
}

/// Mentions the proposals of other libraries that are not listed.
fn hint_elsewhere(ui: &mut Ui, number: usize) -> Result<Exit, CliError> {
    if number > 0 {
        let number = count(number, "proposal");
        ui.hint(&format!("{number} about skills of other libraries: `rep proposal list --all`"))?;
    }
    Ok(Exit::Success)
}

fn show(
    ui: &mut Ui,
    workspace: &Workspace,
    store: &dyn Store,
    library: &Library,
    proposal: &Proposal,
) -> Result<Exit, CliError> {
    let content = &proposal.content;
    let before = content.base.map(|base| skill_files(store, &base)).transpose()?.unwrap_or_default();
    let after = skill_files(store, &content.result)?;
    let current = library.snapshot.entries().iter().find(|entry| entry.record_identity() == content.skill);
    let current = current.and_then(|entry| pollster::block_on(library.registry.digest(entry)).ok());
    let mut view = ProposalDetailView::new(proposal);
    let tokens = TokenChangeView::new(&before, &after);
    view.tokens = Some(tokens);
    let is_stale = content.base.is_some() && current.is_some() && current != content.base;
    view.changed_since = Some(is_stale);
    view.triggers = triggers::effect(workspace, library, proposal, &after)?;
    let new_skills = workspace.proposal_rules()?.new_skills;
    let directory = directory_of(new_skills.as_deref(), proposal);
    let is_new = is_new(proposal);
    if ui.is_json() {
        return Ok(ui.answer(&view)?);
    }
    let head = format!("proposal {}: {} of {}, {}", proposal.id, content.kind, content.name, proposal.state);
    ui.line(Style::Heading, &escape(&head))?;
    let line = format!("by {} at {}", content.author, rfc3339(content.time));
    writeln!(ui.out(), "{}", escape(&line))?;
    if let Some(directory) = &directory {
        let shown = workspace.shown(&directory.display().to_string());
        let line = if is_new { format!("it will be written to {shown}") } else { format!("in {shown}") };
        writeln!(ui.out(), "{}", escape(&line))?;
    }
    writeln!(ui.out())?;
    for (title, text) in [("why", Some(&content.justification)), ("evidence", content.evidence.as_ref())] {
        for line in text.into_iter().flat_map(|text| text.lines()) {
            writeln!(ui.out(), "{title}: {}", escape(line))?;
        }
    }
    writeln!(ui.out())?;
    ui.write_diff_lines(&content.diff)?;
    writeln!(ui.out(), "\ninstructions: {} tokens before, {} after", tokens.before, tokens.after)?;
    if content.check.is_empty() {
        writeln!(ui.out(), "check: nothing to report")?;
    }
    for line in content.check.lines() {
        writeln!(ui.out(), "check: {}", escape(line))?;
    }
    if let Some(effect) = &view.triggers {
        triggers::write(ui, effect)?;
    }
    if let Some(directory) = directory.filter(|_| is_new) {
        warn_if_not_read(ui, library, &directory)?;
    }
    if is_stale && proposal.state == ProposalState::Pending {
        ui.warn("the skill changed since; rebase the proposal before it can be approved")?;
    }
    // An approval that failed leaves the proposal pending.
    if let Some(decision) = proposal.decision.as_ref().filter(|_| proposal.state != ProposalState::Pending) {
        let reason = decision.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let line = format!("decided by {} at {}{reason}", decision.reviewer, rfc3339(decision.time));
        writeln!(ui.out(), "{}", escape(&line))?;
    }
    Ok(Exit::Success)
}

/// Returns `true` for a new skill that is not written yet.
fn is_new(proposal: &Proposal) -> bool {
    proposal.content.kind == ProposalKind::Create && proposal.state == ProposalState::Pending
}

/// Returns the directory of the skill, for a new skill the one that it is written to.
fn directory_of(new_skills: Option<&Path>, proposal: &Proposal) -> Option<PathBuf> {
    let content = &proposal.content;
    content.directory().map(Path::to_owned).or_else(|| new_skills.map(|new| new.join(&content.name)))
}

/// Returns `true` if the library reads skills from the place of `directory`.
fn is_read(library: &Library, directory: &Path) -> bool {
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let parent = resolved(directory.parent().unwrap_or(directory));
    library.places.iter().any(|place| parent.starts_with(resolved(&place.root.path)))
}

/// Warns if the library does not read skills from the place of `directory`.
fn warn_if_not_read(ui: &mut Ui, library: &Library, directory: &Path) -> Result<(), CliError> {
    if !is_read(library, directory) {
        let parent = directory.parent().unwrap_or(directory);
        ui.warn(&format!(
            "skills are not read from {} here; add it to `roots` in repertoire.toml, or set `proposals.directory`",
            parent.display()
        ))?;
    }
    Ok(())
}

fn approve(
    ui: &mut Ui,
    workspace: &Workspace,
    library: &Library,
    reviewer: &Reviewer<'_>,
    args: &ApproveArgs,
) -> Result<Exit, CliError> {
    let proposal = find(reviewer.store, args.id)?;
    expect_here(library, reviewer, &proposal)?;
    let directory = directory_of(reviewer.new_skills, &proposal).filter(|_| is_new(&proposal));
    let shown = directory.as_ref().map(|directory| workspace.shown(&directory.display().to_string()));
    let shown = shown.map(|directory| ui.shown(&directory));
    if !ui.is_json() && !args.yes {
        ui.write_diff_lines(&proposal.content.diff)?;
    }
    let question = match &shown {
        Some(directory) => format!("Apply proposal {}, a new skill in {directory}?", args.id),
        None => format!("Apply proposal {} to {}?", args.id, proposal.content.name),
    };
    let consent = ui.consent(&question, args.yes)?;
    expect_consent(consent, "nothing was approved", "a person has to run this command in a terminal")?;
    let (proposal, version) = reviewer.approve(args.id)?;
    if let Err(error) = record_approval(&workspace.env, reviewer.store, &proposal, &version) {
        ui.warn(&format!("`rep undo` cannot take it back: {}", error.message_with_causes()))?;
    }
    if ui.is_json() {
        let mut view = ProposalView::new(&proposal);
        view.version = Some(VersionView::new(&version));
        ui.write_json(&view)?;
    } else {
        let place = shown.map(|directory| format!(", in {directory}")).unwrap_or_default();
        writeln!(ui.out(), "{} is at version {} now{place}", escape(&proposal.content.name), version.number)?;
    }
    if let Some(directory) = &directory {
        warn_if_not_read(ui, library, directory)?;
    }
    Ok(Exit::Success)
}

fn rebase(ui: &mut Ui, workspace: &Workspace, reviewer: &Reviewer<'_>, id: u64) -> Result<Exit, CliError> {
    let rebased = match reviewer.rebase(id) {
        Err(ReviewFault::Conflicts(conflicts)) => {
            for conflict in &conflicts {
                let line = format!("conflict in {}", conflict.path);
                writeln!(ui.err(), "{}", escape(&line))?;
                for line in conflict.marked.iter().flat_map(|text| text.lines()) {
                    writeln!(ui.err(), "  {}", escape(line))?;
                }
            }
            return Err(ReviewFault::Conflicts(conflicts).into());
        }
        outcome => outcome?,
    };
    let proposal = find(reviewer.store, rebased)?;
    write_proposal(&workspace.env, &proposal);
    decided(
        ui,
        &proposal,
        &if rebased == id {
            format!("proposal {id} is up to date")
        } else {
            format!("proposal {id} is replaced by proposal {rebased}")
        },
    )
}

fn decided(ui: &mut Ui, proposal: &Proposal, line: &str) -> Result<Exit, CliError> {
    if ui.is_json() {
        ui.write_json(&ProposalView::new(proposal))?;
    } else {
        writeln!(ui.out(), "{line}")?;
    }
    Ok(Exit::Success)
}
