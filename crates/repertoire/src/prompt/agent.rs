//! Agents: their scope, the skills bound to them, and their prompts.

use std::collections::BTreeMap;

use repertoire_model::scope::Scope;
use repertoire_model::words;
use repertoire_model::{Catalog, CatalogError, CatalogOptions};

use crate::registry::{Entry, Snapshot};
use crate::tool::AgentTools;

/// An agent's definition.
///
/// ```
/// use repertoire::model::Pattern;
/// use repertoire::{Agent, Bind};
/// let mut agent = Agent::new("builder");
/// agent.scope.allow = Some(vec![Pattern::new("git*")?]);
/// agent.uses_skills = vec!["git".to_owned()];
/// agent.bind.insert("git-flow".to_owned(), Bind::Hint);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// The skills that it may see.
    pub scope: Scope,
    /// Skills whose instructions are always in its prompt, in this order; each a name or `source:name`.
    pub uses_skills: Vec<String>,
    /// The binding of single skills; the keys are names or `source:name`.
    pub bind: BTreeMap<String, Bind>,
    /// Instructions that follow those of the skills and so override them.
    pub instructions: Option<String>,
    /// The template of its own prompt.
    pub prompt: Option<String>,
    /// The variables of the template.
    pub variables: BTreeMap<String, String>,
    /// The inheritance of agents that it starts.
    pub inherit: Inherit,
    /// Its tools, where they differ from those of the library.
    pub tools: AgentTools,
    /// True if it may decide about proposals of others.
    pub reviews: bool,
    /// True if a project's file defines it. Its limits then do not conceal that a skill hides a user's.
    pub is_of_project: bool,
}

impl Agent {
    /// Returns an agent that sees everything and has no prompt of its own.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Returns `true` if the agent may know of the skill: it is within its scope and not bound as hidden.
    ///
    /// A skill that an agent does not see does not exist for it, in the catalog and in every tool.
    pub fn sees(&self, entry: &Entry) -> bool {
        entry.is_within(&self.scope) && self.bound(entry) != Some(Bind::Hidden)
    }

    /// Returns `true` if the agent may be told that another skill hides this one: it sees it, or a project's
    /// file keeps a skill from it that is not the project's.
    pub(crate) fn may_be_told_of(&self, entry: &Entry) -> bool {
        self.sees(entry) || (self.is_of_project && !entry.is_of_project())
    }

    /// Returns the skill's binding to the agent, if any; `source:name` takes precedence over `name`.
    pub fn bound(&self, entry: &Entry) -> Option<Bind> {
        if self.bind.is_empty() {
            return None;
        }
        let qualified = self.bind.get(entry.qualified_name().as_str());
        qualified.or_else(|| self.bind.get(entry.name().as_str())).copied()
    }
}

impl Snapshot {
    /// Renders the catalog of the skills that `agent` sees.
    pub fn catalog_for(&self, agent: &Agent, options: &CatalogOptions) -> Result<Catalog, CatalogError> {
        self.catalog_of(options, |entry| agent.sees(entry))
    }
}

words! {
    /// The binding of a skill to an agent.
    #[derive(Default)]
    Bind {
        /// Its instructions are always in the prompt.
        Inline "inline",
        /// A line of the prompt tells the agent to load it.
        Hint "hint",
        /// It is in the catalog; the default.
        #[default]
        Catalog "catalog",
        /// The agent does not know of it.
        Hidden "hidden",
    }
}

words! {
    /// The part of an agent's view that agents started by it inherit.
    #[derive(Default)]
    Inherit {
        /// Nothing: they have a catalog and tools of their own; the default.
        #[default]
        None "none",
        /// They see no more than the agent does.
        Catalog "catalog",
        /// The same, and the skills that it has loaded are loaded for them.
        Active "active",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use repertoire_model::scope::Pattern;

    use super::*;
    use crate::{MemoryProvider, Policy, Provider, Registry, SkillDefinition};

    #[test]
    fn an_agent_sees_skills_within_its_scope_and_bindings() {
        let definition = |name: &str| SkillDefinition::new(name, "Does it. Use when it is to be done.", "");
        let provider = |label: &str, names: &[&str]| -> Arc<dyn Provider> {
            Arc::new(MemoryProvider::new(label, names.iter().map(|name| definition(name)).collect()))
        };
        let providers = vec![provider("one", &["git", "pdf"]), provider("two", &["git", "xls"])];
        let registry = pollster::block_on(Registry::open(providers, Policy::default())).unwrap();
        let snapshot = registry.snapshot();
        let check = |agent: &Agent, expect: &[&str]| {
            let seen = snapshot.entries().iter().filter(|entry| agent.sees(entry));
            assert_eq!(seen.map(Entry::qualified_name).collect::<Vec<_>>(), expect);
        };
        let mut agent = Agent::new("builder");
        check(&agent, &["one:git", "two:git", "one:pdf", "two:xls"]);
        agent.bind.insert("git".to_owned(), Bind::Hidden);
        check(&agent, &["one:pdf", "two:xls"]);
        agent.bind.insert("two:git".to_owned(), Bind::Catalog);
        check(&agent, &["two:git", "one:pdf", "two:xls"]);
        agent.scope.deny = vec![Pattern::new("two:*").unwrap()];
        check(&agent, &["one:pdf"]);
    }

    #[test]
    fn words() {
        assert!(Bind::ALL.iter().all(|bind| Bind::parse(bind.as_str()) == Some(*bind)));
        assert!(Inherit::ALL.iter().all(|inherit| Inherit::parse(inherit.as_str()) == Some(*inherit)));
        assert_eq!((Bind::parse("Inline"), Inherit::parse("")), (None, None));
        assert_eq!((Bind::default(), Inherit::default()), (Bind::Catalog, Inherit::None));
    }
}
