//! Channels of skills that servers serve.

use std::time::{Duration, SystemTime};

use repertoire::Error;
use repertoire::store::{Release, ReleaseChange, ReleasedSkill, Releases, effective_changes};
use repertoire_model::Digest;

use crate::SqlStore;
use crate::database::{Connection, Database, Durability, TransactionLock, insert};
use crate::value::{Row, SqlValue};

impl<D: Database> Releases for SqlStore<D> {
    fn release(
        &self,
        channel: &str,
        changes: &[ReleaseChange],
        author: Option<&str>,
        time: SystemTime,
    ) -> Result<Option<u64>, Error> {
        self.database.write(Durability::Full, |connection| {
            connection.lock(TransactionLock::Releases)?;
            let served = served(connection, channel)?;
            release(connection, channel, served, changes, (author, time))
        })
    }

    fn release_over(
        &self,
        channel: &str,
        change: &ReleaseChange,
        base: Option<&Digest>,
        author: Option<&str>,
        time: SystemTime,
    ) -> Result<Option<u64>, Error> {
        self.database.write(Durability::Full, |connection| {
            connection.lock(TransactionLock::Releases)?;
            let served = served(connection, channel)?;
            let skill = served.iter().find(|skill| skill.name == change.name);
            if skill.map(|skill| &skill.digest) != base {
                return Ok(None);
            }
            release(connection, channel, served, std::slice::from_ref(change), (author, time))
        })
    }

    fn released(&self, channel: &str) -> Result<Vec<ReleasedSkill>, Error> {
        self.database.read(|connection| served(connection, channel))
    }

    fn releases(&self, channel: &str, name: &str) -> Result<Vec<Release>, Error> {
        let sql = "SELECT r.number, c.digest, r.time_ms, r.author FROM changes c JOIN releases r ON r.number = c.number \
                   WHERE c.channel = $1 AND c.name = $2 ORDER BY c.number DESC, c.position DESC";
        let rows = self.database.read(|connection| connection.query(sql, &[channel.into(), name.into()]))?;
        let release = |mut row: Row| {
            Ok(Release {
                number: row.number()?,
                channel: channel.to_owned(),
                change: ReleaseChange { name: name.to_owned(), digest: row.optional_digest()? },
                time: row.time()?,
                author: row.optional_text()?,
            })
        };
        rows.into_iter().map(release).collect()
    }

    fn first_releases(&self, channel: &str) -> Result<Vec<(String, SystemTime)>, Error> {
        let sql = "SELECT c.name, min(r.time_ms) FROM changes c JOIN releases r ON r.number = c.number \
                   WHERE c.channel = $1 GROUP BY c.name ORDER BY c.name";
        let rows = self.database.read(|connection| connection.query(sql, &[channel.into()]))?;
        rows.into_iter().map(|mut row| Ok((row.text()?, row.time()?))).collect()
    }

    fn newest_names(&self, channel: &str) -> Result<Vec<String>, Error> {
        let sql = "SELECT DISTINCT name FROM changes WHERE channel = $1 AND number = \
                   (SELECT max(number) FROM changes WHERE channel = $1) ORDER BY name";
        let rows = self.database.read(|connection| connection.query(sql, &[channel.into()]))?;
        rows.into_iter().map(|mut row| row.text()).collect()
    }

    fn channels(&self) -> Result<Vec<String>, Error> {
        let sql = "SELECT DISTINCT channel FROM served ORDER BY channel";
        let rows = self.database.read(|connection| connection.query(sql, &[]))?;
        rows.into_iter().map(|mut row| row.text()).collect()
    }

    fn newest_release(&self) -> Result<u64, Error> {
        self.database.read(newest)
    }

    fn wait_for_release(&self, after: u64, timeout: Duration) -> Result<u64, Error> {
        self.database.wait(after, timeout, newest)
    }
}

/// Makes `changes` to `channel`, which has the skills `served`. Returns the number of the release, `None` if
/// nothing is left to change.
fn release(
    connection: &mut dyn Connection,
    channel: &str,
    served: Vec<ReleasedSkill>,
    changes: &[ReleaseChange],
    (author, time): (Option<&str>, SystemTime),
) -> Result<Option<u64>, Error> {
    let served = served.into_iter().map(|skill| (skill.name, skill.digest)).collect();
    let changes = effective_changes(changes, &served);
    if changes.is_empty() {
        return Ok(None);
    }
    let number = newest(connection)? + 1;
    connection.execute(
        "INSERT INTO releases (number, channel, author, time_ms) VALUES ($1, $2, $3, $4)",
        &[number.into(), channel.into(), author.into(), time.into()],
    )?;
    let rows = (0_u64..).zip(&changes).map(|(position, change)| {
        [
            channel.into(),
            SqlValue::from(&change.name),
            number.into(),
            position.into(),
            change.digest.as_ref().into(),
        ]
    });
    insert(
        connection,
        "INSERT INTO changes (channel, name, number, position, digest)",
        &rows.collect::<Vec<_>>(),
        "",
    )?;
    serve(connection, channel, number, &changes)?;
    connection.notify()?;
    Ok(Some(number))
}

fn newest(connection: &mut dyn Connection) -> Result<u64, Error> {
    connection.query_number("SELECT coalesce(max(number), 0) FROM releases", &[])
}

/// Returns the skills of `channel`, sorted by name.
fn served(connection: &mut dyn Connection, channel: &str) -> Result<Vec<ReleasedSkill>, Error> {
    let sql = "SELECT name, digest, number FROM served WHERE channel = $1 ORDER BY name";
    let skill =
        |mut row: Row| Ok(ReleasedSkill { name: row.text()?, digest: row.digest()?, release: row.number()? });
    connection.query(sql, &[channel.into()])?.into_iter().map(skill).collect()
}

/// Makes `changes`, at most one of each skill, to the skills that `channel` has.
fn serve(
    connection: &mut dyn Connection,
    channel: &str,
    number: u64,
    changes: &[ReleaseChange],
) -> Result<(), Error> {
    let mut served = Vec::new();
    for ReleaseChange { name, digest } in changes {
        if let Some(digest) = digest {
            served.push([channel.into(), SqlValue::from(name), digest.into(), number.into()]);
        } else {
            let sql = "DELETE FROM served WHERE channel = $1 AND name = $2";
            connection.execute(sql, &[channel.into(), SqlValue::from(name)])?;
        }
    }
    insert(
        connection,
        "INSERT INTO served (channel, name, digest, number)",
        &served,
        "ON CONFLICT (channel, name) DO UPDATE SET digest = excluded.digest, number = excluded.number",
    )
}
