//! Git repositories with skills, and static servers, that skills are added from.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use tempfile::TempDir;

use crate::sandbox::{Sandbox, skill};

/// A repository with a branch `main`.
pub(crate) struct Repository {
    directory: TempDir,
}

impl Repository {
    pub(crate) fn new() -> Self {
        let repository = Self { directory: TempDir::new().unwrap() };
        repository.git(&["init", "-q", "-b", "main"]);
        repository
    }

    /// Returns a repository with the skills `pdf`, which has a script, and `csv`.
    pub(crate) fn with_skills() -> Self {
        let repository = Self::new();
        repository.write("skills/pdf/SKILL.md", skill("pdf", "# PDF\n\nFirst.\n\nSecond.\n\nThird.\n"));
        repository.write("skills/pdf/scripts/run.sh", "echo pdf\n");
        repository.write("skills/csv/SKILL.md", skill("csv", "# CSV\n"));
        repository.write("README.md", "# Skills\n");
        repository.commit();
        repository
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub(crate) fn url(&self) -> String {
        format!("file://{}", self.path().display())
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Replaces a text in a file.
    pub(crate) fn edit(&self, path: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path().join(path)).unwrap();
        assert!(text.contains(from), "{text}");
        self.write(path, text.replace(from, to));
    }

    /// Commits everything, and returns the commit.
    pub(crate) fn commit(&self) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "change"]);
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
            .args(arguments)
            .current_dir(self.directory.path())
            .env("HOME", self.directory.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Serves the repository by `git daemon`, and returns its address.
    pub(crate) fn daemon(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let path = self.path();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let input = std::os::fd::OwnedFd::from(stream.try_clone().unwrap());
                let output = std::os::fd::OwnedFd::from(stream);
                let mut daemon = Command::new("git");
                daemon.args(["daemon", "--inetd", "--export-all"]);
                daemon.arg(format!("--base-path={}", path.parent().unwrap().display())).arg(&path);
                let daemon = daemon.stdin(Stdio::from(input)).stdout(Stdio::from(output));
                drop(daemon.stderr(Stdio::null()).spawn().map(|mut child| child.wait()));
            }
        });
        let name = self.path().file_name().unwrap().to_str().unwrap().to_owned();
        format!("git://127.0.0.1:{port}/{name}")
    }
}

/// Returns a project without skills in which `git` is found.
pub(crate) fn empty_project() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("PATH", &std::env::var("PATH").unwrap());
    sandbox
}

/// Serves the files of `directory` over HTTP, to those with `token` if there is one, and returns the address.
pub(crate) fn static_server(directory: &Path, token: Option<&str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (directory, token) = (Arc::new(directory.to_owned()), token.map(|token| format!("bearer {token}")));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(stream, &directory, token.as_deref());
        }
    });
    address
}

fn answer(mut stream: TcpStream, directory: &Path, token: Option<&str>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let head: Vec<String> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    let sent = head.iter().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("authorization").then(|| value.to_lowercase())
    });
    let path = first.split(' ').nth(1).unwrap().trim_start_matches('/').to_owned();
    let (status, body) = match fs::read(directory.join(path)) {
        _ if token.is_some() && sent.as_deref() != token => ("401 Unauthorized", Vec::new()),
        Ok(bytes) => ("200 OK", bytes),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let _ = stream.write_all(&[head.as_bytes(), &body].concat());
}
