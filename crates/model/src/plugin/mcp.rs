//! `mcp.json` of a plugin: the MCP servers that it brings along. They are shown and never started here.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::finding::PluginFinding;
use crate::RuleId;
use crate::loopback::is_loopback;

/// The identifier that the file has under `$schema` in version 1.0.0.
pub const MCP_SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json";

const MAX_SERVERS: usize = 100;

crate::words! {
    /// The transport of a server.
    Transport {
        /// It is started and spoken to by its standard input and output.
        Stdio "stdio",
        /// It runs already and speaks streamable HTTP.
        StreamableHttp "streamable-http",
        /// It runs already and speaks the former HTTP with events.
        Sse "sse",
    }
}

/// A server that is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginServer {
    /// Its name.
    pub name: String,
    /// Its transport.
    pub transport: Transport,
    /// The command that starts it, or its address.
    pub target: String,
}

/// Reads the servers that are valid. Others are left out, each for one of the findings.
pub fn read_mcp(bytes: &[u8]) -> (Vec<PluginServer>, Vec<PluginFinding>) {
    let fault = |message: String| (Vec::new(), vec![PluginFinding::new(RuleId::PluginServer, message)]);
    let object: Map<String, Value> = match serde_json::from_slice(bytes) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return fault("mcp.json is not a JSON object, so its servers are ignored".to_owned()),
        Err(error) => return fault(format!("mcp.json is not JSON, so its servers are ignored: {error}")),
    };
    if object.get("$schema").and_then(Value::as_str) != Some(MCP_SCHEMA) {
        return fault(format!("`$schema` of mcp.json is not `{MCP_SCHEMA}`, so its servers are ignored"));
    }
    if let Some(key) = object.keys().find(|key| !matches!(key.as_str(), "$schema" | "mcpServers")) {
        return fault(format!("`{key}` is not a field of mcp.json, so its servers are ignored"));
    }
    let Some(entries) = object.get("mcpServers").and_then(Value::as_object) else {
        return fault("`mcpServers` is not an object, so there are no servers".to_owned());
    };
    let (mut servers, mut findings) = (Vec::new(), Vec::new());
    for (name, entry) in entries.iter().take(MAX_SERVERS) {
        match server(name, entry) {
            Ok(server) => servers.push(server),
            Err(reason) => {
                let message = format!("the MCP server `{name}` is ignored: {reason}");
                findings.push(PluginFinding::new(RuleId::PluginServer, message));
            }
        }
    }
    (servers, findings)
}

fn server(name: &str, entry: &Value) -> Result<PluginServer, String> {
    let object = entry.as_object().ok_or("it is not an object")?;
    let text = |key: &str| object.get(key).and_then(Value::as_str);
    let transport = match text("type") {
        Some("stdio") => Transport::Stdio,
        Some("streamable-http") => Transport::StreamableHttp,
        Some("sse") => Transport::Sse,
        Some(other) => return Err(format!("`{other}` is not a type of a server")),
        None => return Err("`type` is missing".to_owned()),
    };
    let fields: &[&str] = match transport {
        Transport::Stdio => &["type", "command", "args", "env", "cwd"],
        Transport::StreamableHttp | Transport::Sse => &["type", "url", "headers"],
    };
    if let Some(key) = object.keys().find(|key| !fields.contains(&key.as_str())) {
        return Err(format!("`{key}` is not a field of a server of type {}", transport.as_str()));
    }
    let target = if transport == Transport::Stdio {
        stdio(object)?
    } else {
        headers(object.get("headers"))?;
        address(text("url").ok_or("`url` is missing")?)?
    };
    Ok(PluginServer { name: name.to_owned(), transport, target: target.to_owned() })
}

fn stdio(object: &Map<String, Value>) -> Result<&str, String> {
    let command = object.get("command").and_then(Value::as_str).ok_or("`command` is missing")?;
    let is_bare = !command.contains(['/', '\\']) && !command.contains(char::is_whitespace);
    if command.is_empty() || !(is_bare || is_inside(command)) {
        return Err(
            "`command` is neither a bare name nor a path in the plugin that starts with `./`".to_owned()
        );
    }
    if let Some(args) = object.get("args")
        && !args.as_array().is_some_and(|args| args.iter().all(Value::is_string))
    {
        return Err("`args` is not a list of strings".to_owned());
    }
    if let Some(env) = object.get("env") {
        let env = env
            .as_object()
            .filter(|env| env.values().all(Value::is_string))
            .ok_or("`env` is not an object of strings")?;
        if env.keys().any(|key| matches!(key.as_str(), "PLUGIN_ROOT" | "PLUGIN_DATA")) {
            return Err("`env` may not set PLUGIN_ROOT or PLUGIN_DATA".to_owned());
        }
    }
    if let Some(cwd) = object.get("cwd") {
        let cwd = cwd.as_str().ok_or("`cwd` is not a string")?;
        let rest = ["${PLUGIN_ROOT}", "${PLUGIN_DATA}"].iter().find_map(|start| cwd.strip_prefix(start));
        let is_rooted = rest
            .is_some_and(|rest| rest.is_empty() || (rest.starts_with('/') && is_inside(&format!(".{rest}"))));
        if !is_rooted && !is_inside(cwd) {
            return Err("`cwd` leads out of the plugin".to_owned());
        }
    }
    Ok(command)
}

