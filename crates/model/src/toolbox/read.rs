//! Parses the tools of a `schema.json`.

use serde_json::{Map, Value};

use super::declared::{MAX_TIMEOUT_SECONDS, OutputForm, SkillTool, Toolbox, is_tool_name};
use super::needs::{HostCommand, Needs};
use super::schema;
use crate::validate::TOOL_NAMES;
use crate::{RuleId, SkillPath, text};

/// The file that declares the tools of a skill.
pub const TOOLBOX_FILE: &str = "schema.json";
/// The largest such file that is read, in bytes.
pub const MAX_TOOLBOX_BYTES: usize = 256 * 1024;
/// The most tools of one skill that are read.
pub const MAX_TOOLS: usize = 64;
/// The most words of a command, or entries of a list that a tool declares.
const MAX_WORDS: usize = 64;
/// The longest word of a command, in bytes.
const MAX_WORD_BYTES: usize = 1024;
/// The keys that may hold the schema of the arguments, in order of precedence.
const PARAMETER_KEYS: [&str; 3] = ["parameters", "inputSchema", "input_schema"];

/// Something wrong with the tools of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolProblem {
    /// The rule that it breaks.
    pub rule: RuleId,
    /// The tool it is about, if it is about one.
    pub tool: Option<String>,
    /// The message: lower case, no final period.
    pub message: String,
    /// The advice on what to do about it.
    pub help: &'static str,
}

impl Toolbox {
    /// Returns the tools that `bytes`, those of a `schema.json`, declare, and the problems of the others.
    ///
    /// The file holds a list of tools, or one tool. An object that declares none is another schema.
    ///
    /// ```
    /// use repertoire_model::toolbox::Toolbox;
    /// let text = r#"[{"name": "greet", "description": "Greets.", "parameters": {"type": "object"}}]"#;
    /// let (toolbox, problems) = Toolbox::read(text.as_bytes());
    /// assert!(toolbox.get("greet").is_some() && problems.is_empty());
    /// ```
    pub fn read(bytes: &[u8]) -> (Self, Vec<ToolProblem>) {
        let mut reading = ToolboxReader::default();
        if bytes.len() > MAX_TOOLBOX_BYTES {
            reading.file(format!("{TOOLBOX_FILE} is larger than {MAX_TOOLBOX_BYTES} bytes"));
            return reading.finish();
        }
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        match serde_json::from_slice::<Value>(bytes) {
            Err(error) => reading.file(format!("{TOOLBOX_FILE} is not JSON: {error}")),
            Ok(Value::Array(tools)) => reading.tools(&tools),
            Ok(Value::Object(object)) => match object.get("tools") {
                Some(Value::Array(tools)) => reading.tools(tools),
                _ if is_tool(&object) => reading.tool(&Value::Object(object), 0),
                _ => {}
            },
            Ok(_) => reading.file(format!("{TOOLBOX_FILE} is not a list of tools")),
        }
        reading.finish()
    }
}

/// Returns whether `object` declares a tool, rather than the shape of other data.
fn is_tool(object: &Map<String, Value>) -> bool {
    object.contains_key("function")
        || (object.contains_key("name") && PARAMETER_KEYS.iter().any(|key| object.contains_key(*key)))
}

#[derive(Default)]
struct ToolboxReader {
    toolbox: Toolbox,
    problems: Vec<ToolProblem>,
}

impl ToolboxReader {
    fn finish(self) -> (Toolbox, Vec<ToolProblem>) {
        (self.toolbox, self.problems)
    }

    fn file(&mut self, message: String) {
        let help = "write a JSON array of tools, each with name, description and parameters";
        self.problems.push(ToolProblem { rule: RuleId::ToolsFile, tool: None, message, help });
    }

    fn report(&mut self, rule: RuleId, tool: &str, message: String, help: &'static str) {
        self.problems.push(ToolProblem { rule, tool: Some(tool.to_owned()), message, help });
    }

    fn tools(&mut self, tools: &[Value]) {
        if tools.len() > MAX_TOOLS {
            self.file(format!(
                "{TOOLBOX_FILE} declares {} tools; the first {MAX_TOOLS} are read",
                tools.len()
            ));
        }
        for (index, tool) in tools.iter().take(MAX_TOOLS).enumerate() {
            self.tool(tool, index);
        }
    }

