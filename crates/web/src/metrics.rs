//! Metrics in the text format of Prometheus.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use repertoire::event::Event;
use repertoire::{Entry, EventKind, EventSink, Outcome, Registry};
use repertoire_model::State;

use crate::http::RequestMetrics;
use crate::metrics_text::{Histogram, Labels, MetricsText};

pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Maximum skills with series of their own; the others share those of `other`.
const MAX_NAMES: usize = 1_000;

/// The label of skills beyond the limit.
const OTHER: &str = "other";

/// The label of requests for skills that do not exist.
const UNKNOWN: &str = "unknown";

/// A sink that counts events, for `/metrics`.
#[derive(Default)]
pub struct MetricsSink(Mutex<Counters>);

#[derive(Default)]
struct Counters {
    names: BTreeSet<String>,
    loads: BTreeMap<Labels, u64>,
    durations: BTreeMap<String, Histogram>,
    reads: BTreeMap<Labels, u64>,
    downloads: BTreeMap<Labels, u64>,
    searches: BTreeMap<Labels, u64>,
    runs: BTreeMap<Labels, u64>,
}

impl Counters {
    /// Returns the label of the event's skill: names that no skill has never become labels.
    fn name(&mut self, event: &Event) -> String {
        match (&event.skill, &event.source) {
            (Some(name), Some(_)) if self.names.contains(name) => name.clone(),
            (Some(name), Some(_)) if self.names.len() < MAX_NAMES => {
                self.names.insert(name.clone());
                name.clone()
            }
            (Some(_), Some(_)) => OTHER.to_owned(),
            _ => UNKNOWN.to_owned(),
        }
    }
}

impl EventSink for MetricsSink {
    fn record(&self, event: &Event) {
        let mut counters = self.lock();
        let outcome = event.outcome.as_str().to_owned();
        match event.kind {
            EventKind::SkillLoaded => {
                let name = counters.name(event);
                let is_named = name != OTHER && name != UNKNOWN;
                let source = event.source.clone().filter(|_| is_named).unwrap_or_default();
                *counters.loads.entry(vec![name.clone(), source, outcome]).or_default() += 1;
                // Skills of prompts are part of a larger request, which has no duration of its own.
                if event.outcome == Outcome::Ok && !event.duration.is_zero() {
                    counters.durations.entry(name).or_default().observe(event.duration);
                }
            }
            EventKind::FileRead => {
                let name = counters.name(event);
                *counters.reads.entry(vec![name, outcome]).or_default() += 1;
            }
            EventKind::SkillDownloaded => {
                let name = counters.name(event);
                *counters.downloads.entry(vec![name, outcome]).or_default() += 1;
            }
            EventKind::SkillsSearched => *counters.searches.entry(vec![outcome]).or_default() += 1,
            EventKind::SkillToolCalled | EventKind::ScriptRun => {
                let name = counters.name(event);
                *counters.runs.entry(vec![name, outcome]).or_default() += 1;
            }
            _ => {}
        }
    }
}

/// The metrics that are not counts of events.
pub(crate) struct Gauges<'a> {
    pub(crate) registry: &'a Registry,
    /// The events that the journal dropped, if there is one.
    pub(crate) dropped_events: Option<u64>,
    pub(crate) refused: u64,
    /// The requests over HTTP.
    pub(crate) requests: &'a RequestMetrics,
    /// The event streams that are open.
    pub(crate) streams: usize,
    /// True if the store answers; `None` without one.
    pub(crate) store: Option<bool>,
    pub(crate) version: &'a str,
}

