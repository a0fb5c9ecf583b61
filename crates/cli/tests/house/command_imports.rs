//! No command imports another command: what two of them need lies below them.

use std::collections::BTreeSet;

use crate::import_cycles::imports_of;

/// Returns the command that `file`, a path below `src`, belongs to.
fn command_of(file: &str) -> Option<&str> {
    let name = file.strip_prefix("commands/")?.split('/').next()?;
    let name = name.strip_suffix(".rs").unwrap_or(name);
    (name != "mod").then_some(name)
}

#[test]
fn commands_do_not_import_each_other() {
    let imports = imports_of("cli");
    let mut found = BTreeSet::new();
    for (file, targets) in &imports {
        for target in targets.keys() {
            if let (Some(from), Some(to)) = (command_of(file), command_of(target))
                && from != to
            {
                found.insert((from, to));
            }
        }
    }
    assert!(found.is_empty(), "a command imports no command; move what both need below them: {found:?}");
}
