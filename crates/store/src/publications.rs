//! Published versions of skills.

use repertoire::Error;
use repertoire::store::{Publication, Publications};

use crate::SqlStore;
use crate::database::{Database, Durability};
use crate::value::{Row, SqlValue};

const COLUMNS: &str = "name, version, digest, author, time_ms";

impl<D: Database> Publications for SqlStore<D> {
    fn publish(&self, publication: &Publication) -> Result<(Publication, bool), Error> {
        self.database.write(Durability::Full, |connection| {
            let Publication { name, version, digest, author, time } = publication;
            let added = connection.execute(
                &format!(
                    "INSERT INTO publications ({COLUMNS}) VALUES ($1, $2, $3, $4, $5) \
                     ON CONFLICT (name, version) DO NOTHING"
                ),
                &[
                    SqlValue::from(name),
                    SqlValue::from(version),
                    digest.into(),
                    author.as_ref().into(),
                    (*time).into(),
                ],
            )?;
            let sql = format!("SELECT {COLUMNS} FROM publications WHERE name = $1 AND version = $2");
            let row = connection.query_first(&sql, &[SqlValue::from(name), SqlValue::from(version)])?;
            let row = row.ok_or_else(|| connection.damage("a published version is gone"))?;
            Ok((read(row)?, added > 0))
        })
    }

    fn publications(&self, name: &str) -> Result<Vec<Publication>, Error> {
        let sql =
            format!("SELECT {COLUMNS} FROM publications WHERE name = $1 ORDER BY time_ms DESC, version DESC");
        let rows = self.database.read(|connection| connection.query(&sql, &[name.into()]))?;
        rows.into_iter().map(read).collect()
    }
}

fn read(mut row: Row) -> Result<Publication, Error> {
    Ok(Publication {
        name: row.text()?,
        version: row.text()?,
        digest: row.digest()?,
        author: row.optional_text()?,
        time: row.time()?,
    })
}
