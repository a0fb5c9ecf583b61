//! The page: items and choices in, text out.

use std::borrow::Cow;

use super::layout::{Frame, Layout, layout};
use crate::catalog::entry::Item;
use crate::catalog::notice;
use crate::catalog::options::CatalogOptions;
use crate::catalog::report::Tier;
use crate::catalog::sentence::first_sentence;

/// Room for the text around the entries, and for the markup of one entry, in bytes.
const FRAME_BYTES: usize = 1_024;
const MARKUP_BYTES: usize = 80;

/// Everything a text is made of, except for how much of each skill it shows.
pub(in crate::catalog) struct Page<'a> {
    pub(in crate::catalog) items: &'a [Item<'a>],
    pub(in crate::catalog) options: &'a CatalogOptions,
    layout: &'static dyn Layout,
}

impl<'a> Page<'a> {
    /// Returns the page for `items`.
    pub(in crate::catalog) fn new(items: &'a [Item<'a>], options: &'a CatalogOptions) -> Self {
        Self { items, options, layout: layout(options.format) }
    }

    /// Returns the text with every description in full.
    pub(in crate::catalog) fn full(&self) -> String {
        self.write(|_| Tier::Full, None)
    }

    /// Returns the text with as much of each item as `tiers` says, and the footer that goes with it.
    pub(in crate::catalog) fn tiered(&self, tiers: &[Tier]) -> String {
        let count = |tier| tiers.iter().filter(|other| **other == tier).count();
        let note =
            notice::shortened(self.options, tiers.len(), count(Tier::FirstSentence), count(Tier::NameOnly));
        self.write(|index| tiers[index], note.as_deref())
    }

    /// Returns the text without entries, around the longest footer that `tiered` may need.
    pub(in crate::catalog) fn frame(&self) -> String {
        let total = self.items.len();
        let note = notice::shortened(self.options, total, total, total);
        self.bare(self.example(), note.as_deref())
    }

    /// Returns the text that sends the model to search.
    pub(in crate::catalog) fn search_only(&self) -> String {
        self.bare(None, Some(&notice::search_only(self.options, self.items.len())))
    }

    /// Writes the item at `index`, with the line break after it.
    pub(in crate::catalog) fn entry(&self, out: &mut String, index: usize, tier: Tier) {
        let item = &self.items[index];
        let description = match tier {
            Tier::Full => Cow::Borrowed(&*item.description),
            Tier::FirstSentence => first_sentence(&item.description),
            Tier::NameOnly | Tier::Omitted => Cow::Borrowed(""),
        };
        self.layout.entry(out, item, Some(&*description).filter(|description| !description.is_empty()));
        if index + 1 < self.items.len() {
            out.push_str(self.layout.separator());
        }
        out.push('\n');
    }

    fn write(&self, tier: impl Fn(usize) -> Tier, note: Option<&str>) -> String {
        let entries = |item: &Item<'_>| item.name.len() + item.description.len() + MARKUP_BYTES;
        let mut out = String::with_capacity(FRAME_BYTES + self.items.iter().map(entries).sum::<usize>());
        let frame = Frame { options: self.options, example: self.example() };
        self.layout.open(&mut out, &frame);
        for index in 0..self.items.len() {
            self.entry(&mut out, index, tier(index));
        }
        self.layout.close(&mut out, &frame, note);
        trimmed(out)
    }

    fn bare(&self, example: Option<&str>, note: Option<&str>) -> String {
        let mut out = String::with_capacity(FRAME_BYTES);
        let frame = Frame { options: self.options, example };
        self.layout.open(&mut out, &frame);
        self.layout.close(&mut out, &frame, note);
        trimmed(out)
    }

    fn example(&self) -> Option<&'a str> {
        let is_bound = |item: &&Item<'_>| self.options.bound.iter().any(|name| *name == item.name);
        self.items.iter().find(|item| !is_bound(item)).map(|item| &*item.name)
    }
}

fn trimmed(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
    }
    text
}
