//! The two ways to speak MCP: with a handshake, and since 2026-07-28 with everything in each request.

use rmcp::RoleServer;
use rmcp::model::{CacheScope, Implementation, MetaObject, ProtocolVersion};
use rmcp::service::RequestContext;
use serde_json::{Map, Value, json};

/// How long a client may keep a result: it is told of changes, and looking again is cheap.
const TTL_MS: u64 = 0;

/// The key that the server's name stands under in the `_meta` of results.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// How the peer speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// With a handshake; results are as they were before 2026-07-28.
    Legacy,
    /// Without; results say what they are, how long they may be kept, and whose they are.
    Modern,
}

impl Era {
    /// Returns how whoever sent the request speaks.
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Self {
        let version = context.protocol_version();
        let is_modern =
            version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        if is_modern { Self::Modern } else { Self::Legacy }
    }

    /// Returns the `_meta` of a result.
    pub(crate) fn meta(self, server: &Implementation) -> Option<MetaObject> {
        let info = || json!({"name": server.name, "version": server.version});
        (self == Self::Modern).then(|| MetaObject(Map::from_iter([(SERVER_INFO.to_owned(), info())])))
    }

    /// Returns how long a result may be kept.
    pub(crate) fn ttl_ms(self) -> Option<u64> {
        (self == Self::Modern).then_some(TTL_MS)
    }

    /// Returns for whom a result may be kept: what one agent sees is not for others.
    pub(crate) fn cache_scope(self) -> Option<CacheScope> {
        (self == Self::Modern).then_some(CacheScope::Private)
    }

    /// Adds to a result of the extension what rmcp adds to those it knows.
    pub(crate) fn complete(self, result: &mut Map<String, Value>, server: &Implementation) {
        if let Some(meta) = self.meta(server) {
            result.insert("resultType".to_owned(), json!("complete"));
            result.insert("ttlMs".to_owned(), json!(TTL_MS));
            result.insert("cacheScope".to_owned(), json!("private"));
            result.insert("_meta".to_owned(), Value::Object(meta.0));
        }
    }
}
