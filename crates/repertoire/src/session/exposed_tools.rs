//! The callable tools of loaded skills in a session.

use repertoire_model::Toolbox;

use crate::tool::Definition;

#[derive(Debug, Clone)]
pub(crate) struct LoadedTools {
    /// The name by which the skill is called.
    pub(crate) address: String,
    /// Those of its tools that can be called.
    pub(crate) toolbox: Toolbox,
    is_open: bool,
}

impl LoadedTools {
    fn definitions(&self) -> Vec<Definition> {
        let mut definitions: Vec<Definition> = self
            .toolbox
            .tools
            .iter()
            .map(|tool| Definition {
                name: tool.name.clone(),
                description: tool.description.clone(),
                input_schema: tool.parameters.clone(),
            })
            .collect();
        definitions.sort_by(|a, b| a.name.cmp(&b.name));
        definitions
    }
}

/// The tools of loaded skills, in the order in which these were loaded.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExposedTools {
    skills: Vec<LoadedTools>,
}

impl ExposedTools {
    /// Makes the tools of the skill that is called by `address` callable.
    pub(crate) fn open(&mut self, address: String, toolbox: Toolbox) {
        let tools = LoadedTools { address, toolbox, is_open: true };
        match self.skills.iter_mut().find(|known| known.address == tools.address) {
            Some(known) => *known = tools,
            None => self.skills.push(tools),
        }
    }

    /// Withdraws the tools of the skill with this `address`, and returns whether they were callable.
    pub(crate) fn close(&mut self, address: &str) -> bool {
        let known = self.skills.iter_mut().find(|known| known.address == address);
        known.is_some_and(|known| std::mem::take(&mut known.is_open))
    }

    /// Forgets tools that are no longer callable.
    pub(crate) fn tidy(&mut self) {
        self.skills.retain(|known| known.is_open);
    }

    /// Returns the tools of the skill that is called by `address`, if it is loaded.
    pub(crate) fn get(&self, address: &str) -> Option<&Toolbox> {
        let known = self.skills.iter().find(|known| known.is_open && known.address == address);
        known.map(|known| &known.toolbox)
    }

    /// Returns the addresses of the skills whose tools can be called.
    pub(crate) fn skills(&self) -> impl Iterator<Item = &str> {
        self.skills.iter().filter(|known| known.is_open).map(|known| known.address.as_str())
    }

    /// Returns the address of the skill that the tool `name` belongs to: of several, the one loaded first.
    pub(crate) fn owner(&self, name: &str) -> Option<String> {
        let mut open = self.skills.iter().filter(|known| known.is_open);
        open.find(|known| known.toolbox.get(name).is_some()).map(|known| known.address.clone())
    }

    /// Returns the tools that can be called, sorted by name.
    ///
    /// Where two skills have a tool of one name, `gateway` is among them, through which the second is called.
    pub(crate) fn definitions(&self, gateway: &dyn Fn() -> Option<Definition>) -> Vec<Definition> {
        let mut definitions = distinct(self.skills.iter().filter(|known| known.is_open), gateway);
        definitions.sort_by(|a, b| a.name.cmp(&b.name));
        definitions
    }

    /// Returns the tools of all skills that were loaded since the last time it was tidied, each skill's
    /// behind those of the one before.
    pub(crate) fn appended(&self, gateway: &dyn Fn() -> Option<Definition>) -> Vec<Definition> {
        distinct(self.skills.iter(), gateway)
    }
}

/// Returns the tools of `skills`; of two with one name the first, and `gateway` in place of the second.
fn distinct<'a>(
    skills: impl Iterator<Item = &'a LoadedTools>,
    gateway: &dyn Fn() -> Option<Definition>,
) -> Vec<Definition> {
    let mut definitions: Vec<Definition> = Vec::new();
    for definition in skills.flat_map(LoadedTools::definitions) {
        let is_shared = definitions.iter().any(|known| known.name == definition.name);
        let definition = if is_shared { gateway() } else { Some(definition) };
        definitions.extend(
            definition
                .filter(|new| definitions.iter().all(|known| known.name != new.name))
                .into_iter()
                .collect::<Vec<_>>(),
        );
    }
    definitions
}
