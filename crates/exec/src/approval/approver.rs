//! The person who can be asked for an approval.

use crate::approval::{Approval, Difference};
use repertoire::BoxFuture;

/// Asks a person for approval, for hosts with their own prompt.
///
/// ```
/// use repertoire_exec::approval::{ApprovalRequest, ApprovalVerdict, Approver};
/// use repertoire::BoxFuture;
///
/// #[derive(Debug)]
/// struct OnlyReaders;
///
/// impl Approver for OnlyReaders {
///     fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalVerdict> {
///         let writes = request.approval.capabilities.tools().any(|(_, needs)| !needs.write.is_empty());
///         Box::pin(async move { if writes { ApprovalVerdict::Refused } else { ApprovalVerdict::Once } })
///     }
/// }
/// ```
pub trait Approver: Send + Sync + std::fmt::Debug {
    /// Returns the person's answer to `request`.
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalVerdict>;
}

/// A request for an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The approval that is stored if the answer is [`ApprovalVerdict::Always`].
    pub approval: Approval,
    /// The difference to the previous approval, if there was one.
    pub difference: Option<Difference>,
    /// The tool and the arguments of the call, for a tool that asks before every call. For a command of the
    /// host, everything that it is given, which has several lines for a commit. Texts of models are in it, so
    /// it has to be escaped.
    pub call: Option<(String, String)>,
    /// `true` if the call runs outside of the sandbox as the user. Such an approval is never kept.
    pub is_on_host: bool,
}

/// The answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalVerdict {
    /// Approved for this call only.
    Once,
    /// Approved until the skill changes. Outside the sandbox it counts as [`ApprovalVerdict::Once`].
    Always,
    /// Refused.
    Refused,
    /// Unanswered, because there is no person to ask.
    Unasked,
}
