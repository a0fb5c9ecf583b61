//! Approvals: the trust in sources, the stored approvals, and the approver that asks a person.
//!
//! Tools and scripts of a skill run only after a person approved them, unless their source is trusted. An
//! approval holds for exact files and capabilities: any change ends it.

mod record;
mod store;
mod texts;
mod approver;
pub(crate) mod decide;

pub use approver::{ApprovalRequest, ApprovalVerdict, Approver};
pub use decide::TrustLevels;
pub use record::{Approval, Difference};
pub use store::Approvals;
pub use texts::MAX_KEPT_BYTES;
