//! Tools of MCP servers for the sessions of a host, with MCP mounted at the other end.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;

use repertoire::Library;
use repertoire::http::HttpClient;
use repertoire_mcp::client::{McpServer, ToolServers};
use repertoire_web::http::{HttpOptions, Token};
use serde_json::json;

use crate::world::{Http, World, changed};

fn server(http: &Http, headers: &[(&str, &str)]) -> McpServer {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    McpServer::Http { url: format!("http://{}/mcp", http.address), headers }
}

#[test]
fn tools_of_a_server_over_http_are_called_in_a_session() {
    let world = World::new();
    let options = changed(HttpOptions::default(), |options| {
        options.access.tokens = vec![Token::new("0123456789abcdef0123456789abcdef", None, "test").unwrap()]
    });
    let http = Http::start(&world.server(), options);
    let mut servers = ToolServers::new(HttpClient::default()).unwrap();
    let refused = servers.connect("other", server(&http, &[]), &mut BTreeSet::new());
    assert!(refused.is_err(), "a token is needed");
    let mut taken = BTreeSet::from(["load_skill".to_owned()]);
    let tools = servers
        .connect(
            "other",
            server(&http, &[("Authorization", "Bearer 0123456789abcdef0123456789abcdef")]),
            &mut taken,
        )
        .unwrap();
    assert!(taken.contains("other_load_skill"), "{taken:?}");
    let builder = tools.into_iter().fold(Library::builder(), |builder, tool| {
        // Names of built-in tools are taken by this library, too.
        if repertoire::Tool::name(&tool).starts_with("other_") { builder.tool(tool) } else { builder }
    });
    let library = pollster::block_on(builder.open()).unwrap();
    let session = pollster::block_on(library.session()).unwrap();
    assert_eq!(session.tools().len(), 1);
    let reply = pollster::block_on(session.call("other_load_skill", &json!({"name": "alpha"})));
    assert!(reply.text().contains("Do alpha.") && !reply.is_error(), "{}", reply.text());
    let reply = pollster::block_on(session.call("other_load_skill", &json!({"name": "nothing"})));
    assert!(reply.is_error(), "{}", reply.text());
    drop(servers);
    let reply = pollster::block_on(session.call("other_load_skill", &json!({"name": "alpha"})));
    assert!(reply.is_error(), "{}", reply.text());
}

#[test]
fn a_server_that_is_away_or_speaks_something_else_is_an_error() {
    let mut servers = ToolServers::new(HttpClient::default()).unwrap();
    let mut connect = |url: String| {
        let server = McpServer::Http { url, headers: BTreeMap::new() };
        servers.connect("other", server, &mut BTreeSet::new()).map(|tools| tools.len())
    };
    assert!(connect("http://127.0.0.1:9/mcp".to_owned()).is_err());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 3\r\n\r\n<p>");
        }
    });
    assert!(connect(url).is_err());
}
