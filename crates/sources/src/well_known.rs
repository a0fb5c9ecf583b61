//! Reads an index of skills at a well-known address: version 0.2.0 of the discovery draft, and 0.1.0.

use repertoire::http::{join, origin};
use repertoire_model::{Digest, SkillName, SkillPath};
use serde_json::Value;

use crate::archive::{self, MAX_PACKED};
use crate::fetch_options::{BadEntry, FetchOptions};
use crate::http::{SourceClient, is_valid};
use crate::tree::TreeWriter;
use crate::{Error, ErrorKind};

/// The addresses of an index below the address of a server, the newest first.
const PLACES: [&str; 2] = [".well-known/agent-skills/index.json", ".well-known/skills/index.json"];

/// The schema of version 0.2.0.
const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

/// The largest index, in bytes.
const MAX_INDEX: u64 = 16 * 1024 * 1024;

/// The most skills of an index that are fetched at once.
const MAX_SKILLS: usize = 500;

/// The most files of a skill that are fetched one by one.
const MAX_FILES: usize = 500;

/// The skills of an index that were fetched.
#[derive(Debug, Default)]
pub(crate) struct FetchedIndex {
    /// The digests that the index has for the skills, by the directory of each.
    pub(crate) digests: Vec<(String, String)>,
    /// The skills that were left out, with the reason.
    pub(crate) left_out: Vec<String>,
}

/// Fetches the skills of the index at `url`, or the wanted ones, each to a directory of its name in `tree`.
pub(crate) fn fetch(url: &str, options: &FetchOptions, tree: &mut TreeWriter) -> Result<FetchedIndex, Error> {
    let wanted = &options.wanted[..];
    let client = SourceClient::new(url, options.token.as_deref(), &options.http);
    let (address, index) = index(&client, url)?;
    let broken = |reason: &str| {
        Error::new(ErrorKind::Refused, format!("{address} is not an index of skills: {reason}"))
    };
    let index: Value = serde_json::from_slice(&index).map_err(|error| broken(&error.to_string()))?;
    let is_new = match index.get("$schema").map(Value::as_str) {
        None => false,
        Some(Some(SCHEMA)) => true,
        Some(_) => return Err(broken("its version is not known")),
    };
    let skills = index["skills"].as_array().ok_or_else(|| broken("it has no skills"))?;
    let mut fetched = FetchedIndex::default();
    let mut entries = Vec::new();
    for skill in skills {
        let Some(name) = skill["name"].as_str().and_then(directory_name) else {
            fetched.left_out.push("a skill of the index has no name that a directory can have".to_owned());
            continue;
        };
        if wanted.is_empty() || wanted.contains(&name) {
            entries.push((name, skill));
        }
    }
    if entries.len() > MAX_SKILLS {
        let message = format!("{address} has more than {MAX_SKILLS} skills");
        return Err(Error::new(ErrorKind::Refused, message).hint("name the skills that you want"));
    }
    for (name, skill) in entries {
        let result = if is_new {
            new_skill(&client, &address, &name, skill, tree, &mut fetched)
        } else {
            old_skill(&client, &address, &name, skill, tree, &mut fetched)
        };
        match result {
            // One bad entry is not a reason to refuse the others.
            Err(error)
                if (wanted.len() != 1 || options.single_bad_entry == BadEntry::LeaveOut)
                    && matches!(error.kind(), ErrorKind::Refused | ErrorKind::NotFound) =>
            {
                tree.remove_directory(&name)?;
                fetched.left_out.push(format!("{name}: {error}"));
            }
            result => result?,
        }
    }
    Ok(fetched)
}

/// Returns the address of the index, and its bytes.
fn index(client: &SourceClient, url: &str) -> Result<(String, Vec<u8>), Error> {
    let url = url.trim_end_matches('/');
    let addresses = if url.ends_with(".json") {
        vec![url.to_owned()]
    } else {
        PLACES.iter().map(|place| format!("{url}/{place}")).collect()
    };
    for address in addresses {
        if let Some(bytes) = client.get(&address, MAX_INDEX)? {
            return Ok((address, bytes));
        }
    }
    Err(Error::new(ErrorKind::NotFound, format!("{url} has no index of skills"))
        .hint(format!("if it is a git repository, write git+{url}")))
}

fn directory_name(name: &str) -> Option<String> {
    let known = SkillName::new(name).filter(|known| known.as_str() == name)?;
    SkillPath::new(known.as_str()).ok().map(|path| path.to_string())
}

