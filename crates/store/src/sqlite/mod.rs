//! SQLite: one file, safe among processes.

mod database;
mod connection;
mod file;

pub use database::SqliteStore;
