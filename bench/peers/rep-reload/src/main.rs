//! Measures the cost of following a library. Changes are reverted, unless the program is killed.
//!
//! - `rep-reload library LIBRARY CHANGES SECONDS WATCHES`: inside this process, with that many seconds of
//!   idling and with room for so many watches (0 for what is usual)
//! - `rep-reload command REP LIBRARY CHANGES SECONDS`: `REP watch --json`, from the write to the printed line

mod change;
mod command;
mod library;
mod process;

use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<usize>().expect("a number");
    match arguments[..] {
        ["library", library, changes, seconds, watches] => {
            library::measure(Path::new(library), number(changes), number(seconds), number(watches));
        }
        ["command", rep, library, changes, seconds] => {
            command::measure(rep, Path::new(library), number(changes), number(seconds));
        }
        _ => panic!("usage: rep-reload library|command ..."),
    }
}

/// Prints a figure that is no time.
fn print_gauge(gauge: &str, value: f64) {
    println!(r#"{{"gauge":"{gauge}","value":{value:.4}}}"#);
}
