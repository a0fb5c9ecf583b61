//! The state of approvals: whether a skill is as it was approved.

use repertoire::Entry;
use repertoire_exec::Approval;
use repertoire_model::{Capabilities, Digest, Toolbox};

use crate::workspace::{Library, Workspace};

/// The hint about sources whose skills may not run anything.
pub const TRUST_HINT: &str = "`exec.trust` of your configuration says so";

/// Returns the state of the approval of `entry`, if there is one.
pub fn state_of(workspace: &Workspace, entry: &Entry, digest: &Digest, toolbox: &Toolbox) -> Option<String> {
    let approval = workspace.approvals().ok()?.find(entry).ok()??;
    Some(state_of_content(&approval, Some(digest), || toolbox.clone()).to_owned())
}

/// Returns whether the skill is as it was approved; skills of other projects are not looked up.
pub fn state(approval: &Approval, library: &Library) -> &'static str {
    let Some(entry) = library.snapshot.entries().iter().find(|entry| approval.is_of(entry)) else {
        return "not in this library";
    };
    let bundle = pollster::block_on(library.registry.bundle(entry)).ok();
    let digest = bundle.map(|bundle| bundle.digest());
    state_of_content(approval, digest.as_ref(), || pollster::block_on(library.registry.toolbox(entry)))
}

/// Returns whether a bundle with `digest` and the tools `toolbox` is as it was approved.
fn state_of_content(
    approval: &Approval,
    digest: Option<&Digest>,
    toolbox: impl FnOnce() -> Toolbox,
) -> &'static str {
    // Those of a `tools.py` were read when it was approved, and hold for its digest.
    let toolbox = match &approval.schema {
        Some(schema) => Toolbox::read(schema.as_bytes()).0,
        None => toolbox(),
    };
    match digest {
        Some(digest) if approval.holds(digest, &Capabilities::of(&toolbox)) => "approved",
        _ => "changed since",
    }
}
