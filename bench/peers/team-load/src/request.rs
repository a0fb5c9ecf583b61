//! The requests that people send.

use serde_json::{Value, json};

use crate::plan::Plan;

const VERSION: &str = "2026-07-28";

/// The kinds of requests, and how many of a hundred are of each.
pub const MIX: [(Kind, u64); 9] = [
    (Kind::Load, 40),
    (Kind::Search, 15),
    (Kind::File, 10),
    (Kind::Index, 3),
    (Kind::ApiSkills, 7),
    (Kind::ApiSearch, 10),
    (Kind::SkillPage, 8),
    (Kind::Overview, 2),
    (Kind::Foreign, 5),
];

/// A kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// MCP: `load_skill`.
    Load,
    /// MCP: `search_skills`.
    Search,
    /// A file of a skill, for installers.
    File,
    /// The index for installers.
    Index,
    /// The skills as JSON.
    ApiSkills,
    /// Search as you type.
    ApiSearch,
    /// The page of a skill.
    SkillPage,
    /// The first page.
    Overview,
    /// MCP: `load_skill` of a skill outside the scope.
    Foreign,
    /// A version that is published.
    Publish,
    /// A look whether a published version is there.
    Seen,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load_skill",
            Self::Search => "search_skills",
            Self::File => "well-known file",
            Self::Index => "well-known index",
            Self::ApiSkills => "api skills",
            Self::ApiSearch => "search as you type",
            Self::SkillPage => "skill page",
            Self::Overview => "first page",
            Self::Foreign => "load_skill out of scope",
            Self::Publish => "publish",
            Self::Seen => "load_skill after publish",
        }
    }
}

/// A request under way, with all that its answer is checked against.
#[derive(Clone)]
pub struct Request {
    pub kind: Kind,
    pub bytes: Vec<u8>,
    /// The index of the scope of its token.
    pub scope: usize,
    /// The skill that it is about.
    pub skill: String,
    /// The index of the publication that it is about.
    pub publication: usize,
}

/// Returns a request of a person.
pub fn of_person(plan: &Plan, kind: Kind, person: usize, skill: &str, query: &str) -> Request {
    let token = &plan.people[person].token;
    let bytes = match kind {
        Kind::Load | Kind::Foreign | Kind::Seen => call(token, "load_skill", &json!({"name": skill})),
        Kind::Search => call(token, "search_skills", &json!({"query": query})),
        Kind::File => get(token, &format!("/.well-known/agent-skills/{skill}/SKILL.md")),
        Kind::Index => get(token, "/.well-known/agent-skills/index.json"),
        Kind::ApiSkills => get(token, "/api/v1/skills?limit=50"),
        Kind::ApiSearch => get(token, &format!("/api/v1/search?limit=10&q={}", query.replace(' ', "+"))),
        Kind::SkillPage => get(token, &format!("/skills/{skill}")),
        Kind::Overview | Kind::Publish => get(token, "/"),
    };
    Request { kind, bytes, scope: plan.people[person].scope, skill: skill.to_owned(), publication: 0 }
}

/// Returns the request that publishes a version.
pub fn publish(plan: &Plan, index: usize) -> Request {
    let publication = &plan.publications[index];
    let archive = std::fs::read(&publication.archive).expect("the archive can be read");
    let path = format!("/api/v1/skills/{}/versions/{}", publication.skill, publication.version);
    let head = head("PUT", &path, &plan.publisher);
    let mut bytes = format!("{head}Content-Length: {}\r\n\r\n", archive.len()).into_bytes();
    bytes.extend_from_slice(&archive);
    Request { kind: Kind::Publish, bytes, scope: 0, skill: publication.skill.clone(), publication: index }
}

fn head(method: &str, path: &str, token: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n")
}

fn get(token: &str, path: &str) -> Vec<u8> {
    format!("{}\r\n", head("GET", path, token)).into_bytes()
}

fn call(token: &str, tool: &str, arguments: &Value) -> Vec<u8> {
    let prefix = "io.modelcontextprotocol";
    let meta = json!({
        format!("{prefix}/protocolVersion"): VERSION,
        format!("{prefix}/clientCapabilities"): {},
        format!("{prefix}/clientInfo"): {"name": "team-load", "version": "0"},
    });
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    format!(
        "{}Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: {VERSION}\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\nContent-Length: {}\r\n\r\n{body}",
        head("POST", "/mcp", token),
        body.len()
    )
    .into_bytes()
}
