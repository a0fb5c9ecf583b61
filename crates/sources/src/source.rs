//! The text that names a source of skills.

use std::fmt;
use std::path::{Path, PathBuf};

use repertoire_model::loopback;

use crate::{Error, ErrorKind};

/// Hosts whose addresses with an owner and a repository are git repositories.
const GIT_HOSTS: [&str; 4] = ["github.com", "gitlab.com", "bitbucket.org", "codeberg.org"];

/// The word that names the sample library of this program.
const SAMPLES_WORD: &str = "samples";

/// The endings of archives.
const ARCHIVES: [&str; 5] = [".zip", ".skill", ".tar", ".tar.gz", ".tgz"];

/// The longest text of a source, in bytes.
const MAX_BYTES: usize = 4096;

/// A place that skills can be fetched from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A git repository.
    Git(GitSource),
    /// A directory.
    Directory(PathBuf),
    /// An archive on this machine.
    ArchiveFile(PathBuf),
    /// An archive on a server.
    ArchiveUrl(String),
    /// A server with an index of skills.
    WellKnown(String),
    /// A package of npm, with a version or a tag.
    Npm(Package),
    /// A package of PyPI, with a version.
    Pypi(Package),
    /// The sample library, which is part of this program.
    Samples,
}

/// A git repository, or a directory in it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GitSource {
    /// The address that git fetches from.
    pub url: String,
    /// A branch, a tag or a whole commit; the default branch if it is not given.
    pub reference: Option<String>,
    /// The directory.
    pub path: Option<String>,
    /// A branch and perhaps a directory, as web pages of repositories write them: which part is the branch is
    /// known only from the repository.
    pub tree: Option<String>,
}

/// A package of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Package {
    /// Its name.
    pub name: String,
    /// The version; the newest one if it is not given.
    pub version: Option<String>,
}

/// A source as it was written, with the skill that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceText {
    /// The source.
    pub source: Source,
    /// The skill behind `@`.
    pub skill: Option<String>,
}

impl SourceText {
    /// Returns the source that `text` names. Relative paths count from `directory`, and `~` is `home`.
    ///
    /// ```
    /// use repertoire_sources::{Source, SourceText};
    /// let parsed = SourceText::parse("owner/repo@pdf", "/project".as_ref(), None).unwrap();
    /// assert!(matches!(parsed.source, Source::Git(_)));
    /// assert_eq!(parsed.skill.as_deref(), Some("pdf"));
    /// ```
    pub fn parse(text: &str, directory: &Path, home: Option<&Path>) -> Result<Self, Error> {
        let fault = text_fault(text);
        if let Some(fault) = fault {
            return Err(invalid(text, fault));
        }
        let plain = |source| Ok(Self { source, skill: None });
        if text == SAMPLES_WORD {
            return plain(Source::Samples);
        }
        if let Some(package) = text.strip_prefix("npm:") {
            return plain(Source::Npm(package_of(text, package)?));
        }
        if let Some(package) = text.strip_prefix("pypi:") {
            return plain(Source::Pypi(package_of(text, package)?));
        }
        if let Some(path) = local_path(text, directory, home) {
            let is_archive = has_archive_ending(text);
            return plain(if is_archive { Source::ArchiveFile(path) } else { Source::Directory(path) });
        }
        if let Some(url) = text.strip_prefix("git+") {
            return plain(Source::Git(git_url(text, url)?));
        }
        if let Some((scheme, rest)) = text.split_once("://") {
            return match scheme {
                "https" | "http" => plain(web_url(text, scheme, rest)?),
                "ssh" | "file" | "git" => plain(Source::Git(git_url(text, text)?)),
                _ => Err(invalid(text, format!("sources are not fetched by `{scheme}:`"))),
            };
        }
        if is_ssh_shorthand(text) {
            return plain(Source::Git(git_url(text, text)?));
        }
        // An owner on GitHub has no dot in the name, so this is an address as people copy it.
        let host = text.split_once('/').map_or("", |(host, _)| host);
        let has_domain = host.rsplit_once('.').is_some_and(|(name, domain)| {
            !name.is_empty() && domain.starts_with(|c: char| c.is_ascii_alphabetic())
        });
        if has_domain && !host.starts_with('.') && !host.contains('@') {
            let (address, skill) =
                text.split_once('@').map_or((text, None), |(a, b)| (a, Some(b.to_owned())));
            let source = web_url(&format!("https://{address}"), "https", address)?;
            return Ok(Self { source, skill });
        }
        shorthand(text)
    }
}

