//! Traces for an OpenTelemetry collector: one `execute_tool` span for each call of a tool.
//!
//! Spans are sent as OTLP over HTTP in JSON. Attributes follow the semantic conventions for generative AI;
//! those without a convention begin with `repertoire.`.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use repertoire_model::text::public_address;
use serde_json::{Value, json};

use super::jsonl::{MAX_ERROR_BYTES, MAX_NAME_BYTES, MAX_PATH_BYTES, bounded};
use super::queue::{BatchWriter, EventQueue, OnFailure, QueueOptions};
use super::{Event, EventKind, EventSink, Outcome, Via};
use crate::http::{HttpClient, HttpError, HttpErrorKind, HttpResponse};
use crate::{Error, ErrorKind};

/// The longest request to a collector.
const REQUEST_TIME: Duration = Duration::from_secs(10);

/// The kind of a span that is neither a client's nor a server's.
const INTERNAL: u8 = 1;
/// The status of a span that failed.
const FAILED: u8 = 2;

repertoire_model::options! {
    /// The options of an [`OtelSink`].
    #[derive(Clone)]
    #[non_exhaustive]
    pub struct OtelOptions {
        /// The address that spans are posted to, such as `http://localhost:4318/v1/traces`.
        pub endpoint: String,
        /// The client that requests go through.
        pub http: HttpClient,
        /// Headers of every request, such as the key of an account.
        pub headers: Vec<(String, String)>,
        /// The name of the program that spans come from.
        pub service_name: String = "repertoire".to_owned(),
        /// The most events that wait to be sent; more are dropped and counted.
        pub queue: usize = 10_000,
        /// The pauses before the attempts to send spans again that the collector did not take.
        pub retries: Vec<Duration> = [100, 1_000].map(Duration::from_millis).to_vec(),
        /// Called with the reason when spans are dropped because they cannot be sent, once.
        pub on_failure: Option<Arc<OnFailure>>,
    }
}

impl OtelOptions {
    /// Returns the defaults for the collector at `endpoint`: 10,000 queued events, and no headers.
    pub fn new(endpoint: impl Into<String>) -> Self {
        Self { endpoint: endpoint.into(), ..Self::default() }
    }
}

/// A sink that sends calls of tools to an OpenTelemetry collector, from a thread of its own.
///
/// It is best effort, as the [`JournalSink`](super::JournalSink) is: what cannot be queued or sent is dropped
/// and counted. Skills that reach a model without a call, as in a prompt, have no span.
///
/// ```no_run
/// use std::sync::Arc;
/// use repertoire::Library;
/// use repertoire::event::Sinks;
/// use repertoire::event::otel::{OtelOptions, OtelSink};
///
/// let mut options = OtelOptions::new("http://localhost:4318/v1/traces");
/// options.service_name = "support-bot".to_owned();
/// let sinks = Sinks::new().with(Arc::new(OtelSink::new(options)));
/// let library = pollster::block_on(Library::builder().directory("skills").sinks(sinks).open())?;
/// # Ok::<(), repertoire::Error>(())
/// ```
pub struct OtelSink(EventQueue);

impl OtelSink {
    /// Returns a sink that sends to the collector of `options`.
    pub fn new(options: OtelOptions) -> Self {
        let (retries, on_failure) = (options.retries.clone(), options.on_failure.clone());
        let queue = QueueOptions { name: "traces", limit: options.queue, retries, on_failure };
        let open = move || -> Result<Box<dyn BatchWriter>, Error> {
            Ok(Box::new(Exporter { options: options.clone(), seed: RandomState::new() }))
        };
        Self(EventQueue::new(open, queue))
    }

    /// Returns the number of events that were dropped.
    pub fn dropped(&self) -> u64 {
        self.0.dropped()
    }

    /// Waits until all events so far are sent or dropped, or until `timeout`; returns whether they are.
    pub fn flush(&self, timeout: Duration) -> bool {
        self.0.flush(timeout)
    }
}

impl EventSink for OtelSink {
    fn record(&self, event: &Event) {
        let is_call = matches!(event.via, Via::Call | Via::Required);
        if is_call && event.kind != EventKind::AccessRefused {
            self.0.push(event);
        }
    }
}

