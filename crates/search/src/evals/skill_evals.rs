//! The evals of a skill.

use rayon::prelude::*;
use repertoire::{Entry, Registry, State};
use repertoire_model::{FileEntry, LineRange};

use super::eval_file::{MAX_EVAL_BYTES, TriggerFile, TriggerQuery};

/// The most eval files of a skill that are read.
pub const MAX_EVAL_FILES: usize = 64;

/// The evals in the files of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SkillEvals {
    /// The queries, each with the name of its skill.
    pub queries: Vec<TriggerQuery>,
    /// Problems, each as the path of the file in the skill and a message.
    pub problems: Vec<(String, String)>,
}

/// Returns whether `bytes` are JSON without evals.
fn is_other(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| TriggerFile::parse(text).is_other)
}

impl SkillEvals {
    /// Reads the evals of the skill `entry` of `registry`: `eval_queries.json` and any JSON file in `evals/`.
    pub async fn read(registry: &Registry, entry: &Entry) -> Self {
        let mut evals = Self::default();
        let Ok(listing) = registry.files(entry).await else { return evals };
        let files: Vec<&FileEntry> =
            listing.files.iter().filter(|file| is_eval(file.path.as_str())).collect();
        for file in files.iter().take(MAX_EVAL_FILES) {
            let path = file.path.as_str();
            if file.size.is_some_and(|size| size > MAX_EVAL_BYTES) {
                evals.problem(path, format!("it is larger than {MAX_EVAL_BYTES} bytes"));
                continue;
            }
            match registry.read(entry, &file.path, LineRange::default()).await {
                // Eval tools keep other JSON files there too.
                Ok(content) if is_other(&content.bytes) => {}
                Ok(content) => evals.add(path, &content.bytes, Some(entry.name().as_str())),
                Err(error) => evals.problem(path, error.chain()),
            }
        }
        if files.len() > MAX_EVAL_FILES {
            evals.problem("evals", format!("files beyond the first {MAX_EVAL_FILES} are left out"));
        }
        evals
    }

    /// Reads the evals of all active skills of `entries`, which are in `registry`; problems name their files.
    pub fn read_all(registry: &Registry, entries: &[Entry]) -> Self {
        let active: Vec<&Entry> = entries.iter().filter(|entry| entry.state == State::Active).collect();
        let read = |entry: &&Entry| {
            let mut evals = pollster::block_on(Self::read(registry, entry));
            for (file, _) in &mut evals.problems {
                *file = format!("{}/{file}", entry.path.trim_end_matches('/'));
            }
            evals
        };
        let all: Vec<Self> = active.par_iter().map(read).collect();
        all.into_iter().fold(Self::default(), |mut all, evals| {
            all.queries.extend(evals.queries);
            all.problems.extend(evals.problems);
            all
        })
    }

    /// Adds the evals of the file at `path` with the content `bytes`; those without a skill are of `skill`.
    pub fn add(&mut self, path: &str, bytes: &[u8], skill: Option<&str>) {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return self.problem(path, "it is not UTF-8".to_owned());
        };
        let TriggerFile { queries, problems, .. } = TriggerFile::parse(text);
        self.queries.extend(
            queries.into_iter().map(|query| TriggerQuery {
                skill: query.skill.or_else(|| skill.map(str::to_owned)),
                ..query
            }),
        );
        self.problems.extend(problems.into_iter().map(|problem| (path.to_owned(), problem)));
    }

    fn problem(&mut self, path: &str, message: String) {
        self.problems.push((path.to_owned(), message));
    }
}

/// Returns whether `path` is an eval file of a skill.
fn is_eval(path: &str) -> bool {
    path == "eval_queries.json" || (path.starts_with("evals/") && path.ends_with(".json"))
}

#[cfg(test)]
mod tests {
    use repertoire::{Library, MemoryProvider, SkillDefinition};

    use super::*;

    fn query(skill: &str, query: &str, should_trigger: bool) -> TriggerQuery {
        TriggerQuery { skill: Some(skill.to_owned()), query: query.to_owned(), should_trigger }
    }

    #[test]
    fn evals_are_found_beside_a_skill() {
        let large = vec![b' '; MAX_EVAL_BYTES as usize + 1];
        let skills = vec![
            SkillDefinition::new("a", "Does a.", "x")
                .with_resource("eval_queries.json", r#"[{"query": "one", "should_trigger": false}]"#)
                .with_resource(
                    "evals/deep/evals.json",
                    r#"{"skill_name": "b", "evals": [{"prompt": "two"}]}"#,
                )
                .with_resource("evals/config.json", r#"{"agents": []}"#)
                .with_resource("evals/bytes.json", &b"\xff"[..])
                .with_resource("evals/large.json", large)
                .with_resource("evals/notes.md", "[]")
                .with_resource("other.json", "[]"),
        ];
        let builder = Library::builder().provider(MemoryProvider::new("test", skills));
        let library = pollster::block_on(builder.open()).unwrap();
        let snapshot = library.snapshot();
        let evals = pollster::block_on(SkillEvals::read(library.registry(), &snapshot.entries()[0]));
        assert_eq!(evals.queries, [query("a", "one", false), query("b", "two", true)]);
        let files: Vec<&str> = evals.problems.iter().map(|(file, _)| file.as_str()).collect();
        assert_eq!(files, ["evals/bytes.json", "evals/large.json"]);
    }
}
