//! Brings the tables of a database up to date.

use repertoire::Error;

use crate::database::{Connection, TransactionLock};
use crate::value::SqlValue;

/// The changes of the tables of SQLite, in order. They are never edited, only added to.
pub(crate) const SQLITE: &[&str] = &[
    include_str!("../migrations/sqlite/0001_initial.sql"),
    include_str!("../migrations/sqlite/0002_tokens.sql"),
    include_str!("../migrations/sqlite/0003_usage_identity.sql"),
    include_str!("../migrations/sqlite/0004_recent_blobs.sql"),
];

/// The changes of the tables of PostgreSQL, in order.
pub(crate) const POSTGRES: &[&str] = &[
    include_str!("../migrations/postgres/0001_initial.sql"),
    include_str!("../migrations/postgres/0002_tokens.sql"),
    include_str!("../migrations/postgres/0003_usage_identity.sql"),
    include_str!("../migrations/postgres/0004_recent_blobs.sql"),
];

/// Returns the number of the newest migration that was applied.
pub(crate) fn applied(connection: &mut dyn Connection) -> Result<u32, Error> {
    let number = connection.query_number("SELECT coalesce(max(number), 0) FROM schema", &[])?;
    Ok(u32::try_from(number).unwrap_or(u32::MAX))
}

/// Returns whether all of `migrations` were applied. Fails if there are more than this program knows.
pub(crate) fn is_current(connection: &mut dyn Connection, migrations: &[&str]) -> Result<bool, Error> {
    let (applied, known) = (applied(connection)?, migrations.len());
    if applied as usize > known {
        return Err(connection.error(&format!(
            "a newer version of rep wrote it (its tables have number {applied}, this version knows {known}); update rep"
        )));
    }
    Ok(applied as usize == known)
}

/// Applies those of `migrations` that were not, in the transaction of `connection`.
pub(crate) fn migrate(connection: &mut dyn Connection, migrations: &[&str]) -> Result<(), Error> {
    connection.lock(TransactionLock::Schema)?;
    connection.script("CREATE TABLE IF NOT EXISTS schema (number BIGINT PRIMARY KEY)")?;
    is_current(connection, migrations)?;
    let applied = applied(connection)? as usize;
    for (number, script) in (1_u64..).zip(migrations).skip(applied) {
        connection.script(script)?;
        connection.execute("INSERT INTO schema (number) VALUES ($1)", &[SqlValue::from(number)])?;
    }
    Ok(())
}
