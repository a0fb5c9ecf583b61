//! The Skills extension.

use repertoire_mcp::McpOptions;
use repertoire_model::{Policy, RuleId, Severity};
use serde_json::{Value, json};

use crate::world::{Client, World};

/// Returns the digest of base64 or text contents, worked out here.
fn digest(contents: &Value) -> String {
    use base64::Engine as _;
    let bytes = match contents["text"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => base64::engine::general_purpose::STANDARD.decode(contents["blob"].as_str().unwrap()).unwrap(),
    };
    repertoire::model::Digest::of(&bytes).to_string()
}

#[tokio::test]
async fn served_files_match_their_digests() {
    let world = World::new();
    world.write("alpha/references/naïve & co.md", "ü\n");
    let mut client = Client::start(&world.server(), None);
    client.initialize("2025-11-25").await;
    let skill =
        client.request("skills/get", json!({"uri": "skill://alpha/SKILL.md"})).await["result"]["skill"]
            .clone();
    let resources = skill["resources"].as_array().unwrap();
    assert_eq!(resources.len(), 5);
    for resource in resources {
        let read = client.request("resources/read", json!({"uri": resource["uri"]})).await;
        let contents = &read["result"]["contents"][0];
        assert_eq!(digest(contents), resource["digest"], "{resource}");
        assert_eq!(contents["uri"], resource["uri"]);
        assert_eq!(contents["_meta"], skill["_meta"]);
    }
    assert_eq!(skill["_meta"]["io.github.repertoire-rs/source"], "project:skills");
    assert_eq!(skill["frontmatter"]["metadata"]["version"], "1.0");
}

#[tokio::test]
async fn fastmcp_manifest_is_served() {
    let world = World::new();
    let mut client = Client::start(&world.server(), None);
    client.initialize("2025-11-25").await;
    let read = client.request("resources/read", json!({"uri": "skill://alpha/_manifest"})).await;
    let text = read["result"]["contents"][0]["text"].as_str().unwrap().to_owned();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(manifest["skill"], "alpha");
    let skill = client.request("skills/get", json!({"uri": "skill://alpha/SKILL.md"})).await;
    let resources = skill["result"]["skill"]["resources"].as_array().unwrap().clone();
    let files = manifest["files"].as_array().unwrap();
    let pairs = |values: &[Value], digest: &str| -> Vec<(Value, Value)> {
        values.iter().map(|value| (value["size"].clone(), value[digest].clone())).collect()
    };
    assert_eq!(pairs(files, "hash"), pairs(&resources, "digest"));
    world.write("alpha/_manifest", "a file of the author's");
    let read = client.request("resources/read", json!({"uri": "skill://alpha/_manifest"})).await;
    assert_eq!(read["result"]["contents"][0]["text"], "a file of the author's");
}

#[tokio::test]
async fn directories_are_listed_one_level_at_a_time() {
    let world = World::new();
    std::fs::create_dir(world.path("alpha/drafts")).unwrap();
    std::fs::create_dir(world.path("alpha/.hidden")).unwrap();
    let mut client = Client::start(&world.server(), None);
    client.initialize("2025-11-25").await;
    let mut children = async |uri: &str| {
        let answer = client.request("resources/directory/read", json!({"uri": uri})).await;
        match answer["result"]["resources"].as_array() {
            Some(found) => found
                .iter()
                .map(|child| {
                    format!(
                        "{} {}",
                        child["name"].as_str().unwrap(),
                        child["mimeType"].as_str().unwrap_or("-")
                    )
                })
                .collect::<Vec<_>>()
                .join(", "),
            None => answer["error"]["code"].to_string(),
        }
    };
    assert_eq!(
        children("skill://alpha").await,
        "alpha text/markdown, assets inode/directory, references inode/directory"
    );
    assert_eq!(
        children("skill://alpha/references").await,
        "deep inode/directory, guide one.md text/markdown"
    );
    assert_eq!(children("skill://alpha/assets").await, "logo.bin -");
    assert_eq!(children("skill://alpha/drafts").await, "", "there is nothing in it");
    let hidden = "skill://alpha/.hidden";
    let file = "skill://alpha/SKILL.md";
    for uri in [file, hidden, "skill://alpha/nope", "skill://nope", "skill://", "file:///", ""] {
        assert_eq!(children(uri).await, "-32602", "{uri}");
    }
}

#[tokio::test]
async fn lists_come_in_pages() {
    let world = World::empty();
    for number in 0..230 {
        world.skill(&format!("s{number:03}"), "", "# X\n");
    }
    let mut client = Client::start(&world.server(), None);
    client.initialize("2025-11-25").await;
    for (method, list, key) in [
        ("skills/list", "skills", "uri"),
        ("resources/list", "resources", "uri"),
        ("prompts/list", "prompts", "name"),
    ] {
        let (mut seen, mut sizes, mut params) = (Vec::new(), Vec::new(), json!({}));
        loop {
            let result = client.request(method, params).await["result"].clone();
            let page = result[list].as_array().unwrap();
            sizes.push(page.len());
            seen.extend(page.iter().map(|item| item[key].as_str().unwrap().to_owned()));
            match result.get("nextCursor") {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => break,
            }
        }
        assert_eq!(sizes, [100, 100, 30], "{method}");
        assert!(seen.is_sorted() && seen.len() == 230);
        for bad in ["x", "", "AAAA"] {
            let answer = client.request(method, json!({"cursor": bad})).await;
            assert_eq!(answer["error"]["code"], -32602, "{method} {bad}");
        }
    }
    let answer = client.request("skills/list", json!({"cursor": 7})).await;
    assert_eq!(answer["error"]["code"], -32602);
}

