//! What strictyaml makes of a document: text, lists and mappings, and nothing else.

/// A value of the frontmatter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// Text; numbers, booleans and nulls are text too.
    Text(String),
    /// A plain `=` or `<<`, which the reference keeps as an object that is neither text nor fit for JSON.
    Opaque(&'static str),
    /// A list.
    List(Vec<Value>),
    /// A mapping, in the order of the source.
    Map(Vec<(String, Value)>),
}

impl Value {
    /// Returns the text of a [`Value::Text`].
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Tells whether Python's `if value:` holds.
    pub(super) fn is_truthy(&self) -> bool {
        match self {
            Self::Text(text) => !text.is_empty(),
            Self::Opaque(_) => true,
            Self::List(items) => !items.is_empty(),
            Self::Map(pairs) => !pairs.is_empty(),
        }
    }
}