impl Source {
    /// Returns this source with another branch, tag, commit or version.
    pub fn with_reference(self, reference: &str) -> Result<Self, Error> {
        let package = |package: Package| Package { version: Some(reference.to_owned()), ..package };
        Ok(match self {
            Self::Git(git) => {
                let reference = checked_reference(reference)?;
                if git.tree.is_some() || git.reference.is_some() {
                    return Err(Error::new(
                        ErrorKind::InvalidSource,
                        "the source names a branch, a tag or a commit already",
                    )
                    .hint("choose the version in one place only"));
                }
                Self::Git(GitSource { reference: Some(reference), ..git })
            }
            Self::Npm(it) => Self::Npm(package(it)),
            Self::Pypi(it) => Self::Pypi(package(it)),
            _ => {
                return Err(Error::new(
                    ErrorKind::InvalidSource,
                    "only repositories and packages have versions to choose from",
                ));
            }
        })
    }

    /// Returns this source at the exact version `resolved`, which a lock has.
    pub(crate) fn at(self, resolved: Option<&str>) -> Self {
        match (self, resolved.map(str::to_owned)) {
            (Self::Git(git), Some(commit)) => Self::Git(GitSource { reference: Some(commit), ..git }),
            (Self::Npm(package), Some(version)) => Self::Npm(Package { version: Some(version), ..package }),
            (Self::Pypi(package), Some(version)) => Self::Pypi(Package { version: Some(version), ..package }),
            (source, _) => source,
        }
    }

    /// Returns the source as a lock has it: paths relative to `base` where they lie below it or beside it.
    pub fn to_locked(&self, base: &Path) -> String {
        match self {
            Self::Directory(path) | Self::ArchiveFile(path) => relative_text(base, path),
            other => other.to_string(),
        }
    }

    /// Returns the branch, tag, commit or version that was asked for.
    pub fn reference(&self) -> Option<&str> {
        match self {
            Self::Git(git) => git.reference.as_deref(),
            Self::Npm(package) | Self::Pypi(package) => package.version.as_deref(),
            _ => None,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Git(git) if git.url.starts_with("https://") || git.url.starts_with("http://") => {
                let is_known = GIT_HOSTS.iter().any(|host| git.url.starts_with(&format!("https://{host}/")));
                let prefix = if is_known || git.url.ends_with(".git") { "" } else { "git+" };
                write!(f, "{prefix}{}", git.url)
            }
            Self::Git(git) => f.write_str(&git.url),
            Self::Directory(path) | Self::ArchiveFile(path) => write!(f, "{}", path.display()),
            Self::ArchiveUrl(url) | Self::WellKnown(url) => f.write_str(url),
            Self::Npm(package) => write!(f, "npm:{}", package.name),
            Self::Pypi(package) => write!(f, "pypi:{}", package.name),
            Self::Samples => f.write_str(SAMPLES_WORD),
        }
    }
}

fn invalid(text: &str, reason: impl fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidSource, format!("`{text}` is not a source of skills: {reason}")).hint(
        "sources are owner/repo, the address of a repository, a path such as ./skills, an archive, npm:PACKAGE, pypi:PACKAGE, https://HOST with an index of skills, or `samples`",
    )
}

fn text_fault(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("it is empty");
    }
    if text.len() > MAX_BYTES {
        return Some("it is too long");
    }
    if text.starts_with('-') {
        return Some("it begins with `-`");
    }
    text.chars().any(char::is_control).then_some("it holds control characters")
}