#[tokio::test]
async fn skills_that_strict_clients_reject_are_not_published() {
    let world = World::new();
    world.skill("float", "metadata:\n  version: 1.0\n", "# Float\n");
    world.skill("other-name", "", "# Name\n");
    std::fs::rename(world.path("other-name"), world.path("directory")).unwrap();
    world.skill("many", "", "# Many\n");
    for number in 0..520 {
        world.write(&format!("many/references/{number}.md"), "x");
    }
    let mut client = Client::start(&world.server(), None);
    client.initialize("2025-11-25").await;
    let listed = client.request("skills/list", json!({})).await;
    let uris: Vec<&str> = listed["result"]["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| skill["uri"].as_str().unwrap())
        .collect();
    assert_eq!(uris, ["skill://alpha/SKILL.md", "skill://beta/SKILL.md"]);
    let mut notices = world.notices.lock().unwrap().clone();
    notices.sort();
    assert_eq!(notices, ["float: metadata-values", "many: file-count", "other-name: name-directory"]);
    let got = client.request("skills/get", json!({"uri": "skill://float/SKILL.md"})).await;
    assert_eq!(got["error"]["code"], -32602);
    assert!(got["error"]["message"].as_str().unwrap().contains("metadata-values"));
    let read = client.request("resources/read", json!({"uri": "skill://float/SKILL.md"})).await;
    assert_eq!(read["error"]["code"], -32002, "clients that shook hands know this code");
    let loaded =
        client.request("tools/call", json!({"name": "load_skill", "arguments": {"name": "float"}})).await;
    assert_eq!(loaded["result"]["isError"], json!(false), "tools still reach it");
}

#[tokio::test]
async fn unknown_skills_and_resources_have_error_codes() {
    let world = World::new();
    world.write("alpha/.secret", "x");
    let mut client = Client::start(&world.server(), None);
    for uri in [
        "skill://nope/SKILL.md",
        "skill://alpha/nope.md",
        "skill://alpha/.secret",
        "skill://alpha",
        "file:///etc/passwd",
        "",
        "skill://alpha/../beta/SKILL.md",
    ] {
        let read = client.modern("resources/read", json!({"uri": uri})).await;
        assert_eq!(read["error"]["code"], -32602, "{uri}");
        let got = client.modern("skills/get", json!({"uri": uri})).await;
        assert_eq!(got["error"]["code"], -32602, "{uri}");
    }
    assert_eq!(client.modern("skills/get", json!({})).await["error"]["code"], -32602);
    assert_eq!(client.modern("resources/read", json!({})).await["error"]["code"], -32602);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skill_is_published_only_while_it_passes_the_publish_check() {
    let world = World::new();
    let mut client = Client::start(&world.server(), None);
    client.initialize("2025-11-25").await;
    let uri = json!({"uri": "skill://beta/SKILL.md"});
    let is_served = async |client: &mut Client| {
        client.request("skills/get", uri.clone()).await["result"]["skill"].is_object()
    };
    assert!(is_served(&mut client).await);
    // A link is not a file, so it changes no digest.
    let link = world.path("beta/link.md");
    std::os::unix::fs::symlink(world.path("alpha/SKILL.md"), &link).unwrap();
    assert!(!is_served(&mut client).await);
    assert!(!is_served(&mut client).await);
    assert_eq!(*world.notices.lock().unwrap(), ["beta: file-symlink"], "once");
    std::fs::remove_file(&link).unwrap();
    assert!(is_served(&mut client).await);
    // Neither does another skill.
    world.skill("gamma", "requires: [delta]\n", "# Gamma\n");
    world.skill("delta", "", "# Delta\n");
    let uri = json!({"uri": "skill://gamma/SKILL.md"});
    let is_served = async |client: &mut Client| {
        client.request("skills/get", uri.clone()).await["result"]["skill"].is_object()
    };
    let mut outcomes = vec![is_served(&mut client).await];
    for requires in ["requires: [gamma]\n", ""] {
        world.skill("delta", requires, "# Delta\n");
        outcomes.push(is_served(&mut client).await);
    }
    assert_eq!(outcomes, [true, false, true], "{:?}", world.notices.lock().unwrap());
}

#[tokio::test]
async fn configuration_cannot_relax_the_publish_check() {
    let world = World::new();
    world.skill("float", "metadata:\n  version: 1.0\n", "# Float\n");
    let mut policy = Policy::default();
    policy.rule_severities.insert(RuleId::MetadataValues, None);
    policy.rule_severities.insert(RuleId::BodyEmpty, Some(Severity::Error));
    world.skill("hollow", "", "");
    let server = world.server_under(McpOptions::default(), Vec::new(), policy);
    let mut client = Client::start(&server, None);
    client.initialize("2025-11-25").await;
    let listed = client.request("skills/list", json!({})).await;
    let uris: Vec<&Value> =
        listed["result"]["skills"].as_array().unwrap().iter().map(|skill| &skill["uri"]).collect();
    assert_eq!(uris, ["skill://alpha/SKILL.md", "skill://beta/SKILL.md"]);
}
