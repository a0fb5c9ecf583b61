//! The well-known index.

use std::io::{Read as _, Write as _};

use repertoire::model::Digest;
use repertoire_web::http::{AddressRange, HttpOptions};
use serde_json::{Value, json};

use crate::world::{Http, World, changed};

/// Returns the body of the resource at `path`.
fn bytes(http: &Http, path: &str) -> Vec<u8> {
    let mut stream = http.connect();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", http.address);
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{path}: {}", String::from_utf8_lossy(&answer));
    let start = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    answer.split_off(start)
}

#[test]
fn index_entries_match_their_digests() {
    let world = World::new();
    world.skill("float", "metadata:\n  version: 1.0\n", "# Float\n");
    let http = Http::start(&world.server(), HttpOptions::default());
    let index: Value = serde_json::from_slice(&bytes(&http, "/.well-known/agent-skills/index.json")).unwrap();
    insta::assert_json_snapshot!("index", index);
    for skill in index["skills"].as_array().unwrap() {
        let found = bytes(&http, &format!("/.well-known/agent-skills/{}", skill["url"].as_str().unwrap()));
        assert_eq!(Digest::of(&found).to_string(), skill["digest"], "{skill}");
    }
    let archive = bytes(&http, "/.well-known/agent-skills/alpha.tar.gz");
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(archive.as_slice()));
    let paths: Vec<String> = archive
        .entries()
        .unwrap()
        .map(|entry| entry.unwrap().path().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(paths, ["SKILL.md", "assets/logo.bin", "references/deep/more.md", "references/guide one.md"]);
}

#[test]
fn the_0_1_0_index_lists_files() {
    let world = World::new();
    let http = Http::start(&world.server(), HttpOptions::default());
    let index: Value = serde_json::from_slice(&bytes(&http, "/.well-known/skills/index.json")).unwrap();
    insta::assert_json_snapshot!("old_index", index);
    assert_eq!(bytes(&http, "/.well-known/skills/alpha/references/guide%20one.md"), b"one\ntwo\n");
    world.write("alpha/references/guide one.md", "one\ntwo\nthree\n");
    let edited: Value = serde_json::from_slice(&bytes(&http, "/.well-known/skills/index.json")).unwrap();
    assert_ne!(edited["skills"][0]["version"], index["skills"][0]["version"]);
    assert_eq!(edited["skills"][1], index["skills"][1]);
}

#[test]
fn unpublished_skills_are_not_downloadable() {
    let world = World::new();
    world.skill("float", "metadata:\n  version: 1.0\n", "# Float\n");
    world.write("alpha/.secret", "x");
    let http = Http::start(&world.server(), HttpOptions::default());
    for path in [
        "nope.tar.gz",
        "float.tar.gz",
        "float/SKILL.md",
        "alpha/.secret",
        "alpha/nope.md",
        "alpha",
        "alpha/../beta/SKILL.md",
        "alpha/%2e%2e/beta/SKILL.md",
        "..%2f..%2fetc.tar.gz",
        "",
    ] {
        assert_eq!(http.get(&format!("/.well-known/agent-skills/{path}")).0, 404, "{path}");
    }
}

#[test]
fn head_requests_and_etags() {
    let world = World::new();
    let http = Http::start(&world.server(), HttpOptions::default());
    let path = "/.well-known/agent-skills/alpha.tar.gz";
    let (status, head) = http.ask("HEAD", path, &[], "");
    assert_eq!(status, 200);
    assert!(head.ends_with("\r\n\r\n") && head.contains("cache-control: private, no-cache"), "{head}");
    let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
    assert_eq!(http.ask("GET", path, &[("If-None-Match", tag)], "").0, 304);
    assert_eq!(http.ask("POST", path, &[], "").0, 405);
}

#[test]
fn browsers_cannot_run_files_of_skills() {
    let world = World::new();
    world.write("alpha/assets/page.html", "<script>fetch('/mcp')</script>");
    world.write("alpha/assets/image.svg", "<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>");
    let http = Http::start(&world.server(), HttpOptions::default());
    for path in [
        "agent-skills/index.json",
        "skills/index.json",
        "agent-skills/alpha.tar.gz",
        "agent-skills/alpha/SKILL.md",
        "skills/alpha/assets/page.html",
        "agent-skills/alpha/assets/image.svg",
        "agent-skills/nope/SKILL.md",
    ] {
        let (status, answer) = http.get(&format!("/.well-known/{path}"));
        let (head, _) = answer.split_once("\r\n\r\n").unwrap();
        for header in [
            "content-security-policy: sandbox; default-src 'none'",
            "x-content-type-options: nosniff",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(head.contains(header), "{path}: {head}");
        }
        let is_file = status == 200 && !path.ends_with(".json");
        assert_eq!(head.contains("content-disposition: attachment"), is_file, "{path}: {head}");
        if path.contains("assets/") {
            assert!(head.contains("content-type: text/plain"), "{path}: {head}");
        }
    }
    for (site, expect) in [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)] {
        let path = "/.well-known/agent-skills/alpha/assets/page.html";
        assert_eq!(http.ask("GET", path, &[("Sec-Fetch-Site", site)], "").0, expect, "{site}");
    }
}

#[test]
fn the_marketplace_lists_skills_as_archives_of_plugins_over_tls() {
    let world = World::new();
    let options = changed(HttpOptions::default(), |options| {
        options.allowed_hosts = vec!["skills.example.com".to_owned()];
        options.trusted_proxies = vec![AddressRange::parse("127.0.0.1").unwrap()];
    });
    let http = Http::start(&world.server(), options);
    let path = "/.claude-plugin/marketplace.json";
    let (status, reason) = http.get(path);
    assert!(status == 404 && reason.contains("https"), "{reason}");
    let headers = [("Host", "skills.example.com"), ("X-Forwarded-Proto", "https")];
    let (status, answer) = http.ask("GET", path, &headers, "");
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    let marketplace: Value = serde_json::from_str(body).unwrap();
    assert_eq!((status, &marketplace["name"]), (200, &json!("skills-example-com")));
    let plugins = marketplace["plugins"].as_array().unwrap();
    let names: Vec<&str> = plugins.iter().map(|plugin| plugin["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["alpha", "beta"]);
    for plugin in plugins {
        let url = plugin["source"]["url"].as_str().unwrap();
        let path = url.strip_prefix("https://skills.example.com").unwrap();
        assert_eq!(plugin["source"]["source"], "archive");
        assert_eq!(Digest::of(&bytes(&http, path)).to_hex(), plugin["source"]["sha256"].as_str().unwrap());
    }
}
