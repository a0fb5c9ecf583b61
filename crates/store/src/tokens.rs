//! Tokens of people and programs.

use std::time::SystemTime;

use repertoire::Error;
use repertoire::store::{
    ENDED_TOKEN_TIME, MAX_TOKENS, Role, TokenRecord, TokenScope, Tokens, token_exists, too_many_tokens,
};
use repertoire_model::bundle::Digest;

use crate::SqlStore;
use crate::database::{Connection, Database, Durability, TransactionLock};
use crate::value::{Row, SqlValue, time};

const COLUMNS: &str = "digest, name, role, agent, scope, author, created_ms, expires_ms, revoked_ms";

/// The condition for tokens that are accepted at the time of the first value.
const ACTIVE: &str = "revoked_ms IS NULL AND (expires_ms IS NULL OR expires_ms > $1)";

impl<D: Database> Tokens for SqlStore<D> {
    fn add_token(&self, token: &TokenRecord) -> Result<(), Error> {
        self.database.write(Durability::Full, |connection| {
            connection.lock(TransactionLock::Tokens)?;
            let kept = token.created.checked_sub(ENDED_TOKEN_TIME).unwrap_or(SystemTime::UNIX_EPOCH);
            connection.execute("DELETE FROM tokens WHERE expires_ms <= $1", &[kept.into()])?;
            let count = format!("SELECT count(*) FROM tokens WHERE {ACTIVE}");
            let active = connection.query_number(&count, &[token.created.into()])?;
            if active >= MAX_TOKENS {
                return Err(too_many_tokens());
            }
            let added = connection.execute(
                &format!(
                    "INSERT INTO tokens ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
                     ON CONFLICT (digest) DO NOTHING"
                ),
                &[
                    (&token.digest).into(),
                    SqlValue::from(&token.name),
                    token.role.as_str().into(),
                    token.agent.as_ref().into(),
                    token.scope.to_json().as_str().into(),
                    token.author.as_ref().into(),
                    token.created.into(),
                    token.expires.into(),
                    token.revoked.into(),
                ],
            )?;
            if added == 0 { Err(token_exists()) } else { Ok(()) }
        })
    }

    fn tokens(&self) -> Result<Vec<TokenRecord>, Error> {
        self.database.read(|connection| select(connection, "", &[]))
    }

    fn active_tokens(&self, now: SystemTime) -> Result<Vec<TokenRecord>, Error> {
        self.database.read(|connection| select(connection, &format!(" WHERE {ACTIVE}"), &[now.into()]))
    }

    fn revoke_token(&self, digest: &Digest, time: SystemTime) -> Result<bool, Error> {
        let sql = "UPDATE tokens SET revoked_ms = $1 WHERE digest = $2 AND revoked_ms IS NULL";
        let values = [time.into(), digest.into()];
        let changed = self.database.write(Durability::Full, |connection| connection.execute(sql, &values))?;
        Ok(changed > 0)
    }
}

fn select(
    connection: &mut dyn Connection,
    condition: &str,
    values: &[SqlValue],
) -> Result<Vec<TokenRecord>, Error> {
    let sql = format!("SELECT {COLUMNS} FROM tokens{condition} ORDER BY name, created_ms, digest");
    connection.query(&sql, values)?.into_iter().map(read).collect()
}

fn read(mut row: Row) -> Result<TokenRecord, Error> {
    let (digest, name) = (row.digest()?, row.text()?);
    let (role, agent) = (row.word(Role::parse)?, row.optional_text()?);
    let (scope, author) = (TokenScope::parse(&row.text()?)?, row.optional_text()?);
    let mut token = TokenRecord::new("", name, role, row.time()?);
    (token.digest, token.agent, token.scope, token.author) = (digest, agent, scope, author);
    token.expires = row.optional_int()?.map(time);
    token.revoked = row.optional_int()?.map(time);
    Ok(token)
}
