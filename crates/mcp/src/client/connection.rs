//! Connections to MCP servers.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::process::{ChildStdin, ChildStdout};
use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderName, HeaderValue};
use repertoire::http::HttpClient;
use repertoire_model::toolbox::nearest_tool_name;
use rmcp::model::{ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{RoleClient, ServiceExt as _};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use super::http::BlockingTransport;
use super::tool::ServerTool;

/// The longest that a server may take to connect and to list its tools.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);

const MAX_TOOLS: usize = 128;

/// The most attempts to continue the stream of a call that the server closed before the answer.
const MAX_RECONNECTIONS: usize = 5;

/// The most characters of a tool's name before a number that tells it from another one.
const MAX_NUMBERED_CHARACTERS: usize = 50;

/// A way to an MCP server.
#[derive(Debug)]
pub enum McpServer {
    /// A process that the host started: its standard input and output.
    Process(ChildStdin, ChildStdout),
    /// A URL, with headers for every request.
    Http {
        /// The URL.
        url: String,
        /// The headers.
        headers: BTreeMap<String, String>,
    },
}

/// The connections to the MCP servers that a host took tools from.
///
/// The tools can be called as long as it exists.
pub struct ToolServers {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    services: Vec<RunningService<RoleClient, ClientConfig>>,
    http: HttpClient,
}

impl ToolServers {
    /// Returns no connections yet; requests to servers go through `http`.
    pub fn new(http: HttpClient) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(Self { runtime: Some(runtime), services: Vec::new(), http })
    }

    /// Connects to the server that the host calls `name`, and returns its tools.
    ///
    /// Their list is fixed from then on, because a list that changes would end the cache of every prompt. A
    /// tool whose name is in `taken` is called `name_tool`.
    pub fn connect(
        &mut self,
        name: &str,
        server: McpServer,
        taken: &mut BTreeSet<String>,
    ) -> io::Result<Vec<ServerTool>> {
        let connected = async {
            let implementation = Implementation::new("repertoire", env!("CARGO_PKG_VERSION"));
            let client = ClientConfig::new(Default::default(), implementation);
            let service = match server {
                McpServer::Process(input, output) => {
                    let output = tokio::process::ChildStdout::from_std(output)?;
                    let input = tokio::process::ChildStdin::from_std(input)?;
                    client
                        .serve((output, input))
                        .await
                        .map_err(|error| io::Error::other(error.to_string()))?
                }
                McpServer::Http { url, headers } => {
                    let mut config = StreamableHttpClientTransportConfig::with_uri(url);
                    config.custom_headers = parsed(headers)?;
                    let client_of_http = BlockingTransport::new(self.http.clone());
                    let mut retries = ExponentialBackoff::default();
                    retries.max_times = Some(MAX_RECONNECTIONS);
                    config.retry_config = Arc::new(retries);
                    let transport = StreamableHttpClientTransport::with_client(client_of_http, config);
                    // Processes are not asked: those of older versions may end at anything but `initialize`.
                    let newest_first = ClientLifecycleMode::Auto {
                        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                        legacy_version: None,
                    };
                    let served = client.serve_with_lifecycle(transport, newest_first).await;
                    served.map_err(|error| io::Error::other(error.to_string()))?
                }
            };
            let tools =
                service.list_all_tools().await.map_err(|error| io::Error::other(error.to_string()))?;
            Ok::<_, io::Error>((service, tools))
        };
        let runtime = self.runtime.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        let (service, listed) = runtime.block_on(async {
            timeout(CONNECT_LIMIT, connected).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        })?;
        if listed.len() > MAX_TOOLS {
            return Err(io::Error::other(format!("it has {} tools, more than {MAX_TOOLS}", listed.len())));
        }
        let (handle, peer) = (runtime.handle().clone(), service.peer().clone());
        let tools = listed.into_iter().map(|tool| {
            let called = free_name(name, &tool.name, taken);
            taken.insert(called.clone());
            ServerTool::new(called, tool, peer.clone(), handle.clone())
        });
        let tools = tools.collect();
        self.services.push(service);
        Ok(tools)
    }
}

