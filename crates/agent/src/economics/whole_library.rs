//! The instructions and tools of all skills of a library.

use repertoire::{Library, Session};
use repertoire_model::tokens::Tokenizer;
use serde_json::json;

use super::conversation::FixedPrefix;
use super::script::Script;
use crate::error::AgentError;

/// The instructions and tools of all skills of a library, as its sessions give them to a model.
pub struct WholeLibrary {
    session: Session,
    /// Names and answers to `load_skill`, in the order of names.
    texts: Vec<(String, String)>,
}

impl WholeLibrary {
    /// Loads all skills of a library whose sessions have the options of [`Disclosure::Upfront`](super::Disclosure::Upfront).
    pub async fn load(library: &Library) -> Result<Self, AgentError> {
        let session = library.session().await?;
        let snapshot = library.snapshot();
        let mut texts = Vec::new();
        for entry in snapshot.active().filter(|entry| entry.is_offered()) {
            let (names, arguments) = (&session.options().names, &session.options().arguments);
            let input = json!({arguments.name.as_str(): entry.name().as_str()});
            let reply = session.call(&names.load, &input).await;
            if !reply.is_error() {
                texts.push((entry.name().to_string(), reply.text().to_owned()));
            }
        }
        texts.sort();
        Ok(Self { session, texts })
    }

    /// Returns the names of the skills.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(|(name, _)| name.as_str())
    }

    /// Returns tools and system prompt with everything in them.
    pub(super) fn prefix(&self) -> FixedPrefix {
        let texts: Vec<&str> = self.texts.iter().map(|(_, text)| text.as_str()).collect();
        let reads = &self.session.options().names.read_file;
        let mut tools = self.session.tools().to_vec();
        tools.retain(|tool| tool.name == *reads || self.session.is_skill_tool(&tool.name));
        FixedPrefix { tools, system: texts.join("\n\n") }
    }

    /// Returns `script` with the [usual calls](Script::with_usual_actions): of the skill of median length, of the next shorter and the next
    /// longer one, and of the first file of theirs that can be read.
    pub async fn usual_script(&self, script: Script, tokenizer: Tokenizer) -> Script {
        let mut sizes: Vec<(usize, &str)> =
            self.texts.iter().map(|(name, text)| (tokenizer.count(text), name.as_str())).collect();
        sizes.sort_unstable();
        let middle = sizes.len() / 2;
        let around = [Some(middle), middle.checked_sub(1), middle.checked_add(1)];
        let skills: Vec<String> = around
            .into_iter()
            .filter_map(|position| sizes.get(position?).map(|(_, name)| (*name).to_owned()))
            .collect();
        let file = self.first_file(&skills).await;
        script.with_usual_actions(&skills, file.as_ref().map(|(skill, path)| (skill.as_str(), path.as_str())))
    }

    /// Returns the first file of the skills, beside their instructions, that can be read, with the skill.
    async fn first_file(&self, skills: &[String]) -> Option<(String, String)> {
        let registry = self.session.registry();
        let snapshot = registry.snapshot();
        let (names, arguments) = (&self.session.options().names, &self.session.options().arguments);
        for skill in skills {
            let entry = snapshot.active().find(|entry| entry.name().as_str() == skill)?;
            let listing = registry.files(entry).await.ok()?;
            let paths = listing.files.iter().map(|file| file.path.to_string());
            for path in paths.filter(|path| *path != entry.manifest_file) {
                let input = json!({arguments.skill.as_str(): skill, arguments.path.as_str(): path});
                if !self.session.call(&names.read_file, &input).await.is_error() {
                    return Some((skill.clone(), path));
                }
            }
        }
        None
    }
}
