//! A module lives in `repertoire-app` if it brings crates together that do not know each other; otherwise it
//! belongs below.

use std::collections::{BTreeMap, BTreeSet};

use crate::{read, sources};

/// The crates that `repertoire-app` brings together.
const CRATES: [&str; 7] = ["search", "exec", "store", "sources", "agent", "clients", "mcp"];

/// The modules that use fewer than two of them, with the reason to be there.
const REASONS: &[(&str, &str)] = &[
    ("approvals", "commands and pages show them, for the skills of a workspace"),
    ("clients", "they get the skills of a workspace"),
    ("docs", "every module links to the documentation"),
    ("hook", "it searches the skills of a workspace for a client"),
    ("installation", "`rep doctor` and `rep self` name it alike"),
    ("listing", "commands and pages show what clients leave of the skills of a workspace"),
    ("review", "commands and pages decide about proposals alike"),
    ("stats", "they join the events of a store with the skills of a workspace"),
    ("switch", "commands and pages switch skills alike"),
    ("token_counter", "commands and pages count alike"),
    ("undo", "it joins the files of clients with the record of changes and the store of a workspace"),
    ("view", "commands and pages give the same answers"),
];

#[test]
fn modules_of_the_application_join_crates() {
    let mut used: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for path in sources("crates/app/src") {
        let module = path.iter().nth(3).and_then(|part| part.to_str()).unwrap_or_default();
        let module = module.strip_suffix(".rs").unwrap_or(module).to_owned();
        let text = read(&path);
        let found = CRATES.into_iter().filter(|name| text.contains(&format!("repertoire_{name}::")));
        used.entry(module).or_default().extend(found);
    }
    used.remove("lib");
    let few = used.iter().filter(|(_, crates)| crates.len() < 2);
    let few: BTreeSet<&str> = few.map(|(module, _)| module.as_str()).collect();
    let listed: BTreeSet<&str> = REASONS.iter().map(|(module, _)| *module).collect();
    let new: Vec<_> = few.difference(&listed).collect();
    assert!(new.is_empty(), "these belong below, or need a reason: {new:?}");
    let gone: Vec<_> = listed.difference(&few).collect();
    assert!(gone.is_empty(), "these need no reason; take them out of the list: {gone:?}");
}
