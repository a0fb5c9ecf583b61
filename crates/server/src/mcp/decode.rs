//! From bytes to a message, and the right error for everything else.

use std::borrow::Cow;
use std::fmt;

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ConstString as _, ErrorData, InitializeRequestParams,
    InitializeResultMethod, JsonRpcMessage, RequestId,
};
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

/// What is told of parameters that have no names.
const POSITIONAL: &str = "`params` is an object";

/// From here on not every whole number is one that a computer's fraction can be.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// What bytes hold.
pub(crate) enum Decoded {
    /// A message.
    Message(Box<ClientJsonRpcMessage>),
    /// Nothing, or what needs no answer.
    Nothing,
    /// What is no message, with the answer to it.
    Refused(Value),
    /// A request whose parameters are none, with the answer to it.
    BadParams(Value),
}

/// Returns what `bytes` hold.
pub(crate) fn decode(bytes: &[u8]) -> Decoded {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii();
    if bytes.is_empty() {
        return Decoded::Nothing;
    }
    match serde_json::from_slice::<ClientJsonRpcMessage>(bytes) {
        Ok(message) => match bad_params(&message, bytes) {
            Some(answer) => Decoded::BadParams(answer),
            None => Decoded::Message(Box::new(message)),
        },
        Err(_) => refused(bytes),
    }
}

/// Returns the answer to a request whose parameters rmcp would make something of that they are not: a list for an object, in
/// the order of its own fields; no cursor for one that is no text; or of a handshake a request that belongs to no handshake.
fn bad_params(message: &ClientJsonRpcMessage, bytes: &[u8]) -> Option<Value> {
    let JsonRpcMessage::Request(request) = message else { return None };
    let reason = match &request.request {
        ClientRequest::CustomRequest(custom) if custom.method == InitializeResultMethod::VALUE => {
            bad_handshake(custom.params.as_ref())
        }
        _ => match serde_json::from_slice::<Envelope>(bytes).ok()?.params? {
            Params::Positional => POSITIONAL.into(),
            Params::Named { has_bad_cursor: true } => "`cursor` is a string".into(),
            Params::Named { has_bad_cursor: false } => return None,
        },
    };
    let id = request.id.clone().into_json_value();
    Some(error(&id, ErrorData::invalid_params(reason, None)))
}

/// Returns what is wrong with the parameters of a handshake.
fn bad_handshake(params: Option<&Value>) -> String {
    let reason = InitializeRequestParams::deserialize(params.unwrap_or(&json!({}))).err();
    let reason = reason.map(|error| error.to_string()).unwrap_or_default();
    format!("bad parameters for initialize: {reason}")
}

/// As much of a request as tells how its parameters are written.
#[derive(Deserialize)]
struct Envelope {
    params: Option<Params>,
}

/// How parameters are written.
enum Params {
    Positional,
    Named { has_bad_cursor: bool },
}

impl<'de> Deserialize<'de> for Params {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Looker;

        impl<'de> Visitor<'de> for Looker {
            type Value = Params;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("parameters")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Params, A::Error> {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Params::Positional)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Params, A::Error> {
                let mut has_bad_cursor = false;
                while let Some(key) = fields.next_key::<Cow<'de, str>>()? {
                    if key == "cursor" {
                        has_bad_cursor |= !matches!(fields.next_value()?, Value::Null | Value::String(_));
                    } else {
                        fields.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(Params::Named { has_bad_cursor })
            }
        }

        deserializer.deserialize_any(Looker)
    }
}

/// The id of a message whose rest cannot be read.
#[derive(Deserialize)]
struct OnlyId {
    #[serde(default)]
    id: Value,
}

/// Returns the answer to what is no message.
fn refused(bytes: &[u8]) -> Decoded {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else {
        // Half a character somewhere in the parameters is no reason to leave the caller without an answer.
        let id = serde_json::from_slice::<OnlyId>(bytes).map(|call| call.id).unwrap_or_default();
        return Decoded::Refused(error(&repeated(&id), ErrorData::parse_error("this is not JSON", None)));
    };
    let is_call =
        value.get("method").is_some_and(Value::is_string) && value.get("jsonrpc") == Some(&json!("2.0"));
    // Notifications are never answered, not even those that nobody understands.
    if is_call && value.get("id").is_none() {
        return Decoded::Nothing;
    }
    let id = value.get("id").map(repeated).unwrap_or_default();
    if is_call && !id.is_null() && value.get("params").is_some_and(Value::is_array) {
        return Decoded::BadParams(error(&id, ErrorData::invalid_params(POSITIONAL, None)));
    }
    let reason = match &value {
        Value::Array(_) => "batches are not supported; send one message at a time",
        _ if is_call && value["id"].is_number() && !value["id"].is_i64() => {
            "an id is a string or a whole number from -2^63 to 2^63 - 1"
        }
        _ => "this is no JSON-RPC 2.0 message",
    };
    Decoded::Refused(error(&id, ErrorData::invalid_request(reason, None)))
}

