//! Workplaces: directories that commands may write, never a home directory. Programs are not searched there.

use std::path::{Path, PathBuf};

/// The parent directories of home directories.
pub(crate) const HOMES: &[&str] = &["/home", "/Users"];

/// Returns `places`, symbolic links resolved, without home directories: those are never writable as a whole,
/// and users install programs there.
pub(crate) fn workplaces<'a>(places: impl Iterator<Item = &'a PathBuf>, home: Option<&Path>) -> Vec<PathBuf> {
    let places = places.filter_map(|place| place.canonicalize().ok());
    places.filter(|place| !holds_home(place, home)).collect()
}

/// Returns whether `path`, symbolic links resolved, is or contains a home directory.
pub(crate) fn holds_home(path: &Path, home: Option<&Path>) -> bool {
    let Some(home) = home else {
        let is_of = |homes: &&str| path == Path::new(homes) || path.parent() == Some(Path::new(homes));
        return path.parent().is_none() || path == Path::new("/root") || HOMES.iter().any(is_of);
    };
    home.canonicalize().unwrap_or_else(|_| home.to_owned()).starts_with(path)
}

/// Returns the absolute directories of a `PATH`, without those in `workplaces`: one command must not decide
/// which program the next one runs.
pub(crate) fn search_outside(search: &str, workplaces: &[PathBuf]) -> String {
    let directories = search.split(':').filter(|directory| Path::new(directory).is_absolute());
    let outside = directories.filter(|directory| !lies_in(Path::new(directory), workplaces));
    outside.collect::<Vec<_>>().join(":")
}

/// Returns whether `path`, as written or resolved, lies in one of `workplaces`. It need not exist.
pub(crate) fn lies_in(path: &Path, workplaces: &[PathBuf]) -> bool {
    let real = path.ancestors().find_map(|above| above.canonicalize().ok());
    let is_in = |place: &PathBuf| {
        path.starts_with(place) || real.as_ref().is_some_and(|real| real.starts_with(place))
    };
    workplaces.iter().any(is_in)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_directories_and_their_parents_hold_a_home() {
        let check = |path: &str, home: Option<&str>| holds_home(Path::new(path), home.map(Path::new));
        for path in ["/", "/srv", "/srv/u"] {
            assert!(check(path, Some("/srv/u")), "{path}");
        }
        for path in ["/srv/u/project", "/srv/other", "/home/u"] {
            assert!(!check(path, Some("/srv/u")), "{path}");
        }
        for (path, expect) in
            [("/home/u", true), ("/root", true), ("/", true), ("/home/u/p", false), ("/srv/u", false)]
        {
            assert_eq!(check(path, None), expect, "{path}");
        }
    }
}
