//! Decodes JSON-RPC messages, and builds the error response for everything else.
//!
//! rmcp 3.8 takes a list of parameters for an object, an invalid cursor for none, and `initialize` with
//! invalid parameters for an unknown method; it answers other invalid messages without id or not at all.

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ConstString as _, ErrorData, InitializeRequestParams,
    InitializeResultMethod, JsonRpcMessage, RequestId,
};
use serde::Deserialize;
use serde_json::{Value, json};

const PARAMS_NOT_OBJECT: &str = "`params` is an object";

/// 2^53: floating-point numbers below it represent whole numbers exactly.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

pub(crate) enum DecodedMessage {
    Message(Box<ClientJsonRpcMessage>),
    /// Nothing to answer: an empty line, or an unknown notification.
    Nothing,
    /// No valid message, and the error response.
    Refused(Value),
    /// A request with invalid parameters, and the error response.
    BadParams(Value),
}

pub(crate) fn decode(bytes: &[u8]) -> DecodedMessage {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii();
    if bytes.is_empty() {
        return DecodedMessage::Nothing;
    }
    match serde_json::from_slice::<ClientJsonRpcMessage>(bytes) {
        Ok(message) => match check_params(&message, bytes) {
            Some(response) => DecodedMessage::BadParams(response),
            None => DecodedMessage::Message(Box::new(message)),
        },
        Err(_) => refuse(bytes),
    }
}

/// The part of a request that [`check_params`] looks at.
#[derive(Deserialize)]
struct RequestParams {
    params: Option<Value>,
}

/// Returns the error response if rmcp would misread the parameters.
fn check_params(message: &ClientJsonRpcMessage, bytes: &[u8]) -> Option<Value> {
    let JsonRpcMessage::Request(request) = message else { return None };
    let reason = match &request.request {
        ClientRequest::CustomRequest(custom) if custom.method == InitializeResultMethod::VALUE => {
            invalid_initialize(custom.params.as_ref())
        }
        _ => match serde_json::from_slice::<RequestParams>(bytes).ok()?.params? {
            Value::Array(_) => PARAMS_NOT_OBJECT.into(),
            params if !matches!(params.get("cursor"), None | Some(Value::Null | Value::String(_))) => {
                "`cursor` is a string".into()
            }
            _ => return None,
        },
    };
    let id = request.id.clone().into_json_value();
    Some(error(&id, ErrorData::invalid_params(reason, None)))
}

/// Returns the error in the parameters of `initialize`.
fn invalid_initialize(params: Option<&Value>) -> String {
    let error = InitializeRequestParams::deserialize(params.unwrap_or(&json!({}))).err();
    let reason = error.map(|error| error.to_string()).unwrap_or_default();
    format!("bad parameters for initialize: {reason}")
}

/// The id of a message whose rest is invalid.
#[derive(Deserialize)]
struct MessageId {
    #[serde(default)]
    id: Value,
}

/// Returns the error response to an invalid message.
fn refuse(bytes: &[u8]) -> DecodedMessage {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else {
        // The id may be readable even if, for example, a string in the parameters is invalid.
        let id = serde_json::from_slice::<MessageId>(bytes).map(|message| message.id).unwrap_or_default();
        return DecodedMessage::Refused(error(
            &echoed_id(&id),
            ErrorData::parse_error("this is not JSON", None),
        ));
    };
    let is_call =
        value.get("method").is_some_and(Value::is_string) && value.get("jsonrpc") == Some(&json!("2.0"));
    // Notifications never get a response.
    if is_call && value.get("id").is_none() {
        return DecodedMessage::Nothing;
    }
    let id = value.get("id").map(echoed_id).unwrap_or_default();
    if is_call && !id.is_null() && value.get("params").is_some_and(Value::is_array) {
        return DecodedMessage::BadParams(error(&id, ErrorData::invalid_params(PARAMS_NOT_OBJECT, None)));
    }
    let reason = match &value {
        Value::Array(_) => "batches are not supported; send one message at a time",
        _ if is_call && value["id"].is_number() && !value["id"].is_i64() => {
            "an id is a string or a whole number from -2^63 to 2^63 - 1"
        }
        _ => "this is not a JSON-RPC 2.0 message",
    };
    DecodedMessage::Refused(error(&id, ErrorData::invalid_request(reason, None)))
}

/// Returns the id to echo, or null if it is invalid or not exactly representable.
fn echoed_id(id: &Value) -> Value {
    let is_exact = match id {
        Value::String(_) => true,
        Value::Number(number) => {
            number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|id| id.abs() < MAX_EXACT)
        }
        _ => false,
    };
    if is_exact { id.clone() } else { Value::Null }
}

/// Returns the error response to the request `id`.
pub(crate) fn error(id: &Value, error: ErrorData) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}

/// Returns the error response to a request whose id is in use by one in flight.
pub(crate) fn id_in_use(id: &RequestId) -> Value {
    let reason = "a request with this id is not answered yet; use a new id";
    error(&id.clone().into_json_value(), ErrorData::invalid_request(reason, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_messages_get_an_error_with_their_id() {
        let check = |text: &str, expect: Option<(Value, i64)>| match (decode(text.as_bytes()), expect) {
            (DecodedMessage::Refused(answer), Some((id, code))) => {
                assert_eq!((&answer["id"], answer["error"]["code"].as_i64()), (&id, Some(code)), "{text}");
            }
            (DecodedMessage::Nothing, None) => {}
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
            let DecodedMessage::Refused(answer) = decode(call.as_bytes()) else { panic!("{call}") };
            assert_eq!(
                answer["error"]["message"],
                "an id is a string or a whole number from -2^63 to 2^63 - 1"
            );
        }
        for id in [i64::MIN, i64::MAX] {
            let call = json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string();
            assert!(matches!(decode(call.as_bytes()), DecodedMessage::Message(_)), "{call}");
        }
        check(r#"{"id":[7],"x":"\ud800"}"#, Some((Value::Null, -32700)));
        check("", None);
        check(" \r\n", None);
        assert!(matches!(
            decode(b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n"),
            DecodedMessage::Message(_)
        ));
    }

    #[test]
    fn params_must_be_an_object_and_cursors_strings() {
        let check = |method: &str, params: Value, expect: Option<&str>| {
            let text = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string();
            match (decode(text.as_bytes()), expect) {
                (DecodedMessage::BadParams(answer), Some(message)) => {
                    let error = &answer["error"];
                    assert_eq!((&answer["id"], &error["code"]), (&json!(7), &json!(-32602)), "{text}");
                    assert_eq!(error["message"], message, "{text}");
                }
                (DecodedMessage::Message(_), None) => {}
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
    fn initialize_with_missing_fields_is_refused() {
        let whole = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let check = |params: Option<Value>, expect: &str| {
            let mut call = json!({"jsonrpc": "2.0", "id": 7, "method": "initialize"});
            call.as_object_mut().unwrap().extend(params.map(|params| ("params".to_owned(), params)));
            let DecodedMessage::BadParams(answer) = decode(call.to_string().as_bytes()) else {
                panic!("{call}")
            };
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
        assert!(matches!(decode(call.as_bytes()), DecodedMessage::Message(_)));
    }

    #[test]
    fn deeply_nested_json_is_refused() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(matches!(decode(deep.as_bytes()), DecodedMessage::Refused(_)));
    }
}
