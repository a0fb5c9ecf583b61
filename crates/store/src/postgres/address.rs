//! The address of a PostgreSQL database.

use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use postgres::config::Host;
use postgres::{Client, Config, NoTls};
use repertoire::{Error, ErrorKind};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::tls::{TlsOptions, connector};

/// The longest wait for a connection, unless the address says otherwise.
const CONNECT: Duration = Duration::from_secs(10);

/// The time after which an idle connection is checked. The default of two hours would leave a caller waiting as long for a host that is gone.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// The beginning of the name under which processes connect.
pub(super) const APPLICATION: &str = "rep";

/// The settings of each connection. All tables are in a schema of their own.
const SETTINGS: &str =
    "SET search_path TO repertoire; SET statement_timeout = '5min'; SET client_min_messages = warning";

/// The address of a PostgreSQL database.
pub(super) struct Address {
    config: Config,
    /// Encrypts connections.
    tls: Option<MakeRustlsConnect>,
    /// The address without its password.
    shown: String,
}

impl Address {
    /// Returns the address that `url` is.
    pub(super) fn parse(url: &str) -> Result<Self, Error> {
        // The cause may cite a part of the password.
        let options = TlsOptions::parse(url);
        let mut config: Config = options.url.parse().map_err(|_| {
            Error::new(ErrorKind::Store).because(
                "the address of the PostgreSQL database cannot be understood; it is like \
                 postgres://user:password@host:5432/database?sslmode=require, and characters like @ / ? # in the password are \
                 written %40 %2F %3F %23",
            )
        })?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_application_name().is_none() {
            // The database tells processes apart by it, on whatever machine they run.
            config.application_name(&format!("{APPLICATION} {:016x}", RandomState::new().hash_one(())));
        }
        config.keepalives_idle(config.get_keepalives_idle().min(KEEPALIVE));
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(KEEPALIVE);
        }
        let shown = shown(&config);
        let tls = connector(&config, options.root_certificates.as_deref())
            .map_err(|why| Error::new(ErrorKind::Store).about(&shown).because(why))?;
        Ok(Self { config, tls, shown })
    }

    /// Returns the address without its password, for people.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// Opens a connection.
    pub(super) fn connect(&self) -> Result<Client, Error> {
        let connect = || -> Result<Client, postgres::Error> {
            let mut client = match &self.tls {
                Some(tls) => self.config.connect(tls.clone())?,
                None => self.config.connect(NoTls)?,
            };
            client.batch_execute(SETTINGS)?;
            Ok(client)
        };
        connect().map_err(|error| {
            let failure = Error::new(ErrorKind::Store).about(&self.shown).because(error);
            let chain = failure.chain();
            if !chain.contains("certificate") {
                return failure;
            }
            let why = chain.strip_prefix(&format!("{failure}: ")).unwrap_or(&chain);
            Error::new(ErrorKind::Store).about(&self.shown).because(format!(
                "{why}; name the file of its root certificate with ?sslrootcert=FILE, or do without encryption with ?sslmode=disable"
            ))
        })
    }
}

/// Returns `config` as an address without its password.
fn shown(config: &Config) -> String {
    let mut shown = "postgres://".to_owned();
    if let Some(user) = config.get_user() {
        shown.push_str(user);
        shown.push('@');
    }
    for (index, host) in config.get_hosts().iter().enumerate() {
        if index > 0 {
            shown.push(',');
        }
        match host {
            Host::Tcp(name) => shown.push_str(name),
            #[cfg(unix)]
            Host::Unix(path) => shown.push_str(&path.to_string_lossy()),
        }
        let ports = config.get_ports();
        if let Some(port) = ports.get(index).or(ports.first()) {
            let _ = write!(shown, ":{port}");
        }
    }
    if let Some(database) = config.get_dbname() {
        shown.push('/');
        shown.push_str(database);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_never_shown() {
        let check = |url: &str, expect: &str| assert_eq!(Address::parse(url).unwrap().shown(), expect);
        check("postgres://ann:secret@db.example:5433/skills", "postgres://ann@db.example:5433/skills");
        check("postgresql://ann@a,b/skills?password=secret", "postgres://ann@a:5432,b:5432/skills");
        check("postgres://%2Frun%2Fpg/skills", "postgres:///run/pg:5432/skills");
        for wrong in ["postgres://ann:x@host/x?secret=1", "postgres://ann:secret@host:port/x"] {
            let error = match Address::parse(wrong) {
                Ok(address) => panic!("{wrong} is {}", address.shown()),
                Err(error) => error.chain(),
            };
            assert!(!error.contains("secret") && error.contains("sslmode=require"), "{error}");
        }
    }
}
