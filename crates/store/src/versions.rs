//! Versions of skills and content-addressed blobs.

use std::collections::{BTreeMap, BTreeSet};

use repertoire::Error;
use repertoire::store::{Blob, NewVersion, Origin, Version, Versions};
use repertoire_model::bundle::Digest;

use crate::SqlStore;
use crate::database::{Connection, Database, Durability, parameters};
use crate::value::{Row, SqlValue};

/// The most digests that are looked up with one statement.
const DIGESTS: usize = 200;

const COLUMNS: &str = "number, skill, name, digest, time_ms, origin, author";

impl<D: Database> Versions for SqlStore<D> {
    fn put_blobs(&self, blobs: &[Blob]) -> Result<(), Error> {
        // Writers at the same time put the same ones in the same order, so that none waits for the other.
        let sorted: BTreeMap<&Digest, &[u8]> =
            blobs.iter().map(|blob| (&blob.digest, blob.bytes.as_slice())).collect();
        if sorted.is_empty() {
            return Ok(());
        }
        self.database.write(Durability::Full, |connection| {
            for (digest, bytes) in &sorted {
                connection.execute(
                    "INSERT INTO blobs (digest, bytes) VALUES ($1, $2) \
                     ON CONFLICT (digest) DO UPDATE SET bytes = excluded.bytes WHERE blobs.bytes <> excluded.bytes",
                    &[SqlValue::from(*digest), SqlValue::Bytes(bytes.to_vec())],
                )?;
            }
            Ok(())
        })
    }

    fn raw_blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, Error> {
        let sql = "SELECT bytes FROM blobs WHERE digest = $1";
        let row = self.database.read(|connection| connection.query_first(sql, &[digest.into()]))?;
        row.map(|mut row| row.bytes()).transpose()
    }

    fn raw_blobs(&self, digests: &[Digest]) -> Result<Vec<(Digest, Vec<u8>)>, Error> {
        let mut found = Vec::with_capacity(digests.len());
        for some in digests.chunks(DIGESTS) {
            let parameters = parameters(1, some.len());
            let sql = format!("SELECT digest, bytes FROM blobs WHERE digest IN ({parameters})");
            let values: Vec<SqlValue> = some.iter().map(SqlValue::from).collect();
            for mut row in self.database.read(|connection| connection.query(&sql, &values))? {
                found.push((row.digest()?, row.bytes()?));
            }
        }
        Ok(found)
    }

    fn missing_blobs(&self, digests: &[Digest]) -> Result<Vec<Digest>, Error> {
        let mut missing: BTreeSet<Digest> = digests.iter().copied().collect();
        for some in digests.chunks(DIGESTS) {
            let sql = format!("SELECT digest FROM blobs WHERE digest IN ({})", parameters(1, some.len()));
            let values: Vec<SqlValue> = some.iter().map(SqlValue::from).collect();
            for mut row in self.database.read(|connection| connection.query(&sql, &values))? {
                missing.remove(&row.digest()?);
            }
        }
        Ok(missing.into_iter().collect())
    }

    fn add_version(&self, version: &NewVersion) -> Result<(Version, bool), Error> {
        self.database.write(Durability::Full, |connection| {
            // The row is locked until the transaction ends, so that writers get different numbers.
            let added = connection.query_first(
                "INSERT INTO skills (skill, newest, digest) VALUES ($1, 1, $2) \
                 ON CONFLICT (skill) DO UPDATE SET newest = skills.newest + 1, digest = excluded.digest \
                 WHERE skills.digest <> excluded.digest RETURNING newest",
                &[SqlValue::from(&version.skill), SqlValue::from(&version.digest)],
            )?;
            let is_new = added.is_some();
            if let Some(mut row) = added {
                connection.execute(
                    &format!("INSERT INTO versions ({COLUMNS}) VALUES ({})", parameters(1, 7)),
                    &[
                        row.number()?.into(),
                        SqlValue::from(&version.skill),
                        SqlValue::from(&version.name),
                        SqlValue::from(&version.digest),
                        version.time.into(),
                        version.origin.as_str().into(),
                        version.author.as_ref().into(),
                    ],
                )?;
            }
            let newest = newest(connection, &version.skill)?;
            let newest =
                newest.ok_or_else(|| connection.error("the newest version of a skill is missing"))?;
            Ok((newest, is_new))
        })
    }

    fn versions(&self, skill: &str) -> Result<Vec<Version>, Error> {
        let sql = format!("SELECT {COLUMNS} FROM versions WHERE skill = $1 ORDER BY number DESC");
        let rows = self.database.read(|connection| connection.query(&sql, &[skill.into()]))?;
        rows.into_iter().map(version).collect()
    }

    fn latest_version(&self, skill: &str) -> Result<Option<Version>, Error> {
        self.database.read(|connection| newest(connection, skill))
    }

    fn latest_digests(&self) -> Result<Vec<(String, Digest)>, Error> {
        let sql = "SELECT skill, digest FROM skills ORDER BY skill";
        let rows = self.database.read(|connection| connection.query(sql, &[]))?;
        rows.into_iter().map(|mut row| Ok((row.text()?, row.digest()?))).collect()
    }
}

/// Returns the newest version of `skill`.
fn newest(connection: &mut dyn Connection, skill: &str) -> Result<Option<Version>, Error> {
    let sql = format!("SELECT {COLUMNS} FROM versions WHERE skill = $1 ORDER BY number DESC LIMIT 1");
    connection.query_first(&sql, &[skill.into()])?.map(version).transpose()
}

/// Returns the version in `row`.
fn version(mut row: Row) -> Result<Version, Error> {
    Ok(Version {
        number: row.number()?,
        skill: row.text()?,
        name: row.text()?,
        digest: row.digest()?,
        time: row.time()?,
        origin: row.word(Origin::parse)?,
        author: row.optional_text()?,
    })
}