impl MetricsSink {
    fn lock(&self) -> MutexGuard<'_, Counters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the text, with the skills that are `shown`.
    pub(crate) fn render(&self, gauges: &Gauges<'_>, shown: ShownSkills<'_>) -> String {
        let is_visible = |name: &str, source: Option<&str>| {
            name == UNKNOWN || name == OTHER || shown.has(name, source.filter(|source| !source.is_empty()))
        };
        let visible = |series: &BTreeMap<Labels, u64>| -> BTreeMap<Labels, u64> {
            let mut merged = BTreeMap::new();
            let is_shown = |labels: &Labels| match labels.as_slice() {
                [name, source, _] => is_visible(name, Some(source)),
                [name, ..] => is_visible(name, None),
                [] => true,
            };
            for (labels, count) in series.iter().filter(|(labels, _)| is_shown(labels)) {
                *merged.entry(shown.labels(labels)).or_default() += count;
            }
            merged
        };
        let mut text = MetricsText::default();
        let counters = self.lock();
        let load_labels = ["name", "source", "outcome"];
        text.counter("skill_load_total", "Loads of skills.", &load_labels, &visible(&counters.loads));
        let durations = counters.durations.iter().filter(|(name, _)| is_visible(name, None));
        let durations = durations.map(|(name, histogram)| (name.as_str(), histogram));
        text.histogram("skill_load_duration_seconds", "Duration of loads of skills.", "name", durations);
        for (name, help, series) in [
            ("skill_file_read_total", "Reads of files of skills.", &counters.reads),
            ("skill_download_total", "Downloads of skills and of their files.", &counters.downloads),
            ("skill_tool_run_total", "Runs of tools and scripts of skills.", &counters.runs),
        ] {
            text.counter(name, help, &["name", "outcome"], &visible(series));
        }
        text.counter("skill_search_total", "Searches for skills.", &["outcome"], &counters.searches);
        drop(counters);
        let one = |value: u64| BTreeMap::from([(Vec::new(), value)]);
        // Reloads tell of changes of skills that are not shown.
        if matches!(shown, ShownSkills::All) {
            text.counter(
                "skill_reload_total",
                "Reloads of the library, including reloads that found no change.",
                &[],
                &one(gauges.registry.reloads()),
            );
        }
        let snapshot = gauges.registry.snapshot();
        let mut states: BTreeMap<Labels, u64> = BTreeMap::new();
        for state in [State::Active, State::Shadowed, State::Disabled, State::Quarantined] {
            let is_counted = |entry: &&Entry| {
                entry.state == state && shown.has(entry.name().as_str(), Some(&entry.source))
            };
            let count = snapshot.entries().iter().filter(is_counted).count();
            states.insert(vec![state.as_str().to_owned()], count as u64);
        }
        text.gauge("skill_snapshot_skills", "Skills of the library by state.", &["state"], &states);
        // Requests of others tell of what they do.
        if matches!(shown, ShownSkills::All) {
            gauges.requests.render(&mut text);
            let streams = one(gauges.streams as u64);
            text.gauge("skill_http_streams", "Event streams that are open.", &[], &streams);
            let refused = one(gauges.refused);
            text.counter("skill_refused_requests_total", "Requests that were refused.", &[], &refused);
        }
        if let Some(is_there) = gauges.store {
            text.gauge("skill_store_up", "1 if the store answers.", &[], &one(is_there.into()));
        }
        let build = BTreeMap::from([(vec![gauges.version.to_owned()], 1)]);
        text.gauge("skill_build_info", "The version of the server.", &["version"], &build);
        if let Some(dropped) = gauges.dropped_events {
            text.counter(
                "skill_events_dropped_total",
                "Events that the journal dropped.",
                &[],
                &one(dropped),
            );
        }
        text.into_string()
    }
}

/// The skills that a text of metrics tells of.
#[derive(Clone, Copy)]
pub(crate) enum ShownSkills<'a> {
    All,
    /// The skills that are accepted by name and source; without a source, all skills of the name. The others
    /// do not exist: calls about them count as calls about unknown skills.
    Only(&'a dyn Fn(&str, Option<&str>) -> bool),
}

