//! Approvals: the trust in sources, what a person approved, and the person to ask.
//!
//! Nothing of a skill runs before somebody approved it. An approval holds for the very files and capabilities that were
//! approved: any change ends it.

mod trust;
mod record;
mod store;
mod texts;
mod approver;
pub(crate) mod decide;

pub use approver::{ApprovalRequest, Approver, Verdict};
pub use record::{Approval, Difference};
pub use store::{APPROVALS_FILE, Approvals};
pub use texts::MAX_KEPT_BYTES;
pub use trust::TrustLevels;
