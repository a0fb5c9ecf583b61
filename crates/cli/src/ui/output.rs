//! The one way to write to the person or program on the other side.

use std::io::{self, BufWriter, IsTerminal as _, LineWriter, Write};
use std::path::PathBuf;

use repertoire_sources::GitPrompt;
use serde_json::{Map, Value};

use super::escape::{escape, escape_lines};
use super::home::with_tilde;
use super::style::Style;
use super::wrap::wrap_indented;
use crate::env::{self, Env};
use crate::exit::Exit;
use crate::globals::{ColorChoice, Globals};

/// The width of output whose reader has no width.
const UNBOUNDED: usize = usize::MAX;

/// The commands that hints name and that read the skills of the directories of `--root`.
const READING_COMMANDS: [&str; 12] = [
    "approve",
    "check",
    "disable",
    "doctor",
    "enable",
    "explain",
    "history",
    "list",
    "proposal ",
    "run ",
    "search",
    "show",
];

/// The size of the output buffer: as much as a pipe takes at once.
const OUT_BYTES: usize = 64 * 1024;

/// The one way to the person or program on the other side.
pub(crate) struct Ui {
    out: BufWriter<io::Stdout>,
    /// Buffered by line, so that each line is one write: MCP clients log standard error as it arrives.
    err: LineWriter<io::Stderr>,
    out_is_terminal: bool,
    is_interactive: bool,
    colour_out: bool,
    colour_err: bool,
    json: bool,
    /// The JSON document that is the result so far; kept until nothing can be added to it.
    document: Option<Vec<u8>>,
    width: usize,
    err_width: usize,
    /// The home directory, if a person reads the results.
    home: Option<String>,
    /// The options `--root` of the command line, each with a blank behind it.
    root_options: String,
    /// The option `--config` of the command line, with a blank behind it.
    config_option: String,
    /// The option `--profile` of the command line, with a blank behind it.
    profile_option: String,
}

impl Ui {
    /// Returns the ui for `globals` and the environment.
    pub(crate) fn new(globals: &Globals, env: &Env) -> Self {
        let (out, err) = (io::stdout(), io::stderr());
        let (out_is_terminal, err_is_terminal) = (out.is_terminal(), err.is_terminal());
        let choice = globals.color.or_else(|| ColorChoice::from_env(env)).unwrap_or(ColorChoice::Auto);
        let plain = env.get(env::NO_COLOR).is_some() || env.get(env::TERM).is_some_and(|term| term == "dumb");
        let colour = |is_terminal: bool| match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_terminal && !plain,
        };
        let terminal = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
        Self {
            out: BufWriter::with_capacity(OUT_BYTES, out),
            err: LineWriter::new(err),
            out_is_terminal,
            is_interactive: err_is_terminal && io::stdin().is_terminal(),
            colour_out: colour(out_is_terminal),
            colour_err: colour(err_is_terminal),
            json: globals.json,
            document: None,
            width: if out_is_terminal { terminal } else { UNBOUNDED },
            err_width: if err_is_terminal { terminal } else { UNBOUNDED },
            home: env.home().filter(|_| out_is_terminal).map(|home| home.display().to_string()),
            root_options: options("--root", &globals.root),
            config_option: options("--config", globals.config.as_slice()),
            profile_option: globals
                .profile
                .as_ref()
                .map(|profile| format!("--profile {profile} "))
                .unwrap_or_default(),
        }
    }

    /// Returns the writer for results.
    pub(crate) fn out(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    /// Returns the writer for everything that is not the result.
    pub(crate) fn err(&mut self) -> &mut dyn Write {
        &mut self.err
    }

    /// Flushes buffered output.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if let Some(document) = self.document.take() {
            self.out.write_all(&document)?;
            self.out.write_all(b"\n")?;
        }
        self.out.flush()
    }

    /// Returns whether results are wanted as JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Writes results as JSON from here on.
    pub(crate) fn use_json(&mut self) {
        self.json = true;
    }

    /// Returns whether results go to a terminal, where raw control characters would do harm.
    pub(crate) fn out_is_terminal(&self) -> bool {
        self.out_is_terminal
    }

    /// Returns `true` if a person can answer questions.
    pub(crate) fn is_interactive(&self) -> bool {
        self.is_interactive
    }

    /// Returns whether git may ask for credentials.
    pub(crate) fn git_prompt(&self) -> GitPrompt {
        if self.is_interactive { GitPrompt::Allowed } else { GitPrompt::Never }
    }

    /// Returns the number of columns of a line of results.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of columns of a line of messages.
    pub(super) fn err_width(&self) -> usize {
        self.err_width
    }

    /// Returns whether results may be coloured.
    pub(crate) fn is_coloured(&self) -> bool {
        self.colour_out
    }

    /// Returns whether messages may be coloured.
    pub(crate) fn is_err_coloured(&self) -> bool {
        self.colour_err
    }

    /// Returns `text` in `style`, for results.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        style.paint(text, self.colour_out)
    }

    /// Returns `text` in `style`, for messages.
    pub(crate) fn paint_err(&self, style: Style, text: &str) -> String {
        style.paint(text, self.colour_err)
    }

    /// Returns untrusted `text` for results, with `~` in paths of the user where a person reads them.
    pub(crate) fn shown(&self, text: &str) -> String {
        let text = escape(text);
        self.home.as_ref().map_or_else(|| text.to_string(), |home| with_tilde(&text, home))
    }

    /// Writes `text` in `style` as a line of the result.
    pub(crate) fn line(&mut self, style: Style, text: &str) -> io::Result<()> {
        let line = self.paint(style, text);
        writeln!(self.out, "{line}")
    }

    /// Writes a warning, which is not part of the result.
    pub(crate) fn warn(&mut self, text: &str) -> io::Result<()> {
        self.message(Style::Warning, "warning:", text)
    }

    /// Writes each of `texts` as a warning.
    pub(crate) fn warn_all<'t>(&mut self, texts: impl IntoIterator<Item = &'t String>) -> io::Result<()> {
        texts.into_iter().try_for_each(|text| self.warn(text))
    }

    /// Writes a hint, which is not part of the result.
    pub(crate) fn hint(&mut self, text: &str) -> io::Result<()> {
        let text = self.with_options(text);
        self.message(Style::Hint, "hint:", &text)
    }

    /// Returns `hint` with `--config`, `--root` and `--profile` of this process in commands that read skills.
    pub(crate) fn with_options(&self, hint: &str) -> String {
        with_options(hint, &self.config_option, &self.root_options, &self.profile_option)
    }

    /// Writes `text`, which may be untrusted, behind `word`, after all results so far.
    pub(crate) fn message(&mut self, style: Style, word: &str, text: &str) -> io::Result<()> {
        self.out.flush()?;
        let text = wrap_indented(&self.shown(text), self.err_width, word.len() + 1);
        let word = self.paint_err(style, word);
        writeln!(self.err, "{word} {text}")
    }

    /// Writes `value` as the JSON document of the command.
    pub(crate) fn write_json(&mut self, value: &impl serde::Serialize) -> io::Result<()> {
        self.document = Some(serde_json::to_vec_pretty(value)?);
        Ok(())
    }

    /// Writes `value` as the JSON document of a command that has nothing else to say.
    pub(crate) fn answer(&mut self, value: &impl serde::Serialize) -> io::Result<Exit> {
        self.write_json(value)?;
        Ok(Exit::Success)
    }

    /// Writes the keys of `error` as a JSON document, or adds them to the document of the command.
    pub(crate) fn write_json_error(&mut self, error: Map<String, Value>) -> io::Result<()> {
        let document = self.document.take().and_then(|document| serde_json::from_slice(&document).ok());
        self.write_json(&with_error(document.unwrap_or_default(), error))
    }

    /// Writes untrusted text of several lines: byte for byte to a program, escaped to a terminal.
    pub(crate) fn write_untrusted(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.out_is_terminal {
            return self.out.write_all(bytes);
        }
        let text = String::from_utf8_lossy(bytes);
        self.out.write_all(escape_lines(&text).as_bytes())?;
        // A prompt should not end up behind the last line.
        if text.ends_with('\n') || text.is_empty() { Ok(()) } else { self.out.write_all(b"\n") }
    }
}

