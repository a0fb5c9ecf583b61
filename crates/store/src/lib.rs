//! Stores of [Repertoire](https://docs.rs/repertoire): a SQLite file for one machine, PostgreSQL for a fleet.
//!
//! [`open`] takes the path of a SQLite file or the address of a PostgreSQL database, brings its tables up to
//! date and returns a [`repertoire::store::Store`]. Both behave alike; one suite of tests holds them to it.
//! Several processes may use one store at once.
//!
//! ```
//! use repertoire::certificates::Certificates;
//! use repertoire::store::EventQuery;
//! let directory = tempfile::tempdir()?;
//! let location = directory.path().join("store.db");
//! let store = repertoire_store::open(&location.to_string_lossy(), &Certificates::none())?;
//! assert!(store.events(&EventQuery::default())?.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The methods block; on a thread that drives asynchronous tasks, those of a PostgreSQL store panic: call
//! them on another. Times are kept to the millisecond. U+FFFD replaces NUL, which PostgreSQL cannot keep.

mod open;
mod store;
mod sqlite;
mod postgres;
mod events;
mod usage;
mod versions;
mod proposals;
mod releases;
mod publications;
mod tokens;
mod migrations;
mod database;
mod value;

pub use open::{open, open_to_serve};
pub use postgres::PostgresStore;
pub use sqlite::SqliteStore;
pub use store::SqlStore;
