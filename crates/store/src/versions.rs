//! Versions of skills and content-addressed blobs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use repertoire::store::{Blob, NewVersion, Origin, Version, Versions};
use repertoire::{Error, ErrorKind};
use repertoire_model::bundle::{Bundle, Digest};

use crate::SqlStore;
use crate::database::{Connection, Database, Durability, insert, parameters};
use crate::value::{Row, SqlValue};

/// The most digests that are looked up with one statement.
const DIGESTS: usize = 200;

const COLUMNS: &str = "number, skill, name, digest, time_ms, origin, author";

/// Selects the digests of all bundles that are recorded.
const RECORDED: &str = "SELECT digest FROM versions UNION SELECT base FROM proposals WHERE base IS NOT NULL \
                        UNION SELECT result FROM proposals UNION SELECT digest FROM changes WHERE digest IS NOT NULL \
                        UNION SELECT digest FROM publications";

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
        let missing: BTreeSet<Digest> = digests.iter().copied().collect();
        let time = SqlValue::from(SystemTime::now());
        let recent: Vec<[SqlValue; 2]> = missing.iter().map(|digest| [digest.into(), time.clone()]).collect();
        self.database.write(Durability::Relaxed, |connection| {
            insert(
                connection,
                "INSERT INTO recent_blobs (digest, time_ms)",
                &recent,
                "ON CONFLICT (digest) DO UPDATE SET time_ms = excluded.time_ms",
            )?;
            let mut found = BTreeSet::new();
            with_digests(connection, "SELECT digest FROM blobs", &missing, |mut row| {
                found.insert(row.digest()?);
                Ok(())
            })?;
            Ok(missing.difference(&found).copied().collect())
        })
    }

    fn add_version(&self, version: &NewVersion) -> Result<(Version, bool), Error> {
        self.database.write(Durability::Full, |connection| {
            let is_new = add(connection, version)?;
            let newest = newest(connection, &version.skill)?;
            let newest =
                newest.ok_or_else(|| connection.error("the newest version of a skill is missing"))?;
            Ok((newest, is_new))
        })
    }

    fn add_versions(&self, versions: &[NewVersion]) -> Result<(), Error> {
        self.database.write(Durability::Full, |connection| {
            versions.iter().try_for_each(|version| add(connection, version).map(drop))
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

    fn collect_garbage(&self, named: &BTreeSet<Digest>, time: SystemTime) -> Result<(), Error> {
        self.database.write(Durability::Full, |connection| {
            let rows =
                connection.query("SELECT digest FROM recent_blobs WHERE time_ms < $1", &[time.into()])?;
            let mut old = digests(rows)?;
            if old.is_empty() {
                return Ok(());
            }
            let recorded = digests(connection.query(RECORDED, &[])?)?;
            let (recorded, named) =
                (with_files(connection, recorded)?, with_files(connection, named.clone())?);
            // A blob that only the caller names may become garbage later.
            old.retain(|digest| recorded.contains(digest) || !named.contains(digest));
            with_digests(connection, "DELETE FROM recent_blobs", &old, |_| Ok(()))?;
            old.retain(|digest| !recorded.contains(digest));
            with_digests(connection, "DELETE FROM blobs", &old, |_| Ok(()))
        })
    }
}

/// Records `version` as the newest of its skill, unless it is that already. Returns `true` if it is new.
fn add(connection: &mut dyn Connection, version: &NewVersion) -> Result<bool, Error> {
    // The row is locked until the transaction ends, so that writers get different numbers.
    let added = connection.query_first(
        "INSERT INTO skills (skill, newest, digest) VALUES ($1, 1, $2) \
         ON CONFLICT (skill) DO UPDATE SET newest = skills.newest + 1, digest = excluded.digest \
         WHERE skills.digest <> excluded.digest RETURNING newest",
        &[SqlValue::from(&version.skill), SqlValue::from(&version.digest)],
    )?;
    let Some(mut row) = added else { return Ok(false) };
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
    Ok(true)
}

/// Runs a statement that begins with `head`, once for some of `digests` at a time, and gives each row that it
/// returns to `use_row`.
fn with_digests(
    connection: &mut dyn Connection,
    head: &str,
    digests: &BTreeSet<Digest>,
    mut use_row: impl FnMut(Row) -> Result<(), Error>,
) -> Result<(), Error> {
    let values: Vec<SqlValue> = digests.iter().map(SqlValue::from).collect();
    for some in values.chunks(DIGESTS) {
        let sql = format!("{head} WHERE digest IN ({})", parameters(1, some.len()));
        connection.query(&sql, some)?.into_iter().try_for_each(&mut use_row)?;
    }
    Ok(())
}

/// Returns the first column of `rows`.
fn digests(rows: Vec<Row>) -> Result<BTreeSet<Digest>, Error> {
    rows.into_iter().map(|mut row| row.digest()).collect()
}

fn with_files(connection: &mut dyn Connection, bundles: BTreeSet<Digest>) -> Result<BTreeSet<Digest>, Error> {
    let mut all = bundles.clone();
    with_digests(connection, "SELECT bytes FROM blobs", &bundles, |mut row| {
        // The files of a damaged bundle are not known, and must not be taken for garbage.
        let bundle = Bundle::parse(&row.bytes()?).ok_or_else(|| Error::new(ErrorKind::Corrupt))?;
        all.extend(bundle.files().iter().map(|file| file.digest));
        Ok(())
    })?;
    Ok(all)
}

fn newest(connection: &mut dyn Connection, skill: &str) -> Result<Option<Version>, Error> {
    let sql = format!("SELECT {COLUMNS} FROM versions WHERE skill = $1 ORDER BY number DESC LIMIT 1");
    connection.query_first(&sql, &[skill.into()])?.map(version).transpose()
}

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
