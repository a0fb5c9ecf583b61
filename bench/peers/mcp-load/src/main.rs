//! Calls an MCP server for skills of a library, in the same way for every implementation.
//!
//! - `mcp-load stdio LIBRARY CALLS METHOD PARAMS COMMAND…`: starts the server, shakes hands, calls in a row
//! - `mcp-load http LIBRARY URL CONNECTIONS SECONDS METHOD PARAMS`: as many requests in flight, no handshake
//!
//! `NAME` in PARAMS stands for the name of a skill, another one each time.

mod calls;
mod http;
mod stdio;

use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse().expect("a number");
    match arguments[..] {
        ["stdio", library, calls, method, params, ref command @ ..] if !command.is_empty() => {
            stdio::measure(&calls::Calls::new(Path::new(library), method, params), number(calls), command);
        }
        ["http", library, url, connections, seconds, method, params] => {
            let calls = calls::Calls::new(Path::new(library), method, params);
            http::measure(&calls, url, number(connections), number(seconds) as u64);
        }
        _ => panic!("see the top of main.rs"),
    }
}