    fn tool(&mut self, declared: &Value, index: usize) {
        // OpenAI wraps a tool; its needs may stand inside or beside.
        let outer = declared.as_object();
        let inner = outer.and_then(|tool| tool.get("function")).and_then(Value::as_object).or(outer);
        let (Some(outer), Some(inner)) = (outer, inner) else {
            return self.file(format!("entry {} of {TOOLBOX_FILE} is not an object", index + 1));
        };
        let Some(name) = inner.get("name").and_then(Value::as_str) else {
            return self.file(format!("entry {} of {TOOLBOX_FILE} has no name", index + 1));
        };
        let shown = text::shorten(&text::visible_line(name), 80);
        if !is_tool_name(name) {
            let help = "use letters, digits, `_` and `-`, at most 64 of them";
            return self.report(
                RuleId::ToolName,
                &shown,
                format!("`{shown}` is not a name for a tool"),
                help,
            );
        }
        if TOOL_NAMES.contains(&name) {
            let message = format!("`{name}` is the name of a tool that every agent has");
            return self.report(RuleId::ToolName, name, message, "give the tool another name");
        }
        if self.toolbox.get(name).is_some() {
            let message = format!("a second tool is called `{name}`; it is left out");
            return self.report(RuleId::ToolName, name, message, "give one of them another name");
        }
        let Some(parameters) = self.parameters(inner, name) else { return };
        let description = inner.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
        if description.trim().is_empty() {
            let message = format!("the tool `{name}` has no description");
            self.report(RuleId::ToolDescription, name, message, "say what it does and when to call it");
        }
        let get = |key: &str| inner.get(key).or_else(|| outer.get(key)).filter(|value| !value.is_null());
        let mut fields = Fields { reading: self, name, get: &get };
        let tool = SkillTool {
            description,
            parameters,
            command: fields.command(),
            timeout: fields.timeout(),
            needs: fields.needs(),
            output: fields.output(),
            ..SkillTool::new(name)
        };
        // A command that cannot be understood must not fall back to something else that happens to lie there.
        if get("command").is_none() || tool.command.is_some() {
            self.toolbox.tools.push(tool);
        }
    }

    /// Returns the schema of a tool's arguments, unless it is invalid.
    fn parameters(&mut self, tool: &Map<String, Value>, name: &str) -> Option<Value> {
        const HELP: &str = "write the JSON Schema of an object: {\"type\": \"object\", \"properties\": {}}";
        let declared = PARAMETER_KEYS.iter().find_map(|key| tool.get(*key)).filter(|value| !value.is_null());
        let parameters = declared.cloned().unwrap_or_else(|| SkillTool::new(name).parameters);
        let report = |reading: &mut Self, why: &str| {
            reading.report(RuleId::ToolSchema, name, format!("the parameters of `{name}` {why}"), HELP);
        };
        let is_of_object = match parameters.get("type") {
            None => true,
            Some(Value::String(kind)) => kind == "object",
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
            Some(_) => false,
        };
        if !parameters.is_object() || !is_of_object {
            report(self, "are not a schema of an object");
            return None;
        }
        let review = schema::review(&parameters);
        if let Some(fault) = review.faults.first() {
            report(self, &format!("are not a valid schema: {fault}"));
            return None;
        }
        if !review.unchecked.is_empty() {
            let keywords = review.unchecked.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            let message = format!("the parameters of `{name}` use keywords that are not checked: {keywords}");
            let help = "models are told of them, but calls that break them still reach the tool";
            self.report(RuleId::ToolKeyword, name, message, help);
        }
        Some(parameters)
    }
}

/// Reads the fields of a tool beyond its schema. Invalid ones are reported and count as not declared.
struct Fields<'r, 'v> {
    reading: &'r mut ToolboxReader,
    name: &'r str,
    get: &'r dyn Fn(&str) -> Option<&'v Value>,
}

impl Fields<'_, '_> {
    fn bad(&mut self, key: &str, expected: &str) {
        let message = format!("`{key}` of the tool `{}` is not {expected}", self.name);
        self.reading.report(RuleId::ToolField, self.name, message, "correct it; it is not in force as it is");
    }

    fn words(&mut self, key: &str, expected: &str, is_sound: impl Fn(&str) -> bool) -> Option<Vec<String>> {
        let value = (self.get)(key)?;
        let words: Option<Vec<String>> = match value {
            Value::Array(words) if words.len() <= MAX_WORDS => words
                .iter()
                .map(|word| word.as_str().filter(|word| is_sound(word)).map(str::to_owned))
                .collect(),
            _ => None,
        };
        if words.is_none() {
            self.bad(key, expected);
        }
        words
    }

