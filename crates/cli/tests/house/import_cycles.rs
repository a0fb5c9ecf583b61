//! No two modules of a crate import each other, directly or through others. Re-exports are resolved, so that
//! `use super::Name` counts as an import of the file that defines `Name`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use crate::module_graph::{Imports, ModuleGraph};
use crate::repository;

/// Returns the groups of files that all import each other, directly or through others.
fn cycles(imports: &Imports) -> Vec<BTreeSet<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        imports.keys().map(|file| (file, reachable(imports, file))).collect();
    let mut groups: BTreeSet<BTreeSet<String>> = BTreeSet::new();
    for (file, others) in reach.iter().filter(|(file, others)| others.contains(*file)) {
        let group = others.iter().filter(|other| reach.get(**other).is_some_and(|back| back.contains(file)));
        groups.insert(group.map(|other| (*other).clone()).collect());
    }
    groups.into_iter().collect()
}

/// Returns the files that `start` imports, directly or through others.
fn reachable<'a>(imports: &'a Imports, start: &'a String) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut pending = vec![start];
    while let Some(file) = pending.pop() {
        pending.extend(
            imports.get(file).into_iter().flat_map(BTreeMap::keys).filter(|next| reached.insert(*next)),
        );
    }
    reached
}

/// Returns a shortest cycle through the first file of `group`, one import per line with the imported names.
fn chain(imports: &Imports, group: &BTreeSet<String>) -> String {
    let start = group.first().unwrap();
    let mut before: BTreeMap<&String, &String> = BTreeMap::new();
    let mut pending = VecDeque::from([start]);
    while let Some(file) = pending.pop_front() {
        for next in imports[file].keys().filter(|next| group.contains(*next)) {
            if !before.contains_key(next) {
                before.insert(next, file);
                pending.push_back(next);
            }
        }
        if before.contains_key(start) {
            break;
        }
    }
    let mut files = vec![start];
    while files.len() == 1 || files.last() != Some(&start) {
        files.push(before[files.last().unwrap()]);
    }
    files.reverse();
    let steps = files.windows(2).map(|step| {
        let names: Vec<&str> = imports[step[0]][step[1]].iter().map(String::as_str).collect();
        format!("    {} -> {}  ({})", step[0], step[1], names.join(", "))
    });
    steps.collect::<Vec<_>>().join("\n")
}

/// Returns the imports between the files of a crate, by their paths below its `src`.
pub(crate) fn imports_of(name: &str) -> Imports {
    let source = repository().join("crates").join(name).join("src");
    let read = |file: &Path| std::fs::read_to_string(source.join(file)).ok();
    let root = if source.join("lib.rs").is_file() { "lib.rs" } else { "main.rs" };
    ModuleGraph::read(Path::new(root), &read).imports()
}

