//! Fetches packages of npm and PyPI, which carry skills along.

use base64::Engine as _;
use repertoire::http::join;
use repertoire_model::Digest;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha512};

use crate::archive;
use crate::fetch_options::FetchOptions;
use crate::http::SourceClient;
use crate::source::Package;
use crate::tree::TreeWriter;
use crate::{Error, ErrorKind};

/// The largest description of a package, in bytes.
const MAX_DESCRIPTION: u64 = 16 * 1024 * 1024;

/// The largest package, in bytes: skills share it with the code that they are about.
const MAX_PACKAGE: u64 = 50 * 1024 * 1024;

/// Fetches a package of npm from its registry, and returns its version.
pub(crate) fn npm(package: &Package, options: &FetchOptions, tree: &mut TreeWriter) -> Result<String, Error> {
    let registry = options.npm.trim_end_matches('/');
    let name = package.name.replace('/', "%2F");
    let version = package.version.as_deref().unwrap_or("latest");
    let client = SourceClient::new(registry, None, &options.http);
    let description = described(&client, &format!("{registry}/{name}/{version}"), package)?;
    let dist = &description["dist"];
    let url = dist["tarball"].as_str().ok_or_else(|| incomplete(package))?;
    let bytes = downloaded(&client, url)?;
    let expected = dist["integrity"].as_str().ok_or_else(|| incomplete(package))?;
    let mut hashes = expected.split_whitespace().filter_map(|hash| hash.strip_prefix("sha512-"));
    let found = base64::engine::general_purpose::STANDARD.encode(Sha512::digest(&bytes));
    if !hashes.any(|hash| hash == found) {
        return Err(Error::new(
            ErrorKind::Refused,
            format!("{url} does not have the hash that the registry says"),
        ));
    }
    archive::unpack(url, &bytes, "", tree)?;
    Ok(description["version"].as_str().ok_or_else(|| incomplete(package))?.to_owned())
}

/// Fetches a package of PyPI from its index, and returns its version.
pub(crate) fn pypi(
    package: &Package,
    options: &FetchOptions,
    tree: &mut TreeWriter,
) -> Result<String, Error> {
    let index = options.pypi.trim_end_matches('/');
    let client = SourceClient::new(index, None, &options.http);
    let newest = format!("{index}/pypi/{}/json", package.name);
    let page = match &package.version {
        Some(version) => format!("{index}/pypi/{}/{version}/json", package.name),
        None => newest.clone(),
    };
    let (page, description) = match (described(&client, &page, package), &package.version) {
        // Mirrors may have no pages of single versions.
        (Err(error), Some(version)) if error.kind() == ErrorKind::NotFound => {
            let mut description = described(&client, &newest, package)?;
            let files = description["releases"].get_mut(version).ok_or(error)?.take();
            (newest, json!({"info": {"version": version}, "urls": files}))
        }
        (description, _) => (page, description?),
    };
    let version = description["info"]["version"].as_str().ok_or_else(|| incomplete(package))?;
    let files = description["urls"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of_kind = |kind: &str| files.iter().find(|file| file["packagetype"] == kind);
    // A wheel holds what is installed.
    let file = of_kind("bdist_wheel").or_else(|| of_kind("sdist")).ok_or_else(|| incomplete(package))?;
    let url = file["url"].as_str().and_then(|url| resolved(&page, url)).ok_or_else(|| incomplete(package))?;
    let bytes = downloaded(&client, &url)?;
    if file["digests"]["sha256"].as_str() != Some(&Digest::of(&bytes).to_hex()) {
        return Err(Error::new(
            ErrorKind::Refused,
            format!("{url} does not have the hash that the index says"),
        ));
    }
    archive::unpack(&url, &bytes, "", tree)?;
    Ok(version.to_owned())
}

/// Returns the address that `reference` means on the page at `page`: mirrors write relative addresses.
fn resolved(page: &str, reference: &str) -> Option<String> {
    let (mut page, mut rest) = (page, reference);
    while let Some(below) = rest.strip_prefix("../") {
        page = &page[..page.rfind('/')?];
        rest = below;
    }
    join(page, rest)
}

fn described(client: &SourceClient, url: &str, package: &Package) -> Result<Value, Error> {
    let none = || {
        let version = package.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        Error::new(ErrorKind::NotFound, format!("there is no package {}{version}", package.name))
    };
    let bytes = client.get(url, MAX_DESCRIPTION)?.ok_or_else(none)?;
    serde_json::from_slice(&bytes).map_err(|_| incomplete(package))
}

fn downloaded(client: &SourceClient, url: &str) -> Result<Vec<u8>, Error> {
    let none = || Error::new(ErrorKind::NotFound, format!("there is nothing at {url}"));
    client.get(url, MAX_PACKAGE)?.ok_or_else(none)
}

fn incomplete(package: &Package) -> Error {
    let message = format!("the registry does not say what is needed to fetch {}", package.name);
    Error::new(ErrorKind::Refused, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_mirrors_are_relative_to_their_page() {
        let page = "https://mirror.example/pypi/pkg/json";
        let check = |reference: &str, expect: &str| {
            assert_eq!(resolved(page, reference).as_deref(), Some(expect), "{reference}");
        };
        check("https://files.example/pkg.whl", "https://files.example/pkg.whl");
        check("pkg.whl", "https://mirror.example/pypi/pkg/pkg.whl");
        check("../../packages/pkg.whl", "https://mirror.example/packages/pkg.whl");
    }
}
