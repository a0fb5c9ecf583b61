//! Templates of prompts: a part of Jinja that cannot grow a small template into a large text.
//!
//! A template comes with a project, so it is untrusted. Fuel bounds its steps and a cap bounds its output,
//! but neither bounds intermediate values: forty times `{% set x = x ~ x %}` is a terabyte. Therefore texts
//! cannot be built, only written; `join` and `replace` make one that is no larger than a variable may be. The
//! rest is enough for prompts: `{{ variable }}`, a few filters, `{% if %}`, `{% for %}`, plain `{% set %}`,
//! comments and `{% raw %}`. There are no macros, and nothing here reads a file: the files that the prompt of
//! a role includes are put in place when it is read. A host that wants all of Jinja supplies its own
//! [`Renderer`].

use std::collections::BTreeMap;
use std::io::{self, Write};

use minijinja::{Environment, UndefinedBehavior, Value};

use super::template_subset;
use crate::{Error, ErrorKind};

/// The largest template, in bytes.
pub const MAX_TEMPLATE_BYTES: u64 = 256 * 1024;

/// The largest output of a template, in bytes.
pub const MAX_RENDERED_BYTES: usize = 1024 * 1024;

/// The most bytes that the variables of a template may have together, names and values.
///
/// A step may copy a value, so that only both limits together bound the time that a template takes.
pub const MAX_VARIABLE_BYTES: usize = 64 * 1024;

/// The most steps that a template may take.
const MAX_STEPS: u64 = 20_000;

/// The deepest nesting of a template.
const MAX_DEPTH: usize = 32;

/// The name that templates go by in messages.
const NAME: &str = "template";

/// Turns the template of a prompt into its text.
///
/// Any function of a template and its variables is one.
pub trait Renderer: Send + Sync {
    /// Returns `template` rendered with `variables`.
    fn render(&self, template: &str, variables: &BTreeMap<String, String>) -> Result<String, Error>;
}

impl<F> Renderer for F
where
    F: Fn(&str, &BTreeMap<String, String>) -> Result<String, Error> + Send + Sync,
{
    fn render(&self, template: &str, variables: &BTreeMap<String, String>) -> Result<String, Error> {
        self(template, variables)
    }
}

/// The renderer that is used where no other is given.
///
/// A variable that is not defined is empty, as in Jinja.
///
/// ```
/// use repertoire::{Jinja, Renderer};
/// let variables = [("team".to_owned(), "payments".to_owned())].into();
/// let text = Jinja.render("You work for {{ team|upper }}.{% if urgent %} Hurry.{% endif %}", &variables)?;
/// assert_eq!(text, "You work for PAYMENTS.");
/// # Ok::<(), repertoire::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Jinja;

impl Renderer for Jinja {
    fn render(&self, template: &str, variables: &BTreeMap<String, String>) -> Result<String, Error> {
        if template.len() as u64 > MAX_TEMPLATE_BYTES {
            return Err(Error::new(ErrorKind::TooLarge).about(NAME));
        }
        let bytes: usize = variables.iter().map(|(name, value)| name.len() + value.len()).sum();
        if bytes > MAX_VARIABLE_BYTES {
            let why = format!("its variables have {bytes} bytes, more than {MAX_VARIABLE_BYTES}");
            return Err(Error::new(ErrorKind::TooLarge).about(NAME).because(why));
        }
        template_subset::check(template)
            .map_err(|fault| Error::new(ErrorKind::InvalidTemplate).because(fault))?;
        let context: Value =
            variables.iter().map(|(name, value)| (name.as_str(), Value::from(value.as_str()))).collect();
        let environment = environment();
        let mut text = BoundedText(Vec::new());
        environment
            .template_from_named_str(NAME, template)
            .and_then(|template| template.render_captured_to(context, &mut text))
            .map_err(|error| Error::new(ErrorKind::InvalidTemplate).because(error))?;
        // Only whole strings are written, so that this never fails.
        String::from_utf8(text.0).map_err(|error| Error::new(ErrorKind::InvalidTemplate).because(error))
    }
}

fn environment() -> Environment<'static> {
    // An empty environment has no filters, tests or functions but the following.
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.set_keep_trailing_newline(true);
    environment.set_fuel(Some(MAX_STEPS));
    environment.set_recursion_limit(MAX_DEPTH);
    environment.add_filter("upper", |text: &str| text.to_uppercase());
    environment.add_filter("lower", |text: &str| text.to_lowercase());
    environment.add_filter("trim", |text: &str| text.trim().to_owned());
    environment.add_filter("lines", |text: &str| text.lines().map(Value::from).collect::<Value>());
    environment.add_filter("length", |value: Value| value.len().unwrap_or_default());
    environment.add_filter("join", |value: Value, separator: Option<&str>| {
        let separator = separator.unwrap_or_default();
        let mut text = String::new();
        for (index, item) in value.try_iter()?.enumerate() {
            let item = item.to_string();
            let before = if index == 0 { "" } else { separator };
            bounded(text.len() + before.len() + item.len())?;
            text += before;
            text += &item;
        }
        Ok::<_, minijinja::Error>(text)
    });
    environment.add_filter("replace", |text: &str, from: &str, to: &str| {
        bounded(text.len() + text.matches(from).count() * to.len())?;
        Ok::<_, minijinja::Error>(text.replace(from, to))
    });
    environment.add_filter(
        "default",
        |value: Value, other: Value| {
            if value.is_undefined() { other } else { value }
        },
    );
    environment.add_test("defined", |value: Value| !value.is_undefined());
    environment.add_test("undefined", |value: Value| value.is_undefined());
    environment
}

