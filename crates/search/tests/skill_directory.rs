//! A directory of skills, and libraries over it that can be searched.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use pollster::block_on;
use repertoire::{FsOptions, FsProvider, Library, LibraryBuilder, MemorySink, Session, SessionOptions};
use repertoire_search::SkillSearch;

pub(crate) struct SkillDirectory {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) sink: Arc<MemorySink>,
}

impl SkillDirectory {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), sink: Arc::new(MemorySink::new()) }
    }

    pub(crate) fn skill(&self, name: &str, fields: &str, body: &str) {
        let text = format!(
            "---\nname: {name}\ndescription: Does {name} things. Use when {name} is asked for.\n{fields}---\n{body}"
        );
        self.write(&format!("{name}/SKILL.md"), &text);
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        // So old that the mark of the file can be relied on.
        let then = SystemTime::now() - Duration::from_secs(3600);
        fs::File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
    }

    pub(crate) fn builder(&self) -> LibraryBuilder {
        let provider = FsProvider::new(FsOptions::new("test", self.directory.path()));
        Library::builder().provider(provider).sink(self.sink.clone()).searcher(SkillSearch::default())
    }

    pub(crate) fn session(&self) -> Session {
        self.session_with(SessionOptions::default())
    }

    pub(crate) fn session_with(&self, options: SessionOptions) -> Session {
        let library = block_on(self.builder().session_options(options).open()).unwrap();
        block_on(library.session()).unwrap()
    }
}
