//! Finds tools of several skills that have one name.

use std::ptr;

use repertoire_model::Policy;

use super::checked_skill::CheckedSkill;
use crate::wire::Library;

/// Adds a finding to every active skill of each library that shares the name of a tool with another.
pub(super) fn find<'a>(libraries: &'a [Library], checked: &mut [CheckedSkill<'a>], policy: &Policy) {
    for library in libraries {
        let shared = pollster::block_on(library.registry.shared_tools());
        for checked in checked.iter_mut().filter(|checked| ptr::eq(checked.library, library)) {
            let name = checked.entry.name();
            if checked.entry.state != repertoire_model::State::Active {
                continue;
            }
            let of_skill = shared.iter().filter(|shared| shared.skills.contains(name));
            checked.diagnostics.extend(of_skill.filter_map(|shared| shared.diagnostic(name, policy)));
        }
    }
}