/// Returns the path of a source on this machine: one that is absolute, or begins with `.` or `~`.
fn local_path(text: &str, directory: &Path, home: Option<&Path>) -> Option<PathBuf> {
    if let Some(below) = text.strip_prefix("~/") {
        return home.map(|home| normal(&home.join(below)));
    }
    let is_relative = matches!(text, "." | "..") || text.starts_with("./") || text.starts_with("../");
    let is_windows = cfg!(windows) && (text.starts_with(".\\") || text.get(1..3) == Some(":\\"));
    if is_relative || is_windows || Path::new(text).is_absolute() {
        return Some(normal(&directory.join(text)));
    }
    let is_plain_name = !text.contains("://") && !text.contains('@');
    (is_plain_name && has_archive_ending(text)).then(|| normal(&directory.join(text)))
}

/// Returns `path` without `.` and, where possible, without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir if normal.file_name().is_some() => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

fn has_archive_ending(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ARCHIVES.iter().any(|ending| text.ends_with(ending))
}

/// Returns `path` relative to `base`, with `/`, where both have a directory in common.
fn relative_text(base: &Path, path: &Path) -> String {
    let (from, to): (Vec<_>, Vec<_>) = (base.components().collect(), path.components().collect());
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    // Only the root in common is nothing in common.
    if shared < 2 {
        return path.display().to_string();
    }
    let up = "../".repeat(from.len() - shared);
    let rest: Vec<String> =
        to[shared..].iter().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let prefix = if up.is_empty() { "./" } else { "" };
    let text = format!("{prefix}{up}{}", rest.join("/"));
    text.trim_end_matches('/').to_owned()
}

fn is_ssh_shorthand(text: &str) -> bool {
    let Some((host, path)) = text.split_once(':') else { return false };
    host.contains('@') && !host.contains('/') && !path.is_empty()
}

/// Returns the repository at `url`, which may end with `#REF` and `//PATH`.
fn git_url(text: &str, url: &str) -> Result<GitSource, Error> {
    let (url, reference) = match url.split_once('#') {
        Some((url, reference)) => (url, Some(checked_reference(reference)?)),
        None => (url, None),
    };
    let start = url.find("://").map_or(0, |at| at + 3);
    let (url, path) = match url[start..].find("//") {
        Some(at) => (&url[..start + at], Some(checked_path(text, &url[start + at + 2..])?)),
        None => (url, None),
    };
    let url = url.trim_end_matches('/');
    let known = ["https://", "http://", "ssh://", "file://", "git://"];
    let rest = known.iter().find_map(|scheme| url.strip_prefix(scheme));
    let is_address = rest.is_some_and(|rest| {
        // A repository on this machine has no host.
        if url.starts_with("file://") {
            rest.starts_with('/')
        } else {
            rest.split('/').count() > 1 && !rest.starts_with('/')
        }
    });
    if !is_address && !is_ssh_shorthand(url) {
        return Err(invalid(text, "it is not an address of a git repository"));
    }
    let is_plain = url.starts_with("http://") || url.starts_with("git://");
    if is_plain && !is_loopback(url) {
        return Err(invalid(text, "it is not encrypted; use https:// or ssh://"));
    }
    if has_credentials(url) {
        return Err(invalid(text, "it holds a password, which would end up in the lock")
            .hint("let git's credential helper or an SSH key authenticate"));
    }
    Ok(GitSource { url: url.to_owned(), reference, path, tree: None })
}

/// Returns `true` if `url` leads to this machine.
pub(crate) fn is_loopback(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    loopback::is_loopback(authority.rsplit('@').next().unwrap_or_default())
}

fn has_credentials(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let authority = rest.split('/').next().unwrap_or_default();
    authority.split_once('@').is_some_and(|(user, _)| scheme.starts_with("http") || user.contains(':'))
}

