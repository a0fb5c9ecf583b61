//! The figures of a run, one JSON object a line.

use std::collections::BTreeMap;

use serde_json::json;

use crate::check::Fault;
use crate::request::Kind;

/// Maximum faults that are told in full.
const MAX_TOLD: usize = 10;

/// The figures of a run.
#[derive(Default)]
pub struct Report {
    latencies_ms: BTreeMap<Kind, Vec<f64>>,
    bytes: u64,
    errors: usize,
    leaks: usize,
    told: usize,
    /// The time from the answer to a publication until each server has it.
    pub visible_ms: Vec<f64>,
    pub publications: usize,
    pub late: usize,
}

impl Report {
    pub fn answered(&mut self, kind: Kind, latency_ms: f64, bytes: usize) {
        self.latencies_ms.entry(kind).or_default().push(latency_ms);
        self.bytes += bytes as u64;
    }

    pub fn fault(&mut self, fault: Fault) {
        let (word, text) = match fault {
            Fault::Error(text) => {
                self.errors += 1;
                ("error", text)
            }
            Fault::Leak(text) => {
                self.leaks += 1;
                ("leak", text)
            }
        };
        if self.told < MAX_TOLD {
            self.told += 1;
            eprintln!("team-load: {word}: {text}");
        }
    }

    pub fn print(&mut self, seconds: u64) {
        let mut all: Vec<f64> = Vec::new();
        for (kind, latencies) in &mut self.latencies_ms {
            print(kind.name(), latencies);
            if !matches!(kind, Kind::Publish | Kind::Seen) {
                all.extend_from_slice(latencies);
            }
        }
        let count = all.len();
        print("all", &mut all);
        print("visible", &mut self.visible_ms);
        let megabytes = self.bytes as f64 / 1e6;
        println!(
            "{}",
            json!({
                "requests": count, "per_second": count as f64 / seconds as f64, "megabytes": megabytes, "errors": self.errors,
                "leaks": self.leaks, "publications": self.publications, "late": self.late,
            })
        );
    }
}

fn print(kind: &str, latencies: &mut [f64]) {
    latencies.sort_by(f64::total_cmp);
    let Some(last) = latencies.len().checked_sub(1) else { return };
    let at = |share: f64| latencies[(last as f64 * share) as usize];
    println!(
        "{}",
        json!({"kind": kind, "count": latencies.len(), "p50": at(0.5), "p99": at(0.99), "p999": at(0.999), "max": at(1.0)})
    );
}
