//! `rep list --client`: what is left of the skills in the listing that a client gives its model.

use repertoire_app::listing::listing;
use repertoire_app::view::{ListedSkillView, ListingView};
use repertoire_model::text::{count, one_line};

use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Align, Style, Table, Ui};
use crate::wire::Workspace;

/// The characters that are shown before a cut.
const BEFORE_CUT: usize = 40;

/// Writes the listing of the client called `name`.
pub(super) fn write(
    ui: &mut Ui,
    workspace: &Workspace,
    name: &str,
    window: Option<u32>,
) -> Result<Exit, CliError> {
    let library = workspace.inspect(workspace.settings.policy.clone());
    let listing = listing(workspace, &library, name, window);
    let listing = listing.ok_or_else(|| CliError::no(format!("the listing of {name} is not known")))?;
    if ui.is_json() {
        ui.write_json(&listing)?;
        return Ok(Exit::Success);
    }
    let columns =
        [("NAME", Some(Style::Name)), ("SHOWN", None)].map(|(name, style)| (name, Align::Left, style));
    let mut table = Table::new([&columns[..], &[("DESCRIPTION", Align::Elastic, None)]].concat());
    for skill in &listing.skills {
        table.cell(&*skill.name);
        let (shown, description) = cells(skill);
        table.cell(shown);
        table.cell(description);
    }
    table.write(ui)?;
    ui.flush()?;
    let heading = ui.paint_err(Style::Heading, &summary(&listing));
    writeln!(ui.err(), "{heading}")?;
    if let Some(source) = listing.source {
        ui.warn(&format!(
            "this rule was read at {source}, and not compared with requests of {}",
            listing.title
        ))?;
    }
    for advice in &listing.advice {
        ui.hint(&format!("{}: run `{}`", advice.reason, advice.hint))?;
    }
    Ok(Exit::Success)
}

/// Returns the part of `skill` that is shown, and the description, or what is before its cut.
fn cells(skill: &ListedSkillView) -> (String, String) {
    let text = one_line(&skill.description);
    let characters: Vec<char> = text.chars().collect();
    let at = skill.characters.min(characters.len());
    match skill.shown {
        "whole" => ("whole".to_owned(), text),
        "cut" => {
            let before: String = characters[at.saturating_sub(BEFORE_CUT)..at].iter().collect();
            (format!("{at} of {}", characters.len()), format!("…{before} ✂"))
        }
        shown => (shown.replace('_', " "), "-".to_owned()),
    }
}

/// Returns the line about the whole listing.
fn summary(listing: &ListingView) -> String {
    let ListingView { title, version, window, whole, tokens, own, .. } = listing;
    let losses = Some(listing.losses()).filter(|losses| !losses.is_empty());
    let losses = losses.map(|losses| format!(", {losses}")).unwrap_or_default();
    let budget = listing.budget.zip(listing.unit).map(|(budget, unit)| {
        format!("; it has room for {budget} {unit} in a window of {window} tokens, of which its own skills take {own}")
    });
    let settings = listing.settings.iter().map(|setting| format!("; {setting}")).collect::<String>();
    let (whole, budget) = (count(*whole, "skill"), budget.unwrap_or_default());
    format!(
        "{title} {version} gets {whole} whole{losses}, in {tokens} tokens of every session{budget}{settings}"
    )
}