    fn command(&mut self) -> Option<Vec<String>> {
        let is_sound = |word: &str| word.len() <= MAX_WORD_BYTES && !word.contains('\0');
        let words = self.words("command", "a list of words", is_sound)?;
        if words.first().is_none_or(String::is_empty) {
            self.bad("command", "a list that begins with a program");
            return None;
        }
        Some(words)
    }

    fn timeout(&mut self) -> u64 {
        let usual = SkillTool::new("").timeout;
        let Some(value) = (self.get)("timeout") else { return usual };
        match value.as_f64() {
            Some(seconds) if seconds >= 1.0 && seconds <= MAX_TIMEOUT_SECONDS as f64 => seconds.ceil() as u64,
            _ => {
                self.bad("timeout", &format!("a number of seconds from 1 to {MAX_TIMEOUT_SECONDS}"));
                usual
            }
        }
    }

    fn switch(&mut self, key: &str) -> bool {
        match (self.get)(key) {
            None => false,
            Some(Value::Bool(switch)) => *switch,
            Some(_) => {
                self.bad(key, "true or false");
                false
            }
        }
    }

    fn needs(&mut self) -> Needs {
        let network = self.switch("network");
        let directory = self.switch("directory");
        let ask = self.switch("ask");
        let is_place = |path: &str| place(path) == "." || SkillPath::new(path.trim_end_matches('/')).is_ok();
        let write = self.words("write", "a list of paths in the working directory", is_place);
        let write: Vec<String> = write.unwrap_or_default().iter().map(|path| place(path)).collect();
        let env = self.words("env", "a list of names of environment variables", is_variable);
        let repository = self.repository();
        let host = self.host();
        let mut needs = Needs {
            network,
            directory: directory || !write.is_empty() || repository,
            write,
            repository,
            env: env.unwrap_or_default(),
            ask: ask || host.is_some(),
            host,
        };
        needs.write.sort_unstable();
        needs.write.dedup();
        // A path that is declared as a directory once is a directory.
        let directories: Vec<String> =
            needs.write.iter().filter(|path| path.ends_with('/')).cloned().collect();
        needs.write.retain(|path| !directories.contains(&format!("{path}/")));
        needs.env.sort_unstable();
        needs.env.dedup();
        needs
    }

    fn repository(&mut self) -> bool {
        match (self.get)("repository").map(Value::as_str) {
            None => return false,
            Some(Some("read")) => return true,
            Some(Some("write")) => {
                let message =
                    format!("`repository` of the tool `{}` is \"write\", which no tool gets", self.name);
                let help = "declare \"host\": \"git commit\" instead, which the user approves call by call";
                self.reading.report(RuleId::ToolRepository, self.name, message, help);
            }
            Some(_) => self.bad("repository", "\"read\""),
        }
        false
    }

    fn host(&mut self) -> Option<HostCommand> {
        let command = (self.get)("host")?.as_str().and_then(HostCommand::parse);
        if command.is_none() {
            self.bad(
                "host",
                "\"git commit\", \"git push\", \"git rebase\", \"git stash\" or \"git stash pop\"",
            );
        }
        command
    }

    fn output(&mut self) -> OutputForm {
        match (self.get)("output").map(Value::as_str) {
            None | Some(Some("text")) => OutputForm::Text,
            Some(Some("json")) => OutputForm::Json,
            Some(_) => {
                self.bad("output", "\"text\" or \"json\"");
                OutputForm::Text
            }
        }
    }
}

/// Returns `path` with one slash at its end where it names a directory.
fn place(path: &str) -> String {
    match path.trim_end_matches('/') {
        "." => ".".to_owned(),
        name if name.len() < path.len() => format!("{name}/"),
        name => name.to_owned(),
    }
}

