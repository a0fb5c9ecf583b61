//! `load_skill` inside one process.

use std::path::Path;
use std::sync::Arc;

use repertoire::{FsOptions, FsProvider, Library};
use serde_json::{Value, json};

use crate::spread;

pub fn measure(library: &Path, calls: usize) {
    let provider = Arc::new(FsProvider::new(FsOptions::new("library", library)));
    let library = pollster::block_on(Library::builder().provider(provider).open()).expect("the library is accepted");
    let snapshot = library.snapshot();
    let names = snapshot.active().map(|entry| entry.name().to_string()).collect();
    let names = spread(names, calls);
    let session = pollster::block_on(library.session()).expect("a session opens");
    let load = |arguments: &Value| {
        let reply = pollster::block_on(session.call("load_skill", arguments));
        assert!(!reply.is_error(), "{}", reply.text());
        reply
    };
    // Arguments come from the host, so making them is not measured.
    let forced: Vec<Value> = names.iter().map(|name| json!({"name": name, "force": true})).collect();
    stopwatch::measure_calls("load_skill", &forced, load);
    let again: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
    stopwatch::measure_calls("load_skill again", &again, load);
}
