//! A git repository for tests.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::git::{GitPrompt, UserGit};
use crate::source::{GitSource, Source};

/// A repository with the branch `main`, in a directory of its own.
pub(crate) struct TestRepository(TempDir);

impl TestRepository {
    /// Returns a repository with one commit of `files`.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let repository = Self(tempfile::tempdir().unwrap());
        repository.git(&["init", "-q", "-b", "main", "."]);
        repository.commit(files);
        repository
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    pub(crate) fn url(&self) -> String {
        format!("file://{}", self.path().display())
    }

    /// Returns the repository at `reference`, or the directory `path` of it.
    pub(crate) fn source(&self, reference: Option<&str>, path: Option<&str>) -> GitSource {
        let own = |text: Option<&str>| text.map(str::to_owned);
        GitSource { url: self.url(), reference: own(reference), path: own(path), tree: None }
    }

    pub(crate) fn newest(&self) -> Source {
        Source::Git(self.source(None, None))
    }

    /// Writes `files`, commits everything and returns the commit.
    pub(crate) fn commit(&self, files: &[(&str, &str)]) -> String {
        for (path, text) in files {
            let path = self.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "change"]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Runs git and returns the line that it prints.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let settings = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "core.autocrlf=false"];
        let arguments = [&settings[..], arguments].concat();
        let command = UserGit::new(&self.url(), GitPrompt::Never, &arguments).inside(&self.path());
        let run = command.run(1 << 20).unwrap().unwrap();
        assert!(run.is_success, "{arguments:?}: {}", run.message);
        String::from_utf8(run.output).unwrap().trim().to_owned()
    }
}

/// Returns the text of a sound skill.
pub(crate) fn skill(name: &str, body: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Does {name} things well. Use when {name} is asked for.\n---\n{body}"
    )
}