/// Returns whether an environment variable may be called `name`.
fn is_variable(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=128).contains(&name.len())
        && name.bytes().all(is_plain)
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<String>, Vec<String>) {
        let (toolbox, problems) = Toolbox::read(text.as_bytes());
        let names = toolbox.names().map(str::to_owned).collect();
        (names, problems.into_iter().map(|found| format!("{}: {}", found.rule, found.message)).collect())
    }

    #[test]
    fn every_usual_shape_is_understood() {
        let check = |text: &str| assert_eq!(read(text), (vec!["a".to_owned()], vec![]), "{text}");
        check(r#"[{"name": "a", "description": "A.", "parameters": {"type": "object"}}]"#);
        check(r#"[{"name": "a", "description": "A.", "inputSchema": {"type": "object"}}]"#);
        check(r#"[{"name": "a", "description": "A.", "input_schema": {"type": "object"}}]"#);
        check(r#"[{"name": "a", "description": "A."}]"#);
        check(r#"[{"type": "function", "function": {"name": "a", "description": "A.", "parameters": {}}}]"#);
        check(r#"{"tools": [{"name": "a", "description": "A."}]}"#);
        check(r#"{"name": "a", "description": "A.", "parameters": {"type": "object"}}"#);
        check("\u{feff}[{\"name\": \"a\", \"description\": \"A.\"}]");
    }

    #[test]
    fn a_schema_of_other_data_is_not_reported() {
        let check = |text: &str| assert_eq!(read(text), (vec![], vec![]), "{text}");
        check(r#"{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"}"#);
        check("{}");
        check("[]");
    }

    #[test]
    fn invalid_tools_are_reported_and_the_rest_is_kept() {
        let one = r#"{"name": "good", "description": "A."}"#;
        let check = |tool: &str, expect: &str| {
            assert_eq!(read(&format!("[{tool}, {one}]")), (vec!["good".to_owned()], vec![expect.to_owned()]));
        };
        check("3", "tools-file: entry 1 of schema.json is not an object");
        check("{}", "tools-file: entry 1 of schema.json has no name");
        check(r#"{"name": "a b"}"#, "tool-name: `a b` is not a name for a tool");
        check(
            r#"{"name": "load_skill"}"#,
            "tool-name: `load_skill` is the name of a tool that every agent has",
        );
        check(
            r#"{"name": "x", "description": "X.", "parameters": {"type": "string"}}"#,
            "tool-schema: the parameters of `x` are not a schema of an object",
        );
        check(
            r#"{"name": "x", "description": "X.", "command": "rm -rf"}"#,
            "tool-field: `command` of the tool `x` is not a list of words",
        );
        assert_eq!(read("[").0, [""; 0]);
        assert_eq!(read("[").1.len(), 1);
        assert_eq!(read("7").1, ["tools-file: schema.json is not a list of tools"]);
        let twice = format!("[{one}, {one}]");
        assert_eq!(read(&twice).1, ["tool-name: a second tool is called `good`; it is left out"]);
        let many: Vec<String> =
            (0..70).map(|n| format!(r#"{{"name": "t{n}", "description": "T."}}"#)).collect();
        let (names, found) = read(&format!("[{}]", many.join(",")));
        assert_eq!((names.len(), found.len()), (MAX_TOOLS, 1));
    }

    #[test]
    fn invalid_needs_grant_nothing() {
        let tool = |fields: &str| {
            let text = format!(r#"[{{"name": "a", "description": "A.", {fields}}}]"#);
            let (toolbox, problems) = Toolbox::read(text.as_bytes());
            (toolbox.tools.into_iter().next(), problems.len())
        };
        let (found, problems) = tool(
            r#""timeout": 5, "network": true, "write": ["out/", ".", "out"], "env": ["B", "A"], "ask": true, "output": "json", "repository": "read""#,
        );
        let found = found.unwrap();
        assert_eq!((found.timeout, found.output, problems), (5, OutputForm::Json, 0));
        let needs = Needs {
            network: true,
            directory: true,
            write: vec![".".to_owned(), "out/".to_owned()],
            repository: true,
            env: vec!["A".to_owned(), "B".to_owned()],
            ask: true,
            host: None,
        };
        assert_eq!(found.needs, needs);
        for bad in [
            r#""network": "yes""#,
            r#""write": ["../x"]"#,
            r#""write": ["/etc"]"#,
            r#""env": ["A=B"]"#,
            r#""timeout": 0"#,
            r#""timeout": 1e9"#,
            r#""output": "xml""#,
            r#""repository": "all""#,
            r#""repository": true"#,
            r#""repository": "write""#,
            r#""host": "git push --force""#,
        ] {
            let (found, problems) = tool(bad);
            assert_eq!((found.unwrap().needs, problems), (Needs::default(), 1), "{bad}");
        }
    }
}
