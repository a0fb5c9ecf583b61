//! Measures single calls, each on a skill of its own where there are enough.
//!
//! - `rep-session library LIBRARY CALLS`: `load_skill` inside this process
//! - `rep-session client REP LIBRARY CALLS`: `load_skill` through `REP session`, as a host speaks to it

mod client;
mod library;

use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse().expect("CALLS is a number");
    match arguments[..] {
        ["library", library, calls] => library::measure(Path::new(library), number(calls)),
        ["client", rep, library, calls] => client::measure(rep, Path::new(library), number(calls)),
        _ => panic!("usage: rep-session library|client ..."),
    }
}

/// Returns `calls` of `names`, from all parts of the library alike.
fn spread(mut names: Vec<String>, calls: usize) -> Vec<String> {
    names.sort();
    (0..calls).map(|call| names[call * names.len() / calls].clone()).collect()
}