/// Returns the source at an address of the web.
fn web_url(text: &str, scheme: &str, rest: &str) -> Result<Source, Error> {
    if scheme == "http" && !is_loopback(text) {
        return Err(invalid(text, "it is not encrypted; use https://"));
    }
    if has_credentials(text) {
        return Err(invalid(text, "it holds a password, which would end up in the lock"));
    }
    let (address, reference) = rest.split_once('#').map_or((rest, None), |(a, b)| (a, Some(b)));
    let (host, path) = address.split_once('/').unwrap_or((address, ""));
    let host = host.strip_prefix("www.").filter(|bare| GIT_HOSTS.contains(bare)).unwrap_or(host);
    if host.is_empty() {
        return Err(invalid(text, "it has no host"));
    }
    let path = path.trim_end_matches('/');
    let is_archive = has_archive_ending(path.split('?').next().unwrap_or_default());
    if is_archive {
        return Ok(Source::ArchiveUrl(text.to_owned()));
    }
    if path.ends_with(".git") || path.contains(".git/") {
        return Ok(Source::Git(git_url(text, &text.replacen(".git/", ".git//", 1))?));
    }
    let page = path.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = page.split('/').filter(|part| !part.is_empty()).collect();
    if GIT_HOSTS.contains(&host) && parts.len() >= 2 || is_page_of_forge(&parts) {
        return Ok(Source::Git(hosted(text, scheme, host, &parts, reference)?));
    }
    Ok(Source::WellKnown(format!("{scheme}://{host}{}{path}", if path.is_empty() { "" } else { "/" })))
}

/// The words before a branch, a tag or a commit in addresses of Gitea and Forgejo.
const GITEA_KINDS: [&str; 3] = ["branch", "tag", "commit"];

/// Returns `true` for the path of a page of files, as forges such as GitLab and Forgejo have it on any host.
fn is_page_of_forge(parts: &[&str]) -> bool {
    match parts {
        [_, _, "src", kind, _, ..] => GITEA_KINDS.contains(kind),
        [_, _, "tree" | "blob", _, ..] => true,
        _ => parts.windows(2).skip(1).any(|pair| matches!(pair, ["-", "tree" | "blob"])),
    }
}

/// Returns the repository of a page of a forge: `owner/repo`, perhaps with `tree/BRANCH/PATH`.
fn hosted(
    text: &str,
    scheme: &str,
    host: &str,
    parts: &[&str],
    reference: Option<&str>,
) -> Result<GitSource, Error> {
    // Groups of GitLab may be nested; its pages of files come behind `-`.
    let marker = parts.iter().skip(2).position(|part| *part == "-").map(|at| at + 2);
    let end = marker.unwrap_or(match host {
        "gitlab.com" if !parts.contains(&"tree") => parts.len(),
        _ => 2,
    });
    let url = format!("{scheme}://{host}/{}", parts[..end.min(parts.len())].join("/"));
    let rest = parts.get(end..).unwrap_or_default();
    let rest = rest.strip_prefix(&["-"]).unwrap_or(rest);
    let reference = reference.map(checked_reference).transpose()?;
    let tree = match rest {
        [] => None,
        // A repository of Bitbucket may have a branch of that name.
        ["src", kind, branch @ ..] if host != "bitbucket.org" && GITEA_KINDS.contains(kind) => {
            let branch = branch.strip_suffix(&["SKILL.md"]).unwrap_or(branch);
            Some(checked_path(text, &branch.join("/"))?)
        }
        ["tree" | "src", branch @ ..] | ["blob", branch @ ..] if !branch.is_empty() => {
            let branch = branch.strip_suffix(&["SKILL.md"]).unwrap_or(branch);
            Some(checked_path(text, &branch.join("/"))?)
        }
        _ => return Err(invalid(text, "it is not a page of a directory in a repository")),
    };
    if tree.is_some() && reference.is_some() {
        return Err(invalid(text, "it names a branch twice"));
    }
    Ok(GitSource { url, reference, path: None, tree })
}

