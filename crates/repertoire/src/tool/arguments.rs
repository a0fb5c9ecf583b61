//! Arguments of calls, which come from a model and may be anything.

use std::borrow::Cow;

use repertoire_model::answer::FaultKind;
use repertoire_model::{SkillPath, text};
use serde_json::{Map, Value};

use crate::session::SessionOptions;

/// The longest quotation of a model's own text, in characters.
const MAX_QUOTED_CHARS: usize = 100;

/// The longest text that an argument may be, in bytes; no name or path is longer.
const MAX_TEXT_BYTES: usize = 4 * 1024;

/// The part of a search query that is read, in bytes; thousands of words.
const MAX_QUERY_BYTES: usize = 32 * 1024;

const MAX_TEXTS: usize = 256;

#[derive(Debug, Clone, Copy)]
pub(super) struct Parameter<'a> {
    /// The name that models see.
    pub(super) name: &'a str,
    /// Names that are understood too.
    pub(super) aliases: &'static [&'static str],
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Arguments<'a> {
    given: &'a Map<String, Value>,
    options: &'a SessionOptions,
    /// The conversation that the call belongs to.
    pub(crate) conversation: &'a str,
    /// The name of the token that the caller authenticated with.
    pub(crate) principal: Option<&'a str>,
}

impl<'a> Arguments<'a> {
    /// Returns the arguments `given`; `options` decide whether other usual names are accepted.
    pub(crate) fn new(
        given: &'a Map<String, Value>,
        options: &'a SessionOptions,
        conversation: &'a str,
    ) -> Self {
        Self { given, options, conversation, principal: None }
    }

