//! The origin of a skill, and the clients on this machine that read it.

use repertoire::Entry;
use repertoire::discovery::{Tier, plugin};
use repertoire_clients::ClientReader;
use repertoire_sources::origin::Origins;

use crate::clients::SeeingClients;
use crate::origin::{ComparedOrigin, compared_origins};
use crate::view::{SeeingClientView, SkillDecisionView};
use crate::workspace::{Library, Workspace};

/// The records of installers and the clients around a library.
pub(super) struct Surroundings {
    origins: Origins,
    clients: SeeingClients,
}

impl SeeingClientView {
    /// Returns the title of the client, with its own names for `entry` if they differ from the skill's name.
    fn titled(&self, reader: &ClientReader, entry: &Entry) -> String {
        let own = [Some(entry.name().as_str()), entry.document.manifest.name.as_deref()];
        let names = self.known_as.iter().filter(|name| !own.contains(&Some(name)));
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        let title = reader.client.title;
        if names.is_empty() { title.to_owned() } else { format!("{title} as {}", names.join(" and ")) }
    }
}

impl Surroundings {
    /// Looks at the surroundings of `library`.
    pub(super) fn of(workspace: &Workspace, library: &Library) -> Self {
        Self { origins: workspace.origins(library), clients: SeeingClients::of(workspace, library) }
    }

    pub(super) fn origins(&self, entry: &Entry) -> Vec<ComparedOrigin> {
        compared_origins(&self.origins, entry)
    }

    /// Returns the clients, with what each gets of `entry`.
    pub(super) fn clients(&self, entry: &Entry) -> Vec<SeeingClientView> {
        self.clients.of_skill(entry)
    }

    /// Returns the decisions about `entry`.
    pub(super) fn decisions(
        &self,
        workspace: &Workspace,
        library: &Library,
        entry: &Entry,
    ) -> Vec<SkillDecisionView> {
        let mut decisions = Vec::new();
        let origins = self.origins(entry);
        for compared in &origins {
            let record = workspace.shown(&compared.origin.record.display().to_string());
            let text = format!("installed by {} ({record})", compared.in_words());
            decisions.push(SkillDecisionView { topic: "origin", text });
        }
        decisions.extend(
            plugin_of(workspace, library, entry).map(|text| SkillDecisionView { topic: "plugin", text }),
        );
        for (_, text) in workspace.broken_records(&self.origins) {
            decisions.push(SkillDecisionView { topic: "origin", text });
        }
        if origins.is_empty() && self.origins.faults.is_empty() {
            decisions
                .push(SkillDecisionView { topic: "origin", text: "no installer recorded it".to_owned() });
        }
        let clients = self.clients(entry);
        let titles = |is_meant: fn(&SeeingClientView) -> bool| {
            let meant = clients.iter().zip(self.clients.readers()).filter(|(client, _)| is_meant(client));
            let titles: Vec<String> = meant.map(|(client, reader)| client.titled(reader, entry)).collect();
            (!titles.is_empty()).then(|| titles.join(", "))
        };
        let parts = [
            titles(|client| client.reads).map(|titles| format!("read by {titles}")),
            // The server leaves out what a client reads by itself.
            titles(|client| client.connected && !client.reads)
                .map(|titles| format!("offered over MCP to {titles}")),
            titles(|client| client.switched_off).map(|titles| format!("switched off for {titles}")),
            titles(|client| !client.reads && !client.connected && !client.switched_off)
                .map(|titles| format!("not seen by {titles}")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            decisions.push(SkillDecisionView { topic: "clients", text: parts.join("; ") });
        }
        decisions
    }
}

/// Returns the plugin that `entry` belongs to, with the MCP servers that it brings along, in words.
fn plugin_of(workspace: &Workspace, library: &Library, entry: &Entry) -> Option<String> {
    let place = library.places.iter().find(|place| place.root.label == *entry.source)?;
    let directory = place.root.path.parent().filter(|_| place.root.tier == Tier::Plugin)?;
    let shown = workspace.shown(&directory.display().to_string());
    let Some(plugin) = plugin(directory, &workspace.settings.policy).0 else {
        return Some(format!("of {shown}"));
    };
    let version = plugin.manifest.version.map(|version| format!(" {version}")).unwrap_or_default();
    let servers =
        plugin.servers.iter().map(|server| format!("{} ({})", server.name, server.transport.as_str()));
    let servers: Vec<String> = servers.collect();
    let servers = if servers.is_empty() {
        String::new()
    } else {
        format!("; it brings MCP servers along, which are not started: {}", servers.join(", "))
    };
    Some(format!("{}{version} in {shown}{servers}", plugin.manifest.name))
}
