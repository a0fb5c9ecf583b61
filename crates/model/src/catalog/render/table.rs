//! The table of catalog formats.

use super::layout::Layout;
use super::{bracket, compat, json, list, markdown, menu, xml};
use crate::catalog::options::Format;

pub(super) fn layout(format: Format) -> &'static dyn Layout {
    match format {
        Format::Xml => &xml::Xml,
        Format::List => &list::List,
        Format::Menu => &menu::Menu,
        Format::Bracket => &bracket::Bracket,
        Format::Markdown => &markdown::Markdown,
        Format::Json => &json::Json,
        Format::Compat => &compat::Compat,
    }
}
