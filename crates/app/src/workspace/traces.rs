//! Traces for an OpenTelemetry collector, as the standard environment variables ask for them.

use std::sync::Arc;

use percent_encoding::percent_decode_str;
use repertoire::Error;
use repertoire::event::otel::{OtelOptions, OtelSink};

use super::environment::{self as env, Env};
use super::handle::Workspace;
use super::reporter::Reporter;

/// The path of spans below the address of a collector.
const PATH: &str = "v1/traces";

impl Workspace {
    /// Returns the sink that sends calls of tools to a collector, if the environment names one.
    pub fn traces(&self) -> Option<Arc<OtelSink>> {
        self.traces.get_or_init(|| Some(Arc::new(OtelSink::new(options(&self.env, &self.reporter)?)))).clone()
    }
}

/// Returns the options that `env` asks for; `None` if it names no collector, or one with another protocol.
fn options(env: &Env, reporter: &Arc<dyn Reporter>) -> Option<OtelOptions> {
    let text = |name: &str| env.get(name)?.to_str().map(str::to_owned);
    let endpoint = text(env::OTLP_TRACES_ENDPOINT)
        .or_else(|| text(env::OTLP_ENDPOINT).map(|endpoint| below(&endpoint)))?;
    let is_off = text(env::OTEL_SDK_DISABLED).is_some_and(|value| value.eq_ignore_ascii_case("true"))
        || text(env::OTEL_TRACES_EXPORTER).is_some_and(|exporter| exporter != "otlp");
    if is_off {
        return None;
    }
    let protocol = text(env::OTLP_TRACES_PROTOCOL).or_else(|| text(env::OTLP_PROTOCOL));
    if let Some(protocol) = protocol.filter(|protocol| !protocol.starts_with("http/")) {
        reporter.note(&format!(
            "no traces are sent, because {} is `{protocol}`; set it to `http/json`, and the address to that of OTLP over HTTP",
            env::OTLP_PROTOCOL
        ));
        return None;
    }
    let mut options = OtelOptions::new(endpoint);
    options.http = env.http.clone();
    let pairs = text(env::OTLP_TRACES_HEADERS).or_else(|| text(env::OTLP_HEADERS)).unwrap_or_default();
    options.headers = headers(&pairs);
    if let Some(name) = text(env::OTEL_SERVICE_NAME) {
        options.service_name = name;
    }
    let reporter = Arc::clone(reporter);
    options.on_failure = Some(Arc::new(move |error: &Error| {
        let why = error.chain();
        reporter.note(&format!("traces are not sent, skills are served all the same: {why}"));
    }));
    Some(options)
}

/// Returns the headers in a list of pairs such as `key=value,other=value`, whose values are percent-encoded.
fn headers(pairs: &str) -> Vec<(String, String)> {
    let pairs = pairs.split(',').filter_map(|pair| pair.split_once('='));
    let decoded = |value: &str| percent_decode_str(value.trim()).decode_utf8_lossy().into_owned();
    pairs.map(|(name, value)| (name.trim().to_owned(), decoded(value))).collect()
}

/// Returns the address for spans below the address of a collector, whose query stays where it is.
fn below(endpoint: &str) -> String {
    let (address, query) = endpoint.find('?').map_or((endpoint, ""), |mark| endpoint.split_at(mark));
    format!("{}/{PATH}{query}", address.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn the_standard_variables_name_the_collector() {
        let check = |variables: &[(&str, &str)], expect: Option<&str>| {
            let pairs = variables.iter().map(|(name, value)| ((*name).to_owned(), value.into()));
            let env = Env::new(pairs, PathBuf::new());
            let found = options(&env, &(Arc::new(()) as Arc<dyn Reporter>)).map(|options| options.endpoint);
            assert_eq!(found.as_deref(), expect, "{variables:?}");
        };
        let base = (env::OTLP_ENDPOINT, "http://localhost:4318/");
        check(&[], None);
        check(&[base], Some("http://localhost:4318/v1/traces"));
        check(&[(env::OTLP_ENDPOINT, "http://h/?key=x")], Some("http://h/v1/traces?key=x"));
        check(&[base, (env::OTLP_TRACES_ENDPOINT, "http://other/x")], Some("http://other/x"));
        check(&[base, (env::OTEL_SDK_DISABLED, "true")], None);
        check(&[base, (env::OTEL_TRACES_EXPORTER, "none")], None);
        check(&[base, (env::OTLP_PROTOCOL, "grpc")], None);
        check(&[base, (env::OTLP_PROTOCOL, "http/protobuf")], Some("http://localhost:4318/v1/traces"));
    }

    #[test]
    fn headers_are_a_list_of_pairs() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(headers(""), []);
        assert_eq!(
            headers("a=b, authorization=Bearer%20x=y,none"),
            [pair("a", "b"), pair("authorization", "Bearer x=y")]
        );
    }
}
