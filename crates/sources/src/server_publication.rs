//! Sends versions of skills to a server of a team.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::http::{SourceClient, is_valid};
use crate::{Error, ErrorKind, FetchOptions};

/// The most bytes of an answer that are read.
const MAX_ANSWER: u64 = 1024 * 1024;

/// The media type of an archive.
const GZIP: &str = "application/gzip";

/// A version of a skill to send.
#[derive(Debug, Clone, Copy)]
pub struct VersionToSend<'a> {
    /// The name of the skill.
    pub name: &'a str,
    /// The version.
    pub version: &'a str,
    /// The channel; the server's own if there is not one.
    pub channel: Option<&'a str>,
    /// The archive with its files, as `.tar.gz`.
    pub archive: &'a [u8],
}

/// Sends a version to the server at `address`, with the token of `options`. Returns the status and the body.
pub fn send_version(
    address: &str,
    version: VersionToSend<'_>,
    options: &FetchOptions,
) -> Result<(u16, Vec<u8>), Error> {
    let server = address.trim_end_matches('/');
    if !is_valid(server) {
        return Err(Error::new(ErrorKind::InvalidSource, format!("{server} is not an address of a server"))
            .hint("it begins with https://; http:// is for this machine alone"));
    }
    let word = |text| utf8_percent_encode(text, NON_ALPHANUMERIC);
    let (name, number) = (word(version.name), word(version.version));
    let channel = version.channel.map(|channel| format!("?channel={}", word(channel))).unwrap_or_default();
    let url = format!("{server}/api/v1/skills/{name}/versions/{number}{channel}");
    let client = SourceClient::new(server, options.token.as_deref(), &options.http);
    client.put(&url, GZIP, version.archive, MAX_ANSWER)
}