impl Drop for ToolServers {
    fn drop(&mut self) {
        self.services.clear();
        // A request that is under way may take minutes, and nobody waits for its answer.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Returns the name that models call a tool by: one that services accept and no other tool has.
fn free_name(server: &str, tool: &str, taken: &BTreeSet<String>) -> String {
    let plain = nearest_tool_name(tool);
    if !taken.contains(&plain) {
        return plain;
    }
    let long = nearest_tool_name(&format!("{server}_{tool}"));
    if !taken.contains(&long) {
        return long;
    }
    let start: String = long.chars().take(MAX_NUMBERED_CHARACTERS).collect();
    let numbered = (2u32..).map(|number| nearest_tool_name(&format!("{start}_{number}")));
    numbered.into_iter().find(|name| !taken.contains(name)).unwrap_or(long)
}

fn parsed(
    headers: BTreeMap<String, String>,
) -> io::Result<std::collections::HashMap<HeaderName, HeaderValue>> {
    let parse = |(name, value): (String, String)| {
        let parsed = HeaderName::try_from(&name)
            .map_err(|_| io::Error::other(format!("`{name}` is not a valid name of an HTTP header")))?;
        // The value may be secret.
        let value = HeaderValue::try_from(&value).map_err(|_| {
            io::Error::other(format!("the HTTP header `{name}` has a value with control characters"))
        })?;
        Ok((parsed, value))
    };
    headers.into_iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpListener;

    use repertoire::Tool as _;
    use serde_json::{Value, json};

    use super::*;

    /// Starts a server, and returns its address; `answer` gets the header and the body of each request.
    fn serve(answer: impl Fn(&str, &Value) -> String + Send + 'static) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut reader = BufReader::new(stream.unwrap());
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
                head.make_ascii_lowercase();
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
                reader.read_exact(&mut body).unwrap();
                let body = serde_json::from_slice(&body).unwrap_or_default();
                let answer = answer(&head, &body);
                reader.get_mut().write_all(answer.as_bytes()).unwrap();
            }
        });
        format!("http://{address}/mcp")
    }

    fn http_answer(status: u16, kind: &str, body: &str) -> String {
        let length = body.len();
        format!(
            "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )
    }

    fn result(request: &Value, result: Value) -> String {
        json!({"jsonrpc": "2.0", "id": request["id"], "result": result}).to_string()
    }

    /// Returns the names of the tools of the server at `url`.
    fn tools_of(url: String) -> Vec<String> {
        let mut servers = ToolServers::new(HttpClient::default()).unwrap();
        let server = McpServer::Http { url, headers: BTreeMap::new() };
        let tools = servers.connect("test", server, &mut BTreeSet::new()).unwrap();
        tools.iter().map(|tool| tool.name().to_owned()).collect()
    }

    #[test]
    fn a_server_without_a_handshake_is_discovered() {
        let url = serve(|head, request| {
            assert!(head.contains("\r\nmcp-protocol-version: 2026-07-28\r\n"), "{head}");
            let cache = json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private"});
            let mut answer = match request["method"].as_str() {
                Some("server/discover") => {
                    json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
                }
                Some("tools/list") => json!({"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}),
                other => panic!("{other:?} was sent"),
            };
            answer.as_object_mut().unwrap().extend(cache.as_object().unwrap().clone());
            http_answer(200, "application/json", &result(request, answer))
        });
        assert_eq!(tools_of(url), ["add"]);
    }

    #[test]
    fn a_server_that_answers_anything_is_initialized() {
        let url = serve(|_, request| {
            let answer = match request["method"].as_str() {
                Some("notifications/initialized") => return http_answer(202, "text/plain", ""),
                Some("initialize") => {
                    let info = json!({"name": "old", "version": "1"});
                    json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info})
                }
                Some("tools/list") => json!({"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}),
                _ => json!({}),
            };
            http_answer(200, "application/json", &result(request, answer))
        });
        assert_eq!(tools_of(url), ["add"]);
    }

    #[test]
    fn an_older_server_is_initialized_and_a_stream_that_it_closes_is_continued() {
        let list = std::sync::Mutex::new(Value::Null);
        let url = serve(move |head, request| match request["method"].as_str() {
            // Servers refuse it in many ways, such as without its id.
            Some("server/discover") => {
                http_answer(400, "text/plain", "Bad Request: No valid session ID provided")
            }
            Some("initialize") => {
                let info = json!({"name": "old", "version": "1"});
                let answer = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info});
                http_answer(200, "application/json", &result(request, answer))
            }
            Some("tools/list") => {
                *list.lock().unwrap() = request.clone();
                http_answer(200, "text/event-stream", "id: first\nretry: 1\ndata:\n\n")
            }
            Some(_) => http_answer(202, "text/plain", ""),
            None => {
                assert!(head.starts_with("get ") && head.contains("\r\nlast-event-id: first\r\n"), "{head}");
                let tools = json!({"tools": [{"name": "add", "inputSchema": {"type": "object"}}]});
                let event = format!("id: second\ndata: {}\n\n", result(&list.lock().unwrap(), tools));
                http_answer(200, "text/event-stream", &event)
            }
        });
        assert_eq!(tools_of(url), ["add"]);
    }

    #[test]
    fn every_tool_gets_a_name_of_its_own() {
        let mut taken = BTreeSet::new();
        for tool in ["read", &"x".repeat(200)] {
            for _ in 0..MAX_TOOLS {
                let name = free_name("files", tool, &taken);
                assert!(name.len() <= 64, "{name}");
                assert!(taken.insert(name));
            }
        }
        assert!(taken.contains("read") && taken.contains("files_read") && taken.contains("files_read_2"));
    }
}