/// Fetches a skill of version 0.2.0, whose digest has to be right.
fn new_skill(
    client: &SourceClient,
    index: &str,
    name: &str,
    skill: &Value,
    tree: &mut TreeWriter,
    fetched: &mut FetchedIndex,
) -> Result<(), Error> {
    let kind = skill["type"].as_str().unwrap_or_default();
    if !["skill-md", "archive"].contains(&kind) {
        fetched.left_out.push(format!("{name} is of a kind that is not known: `{kind}`"));
        return Ok(());
    }
    let refused = |reason: &str| Error::new(ErrorKind::Refused, format!("`{name}` of {index} {reason}"));
    let Some(url) = skill["url"].as_str().and_then(|url| address(index, url)) else {
        fetched.left_out.push(format!("{name} has no valid url"));
        return Ok(());
    };
    let digest = skill["digest"].as_str().and_then(Digest::parse).ok_or_else(|| refused("has no digest"))?;
    let bytes = client.get(&url, MAX_PACKED)?;
    let bytes = bytes.ok_or_else(|| Error::new(ErrorKind::NotFound, format!("there is nothing at {url}")))?;
    if Digest::of(&bytes) != digest {
        return Err(refused("does not have the digest that the index says"));
    }
    if kind == "archive" {
        archive::unpack(&url, &bytes, &format!("{name}/"), tree)?;
    } else {
        tree.add(&format!("{name}/SKILL.md"), false, &bytes)?;
    }
    fetched.digests.push((name.to_owned(), digest.to_string()));
    Ok(())
}

/// Returns the address that `url` of an index stands for. A password in it would be sent to the server that
/// it names.
fn address(index: &str, url: &str) -> Option<String> {
    let is_clean = |url: &String| origin(url) == origin(index) || !origin(url).contains('@');
    join(index, url).filter(|url| is_valid(url)).filter(is_clean)
}

/// Fetches the files of a skill of version 0.1.0, which has no digests.
fn old_skill(
    client: &SourceClient,
    index: &str,
    name: &str,
    skill: &Value,
    tree: &mut TreeWriter,
    fetched: &mut FetchedIndex,
) -> Result<(), Error> {
    let files: Vec<&str> =
        skill["files"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if files.len() > MAX_FILES {
        return Err(Error::new(
            ErrorKind::Refused,
            format!("`{name}` of {index} has more than {MAX_FILES} files"),
        ));
    }
    let address = |path: &str| {
        let encoded: String = path.chars().map(encoded).collect();
        join(index, &format!("{name}/{encoded}"))
    };
    let urls: Option<Vec<String>> = files.iter().map(|path| address(path)).collect();
    let Some(urls) = urls else {
        fetched.left_out.push(format!("{name} has a file whose path leads out of the index"));
        return Ok(());
    };
    for (path, url) in files.into_iter().zip(urls) {
        let bytes = client.get(&url, tree.room().min(MAX_PACKED))?;
        let bytes =
            bytes.ok_or_else(|| Error::new(ErrorKind::NotFound, format!("there is nothing at {url}")))?;
        tree.add(&format!("{name}/{path}"), false, &bytes)?;
    }
    Ok(())
}

/// Returns a character of a path as an address has it.
fn encoded(c: char) -> String {
    if c.is_ascii_alphanumeric() || "-._~/".contains(c) {
        return c.to_string();
    }
    let mut bytes = [0; 4];
    c.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_an_index_have_no_password() {
        let index = "https://u:p@a.example/index.json";
        let check =
            |url: &str, expect: Option<&str>| assert_eq!(address(index, url).as_deref(), expect, "{url}");
        check("x.zip", Some("https://u:p@a.example/x.zip"));
        check("https://b.example/x.zip", Some("https://b.example/x.zip"));
        for url in [
            "https://a:b@b.example/x.zip",
            "//a:b@b.example/x.zip",
            "https://a@a.example/x",
            "//u:q@a.example/x",
        ] {
            check(url, None);
        }
    }

    #[test]
    fn names_and_paths_of_an_index_become_directories_and_addresses() {
        let check = |name: &str, expect: Option<&str>| {
            assert_eq!(directory_name(name).as_deref(), expect, "{name}");
        };
        check("pdf", Some("pdf"));
        check("../pdf", None);
        check("con", None);
        check("", None);
        let address = |path: &str| path.chars().map(encoded).collect::<String>();
        assert_eq!(address("references/a b.md"), "references/a%20b.md");
        assert_eq!(address("a?b#c%"), "a%3Fb%23c%25");
        assert_eq!(address("ä"), "%C3%A4");
    }
}
