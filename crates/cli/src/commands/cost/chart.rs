//! The chart of `rep cost`.

use repertoire_agent::economics::{Outlay, Prices};

use crate::ui::escape;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 90.0;
const TOP: f64 = 76.0;
const ROW: f64 = 34.0;

/// The kinds of tokens: class and label.
const KINDS: [(&str, &str); 4] =
    [("read", "cache read"), ("write", "cache write"), ("input", "uncached"), ("output", "output")];

const STYLE: &str = "\
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600 }
.page { fill: #ffffff }
.read { fill: #9ec5e8 } .write { fill: #2f6fb0 } .input { fill: #c9510c } .output { fill: #8c959f }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.page { fill: #0d1117 }
.read { fill: #2c5a86 } .write { fill: #6cb0f2 } .input { fill: #f0883e } .output { fill: #768390 }
}";

/// Returns the chart: one bar for each way, with a part for each kind of token.
pub(super) fn svg(title: &str, outlays: &[Outlay], prices: &Prices) -> String {
    let most = outlays.iter().map(|outlay| outlay.cost).fold(f64::MIN_POSITIVE, f64::max);
    let height = TOP + ROW * outlays.len() as f64 + 16.0;
    let title = xml(&format!("Price of a session: {title}"));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\n\
         <style>\n{STYLE}\n</style>\n\
         <rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\"/>\n\
         <text class=\"title\" x=\"16\" y=\"26\">{title}</text>\n"
    );
    for (position, (class, label)) in KINDS.iter().enumerate() {
        let x = LEFT + 130.0 * position as f64;
        svg += &format!("<rect class=\"{class}\" x=\"{x}\" y=\"42\" width=\"12\" height=\"12\"/>\n");
        svg += &format!("<text x=\"{}\" y=\"53\">{label}</text>\n", x + 18.0);
    }
    for (row, outlay) in outlays.iter().enumerate() {
        let y = TOP + ROW * row as f64;
        svg += &format!("<text x=\"16\" y=\"{}\">{}</text>\n", y + 16.0, outlay.disclosure.as_str());
        let mut x = LEFT;
        for ((class, label), cost) in KINDS.iter().zip(parts(prices, outlay)) {
            let width = (WIDTH - LEFT - RIGHT) * cost / most;
            svg += &format!(
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"22\"><title>{label}: {cost:.4} USD</title></rect>\n"
            );
            x += width;
        }
        svg += &format!("<text x=\"{:.1}\" y=\"{}\">{:.4} USD</text>\n", x + 6.0, y + 16.0, outlay.cost);
    }
    svg + "</svg>\n"
}

/// Returns `text` for an element or an attribute; control characters, which XML cannot have, are escaped as on a terminal.
fn xml(text: &str) -> String {
    let text = escape(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;")
}

/// Returns the prices of the kinds of tokens.
pub(super) fn parts(prices: &Prices, outlay: &Outlay) -> [f64; 4] {
    let usage = &outlay.measurement.usage;
    let cost = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
    [
        cost(usage.cache_read, prices.cache_read),
        cost(usage.cache_write, prices.cache_write),
        cost(usage.input, prices.input),
        cost(usage.output, prices.output),
    ]
}
