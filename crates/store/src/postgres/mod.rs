//! PostgreSQL: one database for a fleet of servers.

mod database;
mod pool;
mod connection;
mod address;
mod tls;

pub use database::PostgresStore;
