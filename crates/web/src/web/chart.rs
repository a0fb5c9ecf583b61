//! Charts as SVG. Every text in them is a number or a constant word, so that they need no escaping.

use std::fmt::Write as _;

use super::text::{NumberText as _, day};

/// The height of bars over time.
const HEIGHT: f64 = 100.0;

/// The width of a bar with the gap behind it, and without.
const STEP: f64 = 20.0;
const WIDTH: f64 = 15.0;

/// Returns the loads of each day, today last, as bars between two axes.
pub(super) fn loads_per_day(values: &[u64]) -> String {
    let top = axis_end(values.iter().copied().max().unwrap_or_default());
    let width = values.len() as f64 * STEP;
    let total = values.iter().sum::<u64>().grouped();
    let mut svg = format!(
        "<figure class=\"chart\"><div class=\"y\" aria-hidden=\"true\"><span>{}</span><span>{}</span><span>0</span></div>\
         <svg viewBox=\"0 0 {width} {HEIGHT}\" role=\"img\" aria-label=\"{total} loads in {} days\" preserveAspectRatio=\"none\">\
         <path class=\"grid\" d=\"M0 .5H{width}M0 {}H{width}\"/>",
        top.grouped(),
        (top / 2).grouped(),
        values.len(),
        HEIGHT / 2.0,
    );
    for (index, value) in values.iter().enumerate() {
        let height = *value as f64 / top as f64 * HEIGHT;
        let x = index as f64 * STEP + (STEP - WIDTH) / 2.0;
        let (when, word) = (day(values.len() - 1 - index), if *value == 1 { "load" } else { "loads" });
        // The whole column of a day shows its number, however low the bar is.
        let _ = write!(
            svg,
            "<g><title>{when}: {} {word}</title><rect class=\"day\" x=\"{:.0}\" width=\"{STEP}\" height=\"{HEIGHT}\"/>\
             <rect class=\"bar\" x=\"{x}\" y=\"{:.1}\" width=\"{WIDTH}\" height=\"{height:.1}\"/></g>",
            value.grouped(),
            index as f64 * STEP,
            HEIGHT - height
        );
    }
    let ticks = [values.len().saturating_sub(1), values.len() / 2, 0].map(day);
    let _ = write!(
        svg,
        "<path class=\"base\" d=\"M0 {HEIGHT}H{width}\"/></svg><div class=\"x\" aria-hidden=\"true\"><span>{}</span><span>{}</span><span>{}</span></div></figure>",
        ticks[0], ticks[1], ticks[2]
    );
    svg
}

/// Returns the end of an axis for values up to `most`: a round number whose half is round, too.
fn axis_end(most: u64) -> u64 {
    let mut scale = 1;
    loop {
        for digit in [2, 4, 6, 8, 10, 12, 16] {
            if most <= digit * scale {
                return digit * scale;
            }
        }
        scale *= 10;
    }
}

/// Returns a line of the values, as small as a word; nothing if there are not any.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_a_round_number_with_a_round_half() {
        assert_eq!(
            [0, 2, 3, 9, 11, 13, 17, 41, 130, 999].map(axis_end),
            [2, 2, 4, 10, 12, 16, 20, 60, 160, 1_000]
        );
    }

    #[test]
    fn a_chart_has_axes_and_tells_each_day() {
        let chart = loads_per_day(&[0, 1, 41]);
        assert!(
            chart.contains("42 loads in 3 days")
                && chart.contains("<span>60</span><span>30</span><span>0</span>")
        );
        assert!(chart.contains("Yesterday: 1 load<") && chart.contains("Today: 41 loads<"), "{chart}");
    }
}
