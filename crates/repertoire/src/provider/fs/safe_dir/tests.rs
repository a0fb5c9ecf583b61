//! The suite that both implementations run, and that of Linux in both of its ways.
