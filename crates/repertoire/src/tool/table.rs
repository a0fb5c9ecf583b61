//! The table of built-in tools.

use super::builtin::Builtin;
use super::{
    call_skill_tool, list_skill_files, list_skills, load_skill, propose_skill, propose_skill_update,
    read_skill_file, review_skill_proposals, run_skill_script, search_skills, unload_skill,
};

/// The built-in tools, sorted by their default names.
pub(crate) const BUILTINS: &[Builtin] = &[
    call_skill_tool::TOOL,
    list_skill_files::TOOL,
    list_skills::TOOL,
    load_skill::TOOL,
    propose_skill::TOOL,
    propose_skill_update::TOOL,
    read_skill_file::TOOL,
    review_skill_proposals::TOOL,
    run_skill_script::TOOL,
    search_skills::TOOL,
    unload_skill::TOOL,
];
