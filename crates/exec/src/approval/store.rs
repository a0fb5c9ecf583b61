//! Approvals, stored in a record that several processes share.

use std::path::{Path, PathBuf};

use super::record::Approval;
use repertoire::Error;
use repertoire::record::{Record, RecordKind, RecordPlace};
use repertoire::registry::Entry;

/// The approvals of a user.
///
/// ```
/// use repertoire_exec::approval::Approvals;
/// let directory = tempfile::tempdir()?;
/// assert!(Approvals::new(directory.path()).list()?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approvals {
    directory: PathBuf,
}

impl Approvals {
    /// Returns the approvals stored in `directory`, which need not exist yet.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> PathBuf {
        self.place().path
    }

    fn place(&self) -> RecordPlace {
        RecordPlace::of_user(RecordKind::Approvals, &self.directory)
    }

    /// Returns all approvals, sorted by name and directory.
    ///
    /// Fails with [`ErrorKind::Record`](repertoire::ErrorKind::Record) if the file is invalid, and keeps it.
    pub fn list(&self) -> Result<Vec<Approval>, Error> {
        Ok(Record::read(&self.place())?.entries)
    }

    /// Returns the approval of the skill, even if its files have changed since.
    pub fn find(&self, entry: &Entry) -> Result<Option<Approval>, Error> {
        Ok(self.list()?.into_iter().find(|approval| approval.is_of(entry)))
    }

    /// Stores `approval`, replacing an earlier one of the same skill.
    pub fn keep(&self, approval: Approval) -> Result<(), Error> {
        self.change(|approvals| {
            approvals
                .retain(|other| (&other.name, &other.directory) != (&approval.name, &approval.directory));
            approvals.push(approval);
        })
    }

    /// Removes the approvals for which `is_match` returns `true`, and returns them.
    pub fn revoke(&self, is_match: impl Fn(&Approval) -> bool) -> Result<Vec<Approval>, Error> {
        if !self.list()?.iter().any(&is_match) {
            return Ok(Vec::new());
        }
        let mut revoked = Vec::new();
        self.change(|approvals| {
            let (removed, kept) =
                std::mem::take(approvals).into_iter().partition(|approval| is_match(approval));
            (revoked, *approvals) = (removed, kept);
        })?;
        Ok(revoked)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Approval>)) -> Result<(), Error> {
        Record::<Vec<Approval>>::change(&self.place(), |approvals| {
            change(approvals);
            approvals.sort_by(|a, b| (&a.name, &a.directory).cmp(&(&b.name, &b.directory)));
        })
    }
}

impl AsRef<Path> for Approvals {
    fn as_ref(&self) -> &Path {
        &self.directory
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use repertoire::ErrorKind;
    use repertoire_model::{Capabilities, Digest};

    fn approval(name: &str, text: &str) -> Approval {
        Approval {
            name: name.to_owned(),
            directory: format!("/skills/{name}"),
            source: "test".to_owned(),
            digest: Digest::of(text.as_bytes()),
            capabilities: Capabilities::default(),
            files: BTreeMap::from([("SKILL.md".to_owned(), Digest::of(text.as_bytes()))]),
            executables: Default::default(),
            tools: vec!["push".to_owned()],
            schema: Some("[]".to_owned()),
            seconds: 1,
        }
    }

    #[test]
    fn approvals_are_stored_replaced_and_revoked() {
        let directory = tempfile::tempdir().unwrap();
        let approvals = Approvals::new(directory.path().join("new"));
        assert_eq!(approvals.list().unwrap(), []);
        approvals.keep(approval("b", "1")).unwrap();
        approvals.keep(approval("a", "1")).unwrap();
        approvals.keep(approval("b", "2")).unwrap();
        assert_eq!(approvals.list().unwrap(), [approval("a", "1"), approval("b", "2")]);
        assert_eq!(approvals.revoke(|approval| approval.name == "b").unwrap(), [approval("b", "2")]);
        assert_eq!(approvals.revoke(|approval| approval.name == "b").unwrap(), []);
        assert_eq!(approvals.list().unwrap(), [approval("a", "1")]);
    }

    #[test]
    fn an_invalid_file_is_not_changed() {
        let directory = tempfile::tempdir().unwrap();
        let approvals = Approvals::new(directory.path());
        std::fs::create_dir(approvals.path()).unwrap();
        let error = approvals.list().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Record);
        std::fs::remove_dir(approvals.path()).unwrap();
        for bad in ["", "{", "[]", "{\"version\":3,\"approvals\":[]}", "{\"version\":1,\"approvals\":[{}]}"] {
            std::fs::write(approvals.path(), bad).unwrap();
            assert_eq!(approvals.list().unwrap_err().kind(), ErrorKind::Record, "{bad}");
            assert!(approvals.keep(approval("a", "1")).is_err(), "{bad}");
            assert!(approvals.revoke(|_| true).is_err(), "{bad}");
            assert_eq!(repertoire::regular_file::read(&approvals.path(), 1024).unwrap(), bad.as_bytes());
        }
    }

    #[test]
    fn concurrent_changes_are_all_stored() {
        let directory = tempfile::tempdir().unwrap();
        let approvals = Approvals::new(directory.path());
        std::thread::scope(|scope| {
            for number in 0..16 {
                let approvals = approvals.clone();
                scope.spawn(move || approvals.keep(approval(&format!("skill-{number:02}"), "x")).unwrap());
            }
        });
        assert_eq!(approvals.list().unwrap().len(), 16);
    }

    #[test]
    fn a_difference_names_files() {
        let before = approval("a", "1");
        let mut after = approval("a", "2");
        after.files.insert("new.sh".to_owned(), Digest::of(b""));
        let difference = before.difference(&after);
        assert_eq!(
            (difference.new_files, difference.changed_files),
            (vec!["new.sh".to_owned()], vec!["SKILL.md".to_owned()])
        );
        assert_eq!(after.difference(&before).gone_files, ["new.sh"]);
        assert_eq!(before.difference(&before), crate::approval::Difference::default());
        let mut executable = before.clone();
        executable.executables.insert("SKILL.md".to_owned());
        assert_eq!(before.difference(&executable).changed_modes, ["SKILL.md: executable now"]);
        assert_eq!(executable.difference(&before).changed_modes, ["SKILL.md: no longer executable"]);
        assert_eq!(Approval::try_from(serde_json::Value::from(executable.clone())), Ok(executable));
    }
}
