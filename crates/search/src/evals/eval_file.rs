//! Files of trigger evals: queries, each with whether it should trigger a skill.
//!
//! The open guide defines a list of `{"query", "should_trigger"}` in `eval_queries.json`. Files in `evals/`
//! have more formats, mostly lists of tasks for the skill. All are read here; other content is a problem.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The most bytes of an eval file.
pub const MAX_EVAL_BYTES: u64 = 1024 * 1024;
/// The most queries of a file that are read.
pub const MAX_EVAL_QUERIES: usize = 2_000;
/// The most bytes of a query.
const MAX_QUERY_BYTES: usize = 32 * 1024;

/// The keys for the query of an eval, in order of preference.
const TEXT_KEYS: [&str; 4] = ["query", "prompt", "question", "input"];
/// The keys for the list of evals, in order of preference.
const LIST_KEYS: [&str; 3] = ["evals", "queries", "cases"];
/// The keys for the name of the skill, in order of preference.
const SKILL_KEYS: [&str; 2] = ["skill_name", "skill"];

/// A query, and whether it should trigger a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TriggerQuery {
    /// The name of the skill, if the file names one; otherwise it is the skill that the file belongs to.
    pub skill: Option<String>,
    /// The query.
    pub query: String,
    /// `true` if it should trigger the skill.
    pub should_trigger: bool,
}

/// The content of an eval file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TriggerFile {
    /// The queries, in order.
    pub queries: Vec<TriggerQuery>,
    /// Problems: lower case, no final period.
    pub problems: Vec<String>,
    /// `true` if it is JSON without evals, which is among the problems too.
    pub is_other: bool,
}

impl TriggerFile {
    /// Parses `text`. It never fails: invalid content is among the problems.
    ///
    /// ```
    /// use repertoire_search::evals::TriggerFile;
    /// let file = TriggerFile::parse(r#"[{"query": "fill in this form", "should_trigger": true}]"#);
    /// assert_eq!(file.queries[0].query, "fill in this form");
    /// ```
    pub fn parse(text: &str) -> Self {
        let mut file = Self::default();
        match serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')) {
            Ok(Value::Array(items)) => file.read(&items, None),
            Ok(Value::Object(object)) => file.read_object(&object),
            Ok(_) => file.other("it is neither a list of evals nor an object with one"),
            Err(error) => file.problems.push(format!("it is not JSON: {error}")),
        }
        file
    }

    fn read_object(&mut self, object: &Map<String, Value>) {
        let skill = SKILL_KEYS.iter().find_map(|key| object.get(*key)?.as_str());
        match LIST_KEYS.iter().find_map(|key| object.get(*key)) {
            Some(Value::Array(items)) => self.read(items, skill),
            // A file with a single scenario.
            _ if text_of(object).is_some() => self.read(&[Value::Object(object.clone())], skill),
            _ => self.other("it has no `evals`, and no `query` or `prompt`"),
        }
    }

    fn other(&mut self, problem: &str) {
        self.problems.push(problem.to_owned());
        self.is_other = true;
    }

    fn read(&mut self, items: &[Value], skill: Option<&str>) {
        let mut faults: BTreeMap<EvalFault, usize> = BTreeMap::new();
        for item in items.iter().take(MAX_EVAL_QUERIES) {
            match query_of(item, skill) {
                Ok(query) => self.queries.push(query),
                Err(fault) => *faults.entry(fault).or_default() += 1,
            }
        }
        let problems =
            faults.into_iter().map(|(fault, count)| format!("{count} of its evals {}", fault.as_str()));
        self.problems.extend(problems);
        let more = items.len().saturating_sub(MAX_EVAL_QUERIES);
        if more > 0 {
            self.problems.push(format!("{more} evals beyond the first {MAX_EVAL_QUERIES} are left out"));
        }
    }
}

/// Returns the query of an eval, if it has one of valid length.
fn text_of(object: &Map<String, Value>) -> Option<&str> {
    let text = TEXT_KEYS.iter().find_map(|key| object.get(*key)?.as_str())?.trim();
    (!text.is_empty() && text.len() <= MAX_QUERY_BYTES).then_some(text)
}

/// The reason why an eval is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EvalFault {
    Query,
    ShouldTrigger,
    ExpectedSkill,
}

impl EvalFault {
    fn as_str(self) -> &'static str {
        match self {
            Self::Query => "have no `query` or `prompt` of reasonable length",
            Self::ShouldTrigger => "have a `should_trigger` that is neither true nor false",
            Self::ExpectedSkill => "have an `expected_skill` that is neither a name nor null",
        }
    }
}

