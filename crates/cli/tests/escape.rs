//! Tests of the sandboxes: capabilities that every one must have, and attacks that none may let through.
//!
//! Each of the probes is first shown to succeed without a sandbox, in a place made for it, and then to fail
//! in every sandbox that this machine has. Missing sandboxes are reported.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test that fails says where, and its files and victims are its own"
)]

mod machine;
#[path = "escape/world.rs"]
mod world;
#[path = "escape/conformance.rs"]
mod conformance;
#[path = "escape/probe.rs"]
mod probe;
#[path = "escape/probes_files.rs"]
mod probes_files;
#[path = "escape/probes_kernel.rs"]
mod probes_kernel;
#[path = "escape/probes_network.rs"]
mod probes_network;
#[path = "escape/probes_processes.rs"]
mod probes_processes;

#[test]
fn files_are_out_of_reach() {
    probe::make(probes_files::PROBES);
}

#[test]
fn the_network_is_out_of_reach() {
    probe::make(probes_network::PROBES);
}

#[test]
fn other_processes_are_out_of_reach() {
    probe::make(probes_processes::PROBES);
}

#[test]
fn the_kernel_is_out_of_reach() {
    probe::make(probes_kernel::PROBES);
}

#[path = "escape/bombs.rs"]
mod bombs;
#[path = "escape/grants.rs"]
mod grants;
#[path = "escape/interpreters.rs"]
mod interpreters;
#[path = "escape/protected.rs"]
mod protected;