impl fmt::Debug for OtelSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtelSink").field("dropped", &self.dropped()).finish_non_exhaustive()
    }
}

/// Posts spans.
struct Exporter {
    options: OtelOptions,
    /// The random part of the identifiers of traces and spans.
    seed: RandomState,
}

impl BatchWriter for Exporter {
    fn write(&mut self, events: &[Event]) -> Result<(), Error> {
        let OtelOptions { http, endpoint, headers, .. } = &self.options;
        let mut request = http.post(endpoint).header("Content-Type", "application/json");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        // A redirect would lead to a server that the user did not choose, and is an error.
        let sent = request.timeout(REQUEST_TIME).send(self.body(events).to_string());
        sent.and_then(HttpResponse::expect_success)
            .map(|_| ())
            .map_err(|error| Error::new(ErrorKind::Io).about(public_address(endpoint)).because(error))
    }

    fn is_transient(&self, error: &Error) -> bool {
        let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref());
        match cause.map(HttpError::kind) {
            // The protocol names the statuses that may be retried.
            Some(HttpErrorKind::Status(status)) => matches!(status, 429 | 502 | 503 | 504),
            kind => kind != Some(HttpErrorKind::Untrusted),
        }
    }
}

impl Exporter {
    fn body(&self, events: &[Event]) -> Value {
        let spans: Vec<Value> = events.iter().map(|event| self.span(event)).collect();
        json!({"resourceSpans": [{
            "resource": {"attributes": [text("service.name", &self.options.service_name)]},
            "scopeSpans": [{
                "scope": {"name": "repertoire", "version": env!("CARGO_PKG_VERSION")},
                "spans": spans,
            }],
        }]})
    }

    /// Returns the span of `event`; the further parts of a call are children of its first.
    fn span(&self, event: &Event) -> Value {
        let call = (&event.session, &event.tool, event.time, event.duration);
        let id = |part: usize| self.seed.hash_one((call, part));
        let trace = (u128::from(self.seed.hash_one(call)) << 64) | u128::from(id(usize::MAX));
        let mut span = json!({
            "traceId": format!("{trace:032x}"),
            "spanId": format!("{:016x}", id(event.part)),
            "name": format!("execute_tool {}", bounded(&event.tool, MAX_NAME_BYTES)),
            "kind": INTERNAL,
            "startTimeUnixNano": nanoseconds(event.time),
            "endTimeUnixNano": nanoseconds(event.time.checked_add(event.duration).unwrap_or(event.time)),
            "attributes": attributes(event),
        });
        if event.part > 0 {
            let skill = event.skill.as_deref().unwrap_or_default();
            span["parentSpanId"] = format!("{:016x}", id(0)).into();
            span["name"] = format!("skill {}", bounded(skill, MAX_NAME_BYTES)).into();
        }
        if event.outcome != Outcome::Ok {
            span["status"] = json!({"code": FAILED, "message": event.outcome.as_str()});
        }
        span
    }
}