/// Fails if a filter would make a text of more `bytes` than the variables may have.
fn bounded(bytes: usize) -> Result<(), minijinja::Error> {
    let why = || format!("a filter makes more than {MAX_VARIABLE_BYTES} bytes");
    let refuse = || minijinja::Error::new(minijinja::ErrorKind::InvalidOperation, why());
    if bytes > MAX_VARIABLE_BYTES { Err(refuse()) } else { Ok(()) }
}

/// A text that refuses to grow too large.
struct BoundedText(Vec<u8>);

impl Write for BoundedText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_RENDERED_BYTES {
            return Err(io::Error::other(format!("it comes to more than {MAX_RENDERED_BYTES} bytes")));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(template: &str) -> Result<String, String> {
        let variables = [("name", "Ada"), ("notes", "one\ntwo")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Jinja.render(template, &variables).map_err(|error| error.chain())
    }

    #[test]
    fn supported_template_syntax_is_rendered() {
        for (template, expect) in [
            ("", ""),
            ("plain { text } with %} and }}\n", "plain { text } with %} and }}\n"),
            ("{{ name }}", "Ada"),
            ("{{ missing }}.", "."),
            ("{{ missing|default('nobody') }}", "nobody"),
            ("{{ name | lower }}{# a ~ note #}", "ada"),
            ("{% if name == 'Ada' and not missing %}yes{% else %}no{% endif %}", "yes"),
            ("{% if missing is defined %}yes{% endif %}", ""),
            ("{% for line in notes|lines %}- {{ line }}\n{% endfor %}", "- one\n- two\n"),
            ("{% set who = name %}{{ who }}", "Ada"),
            ("{{ notes|lines|join(', ') }} ({{ notes|lines|length }})", "one, two (2)"),
            ("{{ name|length }} {{ missing|length }} {{ name|join }} {{ missing|join(',') }}", "3 0 Ada "),
            ("{{ name|replace('A', 'ä')|replace('x', '') }}", "äda"),
            ("{% raw %}{{ a ~ b }}{% endraw %}", "{{ a ~ b }}"),
            ("a\n{%- if name -%}\n b {%- endif %}", "ab"),
            ("<{{ '<b> ~ }}' }}>", "<<b> ~ }}>"),
        ] {
            assert_eq!(render(template).as_deref(), Ok(expect), "{template}");
        }
    }

    #[test]
    fn unsupported_template_syntax_is_refused() {
        for (template, expect) in [
            ("{{ name ~ name }}", "line 1: templates may not use `~`"),
            ("\n{{ 'x' * 99 }}", "line 2: templates may not use `*`"),
            ("{% set x = [name, name] %}", "line 1: templates may not use `[`"),
            ("{% set x %}{{ name }}{% endset %}", "line 1: `set` needs a value"),
            ("\n{% include 'x' %}", "line 2: this template may not use `include`"),
            ("{% include name %}", "line 1: `include` needs one path in quotes"),
            ("{% include 'a' 'b' %}", "line 1: `include` needs one path in quotes"),
            ("{% macro a() %}{% endmacro %}", "line 1: templates may not use `macro`"),
            ("{% filter upper %}{% endfilter %}", "line 1: templates may not use `filter`"),
            ("{{ name", "line 1: `{{` is never closed"),
            ("{% raw %}", "line 1: `{% raw %}` is never closed"),
            ("{{ name|title }}", "unknown filter"),
            ("{{ range(9) }}", "unknown function"),
            ("{{ missing.attribute }}", "undefined value"),
            ("{% if %}", "syntax error"),
        ] {
            let error = render(template).unwrap_err();
            assert!(error.contains(expect), "{template}: {error}");
        }
    }

    #[test]
    fn steps_and_bytes_are_bounded() {
        let body = "{% for a in notes|lines %}".repeat(20) + "x" + &"{% endfor %}".repeat(20);
        assert!(render(&body).unwrap_err().contains("fuel"), "{:?}", render(&body));
        let doubled = format!("{{{{ name{} }}}}", "|replace('A', 'AA')".repeat(40));
        assert!(render(&doubled).unwrap_err().contains("more than 65536 bytes"));
        let spread = format!("{{{{ name{} }}}}", "|replace('', 'AAAAAAAAAA')".repeat(9));
        assert!(render(&spread).unwrap_err().contains("more than 65536 bytes"));
        let joined = format!("{{{{ notes{} }}}}", "|join(notes)".repeat(9));
        assert!(render(&joined).unwrap_err().contains("more than 65536 bytes"));
        let variable =
            |bytes: usize| -> BTreeMap<String, String> { [("x".to_owned(), "x".repeat(bytes))].into() };
        let long = variable(MAX_VARIABLE_BYTES - 1);
        assert!(Jinja.render(&"{{ x }}".repeat(16), &long).is_ok());
        let error = Jinja.render(&"{{ x }}".repeat(17), &long).unwrap_err();
        assert!(error.chain().contains("1048576 bytes"));
        let error = Jinja.render("", &variable(MAX_VARIABLE_BYTES)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        let large = "x".repeat(MAX_TEMPLATE_BYTES as usize + 1);
        assert_eq!(Jinja.render(&large, &long).unwrap_err().kind(), ErrorKind::TooLarge);
    }

    #[test]
    fn a_function_is_a_renderer() {
        let shout = |template: &str, _: &BTreeMap<String, String>| Ok(template.to_uppercase());
        let renderer: &dyn Renderer = &shout;
        assert_eq!(renderer.render("a", &BTreeMap::new()).unwrap(), "A");
    }
}
