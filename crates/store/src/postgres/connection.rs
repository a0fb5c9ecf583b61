//! A connection to PostgreSQL.

use std::error::Error as StdError;
use std::time::Duration;

use repertoire::{Error, ErrorKind};
use tokio_postgres::error::{DbError, Severity};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};

use super::client::{ClientError, TimedClient};
use crate::database::{Connection, TransactionLock};
use crate::value::{Row, SqlValue};

/// The channel on which releases are announced.
pub(super) const RELEASES: &str = "repertoire_releases";

/// The first of the numbers of advisory locks, which a database may share with other programs.
const LOCKS: i64 = 0x7265_7065_0000;

/// A connection to a PostgreSQL database.
pub(super) struct PostgresConnection<'a> {
    pub(super) client: &'a mut TimedClient,
    /// The address, for errors.
    pub(super) shown: &'a str,
    /// The longest wait for a statement.
    pub(super) limit: Duration,
    /// Set once nothing more can be done with the connection.
    pub(super) is_broken: bool,
}

impl PostgresConnection<'_> {
    pub(super) fn commit(&mut self) -> Result<(), Error> {
        self.client.commit(self.limit).map_err(|error| self.failure(error))
    }

    /// Returns the error for a failure, and notes whether the connection is broken.
    pub(super) fn failure(&mut self, error: ClientError) -> Error {
        let database_error = match &error {
            ClientError::Postgres(error) => error.as_db_error(),
            ClientError::Timeout(_) | ClientError::Silence => None,
        };
        self.is_broken |= match database_error.map(DbError::parsed_severity) {
            Some(severity) => matches!(severity, Some(Severity::Fatal | Severity::Panic)),
            // It is not an error of the server, but of the way to it.
            None => true,
        };
        Error::new(ErrorKind::Store).about(self.shown).because(error)
    }
}

impl Connection for PostgresConnection<'_> {
    fn execute(&mut self, sql: &str, values: &[SqlValue]) -> Result<u64, Error> {
        self.client.execute(self.limit, sql, &typed(values)).map_err(|error| self.failure(error))
    }

    fn query(&mut self, sql: &str, values: &[SqlValue]) -> Result<Vec<Row>, Error> {
        let rows = self.client.query(self.limit, sql, &typed(values)).map_err(|error| self.failure(error))?;
        let rows: Result<Vec<Row>, tokio_postgres::Error> = rows.iter().map(row).collect();
        rows.map_err(|error| Error::new(ErrorKind::Store).about(self.shown).because(error))
    }

    fn script(&mut self, sql: &str) -> Result<(), Error> {
        self.client.script(self.limit, sql).map_err(|error| self.failure(error))
    }

    fn lock(&mut self, lock: TransactionLock) -> Result<(), Error> {
        self.execute("SELECT pg_advisory_xact_lock($1)", &[SqlValue::Int(LOCKS + lock as i64)]).map(drop)
    }

    fn notify(&mut self) -> Result<(), Error> {
        self.script(&format!("NOTIFY {RELEASES}"))
    }

    fn error(&self, why: &str) -> Error {
        Error::new(ErrorKind::Store).about(self.shown).because(why)
    }
}

/// Returns `values` with their types, so that a statement takes one round trip.
fn typed<'a>(values: &'a [SqlValue]) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
    let typed = |value: &'a SqlValue| {
        let sql_type = match value {
            // The server infers it.
            SqlValue::Null => Type::UNKNOWN,
            SqlValue::Int(_) => Type::INT8,
            SqlValue::Text(_) => Type::TEXT,
            SqlValue::Bytes(_) => Type::BYTEA,
        };
        (value as &(dyn ToSql + Sync), sql_type)
    };
    values.iter().map(typed).collect()
}

impl ToSql for SqlValue {
    fn to_sql(&self, sql_type: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(number) => number.to_sql(sql_type, out),
            Self::Text(text) => text.to_sql(sql_type, out),
            Self::Bytes(bytes) => bytes.to_sql(sql_type, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Binary
    }

    to_sql_checked!();
}

fn row(row: &tokio_postgres::Row) -> Result<Row, tokio_postgres::Error> {
    let value = |index: usize| {
        let value = match *row.columns()[index].type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(index)?.map(SqlValue::Int),
            Type::INT4 => row.try_get::<_, Option<i32>>(index)?.map(|number| SqlValue::Int(number.into())),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(index)?.map(SqlValue::Bytes),
            _ => row.try_get::<_, Option<String>>(index)?.map(SqlValue::Text),
        };
        Ok(value.unwrap_or(SqlValue::Null))
    };
    Ok(Row::new((0..row.len()).map(value).collect::<Result<_, tokio_postgres::Error>>()?))
}
