//! A PostgreSQL server of the tests' own, in a temporary directory and on a Unix socket.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener};
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The user that servers run as if the tests are run by root, which PostgreSQL refuses.
const NOBODY: u32 = 65_534;

/// A running server.
pub(crate) struct Server {
    binaries: PathBuf,
    directory: TempDir,
    databases: AtomicU32,
    /// Further options of the server.
    options: String,
}

/// Returns the server that all tests share, or `None`, loudly, where PostgreSQL is not installed.
pub(crate) fn shared() -> Option<Arc<Server>> {
    static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(server) = shared.upgrade() {
        return Some(server);
    }
    let server = Arc::new(Server::start()?);
    *shared = Arc::downgrade(&server);
    Some(server)
}

impl Server {
    /// Starts a server, or returns `None`, loudly, where PostgreSQL is not installed.
    pub(crate) fn start() -> Option<Self> {
        Self::prepare().inspect(Self::resume)
    }

    /// Starts a server that listens on `port` too, for encrypted connections alone, with the certificate in
    /// `directory`.
    pub(crate) fn start_with_tls(directory: &Path, port: u16) -> Option<Self> {
        let mut server = Self::prepare()?;
        for name in ["server.key", "server.crt"] {
            let copy = server.directory.path().join("data").join(name);
            std::fs::copy(directory.join(name), &copy).unwrap();
            if is_root(&copy) {
                chown(&copy, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        let access =
            "local all all trust\nhostssl all all 127.0.0.1/32 trust\nhostssl all all ::1/128 trust\n";
        std::fs::write(server.directory.path().join("data").join("pg_hba.conf"), access).unwrap();
        server.options = format!("-c listen_addresses=localhost -c ssl=on -p {port}");
        server.resume();
        Some(server)
    }

    /// Makes the files of a server, or returns `None`, loudly, where PostgreSQL is not installed.
    fn prepare() -> Option<Self> {
        let Some(binaries) = binaries() else {
            let required = std::env::var("REPERTOIRE_TEST_REQUIRE").unwrap_or_default();
            assert!(
                required != "all" && !required.contains("postgresql"),
                "PostgreSQL (initdb, pg_ctl) is not installed"
            );
            // Not by a macro, whose output is shown only for tests that fail.
            let _ = std::io::stderr().write_all(
                b"\nSKIPPED: PostgreSQL (initdb, pg_ctl) is not installed, so the PostgreSQL store is NOT tested\n",
            );
            return None;
        };
        let directory = tempfile::tempdir().unwrap();
        if is_root(directory.path()) {
            chown(directory.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let options = "-c listen_addresses=''".to_owned();
        let server = Self { binaries, directory, databases: AtomicU32::new(0), options };
        let data = server.data();
        server.run("initdb", &["-D", &data, "-U", "rep", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]);
        Some(server)
    }

    fn data(&self) -> String {
        self.directory.path().join("data").to_str().unwrap().to_owned()
    }

    /// Runs a program of PostgreSQL, which has to succeed.
    fn run(&self, program: &str, arguments: &[&str]) {
        let status = self.status(program, arguments);
        let log = std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
        assert!(status.success(), "{program} {arguments:?}: {status}\n{log}");
    }

    fn status(&self, program: &str, arguments: &[&str]) -> ExitStatus {
        let mut command = Command::new(self.binaries.join(program));
        command.args(arguments).current_dir(self.directory.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if is_root(Path::new("/proc/self")) {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.status().unwrap()
    }

    /// Returns the directory with its programs.
    pub(crate) fn binaries(&self) -> &Path {
        &self.binaries
    }

    /// Starts the server after [`Server::kill`].
    pub(crate) fn resume(&self) {
        let log = self.directory.path().join("log");
        assert!(self.try_resume(), "{}", std::fs::read_to_string(log).unwrap_or_default());
    }

    fn try_resume(&self) -> bool {
        let socket = self.directory.path().display();
        let options = format!("{} -c fsync=off -k {socket}", self.options);
        let log = self.directory.path().join("log");
        let start = ["-D", &self.data(), "-w", "-l", log.to_str().unwrap(), "-o", &options, "start"];
        self.status("pg_ctl", &start).success()
    }

    /// Ends the server at once, like a crash.
    pub(crate) fn kill(&self) {
        self.run("pg_ctl", &["-D", &self.data(), "-w", "-m", "immediate", "stop"]);
    }

    /// Kills the main process of the server.
    pub(crate) fn kill_hard(&self) {
        signal("-9", &[self.main_process()]);
    }

    /// Stops all processes of the server, which keeps its connections and accepts new ones in the kernel, and
    /// says nothing.
    pub(crate) fn pause(&self) -> PausedServer {
        let main = self.main_process();
        // It makes no more processes from here on.
        signal("-STOP", std::slice::from_ref(&main));
        let output = Command::new("ps").args(["-A", "-o", "pid=,ppid="]).output().unwrap();
        let rows = String::from_utf8(output.stdout).unwrap();
        let rows = rows.lines().filter_map(|row| row.trim().split_once(' '));
        let children =
            rows.filter(|(_, parent)| parent.trim() == main).map(|(process, _)| process.to_owned());
        let processes: Vec<String> = children.chain([main.clone()]).collect();
        signal("-STOP", &processes);
        PausedServer { processes }
    }

    fn main_process(&self) -> String {
        let file = self.directory.path().join("data/postmaster.pid");
        let text = std::fs::read_to_string(file).unwrap();
        text.lines().next().unwrap().to_owned()
    }

    /// Starts the server after [`Server::kill_hard`], once the processes that it left are gone.
    pub(crate) fn resume_after_kill(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.try_resume() {
            assert!(Instant::now() < deadline, "the server does not start again");
        }
    }

    /// Returns the address of the database `name`.
    pub(crate) fn url(&self, name: &str) -> String {
        let socket = self.directory.path().to_str().unwrap().replace('/', "%2F");
        let port = self.options.split_once("-p ").map_or("5432", |(_, port)| port);
        format!("postgres://rep@{socket}:{port}/{name}")
    }

    /// Returns the address of a new database.
    pub(crate) fn database(&self) -> String {
        let name = format!("d{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.client("postgres").batch_execute(&format!("CREATE DATABASE {name} TEMPLATE template0")).unwrap();
        self.url(&name)
    }

    /// Returns an address of the database at `url` at which everything that is sent arrives after `delay`.
    pub(crate) fn delayed_url(&self, url: &str, delay: Duration) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let socket = self.directory.path().join(".s.PGSQL.5432");
        thread::spawn(move || {
            for client in listener.incoming() {
                let (mut client, mut server) = (client.unwrap(), UnixStream::connect(&socket).unwrap());
                let (mut from_server, mut to_client) =
                    (server.try_clone().unwrap(), client.try_clone().unwrap());
                thread::spawn(move || std::io::copy(&mut from_server, &mut to_client));
                thread::spawn(move || {
                    let mut bytes = [0; 4096];
                    while let Ok(length @ 1..) = client.read(&mut bytes) {
                        thread::sleep(delay);
                        let _ = server.write_all(&bytes[..length]);
                    }
                    let _ = server.shutdown(Shutdown::Both);
                });
            }
        });
        let name = url.rsplit('/').next().unwrap();
        format!("postgres://rep@{address}/{name}?sslmode=disable")
    }

    /// Returns the database at `url` as statements.
    pub(crate) fn dump(&self, url: &str) -> String {
        let mut command = Command::new(self.binaries.join("pg_dump"));
        let output = command.args(["--inserts", "--no-owner", "--schema=repertoire", url]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        // Without the commands of psql, and comments with versions.
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with(['\\', '-']));
        lines.collect::<Vec<_>>().join("\n") + "\n"
    }

    /// Returns a connection to the database `name`.
    fn client(&self, name: &str) -> postgres::Client {
        connect(&self.url(name))
    }
}

/// A server whose processes are stopped until this is dropped.
pub(crate) struct PausedServer {
    processes: Vec<String>,
}

impl Drop for PausedServer {
    fn drop(&mut self) {
        signal("-CONT", &self.processes);
    }
}

/// Sends a signal to processes.
fn signal(name: &str, processes: &[String]) {
    assert!(Command::new("kill").arg(name).args(processes).status().unwrap().success());
}

/// Returns a connection to the database at `url`.
pub(crate) fn connect(url: &str) -> postgres::Client {
    postgres::Client::connect(url, postgres::NoTls).unwrap()
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.directory.path().join("data/postmaster.pid").exists() {
            self.kill();
        }
    }
}

/// Returns whether root owns the file at `path`.
fn is_root(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.uid() == 0)
}

/// Returns the directory with the programs of PostgreSQL.
fn binaries() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    // Debian keeps them off the path.
    for version in std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten() {
        directories.push(version.path().join("bin"));
    }
    // What is on the path may be a link to where the others are.
    let initdb = directories.iter().find_map(|directory| directory.join("initdb").canonicalize().ok())?;
    let directory = initdb.parent()?.to_owned();
    directory.join("pg_ctl").is_file().then_some(directory)
}