#[test]
fn modules_of_a_crate_do_not_import_each_other_in_cycles() {
    let mut faults = Vec::new();
    for entry in repository().join("crates").read_dir().unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let imports = imports_of(&name);
        assert!(imports.len() > 3, "{name}: its modules were not found");
        for cycle in cycles(&imports) {
            faults.push(format!(
                "{} files of crates/{name}/src import each other, such as\n{}\n  all of them: {cycle:?}",
                cycle.len(),
                chain(&imports, &cycle)
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

/// Returns the cycles between the `files` of a made-up crate, each as the names of its files.
fn cycles_between(files: &[(&str, &str)]) -> Vec<String> {
    let read = |path: &Path| {
        let file = files.iter().find(|(name, _)| Path::new(name) == path);
        file.map(|(_, text)| (*text).to_owned())
    };
    let imports = ModuleGraph::read(Path::new("lib.rs"), &read).imports();
    cycles(&imports).into_iter().map(|cycle| cycle.into_iter().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn import_cycles_are_found_through_reexports_and_paths() {
    let check = |about: &str, files: &[(&str, &str)], expect: &[&str]| {
        assert_eq!(cycles_between(files), expect, "{about}");
    };
    let lib = ("lib.rs", "mod a;\nmod b;\n");
    check("no cycle", &[lib, ("a.rs", "use crate::b::B;\npub struct A(B);"), ("b.rs", "pub struct B;")], &[]);
    check(
        "direct imports",
        &[lib, ("a.rs", "use crate::b::B;\npub struct A;"), ("b.rs", "use super::a::A;\npub struct B(A);")],
        &["a.rs b.rs"],
    );
    check(
        "a path in the code",
        &[lib, ("a.rs", "use crate::b;\nfn a() { b::b() }"), ("b.rs", "fn b() { let x = crate::a::a(); }")],
        &["a.rs b.rs"],
    );
    check(
        "comments, strings and lifetimes",
        &[
            lib,
            ("a.rs", "use crate::b::B;\nstruct A;"),
            (
                "b.rs",
                "// crate::a::A\nstruct B<'a>(&'a str);\nconst X: &str = \"crate::a::A\";\nconst Y: &str = r#\"\" crate::a::A\"#; const Z: char = '\"'; /* crate::a */",
            ),
        ],
        &[],
    );
    check(
        "tests",
        &[
            lib,
            ("a.rs", "use crate::b::B;\nstruct A;"),
            (
                "b.rs",
                "struct B;\n#[cfg(test)]\nuse crate::a::A;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n#[cfg(all(test, unix))]\nmod more;",
            ),
            ("b/more.rs", "use crate::a::A;"),
        ],
        &[],
    );
    check(
        "names that an index re-exports",
        &[
            ("lib.rs", "mod m;"),
            ("m/mod.rs", "mod a;\nmod b;\nmod c;\npub use a::A;\npub(crate) use self::{b::B, c::*};"),
            ("m/a.rs", "use super::{B, C as D};\npub struct A;"),
            ("m/b.rs", "pub struct B;\nfn b() -> super::A { todo!() }"),
            ("m/c.rs", "pub struct C;\nimpl C { fn c(_: crate::m::B) {} }"),
        ],
        &["m/a.rs m/b.rs m/c.rs"],
    );
    check(
        "an index without items of its own",
        &[lib, ("a.rs", "use super::b;\nstruct A;"), ("b.rs", "struct B;\nuse crate::*;")],
        &[],
    );
    check(
        "an index with items of its own that uses its modules",
        &[
            ("lib.rs", "mod m;"),
            ("m/mod.rs", "mod a;\nuse a::A;\npub trait T { fn t() -> A; }"),
            ("m/a.rs", "use super::T;\npub struct A;"),
        ],
        &["m/a.rs m/mod.rs"],
    );
    check(
        "an index with items of its own that only re-exports",
        &[
            ("lib.rs", "mod m;"),
            ("m/mod.rs", "mod a;\npub use a::A;\npub trait T {}"),
            ("m/a.rs", "use super::T;\npub struct A;"),
        ],
        &[],
    );
    check(
        "other crates",
        &[
            lib,
            ("a.rs", "use b_like::a;\nuse crate::b::B;\nfn x() { a::b() }"),
            ("b.rs", "use a::A;\nstruct B;"),
        ],
        &[],
    );
}

#[test]
fn a_cycle_is_printed_with_the_imported_names() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    let imports: Imports = [("a", "b", "crate::b::B"), ("b", "c", "super::C"), ("c", "a", "crate::A")]
        .into_iter()
        .map(|(from, to, name)| (from.to_owned(), BTreeMap::from([(to.to_owned(), names(&[name]))])))
        .collect();
    let found = cycles(&imports);
    assert_eq!(found, [names(&["a", "b", "c"])]);
    assert_eq!(
        chain(&imports, &found[0]),
        "    a -> b  (crate::b::B)\n    b -> c  (super::C)\n    c -> a  (crate::A)"
    );
}
