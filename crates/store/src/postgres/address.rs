//! The address of a PostgreSQL database.

use std::error::Error as StdError;
use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use repertoire::certificates::Certificates;
use repertoire::{Error, ErrorKind};
use tokio_postgres::Config;
use tokio_postgres::config::Host;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::tls::{TlsOptions, connector};

/// The longest wait for a connection, unless the address says otherwise.
const CONNECT: Duration = Duration::from_secs(10);

/// The time after which an idle connection is checked. The default of two hours would leave a caller waiting
/// as long for a host that is gone.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// The longest time that the server works on a statement that only reads.
pub(super) const READ: Duration = Duration::from_secs(30);

/// The beginning of the name under which processes connect.
pub(super) const APPLICATION: &str = "rep";

/// A part of the error of a connection that cannot be encrypted, and what to do.
const TLS_HELP: [(&str, &str); 3] = [
    (
        "server does not support TLS",
        "the address asks for encryption: switch on `ssl` in the server, or write ?sslmode=disable \
         if nobody else can read or answer on the network between",
    ),
    (
        "no hostname provided",
        "name the host in the certificate as well, as in postgres://HOST/DATABASE?hostaddr=ADDRESS",
    ),
    (
        "certificate",
        "name the file of its root certificate with ?sslrootcert=FILE, or do without encryption with ?sslmode=disable",
    ),
];

/// The address of a PostgreSQL database.
pub(super) struct Address {
    pub(super) config: Config,
    /// Encrypts connections.
    pub(super) tls: Option<MakeRustlsConnect>,
    /// The address without its password.
    shown: String,
}

impl Address {
    /// Returns the address that `url` is; `certificates` verify the server, unless it names others.
    pub(super) fn parse(url: &str, certificates: &Certificates) -> Result<Self, Error> {
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
            config.application_name(format!("{APPLICATION} {:016x}", RandomState::new().hash_one(())));
        }
        config.keepalives_idle(config.get_keepalives_idle().min(KEEPALIVE));
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(KEEPALIVE);
        }
        let shown = shown(&config);
        let tls = connector(&mut config, options.root_certificates.as_deref(), certificates)
            .map_err(|why| Error::new(ErrorKind::Store).about(&shown).because(why))?;
        Ok(Self { config, tls, shown })
    }

    /// Returns the address without its password, for people.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// Returns the time limit to connect: the client limits the first step alone, per address of a host.
    pub(super) fn connect_limit(&self) -> Duration {
        let hosts = self.config.get_hosts().len().max(self.config.get_hostaddrs().len());
        self.config.get_connect_timeout().copied().unwrap_or(CONNECT) * 2 * hosts.max(1) as u32
    }

    /// Returns the error for `error`, with what to do about encryption if that is the cause.
    pub(super) fn failure(&self, error: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        let failure = Error::new(ErrorKind::Store).about(&self.shown).because(error);
        let chain = failure.chain();
        let why = chain.strip_prefix(&format!("{failure}: ")).unwrap_or(&chain);
        // The client has no kinds of these errors.
        let Some((_, help)) = TLS_HELP.iter().find(|(part, _)| chain.contains(part)) else { return failure };
        Error::new(ErrorKind::Store).about(&self.shown).because(format!("{why}; {help}"))
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

    fn no_authority() -> Certificates {
        Certificates::new("", || Ok(Vec::new()))
    }

    #[test]
    fn the_password_is_never_shown() {
        let check = |url: &str, expect: &str| {
            assert_eq!(Address::parse(url, &no_authority()).unwrap().shown(), expect)
        };
        check("postgres://ann:secret@db.example:5433/skills", "postgres://ann@db.example:5433/skills");
        check("postgresql://ann@a,b/skills?password=secret", "postgres://ann@a:5432,b:5432/skills");
        check("postgres://%2Frun%2Fpg/skills", "postgres:///run/pg:5432/skills");
        for wrong in ["postgres://ann:x@host/x?secret=1", "postgres://ann:secret@host:port/x"] {
            let error = match Address::parse(wrong, &no_authority()) {
                Ok(address) => panic!("{wrong} is {}", address.shown()),
                Err(error) => error.chain(),
            };
            assert!(!error.contains("secret") && error.contains("sslmode=require"), "{error}");
        }
    }
}
