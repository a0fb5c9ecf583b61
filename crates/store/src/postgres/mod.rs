//! PostgreSQL: one database for a fleet of servers.

mod database;
mod pool;
mod connection;
mod client;
mod pulse;
mod open_connection;
mod address;
mod tls;

pub use database::PostgresStore;
