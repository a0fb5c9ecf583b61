//! A reader for the YAML that strictyaml accepts, with the complaints it makes about the rest.
//!
//! The stages are those of the original, because the order in which they notice things decides which complaint is
//! made: `cursor` walks characters, `scanner` makes tokens a little ahead of need, `compose` turns tokens into
//! nodes and refuses flow style, anchors and tags, `construct` turns nodes into values and refuses repeated keys.
//! YAML's `---` is unknown here: the frontmatter is cut at the first one, so none can follow.

mod block_scalar;
mod compose;
mod construct;
mod cursor;
mod fault;
mod flow_scalar;
mod indicator;
mod lookahead;
mod node;
mod plain_scalar;
mod scanner;
mod token;

use super::value::Value;
use cursor::Cursor;
pub(super) use fault::Refusal;

/// The deepest nesting that is read; Python gives up near here with a `RecursionError`.
const MAX_DEPTH: usize = 240;

/// Returns the document's value, `None` for a document without content.
pub(super) fn load(text: &str) -> Result<Option<Value>, Refusal> {
    let cursor = Cursor::new(text)?;
    let mut composer = compose::Composer::new(scanner::Scanner::new(cursor));
    let root = match composer.document() {
        Ok(root) => root,
        Err(fault) => return Err(fault.told_in(composer.buffer())),
    };
    match root.map(construct::construct).transpose() {
        Ok(value) => Ok(value),
        Err(fault) => Err(fault.told_in(composer.buffer())),
    }
}