/// Returns `document` with the keys of `error`. One that is not an object becomes the key `data`.
fn with_error(document: Value, error: Map<String, Value>) -> Value {
    let mut keys = match document {
        Value::Null => Map::new(),
        Value::Object(keys) => keys,
        other => Map::from_iter([("data".to_owned(), other)]),
    };
    keys.extend(error);
    Value::Object(keys)
}

/// Returns `hint` with options in commands that read skills; one with a configuration or profile keeps it.
fn with_options(hint: &str, config: &str, roots: &str, profile: &str) -> String {
    let config = if hint.contains("--config ") { "" } else { config };
    let profile = if hint.contains("--profile ") { "" } else { profile };
    READING_COMMANDS.iter().fold(hint.to_owned(), |hint, command| {
        hint.replace(&format!("`rep {command}"), &format!("`rep {config}{roots}{profile}{command}"))
    })
}

/// Returns the options `name` with `paths`; empty if a shell would split one of the paths.
fn options(name: &str, paths: &[PathBuf]) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@:".contains(c);
    let plain = |path: &PathBuf| path.to_str().filter(|path| path.chars().all(is_plain)).map(str::to_owned);
    let paths: Vec<String> = paths.iter().map(plain).collect::<Option<_>>().unwrap_or_default();
    paths.iter().map(|path| format!("{name} {path} ")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn commands_in_hints_have_the_options_of_the_command_line() {
        let check = |hint: &str, expect: &str| {
            let config = options("--config", &["n.toml".into()]);
            let roots = options("--root", &["a".into(), "b".into()]);
            assert_eq!(with_options(hint, &config, &roots, "--profile lenient "), expect);
        };
        check(
            "run `rep list --all`",
            "run `rep --config n.toml --root a --root b --profile lenient list --all`",
        );
        check(
            "run `rep enable --config m.toml x`",
            "run `rep --root a --root b --profile lenient enable --config m.toml x`",
        );
        check(
            "run `rep check x --profile strict`",
            "run `rep --config n.toml --root a --root b check x --profile strict`",
        );
        check("run `rep init`", "run `rep init`");
        assert_eq!(options("--config", &["a b".into()]), "");
    }

    #[test]
    fn an_error_has_its_keys_whatever_was_written_before() {
        let check = |document: Value, expect: Value| {
            let error = Map::from_iter([("error".to_owned(), "no".into())]);
            assert_eq!(with_error(document, error), expect);
        };
        check(Value::Null, json!({"error": "no"}));
        check(json!({"a": 1, "error": null}), json!({"a": 1, "error": "no"}));
        check(json!([1, 2]), json!({"data": [1, 2], "error": "no"}));
    }
}
