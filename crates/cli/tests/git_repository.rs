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

impl Repository {
    /// Serves the repository over HTTP by `git http-backend`, to those who send `credentials`, and returns
    /// its address.
    pub(crate) fn http(&self, credentials: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let path = self.path();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serve_git(stream, &path, credentials);
            }
        });
        format!("http://127.0.0.1:{port}/.git")
    }
}

/// Answers a request for the repository at `path` as a web server does by CGI.
fn serve_git(mut stream: TcpStream, path: &Path, credentials: &str) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    };
    let first = line();
    let head: Vec<String> = std::iter::repeat_with(line).take_while(|line| !line.is_empty()).collect();
    let header = |wanted: &str| {
        let value = head.iter().filter_map(|line| line.split_once(": "));
        let mut value = value.filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        value.next().map(|(_, value)| value.to_owned()).unwrap_or_default()
    };
    let words: Vec<&str> = first.split(' ').collect();
    let [method, target, _] = words.as_slice() else { return };
    if header("authorization") != format!("Basic {credentials}") {
        let refusal = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let _ = stream.write_all(refusal.as_bytes());
        return;
    }
    let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
    std::io::Read::read_exact(&mut reader, &mut body).unwrap();
    let (file, query) = target.split_once('?').unwrap_or((target, ""));
    let mut backend = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", path)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REQUEST_METHOD", method)
        .env("PATH_INFO", file)
        .env("QUERY_STRING", query)
        .env("CONTENT_TYPE", header("content-type"))
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    backend.stdin.take().unwrap().write_all(&body).unwrap();
    let output = backend.wait_with_output().unwrap().stdout;
    let text = String::from_utf8_lossy(&output);
    let status = text.lines().next().and_then(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
    let _ = stream
        .write_all(&[format!("HTTP/1.1 {status}\r\nConnection: close\r\n").as_bytes(), &output].concat());
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
