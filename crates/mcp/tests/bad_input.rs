//! Tests that the server keeps serving after any invalid input.

use repertoire_mcp::stdio::MAX_LINE_BYTES;
use serde_json::json;

use crate::world::{Client, World};

#[tokio::test]
async fn invalid_lines_get_an_error_response() {
    let world = World::new();
    let mut client = Client::start(&world.server(), None);
    // Before the first request a notification is about nothing.
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}))
        .await;
    client.send(&json!({"jsonrpc": "2.0", "id": 3, "result": {}})).await;
    let mut refused = async |line: &[u8], code: i64| {
        client.write(line).await;
        client.write(b"\n").await;
        let answer = client.receive().await;
        assert_eq!(answer["error"]["code"], code, "{}", String::from_utf8_lossy(&line[..line.len().min(80)]));
    };
    refused(b"not json", -32700).await;
    refused(b"\xff\xfe\x00", -32700).await;
    refused(b"[]", -32600).await;
    refused(b"{\"jsonrpc\":\"2.0\"}", -32600).await;
    refused(b"{\"id\":1,\"method\":\"ping\"}", -32600).await;
    refused(&vec![b'x'; MAX_LINE_BYTES + 1], -32600).await;
    client.write(b"\n  \r\n").await;
    client.initialize("2025-11-25").await;
    for method in ["nope", "completion/complete", "resources/subscribe", "logging/setLevel"] {
        let params = json!({"uri": "x", "level": "info", "ref": {"type": "ref/prompt", "name": "a"}, "argument": {"name": "a", "value": "b"}});
        let error = client.request(method, params).await["error"].clone();
        assert_eq!(error, json!({"code": -32601, "message": format!("method not found: {method}")}));
    }
    let error = client.request("tools/call", json!({"name": "nope"})).await["error"].clone();
    assert_eq!(error["code"], -32602);
    assert!(!error.to_string().contains('*'), "{error}");
    assert_eq!(client.request("tools/call", json!(["load_skill"])).await["error"]["code"], -32602);
    assert_eq!(client.request("resources/list", json!({"cursor": 5})).await["error"]["code"], -32602);
    assert_eq!(client.request("tools/call", json!({"arguments": 7})).await["error"]["code"], -32602);
    assert_eq!(client.request("resources/read", json!({"uri": 7})).await["error"]["code"], -32602);
    assert_eq!(client.request("completion/complete", json!({})).await["error"]["code"], -32601);
    assert!(client.request("tools/list", json!({})).await["result"].is_object());
    client.end().await;
}

#[tokio::test]
async fn notifications_before_the_first_request_are_ignored() {
    let world = World::new();
    let mut client = Client::start(&world.server(), None);
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    client.modern("server/discover", json!({})).await;
    client.send(&initialized).await;
    client.request("ping", json!({})).await;
    client.send(&initialized).await;
    assert_eq!(client.request("tools/list", json!({})).await["error"]["code"], -32602);
    client.send(&json!({"jsonrpc": "2.0", "id": 9, "result": {}})).await;
    assert!(client.modern("tools/list", json!({})).await["result"].is_object());
    client.end().await;
}

#[tokio::test]
async fn unknown_or_missing_protocol_versions_are_refused() {
    let world = World::new();
    let mut client = Client::start(&world.server(), None);
    assert_eq!(client.request("tools/list", json!({})).await["error"]["code"], -32602);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2099-01-01",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let answer = client.request("tools/list", json!({"_meta": meta})).await;
    assert_eq!(answer["error"]["code"], -32022);
    assert!(answer["error"]["data"]["supported"].is_array(), "{answer}");
    assert!(client.modern("tools/list", json!({})).await["result"].is_object());
}

#[tokio::test]
async fn input_that_ends_early_is_no_error() {
    let world = World::new();
    let server = world.server();
    Client::start(&server, None).end().await;
    let mut client = Client::start(&server, None);
    client.write(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initi").await;
    client.end().await;
}

#[tokio::test]
async fn requests_before_the_end_of_input_are_answered() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let world = World::new();
    let server = world.server();
    let (mut ours, theirs) = tokio::io::duplex(1024 * 1024);
    let (reader, writer) = tokio::io::split(theirs);
    let task = tokio::spawn(async move {
        server.serve_streams(reader, writer, None, &repertoire::serve::Stop::new()).await.unwrap();
    });
    let meta = crate::world::with_meta(json!({"notifications": {"toolsListChanged": true}}));
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "skills/list", "params": meta}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "subscriptions/listen", "params": meta}),
    ];
    for line in lines {
        ours.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }
    // The last line need not be ended.
    let last = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": meta}).to_string();
    ours.write_all(last.as_bytes()).await.unwrap();
    ours.shutdown().await.unwrap();
    let mut answers = String::new();
    tokio::time::timeout(crate::world::TIMEOUT, ours.read_to_string(&mut answers)).await.unwrap().unwrap();
    task.await.unwrap();
    assert_eq!(answers.lines().count(), 4, "two answers, an acknowledgement and its end: {answers}");
}
