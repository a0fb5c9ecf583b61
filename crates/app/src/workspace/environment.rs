//! Every environment variable that is read, in one table, and the environment as a value.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use repertoire::discovery::CLIENT_HOMES;
use repertoire::http::HttpClient;
use repertoire::regular_file;
use repertoire_clients::listing::BUDGET_VARIABLE;
use repertoire_clients::{Environment, Places};

/// The prefix of the variables that are Repertoire's own.
pub const PREFIX: &str = "REPERTOIRE_";

/// A configuration file to use instead of looking for one.
pub const CONFIG: &str = "REPERTOIRE_CONFIG";
/// Directories of skills, separated like `PATH`.
pub const ROOTS: &str = "REPERTOIRE_ROOTS";
/// The directory of the cache.
pub const CACHE_DIR: &str = "REPERTOIRE_CACHE_DIR";
/// The directory of events and other state.
pub const STATE_DIR: &str = "REPERTOIRE_STATE_DIR";
/// Turns the cache off.
pub const NO_CACHE: &str = "REPERTOIRE_NO_CACHE";
/// The token that HTTP clients need.
pub const HTTP_TOKEN: &str = "REPERTOIRE_HTTP_TOKEN";
/// The kits that are in use, with commas between them.
pub const KITS: &str = "REPERTOIRE_KITS";
/// When to use colour.
pub const COLOR: &str = "REPERTOIRE_COLOR";
/// Turns colour off, see <https://no-color.org>.
pub const NO_COLOR: &str = "NO_COLOR";
/// The home directory.
pub const HOME: &str = "HOME";
/// The home directory on Windows.
pub const USERPROFILE: &str = "USERPROFILE";
/// The directory of user configuration.
pub const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
/// The directory of user caches.
pub const XDG_CACHE_HOME: &str = "XDG_CACHE_HOME";
/// The directory of user state.
pub const XDG_STATE_HOME: &str = "XDG_STATE_HOME";
/// The directories of programs.
pub const PATH: &str = "PATH";
/// The name of the user, on Unix and on Windows.
pub const USER: &str = if cfg!(windows) { "USERNAME" } else { "USER" };
/// The directory of application data on Windows.
pub const APPDATA: &str = "APPDATA";
/// The user's directory of Claude Code.
pub const CLAUDE_CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";
/// The user's directory of Codex.
pub const CODEX_HOME: &str = "CODEX_HOME";
/// The address of an OpenTelemetry collector.
pub const OTLP_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// The address that spans are sent to, in full.
pub const OTLP_TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
/// Headers of requests to the collector.
pub const OTLP_HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
/// Headers of requests to the collector, for spans alone.
pub const OTLP_TRACES_HEADERS: &str = "OTEL_EXPORTER_OTLP_TRACES_HEADERS";
/// The protocol that the collector is spoken to in.
pub const OTLP_PROTOCOL: &str = "OTEL_EXPORTER_OTLP_PROTOCOL";
/// The protocol that the collector is spoken to in, for spans alone.
pub const OTLP_TRACES_PROTOCOL: &str = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL";
/// The name of this program in traces.
pub const OTEL_SERVICE_NAME: &str = "OTEL_SERVICE_NAME";
/// Turns OpenTelemetry off.
pub const OTEL_SDK_DISABLED: &str = "OTEL_SDK_DISABLED";
/// The exporter of traces.
pub const OTEL_TRACES_EXPORTER: &str = "OTEL_TRACES_EXPORTER";
/// The address of the service that speaks Anthropic's API.
pub const ANTHROPIC_BASE_URL: &str = "ANTHROPIC_BASE_URL";
/// The address of the service that speaks OpenAI's API.
pub const OPENAI_BASE_URL: &str = "OPENAI_BASE_URL";
/// The registry of npm.
pub const NPM_REGISTRY: &str = "NPM_CONFIG_REGISTRY";
/// The registry of npm, as npm writes it itself.
pub const NPM_REGISTRY_LOWER: &str = "npm_config_registry";
/// A file of certificates to trust.
pub const SSL_CERT_FILE: &str = "SSL_CERT_FILE";
/// Directories of certificates to trust.
pub const SSL_CERT_DIR: &str = "SSL_CERT_DIR";
/// The variables that name the proxy, in order of precedence.
pub const PROXIES: [&str; 6] =
    ["ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];
/// The hosts that are asked without the proxy, in the variable that wins first.
pub const NO_PROXY: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// The shell that requests completions.
pub const COMPLETE: &str = "COMPLETE";
/// The kind of terminal.
pub const TERM: &str = "TERM";

/// The variables that are not a key of the configuration, with their meaning. A key `a.b` of the
/// configuration is also read from `REPERTOIRE_A_B`; see [`variable_of`].
pub const VARIABLES: &[(&str, &str)] = &[
    (CONFIG, "A configuration file to use instead of the project's and the user's. Like `--config`."),
    (
        ROOTS,
        "Directories of skills, separated like `PATH`. They are added before the `roots` of configuration files.",
    ),
    (CACHE_DIR, "Where the cache lives. Default: `repertoire` in the user's cache directory."),
    (NO_CACHE, "Turns the cache off when set to anything but `0` or nothing. Like `--no-cache`."),
    (
        STATE_DIR,
        "Where records of what `rep` made and the user chose are, and the store of events, versions and proposals, unless `store.url` says otherwise. Default: `repertoire` in the user's state directory.",
    ),
    (HTTP_TOKEN, "The token that clients of `rep serve --http` need. Like `--token-file`, without a file."),
    (
        KITS,
        "The kits that are in use, with commas between them, in place of the ones that `rep kit use` chose for the project. `rep kit use --shell` prints the command that sets it.",
    ),
    (COLOR, "When to use colour: `auto`, `always` or `never`. Like `--color`."),
    (
        NO_COLOR,
        "Turns colour off when set to anything but nothing; `REPERTOIRE_COLOR` and `--color` win over it.",
    ),
    (TERM, "`dumb` turns colour off."),
    (HOME, "The home directory (`USERPROFILE` on Windows)."),
    (XDG_CONFIG_HOME, "The directory of user configuration. Default: `~/.config`."),
    (XDG_CACHE_HOME, "The directory of user caches. Default: `~/.cache`."),
    (XDG_STATE_HOME, "The directory of what programs keep about a user. Default: `~/.local/state`."),
    (USER, "The name under which `rep proposal` records what a person did; else the number of the user."),
    (PATH, "Where `rep connect` looks whether `rep` is this program."),
    (APPDATA, "The directory of what programs keep for a user on Windows. Default: `~/AppData/Roaming`."),
    (CLAUDE_CONFIG_DIR, "Where Claude Code keeps what is the user's. Default: `~/.claude`."),
    (CODEX_HOME, "Where Codex keeps what is the user's. Default: `~/.codex`."),
    ("GROK_HOME", "Where Grok Build keeps what is the user's. Default: `~/.grok`."),
    ("KIMI_CODE_HOME", "Where Kimi Code keeps what is the user's. Default: `~/.kimi-code`."),
    ("AUTOHAND_HOME", "Where Autohand Code keeps what is the user's. Default: `~/.autohand`."),
    ("HERMES_HOME", "Where Hermes Agent keeps what is the user's. Default: `~/.hermes`."),
    ("VIBE_HOME", "Where Mistral Vibe keeps what is the user's. Default: `~/.vibe`."),
    (
        OTLP_ENDPOINT,
        "The address of an OpenTelemetry collector that takes OTLP over HTTP, such as `http://localhost:4318`. Calls of tools are sent to `v1/traces` below it.",
    ),
    (
        OTLP_TRACES_ENDPOINT,
        "The address that spans are sent to, in full. It wins over `OTEL_EXPORTER_OTLP_ENDPOINT`.",
    ),
    (
        OTLP_HEADERS,
        "Headers for the collector, as in `key=value,other=value`. `OTEL_EXPORTER_OTLP_TRACES_HEADERS` wins over it.",
    ),
    (OTLP_TRACES_HEADERS, "Headers for the collector, for spans alone."),
    (
        OTLP_PROTOCOL,
        "`http/json` and `http/protobuf` are understood, and JSON is sent; nothing is sent with `grpc`.",
    ),
    (OTLP_TRACES_PROTOCOL, "Like `OTEL_EXPORTER_OTLP_PROTOCOL`, for spans alone."),
    (OTEL_SERVICE_NAME, "The name of this program in traces. Default: `repertoire`."),
    (OTEL_SDK_DISABLED, "`true` turns traces off."),
    (OTEL_TRACES_EXPORTER, "Anything but `otlp` turns traces off."),
    (
        ANTHROPIC_BASE_URL,
        "The address of the service for `rep agent` with Anthropic's API, unless `model.url` says otherwise.",
    ),
    (
        OPENAI_BASE_URL,
        "The address of the service for `rep agent` with one of OpenAI's APIs, unless `model.url` says otherwise.",
    ),
    (
        NPM_REGISTRY,
        "The registry that `rep add npm:PACKAGE` fetches from. Default: `https://registry.npmjs.org`.",
    ),
    (
        BUDGET_VARIABLE,
        "Claude Code's room for the listing of all skills, in characters, which `rep list --client claude-code` goes by.",
    ),
    (NPM_REGISTRY_LOWER, "Like `NPM_CONFIG_REGISTRY`, which wins over it."),
    (
        SSL_CERT_FILE,
        "A file of certificates in PEM to trust: of the authority of a company, for example. The system's stay trusted, but on macOS and Windows, where they are left out then.",
    ),
    (SSL_CERT_DIR, "Directories of such files, separated like `PATH`."),
    (
        PROXIES[0],
        "The proxy of every request that goes out, as in `http://user:password@proxy.example:3128`. Requests to this machine do not use it.",
    ),
    (PROXIES[1], "Like `ALL_PROXY`, which wins over it."),
    (PROXIES[2], "Like `ALL_PROXY`, which wins over it."),
    (PROXIES[3], "Like `HTTPS_PROXY`, which wins over it."),
    (PROXIES[4], "Like `ALL_PROXY`, if neither it nor `HTTPS_PROXY` is set."),
    (PROXIES[5], "Like `HTTP_PROXY`, which wins over it."),
    (
        NO_PROXY[0],
        "Hosts that are asked without the proxy, with commas between them: `corp.example` and `.corp.example` are the host and all below it, `host:8443` is one port, and `*` is every host.",
    ),
    (NO_PROXY[1], "Like `NO_PROXY`, which wins over it."),
    (COMPLETE, "Set by the scripts of `rep completions` when a shell asks for completions."),
];

/// Returns the variable that sets the configuration `key`: `catalog.format` is `REPERTOIRE_CATALOG_FORMAT`.
pub fn variable_of(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "_").to_uppercase())
}

