//! Requests with bytes changed, lost and added: every one is answered or passed over, and the next is served.

use std::collections::HashMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{Client, World, with_meta};

/// Every method, in both generations.
fn requests() -> Vec<String> {
    let about = json!({"name": "tests", "version": "0"});
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about});
    let mut requests = vec![
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4, "reason": "x"}}),
        json!({"jsonrpc": "2.0", "id": 9, "result": {}}),
    ];
    let methods = [
        ("server/discover", json!({})),
        ("ping", json!({})),
        ("tools/list", json!({"cursor": "YWZ0ZXI6YWxwaGE"})),
        ("tools/call", json!({"name": "load_skill", "arguments": {"name": "alpha"}})),
        (
            "tools/call",
            json!({"name": "read_skill_file", "arguments": {"skill": "alpha", "path": "references/guide one.md"}}),
        ),
        ("prompts/get", json!({"name": "alpha", "arguments": {"arguments": "x"}})),
        ("resources/read", json!({"uri": "skill://alpha/references/guide%20one.md"})),
        ("resources/directory/read", json!({"uri": "skill://alpha/references"})),
        ("skills/list", json!({"cursor": "YWZ0ZXI6YWxwaGE"})),
        ("skills/get", json!({"uri": "skill://alpha/SKILL.md"})),
    ];
    for (number, (method, params)) in methods.into_iter().enumerate() {
        requests.push(json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params}));
        requests.push(json!({"jsonrpc": "2.0", "id": number, "method": method, "params": with_meta(params)}));
    }
    requests.iter().map(Value::to_string).collect()
}

/// One change of a line: at a place, so many bytes are replaced.
fn mutation() -> impl Strategy<Value = (prop::sample::Index, usize, Vec<u8>)> {
    let pieces = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..4),
        prop::sample::select(vec![
            "{",
            "}",
            "[",
            "\"",
            "null",
            "-1",
            "1e999",
            "\\ud800",
            "\"id\":{},",
            "../",
            "%2e%2e"
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    (any::<prop::sample::Index>(), 0_usize..6, pieces)
}

fn line() -> impl Strategy<Value = Vec<u8>> {
    let mutations = prop::collection::vec(mutation(), 0..4);
    (prop::sample::select(requests()), mutations).prop_map(|(request, mutations)| {
        let mut line = request.into_bytes();
        for (place, length, piece) in mutations {
            let start = place.index(line.len().max(1)).min(line.len());
            let end = (start + length).min(line.len());
            line.splice(start..end, piece);
        }
        // One that has more lines is more requests.
        line.retain(|byte| *byte != b'\n');
        line
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_next_request_is_served(lines in prop::collection::vec(line(), 1..12)) {
        let world = World::new();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut client = Client::start(&world.server(), None);
            for line in &lines {
                client.write(line).await;
                client.write(b"\n").await;
            }
            let last = json!({"jsonrpc": "2.0", "id": "the last", "method": "skills/list", "params": with_meta(json!({}))});
            client.send(&last).await;
            let mut answers: HashMap<String, usize> = HashMap::new();
            loop {
                let answer = client.receive().await;
                prop_assert_eq!(&answer["jsonrpc"], "2.0");
                if answer.get("method").is_some() {
                    continue;
                }
                prop_assert!(answer["result"].is_object() != answer["error"].is_object(), "{}", answer);
                if answer["id"] == "the last" {
                    break;
                }
                *answers.entry(answer["id"].to_string()).or_default() += 1;
            }
            // Nothing is answered twice.
            prop_assert!(answers.values().sum::<usize>() <= lines.len(), "{:?}", answers);
            client.end().await;
            Ok(())
        })?;
    }
}
