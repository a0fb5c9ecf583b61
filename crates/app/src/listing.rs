//! The listings of skills that clients show their models, and what brings most where one is too long.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::time::{SystemTime, UNIX_EPOCH};

use repertoire::change::MAX_FILE_BYTES;
use repertoire::regular_file;
use repertoire_clients::connect::{OwnEntries, connections};
use repertoire_clients::disable::has_switch;
use repertoire_clients::listing::{
    BUDGET_VARIABLE, ListedSkill, ListingRule, OfferedSkill, ShownPart, SimulatedListing, offered, simulate,
    with_settings,
};
use repertoire_clients::{CANONICAL, CLIENTS, Client, Owner, client_readers};
use repertoire_model::text::count;
use serde_json::Value;

use crate::view::{AdviceView, ListedSkillView, ListingView};
use crate::workspace::{Library, Workspace, shell_word};

/// The most skills that advice names.
const MAX_NAMED: usize = 6;

/// The days in which the weight of a use halves, as Claude Code weighs uses, and the least part that stays.
const HALF_LIFE_DAYS: f64 = 7.0;
const LEAST_WEIGHT: f64 = 0.1;

/// The skills that a client lists, with its rule as the user set it.
struct ClientListing {
    client: &'static Client,
    rule: ListingRule,
    /// The settings that changed the rule.
    settings: Vec<String>,
    skills: Vec<OfferedSkill>,
}

/// Returns the listing of the skills of `library` that the client `name` shows its model, in a context window
/// of so many tokens; `None` if its rule is not known.
pub fn listing(
    workspace: &Workspace,
    library: &Library,
    name: &str,
    window: Option<u32>,
) -> Option<ListingView> {
    let id = Client::named(name).map_or(name, |client| client.id);
    let mut listing = of_clients(workspace, library, &[id]).into_iter().find(|it| it.client.id == id)?;
    listing.rule.window =
        window.and_then(|tokens| usize::try_from(tokens).ok()).unwrap_or(listing.rule.window);
    Some(listing.view(workspace))
}

/// Returns the listings of all clients of which there is a sign and whose rule is known.
pub fn listings(workspace: &Workspace, library: &Library) -> Vec<ListingView> {
    of_clients(workspace, library, &[]).iter().map(|listing| listing.view(workspace)).collect()
}

/// Returns a sentence about each client whose model would get less of its skills than now, if skills of these
/// names and descriptions were added for the user, or for the project.
pub fn losses_by_adding(
    workspace: &Workspace,
    library: &Library,
    is_users: bool,
    added: &[(&str, &str)],
) -> Vec<String> {
    let sentence = |listing: ClientListing| {
        let ClientListing { client, rule, mut skills, .. } = listing;
        let before = simulate(&rule, skills.clone()).losses();
        skills.extend(added.iter().map(|(name, description)| OfferedSkill {
            name: (*name).to_owned(),
            library_name: (*name).to_owned(),
            description: (*description).to_owned(),
            path: format!("{CANONICAL}/{name}/SKILL.md").into(),
            is_users,
            uses: 0.0,
        }));
        let (all, after) = (count(skills.len(), "skill"), simulate(&rule, skills).losses());
        let title = client.title();
        (after > before)
            .then(|| format!("{title} will get {after} of its {all} cut or by name only, now {before}"))
    };
    of_clients(workspace, library, &[]).into_iter().filter_map(sentence).collect()
}

/// Returns the clients with a known rule of which there is a sign, and those called `also`.
fn of_clients(workspace: &Workspace, library: &Library, also: &[&str]) -> Vec<ClientListing> {
    let places = workspace.env.places();
    let readers = client_readers(&places, &library.places, BTreeMap::new(), also);
    let listings = readers.iter().filter_map(|reader| {
        let client = CLIENTS.iter().find(|client| client.id == reader.client.id)?;
        let (mut rule, mut settings, mut uses) = (*client.listing?, Vec::new(), BTreeMap::new());
        if client.id == "claude-code" {
            let variable = workspace.env.get(BUDGET_VARIABLE).and_then(OsStr::to_str);
            (rule, settings) = with_settings(rule, &places, variable);
            let path = places.path(Owner::User, "$CLAUDE_FILE/.claude.json");
            let bytes = path.and_then(|path| regular_file::read(&path, MAX_FILE_BYTES).ok());
            uses = weights(&serde_json::from_slice(&bytes.unwrap_or_default()).unwrap_or_default());
        }
        let weight = |name: &str| uses.get(name).copied().unwrap_or_default();
        let skills = offered(&rule, reader, &places, &library.snapshot, &weight);
        Some(ClientListing { client, rule, settings, skills })
    });
    listings.collect()
}

impl ClientListing {
    fn view(&self, workspace: &Workspace) -> ListingView {
        let listing = simulate(&self.rule, self.skills.clone());
        let number = |is: fn(&ShownPart) -> bool| listing.skills.iter().filter(|it| is(&it.shown)).count();
        let text: String = listing.skills.iter().map(|listed| format!("{}\n", listed.text)).collect();
        ListingView {
            client: self.client.id,
            title: self.client.title(),
            version: self.rule.version,
            source: self.rule.read_at,
            settings: self.settings.clone(),
            window: self.rule.window,
            budget: listing.budget.map(|(budget, _)| budget),
            unit: listing.budget.map(|(_, unit)| unit),
            own: listing.own,
            tokens: workspace.settings.session.catalog.tokenizer.count(&text),
            whole: number(|shown| *shown == ShownPart::Whole),
            cut: number(|shown| matches!(shown, ShownPart::Cut(_))),
            name_only: number(|shown| *shown == ShownPart::NameOnly),
            gone: number(|shown| *shown == ShownPart::Gone),
            advice: if listing.losses() == 0 { Vec::new() } else { self.advice(workspace, &listing) },
            skills: listing.skills.iter().map(skill_view).collect(),
        }
    }

