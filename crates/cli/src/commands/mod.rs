//! One file per command of `rep`: its arguments, whose docs are its help, and its implementation.

pub(crate) mod approvals;
pub(crate) mod approve;
pub(crate) mod call;
pub(crate) mod catalog;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod connect;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod explain;
pub(crate) mod files;
pub(crate) mod init;
pub(crate) mod link;
pub(crate) mod list;
pub(crate) mod migrate;
pub(crate) mod new;
pub(crate) mod prompt;
pub(crate) mod revoke;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod show;
pub(crate) mod watch;