/// The environment of a workspace: variables, the working directory, and the client for requests.
#[derive(Clone, Default)]
pub struct Env {
    variables: BTreeMap<String, OsString>,
    working_directory: PathBuf,
    /// The running program, which clients are connected to.
    pub executable: Option<PathBuf>,
    /// The client that all requests go out through.
    pub http: HttpClient,
}

impl Env {
    /// Returns an environment with `variables`, for `working_directory`.
    pub fn new(variables: impl IntoIterator<Item = (String, OsString)>, working_directory: PathBuf) -> Self {
        Self { variables: variables.into_iter().collect(), working_directory, ..Self::default() }
    }

    /// Returns the value of `name`; an empty value counts as none.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(name).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// Returns all variables that are text.
    pub fn all(&self) -> Vec<(String, String)> {
        let text = |(name, value): (&String, &OsString)| Some((name.clone(), value.to_str()?.to_owned()));
        self.variables.iter().filter_map(text).collect()
    }

    /// Returns the value of a variable that the user named; an empty value counts as none.
    pub fn named(&self, name: &str) -> Option<String> {
        self.get(name)?.to_str().map(str::to_owned)
    }

    /// Returns the names of Repertoire's own variables that are set.
    pub fn own(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str).filter(|name| name.starts_with(PREFIX))
    }

    /// Returns `true` if `name` is set to anything but the empty string or `0`.
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value != "0")
    }

    /// Returns the paths in the variable `name`, which is written like `PATH`.
    pub fn paths(&self, name: &str) -> Vec<PathBuf> {
        let split =
            |value| std::env::split_paths(value).filter(|path| !path.as_os_str().is_empty()).collect();
        self.get(name).map(split).unwrap_or_default()
    }

    /// Returns the working directory.
    pub fn working_directory(&self) -> &Path {
        &self.working_directory
    }

    /// Returns the directory that the variable `name` has; a relative one counts from the working directory.
    pub fn directory(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(|value| self.working_directory.join(value))
    }

    /// Returns the directories of clients that variables name, by the name of the variable.
    pub fn client_homes(&self) -> BTreeMap<String, PathBuf> {
        let variables = CLIENT_HOMES.iter().map(|home| home.variable);
        variables.filter_map(|name| Some((name.to_owned(), self.directory(name)?))).collect()
    }

    /// Returns the places of clients.
    pub fn places(&self) -> Places {
        let mut environment = Environment::new(self.working_directory());
        environment.home = self.home();
        environment.config = self.config_home();
        environment.state = self.state_directory();
        environment.app_data = self.directory(APPDATA);
        environment.client_homes = self.client_homes();
        environment.executable = self.executable.clone();
        environment.search_path = self.paths(PATH);
        Places::new(environment)
    }

    /// Returns the home directory.
    pub fn home(&self) -> Option<PathBuf> {
        let name = if cfg!(windows) { USERPROFILE } else { HOME };
        self.get(name).map(PathBuf::from)
    }

    /// Returns the directory of user configuration.
    pub fn config_home(&self) -> Option<PathBuf> {
        self.absolute(XDG_CONFIG_HOME).or_else(|| self.home().map(|home| home.join(".config")))
    }

    /// Returns the directory that Repertoire's cache lives in.
    pub fn cache_directory(&self) -> Option<PathBuf> {
        self.own_directory(CACHE_DIR, XDG_CACHE_HOME, ".cache")
    }

    /// Returns the name of the user, or the number of the user where the variable is not set.
    pub fn user_name(&self) -> Option<String> {
        #[cfg(unix)]
        let number = Some(rustix::process::getuid().as_raw().to_string());
        #[cfg(not(unix))]
        let number = None;
        let name =
            |name: &OsStr| name.to_string_lossy().chars().filter(|c| !c.is_control()).take(64).collect();
        self.get(USER).map(name).or(number)
    }

    /// Returns the user's name for display: [`Env::user_name`], or, if that is a number, the login name or
    /// git's `user.name`.
    pub fn display_name(&self) -> Option<String> {
        let name = self.user_name()?;
        let accounts = text_of(Path::new("/etc/passwd")).unwrap_or_default();
        let login = accounts.lines().find_map(|line| {
            let mut fields = line.split(':');
            let login = fields.next()?;
            (fields.nth(1)? == name).then(|| login.to_owned())
        });
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
        Some(login.or_else(|| self.git_name().filter(|_| is_number)).unwrap_or(name))
    }

    /// Returns `user.name` of git's settings of the user.
    fn git_name(&self) -> Option<String> {
        let text = text_of(&self.home()?.join(".gitconfig"))?;
        let mut section = "";
        text.lines().map(str::trim).find_map(|line| {
            if line.starts_with('[') {
                section = line;
            }
            let (key, value) = line.split_once('=').filter(|_| section == "[user]")?;
            (key.trim() == "name").then(|| value.trim().trim_matches('"').to_owned())
        })
    }

    /// Returns the directory of the store.
    pub fn state_directory(&self) -> Option<PathBuf> {
        self.own_directory(STATE_DIR, XDG_STATE_HOME, ".local/state")
    }

    /// Returns the directory that the variable `own` names, or else `repertoire` in the directory that `xdg`
    /// names or that lies at `habit` in the home.
    fn own_directory(&self, own: &str, xdg: &str, habit: &str) -> Option<PathBuf> {
        if let Some(directory) = self.get(own) {
            return Some(self.working_directory.join(directory));
        }
        let parent = self.absolute(xdg).or_else(|| self.home().map(|home| home.join(habit)));
        parent.map(|parent| parent.join("repertoire"))
    }

    /// The XDG standard says that relative values are to be ignored.
    fn absolute(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }
}

/// Returns the text of a settings file of the system.
fn text_of(path: &Path) -> Option<String> {
    let bytes = regular_file::read(path, 1024 * 1024).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_shown_by_its_login_name_or_by_the_name_in_git() {
        let home = tempfile::tempdir().unwrap();
        let check = |user: &str, expect: &str| {
            let variables = [("HOME", home.path().as_os_str()), ("USER", user.as_ref())];
            let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let env = Env::new(variables, PathBuf::new());
            assert_eq!(env.display_name().as_deref(), Some(expect), "{user}");
            assert_eq!(env.user_name().as_deref(), Some(user));
        };
        let settings = "[core]\n\tname = no\n[user]\n\temail = a@b\n\tname = \"Ada L\"\n";
        std::fs::write(home.path().join(".gitconfig"), settings).unwrap();
        check("ada", "ada");
        check("4111222333", "Ada L");
        #[cfg(unix)]
        check("0", "root");
    }
}
