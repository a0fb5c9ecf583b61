//! Where events come from: the system's own way, a portable one, or nowhere.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(not(target_os = "linux"), test))]
mod portable;
mod refusal;
#[cfg(test)]
mod tests;

#[cfg(target_os = "linux")]
pub(super) use linux::{Doorbell, Events, budget, remote};
#[cfg(not(target_os = "linux"))]
pub(super) use portable::{Doorbell, Events, budget, remote};
pub(super) use refusal::Refusal;
