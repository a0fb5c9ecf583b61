//! The server to register, and its command line.

use std::fs::canonicalize;
use std::path::{Path, PathBuf};

use repertoire::config::ProfileChoice;

use crate::Error;
use crate::{Environment, Owner, Places, SERVE, Server};

/// The name that this program is installed under.
pub(super) const PROGRAM: &str = "rep";

/// The server to register.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The owner of the configuration that it is registered in.
    pub owner: Owner,
    /// The address of a server that runs already.
    pub http: Option<String>,
    /// The environment variable with the token of that server.
    pub token_variable: Option<String>,
    /// The program to start; this program if none is named.
    pub command: Option<PathBuf>,
    /// The agent that the clients act as.
    pub agent: Option<String>,
    /// The directories that skills are read from, if not from all.
    pub roots: Vec<PathBuf>,
    /// The configuration file.
    pub config: Option<PathBuf>,
    /// The profile.
    pub profile: Option<String>,
}

/// Returns the server that `options` describe.
pub fn server(places: &Places, options: &ServerOptions) -> Result<Server, Error> {
    if let Some(url) = &options.http {
        return Ok(Server::Http { url: url.clone(), token_variable: options.token_variable.clone() });
    }
    let working_directory = &places.environment().working_directory;
    let text = |path: &Path| {
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| {
            Error::invalid(format!("{} is not UTF-8 and cannot be written down", path.display()))
        })
    };
    let (command, path) = match &options.command {
        // A name is looked up by the client; a path has to lead to the same file from everywhere.
        Some(path) if path.components().count() > 1 => twice(working_directory.join(path)),
        Some(name) => twice(name.clone()),
        None => program(places.environment())?,
    };
    let lasting = |given: &Path| lasting(options.owner, places.project(), &working_directory.join(given));
    let mut words = SERVE.map(str::to_owned).to_vec();
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    for root in &options.roots {
        option("--root", text(&lasting(root))?);
    }
    if let Some(config) = &options.config {
        option("--config", text(&lasting(config))?);
    }
    if let Some(profile) = &options.profile {
        let file = match ProfileChoice::parse(profile, Path::new("")) {
            Some(ProfileChoice::File(file)) => Some(text(&lasting(&file.given))?),
            _ => None,
        };
        option("--profile", file.unwrap_or_else(|| profile.clone()));
    }
    if let Some(agent) = &options.agent {
        option("--agent", agent.clone());
    }
    Ok(Server::Stdio { command: text(&command)?, path: text(&path)?, args: words })
}

fn twice(path: PathBuf) -> (PathBuf, PathBuf) {
    (path.clone(), path)
}

/// Returns `path` in a form that is valid wherever the client starts the server. A path inside the project
/// stays relative in the project's own files, which are shared with others.
fn lasting(owner: Owner, project: &Path, path: &Path) -> PathBuf {
    let real = canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if owner == Owner::User {
        return real;
    }
    // A checkout may be reached through a link, and a path that does not exist yet cannot be resolved.
    let real_project = canonicalize(project).unwrap_or_else(|_| project.to_owned());
    let inner = real.strip_prefix(real_project).or_else(|_| real.strip_prefix(project));
    match inner {
        Ok(inner) if inner.as_os_str().is_empty() => PathBuf::from("."),
        Ok(inner) => inner.to_owned(),
        Err(_) => real,
    }
}

/// Returns how this program is started, and where it is: by name if that is found first, else by its path.
fn program(environment: &Environment) -> Result<(PathBuf, PathBuf), Error> {
    let executable = environment.executable.as_ref().ok_or_else(|| {
        Error::invalid("it is not known which file this program is")
            .hint("name the program that clients start")
    })?;
    let file = if cfg!(windows) { "rep.exe" } else { PROGRAM };
    let first =
        environment.search_path.iter().map(|directory| directory.join(file)).find(|file| file.is_file());
    let is_this = |first: &PathBuf| match (canonicalize(first), canonicalize(executable)) {
        (Ok(first), Ok(this)) => first == this,
        _ => false,
    };
    Ok(match first.filter(is_this) {
        // The path on `PATH` stays valid when the program is updated; the path it links to may not.
        Some(first) => (PathBuf::from(PROGRAM), environment.working_directory.join(first)),
        None => twice(executable.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn what_lies_in_a_project_behind_a_link_stays_relative() {
        let directory = tempfile::tempdir().unwrap();
        let base = canonicalize(directory.path()).unwrap();
        let (real, link) = (base.join("real"), base.join("link"));
        std::fs::create_dir_all(real.join("skills")).unwrap();
        std::fs::create_dir_all(base.join("other")).unwrap();
        std::os::unix::fs::symlink("real", &link).unwrap();
        let other = base.join("other");
        for project in [&real, &link] {
            for (path, expect) in [
                (real.join("skills"), Path::new("skills")),
                (link.join("skills"), Path::new("skills")),
                (link.clone(), Path::new(".")),
                (project.join("not-yet"), Path::new("not-yet")),
                (other.clone(), other.as_path()),
            ] {
                assert_eq!(lasting(Owner::Project, project, &path), expect, "{}", path.display());
            }
            assert_eq!(lasting(Owner::User, project, &link.join("skills")), real.join("skills"));
        }
    }
}
