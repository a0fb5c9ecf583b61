//! The person who can be asked for an approval.

use crate::approval::{Approval, Difference};
use repertoire::BoxFuture;

/// Asks a person, for hosts with a prompt of their own.
///
/// ```
/// use repertoire_exec::approval::{ApprovalRequest, Approver, Verdict};
/// use repertoire::BoxFuture;
///
/// #[derive(Debug)]
/// struct OnlyReaders;
///
/// impl Approver for OnlyReaders {
///     fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Verdict> {
///         let writes = request.approval.capabilities.tools().any(|(_, needs)| !needs.write.is_empty());
///         Box::pin(async move { if writes { Verdict::Refused } else { Verdict::Once } })
///     }
/// }
/// ```
pub trait Approver: Send + Sync + std::fmt::Debug {
    /// Returns whether what `request` is about may run.
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Verdict>;
}

/// A request for an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRequest {
    /// The approval that would be kept.
    pub approval: Approval,
    /// The difference to the last one, if there was one.
    pub difference: Option<Difference>,
    /// The tool, where it is one that asks before every call; the arguments of the call stand behind it.
    pub call: Option<(String, String)>,
}

/// The answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// This once.
    Once,
    /// Until the skill changes.
    Always,
    /// No.
    Refused,
    /// There is nobody to ask.
    Unasked,
}
