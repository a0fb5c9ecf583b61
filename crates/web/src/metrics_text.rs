//! The text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// The upper bounds of a histogram, in seconds.
const BUCKETS: [f64; 10] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0];

/// The label values of a series, in the order of the names of its labels.
pub(crate) type Labels = Vec<String>;

/// Counts of durations, by upper bounds.
#[derive(Clone, Default)]
pub(crate) struct Histogram {
    buckets: [u64; BUCKETS.len()],
    sum: Duration,
    count: u64,
}

impl Histogram {
    pub(crate) fn observe(&mut self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        for (bucket, bound) in self.buckets.iter_mut().zip(BUCKETS) {
            *bucket += u64::from(seconds <= bound);
        }
        self.sum = self.sum.saturating_add(duration);
        self.count += 1;
    }
}

#[derive(Default)]
pub(crate) struct MetricsText(String);

impl MetricsText {
    pub(crate) fn into_string(self) -> String {
        self.0
    }

    fn family(&mut self, name: &str, help: &str, kind: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Writes a counter, one line for each of `series`.
    pub(crate) fn counter(
        &mut self,
        name: &str,
        help: &str,
        labels: &[&str],
        series: &BTreeMap<Labels, u64>,
    ) {
        self.family(name, help, "counter");
        self.series(name, labels, series);
    }

    /// Writes a gauge, one line for each of `series`.
    pub(crate) fn gauge(&mut self, name: &str, help: &str, labels: &[&str], series: &BTreeMap<Labels, u64>) {
        self.family(name, help, "gauge");
        self.series(name, labels, series);
    }

    fn series(&mut self, name: &str, labels: &[&str], series: &BTreeMap<Labels, u64>) {
        for (values, value) in series {
            let pairs = labels.iter().copied().zip(values.iter().map(String::as_str));
            self.line(name, pairs, value);
        }
    }

    /// Writes a histogram for each value of `label`.
    pub(crate) fn histogram<'h>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        series: impl Iterator<Item = (&'h str, &'h Histogram)>,
    ) {
        self.family(name, help, "histogram");
        for (value, Histogram { buckets, sum, count }) in series {
            let bounds = BUCKETS.iter().map(ToString::to_string).chain(["+Inf".to_owned()]);
            for (bound, observed) in bounds.zip(buckets.iter().chain([count])) {
                self.line(&format!("{name}_bucket"), [(label, value), ("le", &bound)], observed);
            }
            self.line(&format!("{name}_sum"), [(label, value)], sum.as_secs_f64());
            self.line(&format!("{name}_count"), [(label, value)], count);
        }
    }

    fn line<'l>(
        &mut self,
        name: &str,
        labels: impl IntoIterator<Item = (&'l str, &'l str)>,
        value: impl std::fmt::Display,
    ) {
        let labels: Vec<String> =
            labels.into_iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }
}

/// Returns `value` as the text format writes label values.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
