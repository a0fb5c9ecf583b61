//! The commands of `rep`, one file each.

pub(crate) mod check_compat;
