//! The reference's answers, recorded.
