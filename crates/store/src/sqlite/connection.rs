//! A connection to SQLite.

use std::path::Path;

use repertoire::{Error, ErrorKind};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{ffi, params_from_iter};

use crate::database::{Connection, TransactionLock};
use crate::value::{Row, SqlValue};

#[derive(Debug)]
pub(super) struct SqliteConnection<'a> {
    pub(super) connection: &'a rusqlite::Connection,
    pub(super) path: &'a Path,
}

impl SqliteConnection<'_> {
    fn rows(&self, sql: &str, values: &[SqlValue]) -> rusqlite::Result<Vec<Row>> {
        let mut statement = self.connection.prepare(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query(params_from_iter(values))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let column = |index| row.get_ref(index).map(owned);
            found.push(Row::new((0..columns).map(column).collect::<rusqlite::Result<_>>()?));
        }
        Ok(found)
    }
}

impl Connection for SqliteConnection<'_> {
    fn execute(&mut self, sql: &str, values: &[SqlValue]) -> Result<u64, Error> {
        let changed = self.connection.execute(sql, params_from_iter(values));
        changed.map(|changed| changed as u64).map_err(|error| failure(self.path, error))
    }

    fn query(&mut self, sql: &str, values: &[SqlValue]) -> Result<Vec<Row>, Error> {
        self.rows(sql, values).map_err(|error| failure(self.path, error))
    }

    fn script(&mut self, sql: &str) -> Result<(), Error> {
        self.connection.execute_batch(sql).map_err(|error| failure(self.path, error))
    }

    fn lock(&mut self, _: TransactionLock) -> Result<(), Error> {
        // A transaction that writes is the only one.
        Ok(())
    }

    fn notify(&mut self) -> Result<(), Error> {
        // Those who wait look at the file.
        Ok(())
    }

    fn error(&self, why: &str) -> Error {
        Error::new(ErrorKind::Store).at(self.path).because(why)
    }

    fn damage(&self, what: &str) -> Error {
        // SQLite's own words may have several lines.
        let lines: Vec<&str> = what.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        self.error(&format!("{DAMAGED} ({})", lines.join(" ")))
    }
}

impl rusqlite::ToSql for SqlValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// Returns the value of a column. Bytes that are not UTF-8 can be there only if something else wrote them.
fn owned(value: ValueRef<'_>) -> SqlValue {
    match value {
        ValueRef::Null => SqlValue::Null,
        ValueRef::Integer(number) => SqlValue::Int(number),
        ValueRef::Real(number) => SqlValue::Text(number.to_string()),
        ValueRef::Text(text) => SqlValue::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => SqlValue::Bytes(bytes.to_vec()),
    }
}

/// The advice about a damaged file.
const DAMAGED: &str = "the file is damaged, or no database; move it away with the files `-wal` and `-shm` beside it, and a new one is made";

/// Returns the error for a failure of SQLite, with advice.
pub(super) fn failure(path: &Path, error: rusqlite::Error) -> Error {
    use ffi::ErrorCode as Code;
    let advice = match error.sqlite_error_code() {
        Some(Code::NotADatabase | Code::DatabaseCorrupt) => DAMAGED,
        Some(Code::CannotOpen | Code::PermissionDenied | Code::ReadOnly) => {
            "the file and its directory must be writable"
        }
        Some(Code::DiskFull) => "the disk is full",
        Some(Code::DatabaseBusy | Code::DatabaseLocked) => "another process keeps it locked; try again",
        _ => "SQLite failed",
    };
    Error::new(ErrorKind::Store).at(path).because(format!("{advice} ({error})"))
}