/// Returns the repository of `owner/repo`, perhaps with a path, `#REF` and `@SKILL`.
fn shorthand(text: &str) -> Result<SourceText, Error> {
    let (text_without_skill, skill) = match text.rsplit_once('@') {
        Some((before, skill)) if !skill.is_empty() => (before, Some(skill.to_owned())),
        Some(_) => return Err(invalid(text, "there is no skill behind `@`")),
        None => (text, None),
    };
    let (repository, reference) = match text_without_skill.split_once('#') {
        Some((repository, reference)) => (repository, Some(checked_reference(reference)?)),
        None => (text_without_skill, None),
    };
    let is_part = |part: &&str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        !part.is_empty() && part.chars().all(is_plain) && !part.starts_with('.')
    };
    let parts: Vec<&str> = repository.trim_end_matches('/').split('/').collect();
    let [owner, repo, path @ ..] = parts.as_slice() else {
        return Err(invalid(text, "it is neither owner/repo nor an address nor a path"));
    };
    if !is_part(owner) || !is_part(repo) {
        return Err(invalid(text, "it is neither owner/repo nor an address nor a path"));
    }
    let path = if path.is_empty() { None } else { Some(checked_path(text, &path.join("/"))?) };
    let url = format!("https://github.com/{owner}/{}", repo.trim_end_matches(".git"));
    Ok(SourceText { source: Source::Git(GitSource { url, reference, path, tree: None }), skill })
}

/// Returns `reference` if it can be given to git.
fn checked_reference(reference: &str) -> Result<String, Error> {
    let is_bad = |c: char| c.is_control() || c.is_whitespace() || ":?*[\\^~+".contains(c);
    let is_bad = reference.is_empty()
        || reference.starts_with('-')
        || reference.contains("..")
        || reference.contains("@{")
        || reference.chars().any(is_bad);
    if is_bad {
        let message = format!("`{reference}` is not a branch, tag or commit");
        return Err(Error::new(ErrorKind::InvalidSource, message));
    }
    Ok(reference.to_owned())
}

/// Returns `path` if it stays in the repository.
fn checked_path(text: &str, path: &str) -> Result<String, Error> {
    let path = path.trim_matches('/');
    let is_bad = |part: &str| part.is_empty() || part == "." || part == ".." || part.contains('\\');
    if path.split('/').any(is_bad) {
        return Err(invalid(text, "its path leads out of the repository"));
    }
    Ok(path.to_owned())
}