/// Returns `true` if `path` starts with `./` and does not lead out of the plugin.
pub(super) fn is_inside(path: &str) -> bool {
    let mut depth = 0_i32;
    path.starts_with("./")
        && !path.contains('\\')
        && path.split('/').all(|part| {
            depth += match part {
                "" | "." => 0,
                ".." => -1,
                _ => 1,
            };
            depth >= 0
        })
}

fn address(url: &str) -> Result<&str, String> {
    let (scheme, rest) = url.split_once("://").ok_or("`url` is not absolute")?;
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    if url.contains('#')
        || authority.contains('@')
        || authority.is_empty()
        || url.contains(char::is_whitespace)
    {
        return Err("`url` has user information, a fragment, or no host".to_owned());
    }
    match scheme {
        "https" => Ok(url),
        "http" if is_loopback(authority) => Ok(url),
        "http" => Err("`url` is not on this machine and must use https".to_owned()),
        _ => Err("`url` is neither http nor https".to_owned()),
    }
}

fn headers(headers: Option<&Value>) -> Result<(), String> {
    let Some(headers) = headers else { return Ok(()) };
    let headers = headers.as_object().ok_or("`headers` is not an object of strings")?;
    let mut names = BTreeSet::new();
    for (name, value) in headers {
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let is_value = |value: &str| !value.bytes().any(|byte| (byte < 32 && byte != b'\t') || byte == 127);
        if name.is_empty() || !name.bytes().all(is_token) || !value.as_str().is_some_and(is_value) {
            return Err("`headers` has one that HTTP does not allow".to_owned());
        }
        if !names.insert(name.to_ascii_lowercase()) {
            return Err(format!("the header `{name}` occurs twice"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(server: &str) -> bool {
        let text = format!(r#"{{"$schema": "{MCP_SCHEMA}", "mcpServers": {{"s": {server}}}}}"#);
        let (servers, findings) = read_mcp(text.as_bytes());
        assert_eq!(servers.len() + findings.len(), 1);
        !servers.is_empty()
    }

    #[test]
    fn servers_are_valid_or_ignored_one_by_one() {
        for valid in [
            r#"{"type": "stdio", "command": "node", "args": ["x"], "env": {"A": "b"}, "cwd": "${PLUGIN_ROOT}"}"#,
            r#"{"type": "stdio", "command": "./bin/server", "cwd": "./data"}"#,
            r#"{"type": "stdio", "command": "x", "cwd": "${PLUGIN_DATA}/a"}"#,
            r#"{"type": "streamable-http", "url": "https://x.example/mcp", "headers": {"X-A": "b"}}"#,
            r#"{"type": "sse", "url": "http://127.0.0.1:8080/sse"}"#,
            r#"{"type": "sse", "url": "http://[::1]/sse"}"#,
        ] {
            assert!(check(valid), "{valid}");
        }
        for invalid in [
            "5",
            r#"{"command": "x"}"#,
            r#"{"type": "http", "url": "https://x"}"#,
            r#"{"type": "stdio", "command": "../bin/server"}"#,
            r#"{"type": "stdio", "command": "./a/../../b"}"#,
            r#"{"type": "stdio", "command": "/bin/sh"}"#,
            r#"{"type": "stdio", "command": "node server.js"}"#,
            r#"{"type": "stdio", "command": "x", "cwd": "data"}"#,
            r#"{"type": "stdio", "command": "x", "cwd": "${PLUGIN_ROOT}/../x"}"#,
            r#"{"type": "stdio", "command": "x", "env": {"PLUGIN_ROOT": "/"}}"#,
            r#"{"type": "stdio", "command": "x", "url": "https://x"}"#,
            r#"{"type": "streamable-http", "url": "http://x.example/mcp"}"#,
            r#"{"type": "streamable-http", "url": "https://me@x.example/mcp"}"#,
            r#"{"type": "streamable-http", "url": "https://x.example/mcp", "headers": {"A": "b", "a": "c"}}"#,
            r#"{"type": "streamable-http", "url": "https://x.example/mcp", "headers": {"A": "b\n"}}"#,
        ] {
            assert!(!check(invalid), "{invalid}");
        }
        for broken in ["", "[]", "{}", r#"{"mcpServers": {}}"#] {
            assert_eq!(read_mcp(broken.as_bytes()).1.len(), 1, "{broken}");
        }
    }
}
