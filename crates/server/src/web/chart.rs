//! Charts as SVG. Every text in them is a number or a constant word, so that they need no escaping.

use std::fmt::Write as _;

/// The height of bars over time.
const HEIGHT: f64 = 120.0;

/// Returns bars over time, one for each of `values`, with `labels` for the first and the last one.
pub(super) fn bars(values: &[u64], label: &str) -> String {
    let (width, gap) = (16.0, 4.0);
    let most = values.iter().copied().max().unwrap_or_default().max(1);
    let total = values.len() as f64 * (width + gap);
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"0 0 {total} {}\" role=\"img\" aria-label=\"{label}\" preserveAspectRatio=\"none\">",
        HEIGHT + 2.0
    );
    for (index, value) in values.iter().enumerate() {
        let height = (*value as f64 / most as f64 * HEIGHT).max(if *value > 0 { 2.0 } else { 1.0 });
        let x = index as f64 * (width + gap);
        let class = if *value > 0 { "bar" } else { "bar none" };
        let days = values.len() - 1 - index;
        let when = match days {
            0 => "today".to_owned(),
            1 => "yesterday".to_owned(),
            _ => format!("{days} days ago"),
        };
        let _ = write!(
            svg,
            "<rect class=\"{class}\" x=\"{x:.0}\" y=\"{:.1}\" width=\"{width}\" height=\"{height:.1}\" rx=\"2\"><title>{when}: {value}</title></rect>",
            HEIGHT + 1.0 - height
        );
    }
    svg + "</svg>"
}

/// Returns a line of the values, as small as a word; nothing if there are none.
pub(super) fn spark(values: &[u64]) -> String {
    if values.iter().all(|value| *value == 0) {
        return String::new();
    }
    let most = values.iter().copied().max().unwrap_or_default().max(1);
    let step = 96.0 / values.len().saturating_sub(1).max(1) as f64;
    let points: Vec<String> = values
        .iter()
        .enumerate()
        .map(|(index, value)| {
            format!("{:.1},{:.1}", index as f64 * step + 1.0, 22.0 - *value as f64 / most as f64 * 20.0)
        })
        .collect();
    format!(
        "<svg class=\"spark\" viewBox=\"0 0 98 24\" aria-hidden=\"true\"><polyline points=\"{}\"/></svg>",
        points.join(" ")
    )
}

/// Returns a bar that is filled as far as `value` is of `most`.
pub(super) fn share(value: f64, most: f64, class: &str) -> String {
    let width = if most > 0.0 { (value / most * 100.0).clamp(0.0, 100.0) } else { 0.0 };
    format!(
        "<svg class=\"share {class}\" viewBox=\"0 0 100 6\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <rect class=\"rail\" width=\"100\" height=\"6\"/><rect class=\"fill\" width=\"{width:.1}\" height=\"6\"/></svg>"
    )
}

/// Returns a bar of `parts`, as long as their sum is of `most`.
pub(super) fn stacked(parts: &[f64], most: f64) -> String {
    let mut svg =
        "<svg class=\"stack\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
            .to_owned();
    let mut x = 0.0;
    for (part, class) in parts.iter().zip(["read", "write", "input", "output"]) {
        let width = if most > 0.0 { part / most * 100.0 } else { 0.0 };
        let _ = write!(svg, "<rect class=\"{class}\" x=\"{x:.2}\" width=\"{width:.2}\" height=\"10\"/>");
        x += width;
    }
    svg + "</svg>"
}
