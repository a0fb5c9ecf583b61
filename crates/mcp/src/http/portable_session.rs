//! Ids of MCP sessions that other servers of the same skills understand.
//!
//! A session is kept by one process. Its id ends with all that another needs to go on with it: the parameters
//! of the handshake, and the skills of its URL. So sessions survive a new server, and a proxy that changes
//! servers. The id gives no rights: requests have tokens, and an invented id is worth a handshake.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use repertoire_model::Digest;
use rmcp::model::InitializeRequestParams;
use rmcp::transport::streamable_http_server::session::{SessionState, SessionStore, SessionStoreError};
use serde_json::{Value, json};

/// Maximum characters of an id. Proxies limit headers; clients with more get an id for one server alone.
const MAX_ID: usize = 3_000;

/// The character between the id of rmcp and the rest.
const SEPARATOR: char = '.';

/// All that a process needs to go on with a session of another one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PortableSession {
    /// The parameters of the handshake that make a difference.
    pub(super) params: InitializeRequestParams,
    /// The query of the URL of the handshake.
    pub(super) query: Option<String>,
}

impl PortableSession {
    /// Returns the session that a handshake with this body and query starts.
    pub(super) fn of_handshake(body: &[u8], query: Option<&str>) -> Option<Self> {
        let message: Value = serde_json::from_slice(body).ok()?;
        let params = &message["params"];
        let client = &params["clientInfo"];
        let params = json!({
            "protocolVersion": params["protocolVersion"],
            "capabilities": params["capabilities"],
            "clientInfo": {"name": client["name"], "version": client["version"]},
        });
        let params = serde_json::from_value(params).ok()?;
        Some(Self { params, query: query.map(str::to_owned) })
    }

    /// Returns the id that clients get for the session `inner` of rmcp; `None` if it would be too long.
    pub(super) fn id(&self, inner: &str, principal: Option<&str>) -> Option<String> {
        let value = json!({"params": self.params, "query": self.query, "of": mark(inner, principal)});
        let id = format!("{inner}{SEPARATOR}{}", URL_SAFE_NO_PAD.encode(value.to_string()));
        (id.len() <= MAX_ID).then_some(id)
    }

    /// Returns the session with this id; `None` if it is not such an id, or one of another principal.
    pub(super) fn parse(id: &str, principal: Option<&str>) -> Option<Self> {
        let (inner, rest) = id.split_once(SEPARATOR).filter(|_| id.len() <= MAX_ID)?;
        let value: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(rest).ok()?).ok()?;
        if value["of"] != mark(inner, principal).as_str() {
            return None;
        }
        let params = serde_json::from_value(value["params"].clone()).ok()?;
        Some(Self { params, query: value["query"].as_str().map(str::to_owned) })
    }
}

/// Returns what rmcp calls the session with this id.
pub(super) fn inner_id(id: &str) -> &str {
    id.split_once(SEPARATOR).map_or(id, |(inner, _)| inner)
}

/// Returns a text that differs by principal, so that nobody goes on with somebody else's session by mistake.
fn mark(inner: &str, principal: Option<&str>) -> String {
    let text = format!("{inner}\n{}", principal.unwrap_or_default());
    Digest::of(text.as_bytes()).to_hex()[..16].to_owned()
}

/// The handshakes that rmcp is to repeat, by its ids of the sessions.
#[derive(Default)]
pub(super) struct PendingHandshakes(Mutex<HashMap<String, InitializeRequestParams>>);

impl PendingHandshakes {
    /// Makes rmcp repeat a handshake when it meets the session `inner`.
    pub(super) fn add(&self, inner: &str, params: InitializeRequestParams) {
        self.lock().insert(inner.to_owned(), params);
    }

    /// Gives up the handshake of the session `inner`, if it was not repeated.
    pub(super) fn remove(&self, inner: &str) {
        self.lock().remove(inner);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, InitializeRequestParams>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait::async_trait]
impl SessionStore for PendingHandshakes {
    async fn load(&self, inner: &str) -> Result<Option<SessionState>, SessionStoreError> {
        Ok(self.lock().remove(inner).map(SessionState::new))
    }

    async fn store(&self, _: &str, _: &SessionState) -> Result<(), SessionStoreError> {
        // The client keeps it.
        Ok(())
    }

    async fn delete(&self, _: &str) -> Result<(), SessionStoreError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handshake(capabilities: Value) -> Vec<u8> {
        let client = json!({"name": "editor", "version": "1", "title": "Editor"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client});
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string().into_bytes()
    }

    #[test]
    fn an_id_holds_the_handshake_and_the_skills() {
        let session =
            PortableSession::of_handshake(&handshake(json!({"roots": {}})), Some("skills=git-*")).unwrap();
        let id = session.id("0a1b", Some("ann")).unwrap();
        assert!(id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
        assert_eq!(inner_id(&id), "0a1b");
        let parsed = PortableSession::parse(&id, Some("ann")).unwrap();
        assert_eq!(parsed, session);
        assert_eq!(parsed.params.client_info.name, "editor");
        assert_eq!(parsed.query.as_deref(), Some("skills=git-*"));
    }

    #[test]
    fn ids_of_others_and_broken_ones_hold_nothing() {
        let session = PortableSession::of_handshake(&handshake(json!({})), None).unwrap();
        let id = session.id("0a1b", Some("ann")).unwrap();
        assert!(PortableSession::parse(&id, Some("ann")).is_some());
        let other_session = id.replace("0a1b", "0a1c");
        for (id, principal) in [
            (id.as_str(), Some("bob")),
            (id.as_str(), None),
            (&id[..id.len() - 2], Some("ann")),
            (other_session.as_str(), Some("ann")),
            ("0a1b", Some("ann")),
            ("0a1b.", Some("ann")),
            ("0a1b.e30", Some("ann")),
            ("", Some("ann")),
        ] {
            assert_eq!(PortableSession::parse(id, principal), None, "{id} {principal:?}");
        }
    }

    #[test]
    fn a_long_handshake_is_not_held_by_an_id() {
        let capabilities = json!({"experimental": {"long": {"text": "x".repeat(MAX_ID)}}});
        let session = PortableSession::of_handshake(&handshake(capabilities), None).unwrap();
        assert_eq!(session.id("0a1b", None), None);
    }
}
