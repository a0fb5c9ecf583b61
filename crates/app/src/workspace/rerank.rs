//! The reranker of `search.rerank`: a server or a command.

use std::cmp::Ordering as Order;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use repertoire::http::{HttpClient, HttpErrorKind, HttpResponse};
use repertoire::{BoxFuture, LibraryBuilder, Reranker};
use repertoire_exec::notify::run_for_output;
use repertoire_model::text::{public_address, start};
use serde::Deserialize;
use serde_json::json;

use super::handle::Workspace;
use super::reporter::Reporter;

/// The longest run of the command, and the longest request.
const LIMIT: Duration = Duration::from_secs(5);
/// The most bytes of a query that are sent.
const MAX_QUERY_BYTES: usize = 8 * 1024;
/// The most bytes of an answer.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

impl Workspace {
    /// Adds the configured reranker to `builder`, if there is one.
    pub(super) fn with_reranker(&self, builder: LibraryBuilder) -> LibraryBuilder {
        match Target::of(&self.settings.search.rerank) {
            Some(target) => {
                let client = RerankClient {
                    target,
                    http: self.env.http.clone(),
                    reporter: Arc::clone(&self.reporter),
                    is_reported: AtomicBool::new(false),
                };
                builder.reranker(ConfiguredReranker(Arc::new(client)))
            }
            None => builder,
        }
    }
}

/// The reranker that the settings ask for.
#[derive(Debug)]
struct ConfiguredReranker(Arc<RerankClient>);

#[derive(Debug)]
struct RerankClient {
    target: Target,
    http: HttpClient,
    reporter: Arc<dyn Reporter>,
    /// True once a failure was reported.
    is_reported: AtomicBool,
}

/// The receiver of requests.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    Url(String),
    Command { program: String, arguments: Vec<String> },
}

/// An answer in the form that rerank APIs have in common.
#[derive(Deserialize)]
struct Answer {
    results: Vec<Relevance>,
}

#[derive(Deserialize)]
struct Relevance {
    index: usize,
    relevance_score: f64,
}

impl Reranker for ConfiguredReranker {
    fn rerank<'a>(&'a self, query: &'a str, documents: Vec<String>) -> BoxFuture<'a, Vec<usize>> {
        let count = documents.len();
        let query = start(query, MAX_QUERY_BYTES);
        let body = json!({"query": query, "documents": documents, "top_n": count}).to_string();
        let client = Arc::clone(&self.0);
        Box::pin(blocking::unblock(move || client.order(body, count)))
    }
}

impl RerankClient {
    /// Returns the order of `count` documents, or none after a failure; the first failure is reported.
    fn order(&self, body: String, count: usize) -> Vec<usize> {
        let answer = self.target.send(&self.http, body).and_then(|answer| order(&answer, count));
        answer.unwrap_or_else(|message| {
            if !self.is_reported.swap(true, Ordering::Relaxed) {
                let text = format!("results keep their order, because `search.rerank` failed: {message}");
                self.reporter.warn(&text);
            }
            Vec::new()
        })
    }
}

impl Target {
    fn of(setting: &str) -> Option<Self> {
        let mut words = setting.split_whitespace().map(str::to_owned);
        let program = words.next()?;
        let scheme = program.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        let is_url = matches!(scheme.as_deref(), Some("http" | "https"));
        Some(if is_url {
            Self::Url(setting.trim().to_owned())
        } else {
            Self::Command { program, arguments: words.collect() }
        })
    }

    fn send(&self, http: &HttpClient, body: String) -> Result<Vec<u8>, String> {
        match self {
            Self::Url(url) => {
                post(http, url, &body).map_err(|message| format!("{}: {message}", public_address(url)))
            }
            Self::Command { program, arguments } => {
                match run_for_output(program, arguments, body.into(), LIMIT, MAX_ANSWER_BYTES) {
                    Ok((status, answer)) if status.success() => Ok(answer),
                    Ok((status, _)) => Err(format!("{program}: {status}")),
                    Err(error) => Err(format!("{program}: {error}")),
                }
            }
        }
    }
}

fn post(http: &HttpClient, url: &str, body: &str) -> Result<Vec<u8>, String> {
    // A redirect would lead to a server that the user did not choose, and is an error.
    let request = http.post(url).timeout(LIMIT).header("Content-Type", "application/json");
    let answer = request.send(body).and_then(HttpResponse::expect_success);
    answer.and_then(|answer| answer.body(MAX_ANSWER_BYTES as u64)).map_err(|error| match error.kind() {
        HttpErrorKind::TooLarge => format!("the answer has more than {MAX_ANSWER_BYTES} bytes"),
        _ => error.to_string(),
    })
}

/// Returns the indexes of `answer`, the most relevant first. Some servers send them in document order.
fn order(answer: &[u8], count: usize) -> Result<Vec<usize>, String> {
    let Answer { mut results } =
        serde_json::from_slice(answer).map_err(|error| format!("the answer is not understood: {error}"))?;
    if let Some(result) = results.iter().find(|result| result.index >= count) {
        return Err(format!("the answer has the index {} of {count} documents", result.index));
    }
    results.sort_by(|a, b| b.relevance_score.partial_cmp(&a.relevance_score).unwrap_or(Order::Equal));
    Ok(results.into_iter().map(|result| result.index).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_a_url_or_a_command() {
        assert_eq!(Target::of(" "), None);
        assert_eq!(
            Target::of(" https://example.com/v1/rerank "),
            Some(Target::Url("https://example.com/v1/rerank".to_owned()))
        );
        let command = Target::Command {
            program: "rank".to_owned(),
            arguments: vec!["--model".to_owned(), "m".to_owned()],
        };
        assert_eq!(Target::of("rank --model  m"), Some(command));
    }

    #[test]
    fn answers_are_sorted_by_relevance() {
        let check = |answer: &str, expected: Result<Vec<usize>, &str>| {
            assert_eq!(order(answer.as_bytes(), 3), expected.map_err(str::to_owned), "{answer}");
        };
        let result =
            |index: usize, score: f64| format!(r#"{{"index": {index}, "relevance_score": {score}, "x": 1}}"#);
        let answer = |results: &[String]| format!(r#"{{"model": "m", "results": [{}]}}"#, results.join(","));
        check(&answer(&[result(0, -3.5), result(1, 0.25), result(2, -3.5)]), Ok(vec![1, 0, 2]));
        check(&answer(&[]), Ok(Vec::new()));
        check(&answer(&[result(3, 1.0)]), Err("the answer has the index 3 of 3 documents"));
        check("{}", Err("the answer is not understood: missing field `results` at line 1 column 2"));
    }
}