fn attributes(event: &Event) -> Vec<Value> {
    let mut attributes = Vec::new();
    if event.part == 0 {
        attributes.push(text("gen_ai.operation.name", "execute_tool"));
        attributes.push(text("gen_ai.tool.name", &bounded(&event.tool, MAX_NAME_BYTES)));
    }
    let error = (event.outcome != Outcome::Ok)
        .then(|| event.error.clone().unwrap_or_else(|| event.outcome.to_string()));
    let session = Some(&event.session).filter(|session| !session.is_empty());
    let digest = event.digest.map(|digest| digest.to_string());
    let optional = [
        ("gen_ai.agent.name", event.agent.as_ref(), MAX_NAME_BYTES),
        ("gen_ai.conversation.id", session, MAX_NAME_BYTES),
        ("gen_ai.skill.name", event.skill.as_ref(), MAX_NAME_BYTES),
        ("gen_ai.skill.resource.name", event.file.as_ref(), MAX_PATH_BYTES),
        ("gen_ai.skill.source.uri", event.source.as_ref(), MAX_PATH_BYTES),
        ("error.type", error.as_ref(), MAX_ERROR_BYTES),
        ("repertoire.digest", digest.as_ref(), MAX_NAME_BYTES),
        ("repertoire.principal", event.principal.as_ref(), MAX_NAME_BYTES),
        ("repertoire.skill_tool", event.skill_tool.as_ref(), MAX_NAME_BYTES),
    ];
    let optional =
        optional.into_iter().filter_map(|(key, value, most)| Some(text(key, &bounded(value?, most))));
    attributes.extend(optional);
    attributes.push(text("repertoire.kind", event.kind.as_str()));
    attributes.push(text("repertoire.outcome", event.outcome.as_str()));
    attributes.push(text("repertoire.surface", event.surface.as_str()));
    attributes.push(text("repertoire.via", event.via.as_str()));
    attributes.push(number("repertoire.bytes", event.bytes));
    attributes.push(number("repertoire.tokens", event.tokens));
    attributes
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// The JSON of OTLP has 64-bit integers in strings.
fn number(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}

fn nanoseconds(time: SystemTime) -> String {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(20);

    /// A request that a collector received.
    struct Request {
        head: String,
        body: Value,
    }

    /// Starts a collector that answers the requests with these statuses, one after the other.
    fn collector(statuses: &'static [u16]) -> (String, Receiver<Request>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}/v1/traces", listener.local_addr().unwrap());
        let (sender, requests) = channel();
        std::thread::spawn(move || {
            for status in statuses {
                let mut stream = BufReader::new(listener.accept().unwrap().0);
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") {
                    stream.read_line(&mut head).unwrap();
                }
                let head = head.to_lowercase();
                let length = head.split_once("content-length: ").unwrap().1;
                let mut body = vec![0; length.split("\r\n").next().unwrap().parse().unwrap()];
                stream.read_exact(&mut body).unwrap();
                let answer =
                    format!("HTTP/1.1 {status} x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}");
                stream.get_mut().write_all(answer.as_bytes()).unwrap();
                let _ = sender.send(Request { head, body: serde_json::from_slice(&body).unwrap() });
            }
        });
        (endpoint, requests)
    }

    fn options(endpoint: &str) -> OtelOptions {
        OtelOptions { retries: vec![Duration::ZERO], ..OtelOptions::new(endpoint) }
    }

    fn event() -> Event {
        let mut event = Event::new(
            EventKind::FileRead,
            "read_skill_file",
            "s1",
            SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
        );
        event.duration = Duration::from_micros(250);
        event.skill = Some("pdf".to_owned());
        event
    }

    /// Returns the attributes of `value`, which has a list of them.
    fn attributes_of(value: &Value) -> BTreeMap<String, String> {
        let attribute = |attribute: &Value| {
            let value = attribute["value"].as_object().unwrap().values().next().unwrap();
            (attribute["key"].as_str().unwrap().to_owned(), value.as_str().unwrap().to_owned())
        };
        value["attributes"].as_array().unwrap().iter().map(attribute).collect()
    }

    #[test]
    fn a_call_is_one_execute_tool_span() {
        let (endpoint, requests) = collector(&[200]);
        let mut options = options(&endpoint);
        options.service_name = "bot".to_owned();
        options.headers = vec![("x-key".to_owned(), "secret".to_owned())];
        let sink = OtelSink::new(options);
        let mut event = event();
        event.file = Some("references/a.md".to_owned());
        event.source = Some("project:.agents/skills".to_owned());
        event.agent = Some("reviewer".to_owned());
        (event.bytes, event.tokens) = (120, 30);
        sink.record(&event);
        assert!(sink.flush(TIMEOUT));
        let Request { head, body } = requests.recv_timeout(TIMEOUT).unwrap();
        assert!(head.starts_with("post /v1/traces http/1.1\r\n"), "{head}");
        assert!(head.contains("content-type: application/json") && head.contains("x-key: secret"), "{head}");
        let resource = &body["resourceSpans"][0];
        assert_eq!(attributes_of(&resource["resource"])["service.name"], "bot");
        assert_eq!(resource["scopeSpans"][0]["scope"]["name"], "repertoire");
        let spans = resource["scopeSpans"][0]["spans"].as_array().unwrap();
        assert_eq!(spans.len(), 1);
        let span = &spans[0];
        assert_eq!(
            (span["traceId"].as_str().unwrap().len(), span["spanId"].as_str().unwrap().len()),
            (32, 16)
        );
        assert_eq!(span["name"], "execute_tool read_skill_file");
        assert_eq!(span["startTimeUnixNano"], "1700000000000000000");
        assert_eq!(span["endTimeUnixNano"], "1700000000000250000");
        assert_eq!(
            (&span["kind"], &span["status"], &span["parentSpanId"]),
            (&json!(1), &Value::Null, &Value::Null)
        );
        let attributes = attributes_of(span);
        for (key, value) in [
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "read_skill_file"),
            ("gen_ai.agent.name", "reviewer"),
            ("gen_ai.conversation.id", "s1"),
            ("gen_ai.skill.name", "pdf"),
            ("gen_ai.skill.resource.name", "references/a.md"),
            ("gen_ai.skill.source.uri", "project:.agents/skills"),
            ("repertoire.tokens", "30"),
        ] {
            assert_eq!(attributes[key], value, "{key}");
        }
        assert!(!attributes.contains_key("error.type"));
    }

    #[test]
    fn failures_have_a_status_and_texts_are_bounded() {
        let exporter = exporter();
        let mut failed = event();
        (failed.outcome, failed.error) = (Outcome::NotFound, Some("unknown_skill".to_owned()));
        failed.skill = Some("x".repeat(10_000));
        let span = exporter.span(&failed);
        assert_eq!(span["status"], json!({"code": 2, "message": "not_found"}));
        let attributes = attributes_of(&span);
        assert_eq!(attributes["error.type"], "unknown_skill");
        assert_eq!(attributes["gen_ai.skill.name"].len(), MAX_NAME_BYTES + "…".len());
    }

    fn exporter() -> Exporter {
        Exporter { options: OtelOptions::default(), seed: RandomState::new() }
    }

    #[test]
    fn further_parts_of_a_call_are_children_of_its_span() {
        let exporter = exporter();
        let parent = exporter.span(&event());
        let child = exporter.span(&Event { part: 1, via: Via::Required, ..event() });
        assert_eq!((&child["traceId"], &child["parentSpanId"]), (&parent["traceId"], &parent["spanId"]));
        assert_ne!(child["spanId"], parent["spanId"]);
        assert_eq!(child["name"], "skill pdf");
        assert!(!attributes_of(&child).contains_key("gen_ai.operation.name"));
        let other = exporter.span(&Event { session: "s2".to_owned(), ..event() });
        assert_ne!(other["traceId"], parent["traceId"]);
    }

    #[test]
    fn only_calls_of_tools_are_sent() {
        let sink = OtelSink::new(options("http://127.0.0.1:1/v1/traces"));
        for via in Via::ALL.into_iter().filter(|via| !matches!(via, Via::Call | Via::Required)) {
            sink.record(&Event { via, ..event() });
        }
        sink.record(&Event { kind: EventKind::AccessRefused, ..event() });
        assert!(sink.flush(TIMEOUT));
        assert_eq!(sink.dropped(), 0, "there was nothing to send to a port without a collector");
    }

    #[test]
    fn what_the_collector_does_not_take_is_dropped_and_counted() {
        // A busy collector is asked again, one that refuses is not.
        let (endpoint, requests) = collector(&[503, 200, 400]);
        let (told, reasons) = channel();
        let told = std::sync::Mutex::new(told);
        let mut options = options(&endpoint);
        options.on_failure = Some(Arc::new(move |error: &Error| {
            told.lock().unwrap().send(error.chain()).unwrap();
        }));
        let sink = OtelSink::new(options);
        sink.record(&event());
        assert!(sink.flush(TIMEOUT));
        assert_eq!(sink.dropped(), 0);
        sink.record(&event());
        assert!(sink.flush(TIMEOUT));
        assert_eq!((sink.dropped(), requests.iter().count()), (1, 3));
        assert!(reasons.try_recv().unwrap().contains("400"));
    }
}