/// Parses the eval `item` of a file about `skill`.
fn query_of(item: &Value, skill: Option<&str>) -> Result<TriggerQuery, EvalFault> {
    let object = item.as_object().ok_or(EvalFault::Query)?;
    let query = text_of(object).ok_or(EvalFault::Query)?.to_owned();
    // An `expected_skill` of null means that no skill should be triggered.
    let (skill, is_expected) = match object.get("expected_skill") {
        None => (skill, true),
        Some(Value::Null) => (skill, false),
        Some(Value::String(name)) if !name.trim().is_empty() => (Some(name.as_str()), true),
        Some(_) => return Err(EvalFault::ExpectedSkill),
    };
    let should_trigger = match object.get("should_trigger") {
        None => is_expected,
        Some(Value::Bool(should_trigger)) => *should_trigger,
        Some(_) => return Err(EvalFault::ShouldTrigger),
    };
    Ok(TriggerQuery { skill: skill.map(str::to_owned), query, should_trigger })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(Option<&str>, &str, bool)], problems: &[&str]) {
        let file = TriggerFile::parse(text);
        let found: Vec<(Option<&str>, &str, bool)> = file
            .queries
            .iter()
            .map(|query| (query.skill.as_deref(), query.query.as_str(), query.should_trigger))
            .collect();
        assert_eq!(found, expected, "{text}");
        assert_eq!(file.problems, problems, "{text}");
    }

    #[test]
    fn all_formats_are_read() {
        check(
            r#"[{"query": "a", "should_trigger": true}, {"query": " b ", "should_trigger": false}]"#,
            &[(None, "a", true), (None, "b", false)],
            &[],
        );
        check(
            r#"{"skill_name": "x", "evals": [{"id": 1, "prompt": "a", "expected_output": "y"}]}"#,
            &[(Some("x"), "a", true)],
            &[],
        );
        check(
            r#"[{"question": "a", "expected_skill": "y"}, {"question": "b", "expected_skill": null}]"#,
            &[(Some("y"), "a", true), (None, "b", false)],
            &[],
        );
        check(
            r#"{"skill": "x", "cases": [{"question": "a", "expected_skill": "x", "should_trigger": false}]}"#,
            &[(Some("x"), "a", false)],
            &[],
        );
        check(r#"{"name": "n", "prompt": "a", "judge": []}"#, &[(None, "a", true)], &[]);
        check("[]", &[], &[]);
        check("\u{feff}[]", &[], &[]);
    }

    #[test]
    fn invalid_evals_are_reported_and_left_out() {
        let skipped = "1 of its evals have no `query` or `prompt` of reasonable length";
        check(r#"[{"query": "a"}, {"q": "b"}]"#, &[(None, "a", true)], &[skipped]);
        let no_boolean = "1 of its evals have a `should_trigger` that is neither true nor false";
        check(r#"[{"query": "a", "should_trigger": "true"}]"#, &[], &[no_boolean]);
        check(r#"[{"query": "a", "should_trigger": null}]"#, &[], &[no_boolean]);
        let no_name = "2 of its evals have an `expected_skill` that is neither a name nor null";
        let evals = r#"[{"query": "a", "expected_skill": 5}, {"query": "b"}, {"query": "c", "expected_skill": ""}, 7]"#;
        check(evals, &[(None, "b", true)], &[skipped, no_name]);
        check(r#"[{"query": "  "}]"#, &[], &[skipped]);
        check(r#"{"agents": []}"#, &[], &["it has no `evals`, and no `query` or `prompt`"]);
        check("1", &[], &["it is neither a list of evals nor an object with one"]);
        check("", &[], &["it is not JSON: EOF while parsing a value at line 1 column 0"]);
        let deep = "[".repeat(100_000);
        assert_eq!(TriggerFile::parse(&deep).problems.len(), 1);
    }

    #[test]
    fn queries_are_bounded() {
        let long = format!("[{{\"query\": \"{}\"}}]", "x".repeat(MAX_QUERY_BYTES + 1));
        assert!(TriggerFile::parse(&long).queries.is_empty());
        let many = format!("[{}]", vec!["{\"query\": \"a\"}"; MAX_EVAL_QUERIES + 3].join(","));
        let file = TriggerFile::parse(&many);
        assert_eq!(file.queries.len(), MAX_EVAL_QUERIES);
        assert_eq!(file.problems, ["3 evals beyond the first 2000 are left out"]);
    }
}