impl ShownSkills<'_> {
    fn has(self, name: &str, source: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Only(accepts) => accepts(name, source),
        }
    }

    /// Returns `labels`, in which a call about a skill out of scope is one about an unknown skill.
    fn labels(self, labels: &Labels) -> Labels {
        let mut labels = labels.clone();
        if matches!(self, Self::Only(_))
            && labels[0] == UNKNOWN
            && let Some(outcome) = labels.last_mut().filter(|outcome| *outcome == Outcome::Denied.as_str())
        {
            Outcome::NotFound.as_str().clone_into(outcome);
        }
        labels
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, SystemTime};

    use repertoire::{MemoryProvider, Policy, SkillDefinition};

    use super::*;

    fn registry() -> Registry {
        let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n");
        let provider = Arc::new(MemoryProvider::new("builtin", vec![skill]));
        pollster::block_on(Registry::open(vec![provider], Policy::default())).unwrap()
    }

    fn load(name: &str, source: Option<&str>, outcome: Outcome) -> Event {
        let mut event = Event::new(EventKind::SkillLoaded, "load_skill", "s", SystemTime::UNIX_EPOCH);
        event.skill = Some(name.to_owned());
        event.source = source.map(str::to_owned);
        (event.outcome, event.duration) = (outcome, Duration::from_millis(2));
        event
    }

    fn render(sink: &MetricsSink, shown: ShownSkills<'_>) -> String {
        let registry = registry();
        let requests = RequestMetrics::default();
        requests.answered("mcp", axum::http::StatusCode::OK, Duration::from_millis(2));
        let gauges = Gauges {
            registry: &registry,
            dropped_events: Some(7),
            refused: 2,
            requests: &requests,
            streams: 3,
            store: Some(true),
            version: "1.2.3",
        };
        sink.render(&gauges, shown)
    }

    #[test]
    fn b47_loads_are_counted_and_timed_by_skill() {
        let sink = MetricsSink::default();
        sink.record(&load("greet", Some("a\"\\\nb"), Outcome::Ok));
        sink.record(&load("greet", Some("a\"\\\nb"), Outcome::Ok));
        sink.record(&load("guessed", None, Outcome::NotFound));
        let text = render(&sink, ShownSkills::All);
        for line in [
            "# HELP skill_load_total Loads of skills.",
            "# TYPE skill_load_total counter",
            r#"skill_load_total{name="greet",source="a\"\\\nb",outcome="ok"} 2"#,
            r#"skill_load_total{name="unknown",source="",outcome="not_found"} 1"#,
            "# TYPE skill_load_duration_seconds histogram",
            r#"skill_load_duration_seconds_bucket{name="greet",le="0.001"} 0"#,
            r#"skill_load_duration_seconds_bucket{name="greet",le="0.0025"} 2"#,
            r#"skill_load_duration_seconds_bucket{name="greet",le="+Inf"} 2"#,
            r#"skill_load_duration_seconds_sum{name="greet"} 0.004"#,
            r#"skill_load_duration_seconds_count{name="greet"} 2"#,
            "skill_reload_total 1",
            r#"skill_snapshot_skills{state="active"} 1"#,
            "skill_refused_requests_total 2",
            "skill_events_dropped_total 7",
            r#"skill_http_requests_total{route="mcp",code="200"} 1"#,
            r#"skill_http_request_duration_seconds_bucket{route="mcp",le="0.0025"} 1"#,
            "skill_http_streams 3",
            "skill_store_up 1",
            r#"skill_build_info{version="1.2.3"} 1"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(!text.contains("guessed"), "{text}");
        sink.record(&load("secret", None, Outcome::Denied));
        let denied = r#"skill_load_total{name="unknown",source="",outcome="denied"} 1"#;
        assert!(render(&sink, ShownSkills::All).contains(denied));
        let hidden = render(&sink, ShownSkills::Only(&|_, _| false));
        assert!(!hidden.contains("greet") && !hidden.contains("other"), "{hidden}");
        assert!(hidden.contains(r#"skill_load_total{name="unknown",source="",outcome="not_found"} 2"#));
        assert!(hidden.contains(r#"skill_snapshot_skills{state="active"} 0"#), "{hidden}");
        for of_all in ["skill_reload_total", "skill_http_", "skill_refused_requests_total"] {
            assert!(!hidden.contains(of_all), "{hidden}");
        }
    }

    #[test]
    fn skills_beyond_the_limit_share_a_series() {
        let sink = MetricsSink::default();
        for number in 0..MAX_NAMES + 5 {
            sink.record(&load(&format!("skill-{number}"), Some("a"), Outcome::Ok));
        }
        sink.record(&load("skill-0", Some("a"), Outcome::Ok));
        let text = render(&sink, ShownSkills::All);
        assert_eq!(text.lines().filter(|line| line.starts_with("skill_load_total{")).count(), MAX_NAMES + 1);
        assert!(text.contains(r#"skill_load_total{name="other",source="",outcome="ok"} 5"#), "{text}");
        assert!(text.contains(r#"skill_load_total{name="skill-0",source="a",outcome="ok"} 2"#));
    }
}