    /// Returns the changes that bring most: skills to switch off for the client, and the server.
    fn advice(&self, workspace: &Workspace, listing: &SimulatedListing) -> Vec<AdviceView> {
        let (mut advice, id) = (Vec::new(), self.client.id);
        let (names, gained) = self.obsolete(listing);
        if has_switch(id) && gained > 0 {
            let names: Vec<String> = names.into_iter().map(shell_word).collect();
            let reason = format!("the other skills get {gained} more characters of their descriptions");
            advice
                .push(AdviceView { reason, hint: format!("rep disable --client {id} {}", names.join(" ")) });
        }
        let places = workspace.env.places();
        let connections = connections(&OwnEntries::new(&places), &places);
        if !connections.iter().any(|connection| connection.client.id == id && !connection.is_off) {
            let reason = "search over MCP finds the skills that the listing loses".to_owned();
            advice.push(AdviceView { reason, hint: format!("rep connect {id}") });
        }
        advice
    }

    /// Returns a few skills of which `listing` shows the description, the least used and longest, and the
    /// characters of descriptions that the others gain without them.
    fn obsolete<'l>(&self, listing: &'l SimulatedListing) -> (BTreeSet<&'l str>, usize) {
        let length = |skill: &OfferedSkill| skill.description.len() + 2 * skill.name.len();
        let lost = listing.skills.iter().filter(|listed| listed.shown != ShownPart::Whole);
        // A skill that is used more than all of these is worth its room.
        let most = lost.map(|listed| listed.skill.uses).fold(0.0, f64::max);
        let is_shown = |it: &&ListedSkill| it.characters() > 0 && it.skill.uses <= most;
        let shown = listing.skills.iter().filter(is_shown);
        let mut candidates: Vec<&OfferedSkill> = shown.map(|listed| &listed.skill).collect();
        candidates.sort_by(|a, b| a.uses.total_cmp(&b.uses).then(length(b).cmp(&length(a))));
        let (mut names, mut gained) = (BTreeSet::new(), 0);
        for skill in candidates.into_iter().take(MAX_NAMED) {
            names.insert(skill.library_name.as_str());
            let is_left = |skill: &OfferedSkill| !names.contains(skill.library_name.as_str());
            let left = self.skills.iter().filter(|skill| is_left(skill)).cloned().collect();
            let characters = |listing: &SimulatedListing| -> usize {
                listing.skills.iter().filter(|it| is_left(&it.skill)).map(ListedSkill::characters).sum()
            };
            let now = simulate(&self.rule, left);
            gained = characters(&now).saturating_sub(characters(listing));
            if now.losses() == 0 {
                break;
            }
        }
        (names, gained)
    }
}

fn skill_view(listed: &ListedSkill) -> ListedSkillView {
    ListedSkillView {
        name: listed.skill.name.clone(),
        path: listed.skill.path.display().to_string(),
        shown: match listed.shown {
            ShownPart::Whole => "whole",
            ShownPart::Cut(_) => "cut",
            ShownPart::NameOnly => "name_only",
            ShownPart::Gone => "gone",
        },
        characters: listed.characters(),
        description: listed.skill.description.clone(),
        text: listed.text.clone(),
    }
}

/// Returns the weights of the skills that Claude Code counted uses of.
fn weights(settings: &Value) -> BTreeMap<String, f64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
    let weight = |(name, counter): (&String, &Value)| {
        let days = (now - counter["lastUsedAt"].as_f64()? / 1_000.0) / (24.0 * 60.0 * 60.0);
        let rest = 0.5_f64.powf(days / HALF_LIFE_DAYS).max(LEAST_WEIGHT);
        Some((name.clone(), counter["usageCount"].as_f64()? * rest))
    };
    settings["skillUsage"].as_object().into_iter().flatten().filter_map(weight).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skills_whose_description_is_shown_are_switched_off() {
        let skill = |number: usize| OfferedSkill {
            name: format!("skill-{number:03}"),
            library_name: format!("skill-{number:03}"),
            // The longest are listed last, by their names alone.
            description: "x".repeat(200 + number),
            path: format!("/skills/{number}/SKILL.md").into(),
            is_users: true,
            uses: 0.0,
        };
        let client = CLIENTS.iter().find(|client| client.id == "claude-code").unwrap();
        let rule = ListingRule { window: 200_000, ..*client.listing.unwrap() };
        let skills = (0..120).map(skill).collect();
        let listing = ClientListing { client, rule, settings: Vec::new(), skills };
        let simulated = simulate(&listing.rule, listing.skills.clone());
        let (names, gained) = listing.obsolete(&simulated);
        assert!(gained > 0, "{names:?}");
        let is_shown =
            |name: &&str| simulated.skills.iter().any(|it| it.skill.name == **name && it.characters() > 0);
        assert!(names.iter().all(is_shown), "{names:?}");
    }
}
