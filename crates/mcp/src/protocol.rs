//! The two families of protocol versions: with a handshake, and since 2026-07-28 without one.

use rmcp::RoleServer;
use rmcp::model::{CacheScope, Implementation, MetaObject, ProtocolVersion};
use rmcp::service::RequestContext;
use serde_json::{Map, Value, json};

/// The time for which clients may cache a result. They are notified of changes, and asking again is cheap.
const TTL_MS: u64 = 0;

/// The `_meta` key of the server's name.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The supported versions, oldest first. The batches that 2025-03-26 alone has are refused.
pub(crate) const SUPPORTED_VERSIONS: &[ProtocolVersion] = &[
    ProtocolVersion::V_2024_11_05,
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProtocolFamily {
    /// Up to 2025-11-25: a session starts with `initialize`.
    Handshake,
    /// Since 2026-07-28: requests carry version and capabilities; results say how long they may be cached.
    Stateless,
}

impl ProtocolFamily {
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Self {
        match context.protocol_version() {
            Some(version) if version.as_str() >= ProtocolVersion::V_2026_07_28.as_str() => Self::Stateless,
            _ => Self::Handshake,
        }
    }

    pub(crate) fn meta(self, server: &Implementation) -> Option<MetaObject> {
        let info = json!({"name": server.name, "version": server.version});
        (self == Self::Stateless).then(|| MetaObject(Map::from_iter([(SERVER_INFO.to_owned(), info)])))
    }

    /// Returns the time for which a result may be cached.
    pub(crate) fn ttl_ms(self) -> Option<u64> {
        (self == Self::Stateless).then_some(TTL_MS)
    }

    /// Returns who may share a cached result: results differ between agents.
    pub(crate) fn cache_scope(self) -> Option<CacheScope> {
        (self == Self::Stateless).then_some(CacheScope::Private)
    }

    /// Adds the fields to a result of the Skills extension that rmcp adds to the results it knows.
    pub(crate) fn complete(self, result: &mut Map<String, Value>, server: &Implementation) {
        if let Some(meta) = self.meta(server) {
            result.insert("resultType".to_owned(), json!("complete"));
            result.insert("ttlMs".to_owned(), json!(TTL_MS));
            result.insert("cacheScope".to_owned(), json!("private"));
            result.insert("_meta".to_owned(), Value::Object(meta.0));
        }
    }
}
