//! MCP servers whose tools an agent has, from a file in the shape of `.mcp.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use repertoire::regular_file;
use repertoire_exec::HostProcess;
use repertoire_mcp::client::{McpServer, ServerTool, ToolServers};
use serde::Deserialize;

use crate::env::Env;
use crate::error::CliError;

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// A file of MCP servers.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct McpFile {
    mcp_servers: BTreeMap<String, Entry>,
}

/// An MCP server in a file. Keys of other programs are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Entry {
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    url: Option<String>,
    headers: BTreeMap<String, String>,
    disabled: bool,
}

/// The servers that run for an agent; they end with it.
pub(super) struct RunningServers {
    _connections: ToolServers,
    processes: ServerProcesses,
}

impl RunningServers {
    pub(super) fn processes(&self) -> ServerProcesses {
        self.processes.clone()
    }
}

impl Drop for RunningServers {
    fn drop(&mut self) {
        self.processes.end();
    }
}

#[derive(Clone, Default)]
pub(super) struct ServerProcesses(Arc<Mutex<Vec<HostProcess>>>);

impl ServerProcesses {
    /// Ends the processes, even if they ignore the end of their input.
    pub(super) fn end(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Starts and connects to the servers in the file at `path`, and returns them with their tools.
///
/// Variables of the file, and the client for requests, come from `env`. Names in `taken` belong to other
/// tools. The variables in `withheld` are kept from processes: the key of the model is not theirs.
pub(super) fn start(
    path: &Path,
    env: &Env,
    mut taken: BTreeSet<String>,
    withheld: &[&str],
) -> Result<(RunningServers, Vec<ServerTool>), CliError> {
    let file = read(path)?;
    let failed = |name: &str, error: std::io::Error| {
        CliError::failure(format!("the MCP server `{name}` of {} cannot be used", path.display()))
            .because(error)
    };
    let mut connections = ToolServers::new(env.http.clone())
        .map_err(|error| CliError::failure("no threads can be started").because(error))?;
    let (mut processes, mut tools) = (Vec::new(), Vec::new());
    for (name, entry) in file.mcp_servers.into_iter().filter(|(_, entry)| !entry.disabled) {
        let expanded = |map: BTreeMap<String, String>| -> Result<BTreeMap<String, String>, CliError> {
            map.into_iter().map(|(key, value)| Ok((key, expand(env, &name, &value)?))).collect()
        };
        let server = match (&entry.command, &entry.url) {
            (Some(command), None) => {
                let arguments: Result<Vec<String>, CliError> =
                    entry.args.iter().map(|text| expand(env, &name, text)).collect();
                let variables = expanded(entry.env)?;
                let (process, input, output) =
                    HostProcess::start(&expand(env, &name, command)?, &arguments?, &variables, withheld)
                        .map_err(|error| failed(&name, error))?;
                processes.push(process);
                McpServer::Process(input, output)
            }
            (None, Some(url)) => {
                McpServer::Http { url: expand(env, &name, url)?, headers: expanded(entry.headers)? }
            }
            _ => {
                return Err(CliError::usage(format!(
                    "the MCP server `{name}` of {} has neither or both of `command` and `url`",
                    path.display()
                ))
                .hint("give `command` and `args` for a program, or `url` for a server"));
            }
        };
        tools.extend(connections.connect(&name, server, &mut taken).map_err(|error| failed(&name, error))?);
    }
    let processes = ServerProcesses(Arc::new(Mutex::new(processes)));
    Ok((RunningServers { _connections: connections, processes }, tools))
}

fn read(path: &Path) -> Result<McpFile, CliError> {
    let bytes = regular_file::read(path, MAX_BYTES).map_err(|error| CliError::io("read", path, error))?;
    serde_json::from_slice(&bytes).map_err(|error| {
        CliError::usage(format!("{} is not a file of MCP servers", path.display()))
            .because(error)
            .hint("it looks like `{\"mcpServers\": {\"name\": {\"command\": \"program\", \"args\": []}}}`")
    })
}

/// Returns `text` with the values of the variables in it, written `${NAME}` or `${NAME:-default}`.
fn expand(env: &Env, server: &str, text: &str) -> Result<String, CliError> {
    let mut rest = text;
    let mut expanded = String::new();
    while let Some((before, after)) = rest.split_once("${") {
        expanded.push_str(before);
        let Some((name, behind)) = after.split_once('}') else {
            return Ok(expanded + "${" + after);
        };
        let (name, default) =
            name.split_once(":-").map_or((name, None), |(name, default)| (name, Some(default)));
        match env.named(name).or_else(|| default.map(str::to_owned)) {
            Some(value) => expanded.push_str(&value),
            None => {
                return Err(CliError::usage(format!(
                    "the MCP server `{server}` needs the variable {name}, which is not set"
                )));
            }
        }
        rest = behind;
    }
    Ok(expanded + rest)
}
