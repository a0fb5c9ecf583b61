//! Tests of sessions through the library.

mod agents;
mod context;
mod disabled;
mod events;
mod loading;
mod proposals;
mod tools;

use pollster::block_on;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use repertoire_model::answer::Render;
use repertoire_model::scope::{Pattern, Scope};
use serde_json::{Value, json};

use super::*;
use crate::event::{MemorySink, Outcome};
use crate::provider::OpenedSkill;
use crate::word_searcher::WordSearcher;
use crate::*;

/// A directory of skills, and a builder of libraries over it.
struct SkillDirectory {
    directory: tempfile::TempDir,
    sink: Arc<MemorySink>,
}

impl SkillDirectory {
    fn new(names: &[&str]) -> Self {
        let library = Self { directory: tempfile::tempdir().unwrap(), sink: Arc::new(MemorySink::new()) };
        for name in names {
            library.skill(name, "", &format!("# {name}\n\nDo {name}.\n"));
        }
        library
    }

    fn skill(&self, name: &str, fields: &str, body: &str) {
        let text = format!(
            "---\nname: {name}\ndescription: Does {name} things. Use when {name} is asked for.\n{fields}---\n{body}"
        );
        self.write(&format!("{name}/SKILL.md"), &text);
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        // So old that the mark of the file can be relied on.
        let then = SystemTime::now() - Duration::from_secs(3600);
        fs::File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
    }

    fn builder(&self) -> LibraryBuilder {
        let provider = FsProvider::new(FsOptions::new("test", self.directory.path()));
        Library::builder().provider(Arc::new(provider)).sink(self.sink.clone()).searcher(WordSearcher)
    }

    fn session(&self) -> Session {
        block_on(block_on(self.builder().open()).unwrap().session()).unwrap()
    }

    fn session_with(&self, options: SessionOptions) -> Session {
        block_on(block_on(self.builder().session_options(options).open()).unwrap().session()).unwrap()
    }
}

fn load(session: &Session, name: &str) -> String {
    block_on(session.call("load_skill", &json!({"name": name}))).text().to_owned()
}

fn is_body(text: &str) -> bool {
    text.starts_with("<skill name=")
}