    fn names<'p>(&self, parameter: &Parameter<'p>) -> impl Iterator<Item = &'p str> + use<'p> {
        let aliases = if self.options.tools.argument_aliases { parameter.aliases } else { &[] };
        [parameter.name].into_iter().chain(aliases.iter().copied())
    }

    /// Returns the value of `parameter` with the name it was given under; null is the same as nothing.
    fn find<'p>(&self, parameter: &Parameter<'p>) -> Option<(&'p str, &'a Value)> {
        let mut given = self.names(parameter).filter_map(|name| Some((name, self.given.get(name)?)));
        given.find(|(_, value)| !value.is_null())
    }

    /// Returns the text of `parameter`, of any length, if it is given.
    pub(super) fn input(&self, parameter: &Parameter<'_>) -> Result<Option<&'a str>, FaultKind> {
        match self.find(parameter) {
            None => Ok(None),
            Some((_, Value::String(text))) => Ok(Some(text)),
            Some((name, _)) => Err(bad(name, "a string")),
        }
    }

    pub(super) fn text(&self, parameter: &Parameter<'_>) -> Result<Option<&'a str>, FaultKind> {
        let text = self.input(parameter)?;
        match text.filter(|text| text.len() > MAX_TEXT_BYTES).and(self.find(parameter)) {
            Some((name, _)) => Err(bad(name, "a shorter text")),
            None => Ok(text),
        }
    }

    /// Returns the text of `parameter`, which must be given.
    pub(super) fn required_text(&self, parameter: &Parameter<'_>) -> Result<&'a str, FaultKind> {
        self.text(parameter)?.ok_or_else(|| FaultKind::MissingArgument { name: parameter.name.to_owned() })
    }

    /// Returns the name of a skill, which may be of any length: no skill has it then.
    pub(super) fn skill(&self, parameter: &Parameter<'_>) -> Result<&'a str, FaultKind> {
        self.required_input(parameter)
    }

    /// Returns the text of `parameter`, of any length, which must be given.
    pub(super) fn required_input(&self, parameter: &Parameter<'_>) -> Result<&'a str, FaultKind> {
        self.input(parameter)?.ok_or_else(|| FaultKind::MissingArgument { name: parameter.name.to_owned() })
    }

    /// Returns the search query, if it is given. It may be of any length; only its start is used.
    pub(super) fn query(&self, parameter: &Parameter<'_>) -> Result<Option<&'a str>, FaultKind> {
        Ok(self.input(parameter)?.map(|query| text::start(query, MAX_QUERY_BYTES)))
    }

    /// Returns the number `parameter`, at least 1, if it is given.
    pub(super) fn count(&self, parameter: &Parameter<'_>) -> Result<Option<usize>, FaultKind> {
        self.positive(parameter, "a whole number, at least 1")
    }

    /// Returns the line number `parameter`, if it is given.
    pub(super) fn line(&self, parameter: &Parameter<'_>) -> Result<Option<usize>, FaultKind> {
        self.positive(parameter, "a line number, counted from 1")
    }

    /// Returns the number `parameter`, at least 1, if it is given; `expected` is for errors.
    fn positive(&self, parameter: &Parameter<'_>, expected: &str) -> Result<Option<usize>, FaultKind> {
        let Some((name, value)) = self.find(parameter) else { return Ok(None) };
        // Some models write whole numbers as 3.0.
        let whole = |number: f64| (number.fract() == 0.0 && number >= 0.0).then_some(number as u64);
        let number = value.as_u64().or_else(|| value.as_f64().and_then(whole));
        match number {
            Some(number) if number > 0 => Ok(Some(usize::try_from(number).unwrap_or(usize::MAX))),
            _ => Err(bad(name, expected)),
        }
    }

    /// Returns the object `parameter`, or the text of one, as some models write it; empty if it is not given.
    pub(super) fn object(&self, parameter: &Parameter<'_>) -> Result<Map<String, Value>, FaultKind> {
        let Some((name, value)) = self.find(parameter) else { return Ok(Map::new()) };
        object_of(value).ok_or_else(|| bad(name, "a JSON object"))
    }

    /// Returns the texts of the list `parameter`, none if it is not given.
    pub(super) fn texts(&self, parameter: &Parameter<'_>) -> Result<Vec<String>, FaultKind> {
        let Some((name, value)) = self.find(parameter) else { return Ok(Vec::new()) };
        let text = |value: &Value| match value {
            Value::String(text) if !text.contains('\0') => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let texts = value.as_array().filter(|values| values.len() <= MAX_TEXTS);
        let texts = texts.and_then(|values| values.iter().map(text).collect());
        texts.ok_or_else(|| bad(name, "a list of strings"))
    }

    pub(super) fn is_given(&self, parameter: &Parameter<'_>) -> bool {
        self.find(parameter).is_some()
    }

    pub(super) fn switch(&self, parameter: &Parameter<'_>) -> Result<bool, FaultKind> {
        match self.find(parameter) {
            None => Ok(false),
            Some((_, Value::Bool(switch))) => Ok(*switch),
            Some((name, _)) => Err(bad(name, "true or false")),
        }
    }

    pub(super) fn only(&self, parameters: &[Parameter<'_>]) -> Result<(), FaultKind> {
        let is_known =
            |name: &str| parameters.iter().any(|known| self.names(known).any(|known| known == name));
        let shown = parameters.iter().filter(|parameter| !self.options.hides(parameter.name));
        match self.given.keys().find(|name| !is_known(name)) {
            None => Ok(()),
            Some(unknown) => Err(FaultKind::UnknownArgument {
                name: quoted(unknown),
                takes: shown.map(|parameter| parameter.name.to_owned()).collect(),
            }),
        }
    }
}

/// Returns the object `value`, or the text of one, as some models write it; nothing is an empty object.
pub(crate) fn object_of(value: &Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(object) => Some(object.clone()),
        Value::Null => Some(Map::new()),
        Value::String(text) if text.trim().is_empty() => Some(Map::new()),
        Value::String(text) => serde_json::from_str(text).ok(),
        _ => None,
    }
}

pub(super) fn bad(name: &str, expected: &str) -> FaultKind {
    FaultKind::BadArgument { name: name.to_owned(), expected: expected.to_owned() }
}

/// Returns the normalised path: `./a//b.md` is `a/b.md`. Paths that lead up or are absolute stay, to be
/// refused.
pub(super) fn tidy(written: &str) -> Cow<'_, str> {
    let parts = || written.split('/').filter(|part| !matches!(*part, "" | "."));
    if written.starts_with('/') || parts().count() == 0 || !(written.contains("./") || written.contains("//"))
    {
        return Cow::Borrowed(written);
    }
    Cow::Owned(parts().collect::<Vec<_>>().join("/"))
}

/// Returns the path that events record for the file that a model calls `written`: one name for one file.
pub(crate) fn recorded_path(written: &str) -> String {
    SkillPath::new(&tidy(written)).map_or_else(|_| quoted(written), |path| path.to_string())
}

/// Returns a text that a model wrote in a form that is safe to repeat to it.
pub fn quoted(written: &str) -> String {
    // Only the start is ever shown, so only the start is processed.
    let start: String = written.chars().take(MAX_QUOTED_CHARS + 1).collect();
    let visible: String =
        start.chars().map(|c| if text::is_control_or_invisible(c) { '\u{fffd}' } else { c }).collect();
    text::shorten(&visible, MAX_QUOTED_CHARS)
}
