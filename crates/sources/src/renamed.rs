//! Finds the skill of a source that was called otherwise before.

use std::collections::{BTreeSet, HashMap};

use repertoire_model::Digest;
use repertoire_model::patch::SkillFiles;

use crate::found::FoundSkill;
use crate::lock::LockedSkill;

/// The least share of its text, in percent, that a renamed skill keeps, as git's default for renamed files.
const LEAST_SIMILARITY: u64 = 50;

/// The most skills that are compared with one that is gone.
const MAX_COMPARED: usize = 1000;

/// Returns the one of `candidates` that `locked`, which its source does not have any more under its name, has
/// become: the one in the same directory, or else the one that is most like it. `files` are its files, if
/// known.
pub(crate) fn renamed<'f>(
    locked: &LockedSkill,
    files: Option<&SkillFiles>,
    candidates: &[&'f FoundSkill],
) -> Option<&'f FoundSkill> {
    let same = candidates.iter().find(|skill| skill.path == locked.path || skill.digest == locked.digest);
    if let Some(same) = same {
        return Some(same);
    }
    let lines = files.map(lines);
    let similarity = |skill: &FoundSkill| {
        let text = lines.as_ref().map_or(0, |lines| common_text(lines, &skill.files));
        text.max(common_files(locked, &skill.files))
    };
    let compared = candidates.iter().take(MAX_COMPARED).map(|skill| (similarity(skill), *skill));
    let best = compared.max_by_key(|(similarity, _)| *similarity)?;
    (best.0 >= LEAST_SIMILARITY).then_some(best.1)
}

/// The lines of a skill's files, each with how often it is there.
fn lines(files: &SkillFiles) -> HashMap<&[u8], u64> {
    let mut lines = HashMap::new();
    for line in files.values().flat_map(|file| file.bytes.split(|byte| *byte == b'\n')) {
        *lines.entry(line).or_default() += 1;
    }
    lines
}

/// Returns the share of the text that `lines` and `files` have in common, in percent.
fn common_text(lines: &HashMap<&[u8], u64>, files: &SkillFiles) -> u64 {
    let others = self::lines(files);
    let size = |lines: &HashMap<&[u8], u64>| -> u64 {
        lines.iter().map(|(line, number)| line.len() as u64 * number).sum()
    };
    let common =
        |(line, number): (&&[u8], &u64)| line.len() as u64 * number.min(others.get(line).unwrap_or(&0));
    let shared: u64 = lines.iter().map(common).sum();
    shared * 100 / size(lines).max(size(&others)).max(1)
}

/// Returns the share of the files that are the same, in percent.
fn common_files(locked: &LockedSkill, files: &SkillFiles) -> u64 {
    let before: BTreeSet<Digest> = locked.files.values().copied().collect();
    let after: BTreeSet<Digest> = LockedSkill::digests(files).into_values().collect();
    let most = before.len().max(after.len()).max(1);
    (before.intersection(&after).count() * 100 / most) as u64
}

#[cfg(test)]
mod tests {
    use repertoire_model::SkillPath;
    use repertoire_model::patch::FileData;

    use super::*;

    fn files(list: &[(&str, &str)]) -> SkillFiles {
        list.iter().map(|(path, text)| (SkillPath::new(path).unwrap(), FileData::new(*text))).collect()
    }

    #[test]
    fn the_share_of_common_lines_counts() {
        let check = |before: &str, after: &str, expect: u64| {
            let (before, after) = (files(&[("SKILL.md", before)]), files(&[("SKILL.md", after)]));
            assert_eq!(common_text(&lines(&before), &after), expect);
        };
        check("name: a\nbody of it\n", "name: a\nbody of it\n", 100);
        check("aaaa\nbbbb\ncccc\ndddd\n", "AAAA\nbbbb\ncccc\ndddd\n", 75);
        check("aaaa\naaaa\n", "aaaa\n", 50);
        check("a\n", "b\n", 0);
        check("", "", 0);
    }

    #[test]
    fn the_same_directory_is_surer_than_a_similar_text() {
        let found = |name: &str, path: &str, list: &[(&str, &str)]| {
            let directory = tempfile::tempdir().unwrap();
            std::fs::write(
                directory.path().join("SKILL.md"),
                crate::git::tests::repository::skill(name, "x"),
            )
            .unwrap();
            let source = crate::Source::Directory(directory.path().to_owned());
            let tree = crate::fetch(&source, &crate::FetchOptions::new(directory.path())).unwrap();
            let skill = crate::find_skills(&tree, &repertoire_model::Policy::default()).remove(0);
            let files = files(list);
            let digest = repertoire_model::patch::bundle(&files).digest();
            FoundSkill { path: path.to_owned(), files, digest, ..skill }
        };
        let before = files(&[("SKILL.md", "one\ntwo\nthree\nfour\n"), ("LICENSE", "same")]);
        let locked = LockedSkill {
            name: repertoire_model::SkillName::new("old").unwrap(),
            source: "o/r".to_owned(),
            reference: None,
            path: "skills/old".to_owned(),
            resolved: None,
            digest: repertoire_model::patch::bundle(&before).digest(),
            files: LockedSkill::digests(&before),
        };
        let similar = found("similar", "skills/similar", &[("SKILL.md", "one\ntwo\nthree\n4\n")]);
        let there = found("there", "skills/old", &[("SKILL.md", "nothing in common\n")]);
        let other = found("other", "skills/other", &[("SKILL.md", "nothing in common\n")]);
        let check = |known: Option<&SkillFiles>, candidates: &[&FoundSkill], expect: Option<&str>| {
            let found = renamed(&locked, known, candidates).map(|skill| skill.name.as_str());
            assert_eq!(found, expect);
        };
        check(Some(&before), &[&similar, &there], Some("there"));
        check(Some(&before), &[&other, &similar], Some("similar"));
        check(None, &[&other, &similar], None);
        check(Some(&before), &[&other], None);
        check(Some(&before), &[], None);
        // The digests in the lock tell of files that are the same.
        let same = found("same", "x", &[("SKILL.md", "other\n"), ("LICENSE", "same")]);
        check(None, &[&other, &same], Some("same"));
    }
}