fn package_of(text: &str, package: &str) -> Result<Package, Error> {
    // A scope of npm begins with `@`.
    let at = package.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(at, _)| at);
    let (name, version) = match at {
        Some(at) => (&package[..at], Some(&package[at + 1..])),
        None => match package.split_once("==") {
            Some((name, version)) => (name, Some(version)),
            None => (package, None),
        },
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let bare = name.strip_prefix('@').unwrap_or(name);
    let scopes = bare.split('/').count();
    let is_scoped = name.starts_with('@');
    let is_name =
        bare.split('/').all(|part| !part.is_empty() && part.chars().all(is_plain) && !part.starts_with('.'))
            && scopes == if is_scoped { 2 } else { 1 };
    let is_version =
        |version: &str| !version.is_empty() && version.chars().all(|c| is_plain(c) || "+!".contains(c));
    if !is_name || version.is_some_and(|version| !is_version(version)) {
        return Err(invalid(text, "it is not a name of a package, or no version"));
    }
    Ok(Package { name: name.to_owned(), version: version.map(str::to_owned) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<SourceText, Error> {
        SourceText::parse(text, Path::new("/projects/here"), Some(Path::new("/home/me")))
    }

    /// Returns the source in one line: its kind, address, reference, path and skill.
    fn shown(text: &str) -> String {
        let SourceText { source, skill } = match parsed(text) {
            Ok(parsed) => parsed,
            Err(error) => return error.to_string(),
        };
        let kind = match &source {
            Source::Git(GitSource { url, reference, path, tree }) => {
                let part = |name: &str, value: &Option<String>| {
                    value.as_ref().map_or_else(String::new, |value| format!(" {name}={value}"))
                };
                format!("git {url}{}{}{}", part("ref", reference), part("path", path), part("tree", tree))
            }
            Source::Directory(path) => format!("directory {}", path.display()),
            Source::ArchiveFile(path) => format!("archive {}", path.display()),
            Source::ArchiveUrl(url) => format!("archive {url}"),
            Source::WellKnown(url) => format!("index {url}"),
            Source::Npm(package) => format!("npm {} {:?}", package.name, package.version),
            Source::Pypi(package) => format!("pypi {} {:?}", package.name, package.version),
            Source::Samples => source.to_string(),
        };
        skill.map_or(kind.clone(), |skill| format!("{kind} @{skill}"))
    }

    #[test]
    fn every_form_of_a_source_is_understood() {
        for (text, expect) in [
            ("owner/repo", "git https://github.com/owner/repo"),
            ("owner/repo@pdf", "git https://github.com/owner/repo @pdf"),
            ("owner/repo#v1.2@pdf", "git https://github.com/owner/repo ref=v1.2 @pdf"),
            ("owner/repo/skills/pdf#main", "git https://github.com/owner/repo ref=main path=skills/pdf"),
            ("https://github.com/owner/repo", "git https://github.com/owner/repo"),
            ("https://github.com/owner/repo.git", "git https://github.com/owner/repo.git"),
            (
                "https://github.com/o/r/tree/main/skills/pdf",
                "git https://github.com/o/r tree=main/skills/pdf",
            ),
            ("https://github.com/o/r/blob/v1/pdf/SKILL.md", "git https://github.com/o/r tree=v1/pdf"),
            ("https://gitlab.com/a/b/c", "git https://gitlab.com/a/b/c"),
            ("https://gitlab.com/a/b/c/-/tree/main/x", "git https://gitlab.com/a/b/c tree=main/x"),
            (
                "https://git.example.com/r.git//skills#v2",
                "git https://git.example.com/r.git ref=v2 path=skills",
            ),
            ("git+https://git.example.com/r", "git https://git.example.com/r"),
            ("git@example.com:o/r.git", "git git@example.com:o/r.git"),
            ("ssh://git@example.com/o/r", "git ssh://git@example.com/o/r"),
            ("file:///srv/r.git", "git file:///srv/r.git"),
            ("http://127.0.0.1:80/r.git", "git http://127.0.0.1:80/r.git"),
            ("./skills", "directory /projects/here/skills"),
            ("../other/", "directory /projects/other"),
            (".", "directory /projects/here"),
            ("~/skills", "directory /home/me/skills"),
            ("/srv/skills", "directory /srv/skills"),
            ("pdf.skill", "archive /projects/here/pdf.skill"),
            ("./a.tar.gz", "archive /projects/here/a.tar.gz"),
            ("https://example.com/a.zip", "archive https://example.com/a.zip"),
            (
                "https://github.com/o/r/archive/main.tar.gz",
                "archive https://github.com/o/r/archive/main.tar.gz",
            ),
            ("https://example.com", "index https://example.com"),
            ("https://example.com/team/", "index https://example.com/team"),
            ("http://localhost:8080", "index http://localhost:8080"),
            ("github.com/owner/repo", "git https://github.com/owner/repo"),
            ("www.github.com/owner/repo@pdf", "git https://github.com/owner/repo @pdf"),
            ("github.com/o/r/tree/main/skills", "git https://github.com/o/r tree=main/skills"),
            ("https://www.github.com/o/r?tab=readme", "git https://github.com/o/r"),
            ("https://github.com/o/r/tree/main/a?plain=1", "git https://github.com/o/r tree=main/a"),
            ("https://codeberg.org/o/r/src/branch/main/a", "git https://codeberg.org/o/r tree=main/a"),
            ("https://git.example.com/o/r/src/tag/v1/a", "git https://git.example.com/o/r tree=v1/a"),
            ("https://git.example.com/a/b/c/-/tree/main/x", "git https://git.example.com/a/b/c tree=main/x"),
            ("https://bitbucket.org/o/r/src/main/a", "git https://bitbucket.org/o/r tree=main/a"),
            ("git@github.com:owner/repo", "git git@github.com:owner/repo"),
            ("example.com/team", "index https://example.com/team"),
            ("samples", "samples"),
            ("./samples", "directory /projects/here/samples"),
            ("owner/samples", "git https://github.com/owner/samples"),
            ("npm:@scope/pkg@1.0.0", "npm @scope/pkg Some(\"1.0.0\")"),
            ("npm:pkg", "npm pkg None"),
            ("pypi:pkg==2.0", "pypi pkg Some(\"2.0\")"),
        ] {
            assert_eq!(shown(text), expect, "{text}");
        }
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        for (text, reason) in [
            ("", "it is empty"),
            ("--upload-pack=x", "it begins with `-`"),
            ("ext::sh -c x", "neither owner/repo"),
            ("ftp://example.com/x", "not fetched by `ftp:`"),
            ("http://example.com", "not encrypted"),
            ("git://example.com/r", "not encrypted"),
            ("http://localhost.example.com/r.git", "not encrypted"),
            ("https://me:secret@example.com/r.git", "holds a password"),
            ("owner/repo/../..", "leads out of the repository"),
            ("https://github.com/o/r/tree/main/../x", "leads out of the repository"),
            ("owner/repo#--output=x", "not a branch, tag or commit"),
            ("owner/repo#a..b", "not a branch, tag or commit"),
            ("pdf", "neither owner/repo"),
            ("npm:../x", "not a name of a package"),
            ("a\u{1b}/b", "control characters"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.to_string().contains(reason), "{text}: {error}");
            assert_eq!(error.kind(), ErrorKind::InvalidSource);
        }
    }

    #[test]
    fn sources_read_back_from_the_lock() {
        for text in [
            "owner/repo",
            "git+https://git.example.com/r",
            "https://git.example.com/r.git",
            "git@example.com:o/r.git",
            "file:///srv/r.git",
            "./skills",
            "../other",
            "/srv/skills",
            "https://example.com/a.zip",
            "https://example.com",
            "npm:@scope/pkg",
            "samples",
        ] {
            let source = parsed(text).unwrap().source;
            let locked = source.to_locked(Path::new("/projects/here"));
            assert_eq!(parsed(&locked).unwrap().source, source, "{text} as {locked}");
        }
        let locked = |text: &str| parsed(text).unwrap().source.to_locked(Path::new("/projects/here"));
        assert_eq!(locked("./skills"), "./skills");
        assert_eq!(locked("../other"), "../other");
        assert_eq!(locked("."), ".");
        assert_eq!(locked("/srv/skills"), "/srv/skills");
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC{0,40}") {
            let _ = parsed(&text);
        }

        #[test]
        fn a_source_that_was_parsed_reads_back_from_a_lock(
            start in "(|https://|http://|ssh://|file://|git\\+https://|npm:|pypi:|git@h:|\\./|\\.\\./|/|~/)",
            rest in "[a-zA-Z0-9./:@#_-]{0,24}",
        ) {
            let Ok(SourceText { source, .. }) = parsed(&format!("{start}{rest}")) else { return Ok(()) };
            let locked = source.to_locked(Path::new("/projects/here"));
            let again = parsed(&locked).map(|parsed| parsed.source);
            let expect = match source {
                // A lock has the branch and the directory beside the address.
                Source::Git(git) => Source::Git(GitSource { reference: None, path: None, tree: None, ..git }),
                Source::Npm(package) => Source::Npm(Package { version: None, ..package }),
                Source::Pypi(package) => Source::Pypi(Package { version: None, ..package }),
                other => other,
            };
            proptest::prop_assert_eq!(again.map_err(|error| error.to_string()), Ok(expect), "{}", locked);
        }
    }

    #[test]
    fn references_are_given_to_repositories_and_packages_once() {
        let check = |text: &str, reference: &str, expect: Result<&str, &str>| {
            let found = parsed(text).unwrap().source.with_reference(reference);
            match (found, expect) {
                (Ok(source), Ok(expect)) => assert_eq!(source.reference(), Some(expect), "{text}"),
                (Err(error), Err(reason)) => assert!(error.to_string().contains(reason), "{error}"),
                (found, expect) => panic!("{text}: {found:?} is not {expect:?}"),
            }
        };
        check("owner/repo", "v1", Ok("v1"));
        check("git@example.com:o/r.git", "feature/x", Ok("feature/x"));
        check("npm:pkg", "2.0", Ok("2.0"));
        check("pypi:pkg==1.0", "2.0", Ok("2.0"));
        check("owner/repo#main", "v1", Err("names a branch, a tag or a commit already"));
        check("https://github.com/o/r/tree/main/x", "v1", Err("names a branch, a tag or a commit already"));
        check("owner/repo", "--upload-pack=x", Err("not a branch, tag or commit"));
        for text in ["./skills", "a.zip", "https://example.com/a.zip", "https://example.com"] {
            check(text, "v1", Err("only repositories and packages"));
        }
    }

    #[test]
    fn the_version_of_a_lock_takes_the_place_of_a_branch() {
        let check = |text: &str, resolved: Option<&str>, expect: Option<&str>| {
            let source = parsed(text).unwrap().source.at(resolved);
            assert_eq!(source.reference(), expect, "{text}");
        };
        check("owner/repo#main", Some("0123"), Some("0123"));
        check("owner/repo#main", None, Some("main"));
        check("npm:pkg", Some("1.0"), Some("1.0"));
        check("pypi:pkg==2.0", Some("1.0"), Some("1.0"));
        check("./skills", Some("1.0"), None);
    }

    #[test]
    fn paths_in_a_lock_are_relative_to_the_project() {
        let check = |base: &str, path: &str, expect: &str| {
            assert_eq!(relative_text(Path::new(base), Path::new(path)), expect, "{path} in {base}");
        };
        check("/a/b", "/a/b/skills", "./skills");
        check("/a/b", "/a/b", ".");
        check("/a/b", "/a/c/d", "../c/d");
        check("/a/b/c", "/a/x", "../../x");
        check("/a/b", "/x/y", "/x/y");
        check("/", "/x/y", "/x/y");
    }

    #[test]
    fn pages_of_hosts_that_are_no_directories_are_refused() {
        let check = |text: &str, reason: &str| {
            let shown = shown(text);
            assert!(shown.contains(reason), "{text}: {shown}");
        };
        check("https://github.com/o/r/issues/1", "not a page of a directory");
        check("https://github.com/o/r/tree", "not a page of a directory");
        check("https://github.com/o/r/tree/main#v1", "names a branch twice");
        check("https://", "it has no host");
        check("owner/repo@", "no skill behind `@`");
        check("owner/.repo", "neither owner/repo");
        check(&format!("owner/{}", "x".repeat(MAX_BYTES)), "too long");
        check("git+https://host", "not an address of a git repository");
        check("file://host/r", "not an address of a git repository");
    }

    #[test]
    fn packages_have_a_name_and_perhaps_a_version() {
        let check = |package: &str, expect: Option<(&str, Option<&str>)>| {
            let found = package_of("npm:x", package).ok();
            let found = found.as_ref().map(|it| (it.name.as_str(), it.version.as_deref()));
            assert_eq!(found, expect, "{package}");
        };
        check("pkg", Some(("pkg", None)));
        check("pkg@latest", Some(("pkg", Some("latest"))));
        check("pkg==1!2.0+local", Some(("pkg", Some("1!2.0+local"))));
        check("@o/pkg", Some(("@o/pkg", None)));
        check("@o/pkg@1", Some(("@o/pkg", Some("1"))));
        for package in ["", "@o", "o/pkg", "@o/a/b", ".pkg", "a b", "pkg@", "pkg==", "pkg@a/b", "../x"] {
            check(package, None);
        }
    }

    #[test]
    fn passwords_in_addresses_are_noticed() {
        let check = |url: &str, expect: bool| assert_eq!(has_credentials(url), expect, "{url}");
        check("https://me@example.com/r", true);
        check("https://me:secret@example.com/r", true);
        check("ssh://git@example.com/r", false);
        check("ssh://git:secret@example.com/r", true);
        check("https://example.com/a@b", false);
        check("git@example.com:r", false);
    }
}