/// Returns `id` as it is repeated in an answer: nothing where it is none, or a number that would come out as another.
fn repeated(id: &Value) -> Value {
    let is_exact = match id {
        Value::String(_) => true,
        Value::Number(number) => {
            number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|id| id.abs() < MAX_EXACT)
        }
        _ => false,
    };
    if is_exact { id.clone() } else { Value::Null }
}

/// Returns the answer that what has `id` is refused.
pub(crate) fn error(id: &Value, error: ErrorData) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}

/// Returns the answer to a request whose id belongs to another one, which is not answered yet.
pub(crate) fn id_in_use(id: &RequestId) -> Value {
    let reason = "a request with this id is not answered yet; give each its own";
    error(&id.clone().into_json_value(), ErrorData::invalid_request(reason, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_is_answered_under_its_id() {
        let check = |text: &str, expect: Option<(Value, i64)>| match (decode(text.as_bytes()), expect) {
            (Decoded::Refused(answer), Some((id, code))) => {
                assert_eq!((&answer["id"], answer["error"]["code"].as_i64()), (&id, Some(code)), "{text}");
            }
            (Decoded::Nothing, None) => {}
            _ => panic!("{text}"),
        };
        check("{", Some((Value::Null, -32700)));
        check("\u{0}", Some((Value::Null, -32700)));
        check("[]", Some((Value::Null, -32600)));
        check("1", Some((Value::Null, -32600)));
        check("{\"id\":7}", Some((json!(7), -32600)));
        check(
            r#"{"jsonrpc":"2.0","id":8,"method":"ping","params":{"x":"\ud800"}}"#,
            Some((json!(8), -32700)),
        );
        check("{\"jsonrpc\":\"1.0\",\"id\":\"a\",\"method\":\"ping\"}", Some((json!("a"), -32600)));
        check("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", Some((Value::Null, -32600)));
        for (id, repeated) in [
            ("123456789012345678901234567890", Value::Null),
            ("-123456789012345678901234567890", Value::Null),
            ("1.5", json!(1.5)),
            ("18446744073709551615", json!(u64::MAX)),
        ] {
            let call = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            check(&call, Some((repeated, -32600)));
            let Decoded::Refused(answer) = decode(call.as_bytes()) else { panic!("{call}") };
            assert_eq!(
                answer["error"]["message"],
                "an id is a string or a whole number from -2^63 to 2^63 - 1"
            );
        }
        for id in [i64::MIN, i64::MAX] {
            let call = json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string();
            assert!(matches!(decode(call.as_bytes()), Decoded::Message(_)), "{call}");
        }
        check(r#"{"id":[7],"x":"\ud800"}"#, Some((Value::Null, -32700)));
        check("", None);
        check(" \r\n", None);
        assert!(matches!(
            decode(b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n"),
            Decoded::Message(_)
        ));
    }

    #[test]
    fn parameters_are_an_object_and_cursors_are_texts() {
        let check = |method: &str, params: Value, expect: Option<&str>| {
            let text = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string();
            match (decode(text.as_bytes()), expect) {
                (Decoded::BadParams(answer), Some(message)) => {
                    let error = &answer["error"];
                    assert_eq!((&answer["id"], &error["code"]), (&json!(7), &json!(-32602)), "{text}");
                    assert_eq!(error["message"], message, "{text}");
                }
                (Decoded::Message(_), None) => {}
                _ => panic!("{text}"),
            }
        };
        check("tools/call", json!(["load_skill", {"name": "a"}]), Some("`params` is an object"));
        check("skills/list", json!([]), Some("`params` is an object"));
        check("resources/list", json!({"cursor": 5}), Some("`cursor` is a string"));
        check("resources/list", json!({"cursor": null}), None);
        check("resources/list", json!({"cursor": "x"}), None);
        check("tools/call", json!({"name": "load_skill", "arguments": {"cursor": 5}}), None);
        check("ping", Value::Null, None);
    }

    #[test]
    fn a_handshake_says_what_it_has_to_say() {
        let whole = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let check = |params: Option<Value>, expect: &str| {
            let mut call = json!({"jsonrpc": "2.0", "id": 7, "method": "initialize"});
            call.as_object_mut().unwrap().extend(params.map(|params| ("params".to_owned(), params)));
            let Decoded::BadParams(answer) = decode(call.to_string().as_bytes()) else { panic!("{call}") };
            let error =
                json!({"code": -32602, "message": format!("bad parameters for initialize: {expect}")});
            assert_eq!((&answer["id"], &answer["error"]), (&json!(7), &error), "{call}");
        };
        for name in ["protocolVersion", "capabilities", "clientInfo"] {
            let mut params = whole.clone();
            params.as_object_mut().unwrap().remove(name);
            check(Some(params), &format!("missing field `{name}`"));
        }
        let mut params = whole.clone();
        params["clientInfo"] = json!({"name": "test"});
        check(Some(params), "missing field `version`");
        check(None, "missing field `protocolVersion`");
        let call = json!({"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": whole}).to_string();
        assert!(matches!(decode(call.as_bytes()), Decoded::Message(_)));
    }

    #[test]
    fn depth_and_size_are_bounded_by_the_parser() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(matches!(decode(deep.as_bytes()), Decoded::Refused(_)));
    }
}
