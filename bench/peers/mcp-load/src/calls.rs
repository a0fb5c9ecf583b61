//! The calls, and the check that a reply is a valid answer.

use std::path::Path;

use memchr::memmem::Finder;
use serde_json::{Value, json};

/// A phrase that every skill of a generated library contains.
const PHRASE: &str = "Read [the guide]";

/// The calls to be made, each for another skill.
pub struct Calls {
    names: Vec<String>,
    method: String,
    params: String,
    phrase: Finder<'static>,
}

impl Calls {
    pub fn new(library: &Path, method: &str, params: &str) -> Self {
        let entries = std::fs::read_dir(library).expect("the library is there");
        let names =
            entries.flatten().map(|entry| entry.file_name().into_string().expect("a name of a skill"));
        let mut names: Vec<String> = names.collect();
        names.sort();
        Self { names, method: method.to_owned(), params: params.to_owned(), phrase: Finder::new(PHRASE) }
    }

    /// Returns a request for the skill whose turn it is, and the name that a header has to repeat.
    pub fn request(&self, number: usize, meta: Option<Value>) -> (String, String) {
        // Neighbours of the list are not neighbours in time.
        let name = &self.names[number.wrapping_mul(7_919) % self.names.len()];
        let mut params: Value =
            serde_json::from_str(&self.params.replace("NAME", name)).expect("PARAMS are JSON");
        if let Some(meta) = meta {
            params["_meta"] = meta;
        }
        let header = params["name"].as_str().or(params["uri"].as_str()).unwrap_or_default().to_owned();
        let request = json!({"jsonrpc": "2.0", "id": number, "method": self.method, "params": params});
        (request.to_string(), header)
    }

    pub fn method(&self) -> &str {
        &self.method
    }

    pub fn skills(&self) -> usize {
        self.names.len()
    }

    /// Checks that an answer contains the text of a skill.
    ///
    /// # Panics
    ///
    /// If it is not the text of a skill.
    pub fn check(&self, answer: &[u8]) {
        if self.phrase.find(answer).is_none() {
            let start = String::from_utf8_lossy(&answer[..answer.len().min(1_000)]);
            panic!("this is not the text of a skill: {start}");
        }
    }
}

/// Prints the 50th and 99th percentile of `wall_ms`.
pub fn print_percentiles(operation: &str, mut wall_ms: Vec<f64>) {
    wall_ms.sort_by(f64::total_cmp);
    for percent in [50, 99] {
        let value = wall_ms[(wall_ms.len() - 1) * percent / 100];
        println!("{}", json!({"gauge": format!("{operation} p{percent} ms"), "value": value}));
    }
}

/// Prints a figure.
pub fn print(gauge: &str, value: f64) {
    println!("{}", json!({"gauge": gauge, "value": value}));
}
