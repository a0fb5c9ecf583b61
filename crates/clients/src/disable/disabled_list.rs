//! The key `disabled` of one configuration file, edited in place.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use repertoire::change::{FileStep, MAX_FILE_BYTES, PathStep};
use repertoire::config::ConfigFileOwner;
use repertoire::regular_file;
use repertoire_model::Pattern;
use toml_edit::{Array, Decor, DocumentMut, Item, RawString, Value};

use crate::Error;
use crate::edit::{implicit_table, toml_text};

/// The name of the key.
const KEY: &str = "disabled";

/// The list of disabled skills in one configuration file.
pub struct DisabledList {
    path: PathBuf,
    owner: ConfigFileOwner,
    /// The text of the file, if there is one.
    before: Option<String>,
    document: DocumentMut,
}

impl DisabledList {
    /// Reads the file at `path`, which is of `owner`.
    pub fn open(path: PathBuf, owner: ConfigFileOwner) -> Result<Self, Error> {
        // A link in the home directory stays one; a project's file that is a link is not read.
        let path = fs::canonicalize(&path).unwrap_or(path);
        let failed = |error| Error::io("read", &path, error);
        let before = match regular_file::read(&path, MAX_FILE_BYTES) {
            Ok(bytes) => Some(String::from_utf8(bytes).map_err(|error| failed(io::Error::other(error)))?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        let document = before.as_deref().unwrap_or_default().parse();
        let document = document.map_err(|error: toml_edit::TomlError| failed(io::Error::other(error)))?;
        Ok(Self { path, owner, before, document })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the file is the user's, which holds in all projects.
    pub fn is_of_user(&self) -> bool {
        self.owner == ConfigFileOwner::User
    }

    /// Returns `true` if the file was named by the caller, and so says nothing about clients.
    pub fn is_named(&self) -> bool {
        self.owner == ConfigFileOwner::Named
    }

    /// Returns the patterns of the list.
    pub fn patterns(&self) -> Vec<Pattern> {
        let list = self.document.get(KEY).and_then(Item::as_array);
        list.into_iter().flatten().filter_map(|item| Pattern::new(item.as_str()?).ok()).collect()
    }

    /// Adds `pattern` to the list.
    pub fn add(&mut self, pattern: &Pattern) {
        let list = self.document.entry(KEY).or_insert_with(|| toml_edit::value(Array::new()));
        if let Some(list) = list.as_array_mut() {
            push(list, &pattern.to_string());
        }
    }

    /// Takes `pattern` out of the list; returns `false` if it is not in it.
    pub fn remove(&mut self, pattern: &Pattern) -> bool {
        let Some(list) = self.document.get_mut(KEY).and_then(Item::as_array_mut) else { return false };
        let is_meant =
            |item: &Value| item.as_str().and_then(|text| Pattern::new(text).ok()).as_ref() == Some(pattern);
        let found = list.iter().enumerate().filter(|(_, item)| is_meant(item));
        let found: Vec<usize> = found.map(|(index, _)| index).collect();
        for index in found.iter().rev() {
            remove(list, *index);
        }
        let is_removed = !found.is_empty();
        if is_removed && list.is_empty() && !self.has_comment() {
            self.document.remove(KEY);
        }
        is_removed
    }

    /// Adds the kit `name` with `skills` to the file; returns `false` if it cannot be added to what is there.
    pub fn add_kit(&mut self, name: &str, skills: &[Pattern]) -> bool {
        let kits = self.document.entry("kits").or_insert_with(implicit_table).as_table_like_mut();
        let Some(kits) = kits.filter(|kits| !kits.contains_key(name)) else { return false };
        let names: Array = skills.iter().map(Pattern::to_string).collect();
        kits.insert(name, Item::Table([("skills", toml_edit::value(names))].into_iter().collect()));
        true
    }

    /// Returns whether removing the key would remove a comment.
    fn has_comment(&self) -> bool {
        let above = self.document.key(KEY).and_then(|key| key.leaf_decor().prefix());
        let value = self.document.get(KEY).and_then(Item::as_value);
        let inside = value.and_then(Value::as_array).map(Array::trailing);
        let behind = value.and_then(|value| value.decor().suffix());
        [above, inside, behind]
            .into_iter()
            .flatten()
            .any(|text| text.as_str().is_none_or(|text| text.contains('#')))
    }

    /// Returns the step that writes the file, if the list was changed.
    pub fn step(&self) -> Option<PathStep> {
        let after = toml_text(self.before.as_deref().unwrap_or_default(), &self.document);
        let is_changed = self.before.as_deref().unwrap_or_default() != after;
        let (path, before) = (self.path.clone(), self.before.clone());
        is_changed.then_some(PathStep::UserFile(FileStep { path, before, after: Some(after) }))
    }
}

/// Adds an item. In a list of several lines it gets its own line, behind the comments that are there.
fn push(list: &mut Array, text: &str) {
    if !is_of_lines(list) {
        list.push(text);
        return list.fmt();
    }
    let mut gaps = gaps(list);
    let end = gaps.pop().unwrap_or_default();
    let indent = gaps.iter().rev().find_map(|gap| Some(gap.rsplit_once('\n')?.1));
    let (before, end) = end.rfind('\n').map_or((end.as_str(), ""), |at| end.split_at(at));
    let before = format!("{before}\n{}", indent.unwrap_or("  "));
    gaps.extend([before, end.to_owned()]);
    list.push(text);
    set_gaps(list, gaps);
}

/// Takes an item out, with the comment at the end of its line if it has the line for itself.
fn remove(list: &mut Array, index: usize) {
    if !is_of_lines(list) {
        list.remove(index);
        return list.fmt();
    }
    let mut gaps = gaps(list);
    list.remove(index);
    let behind = gaps.remove(index + 1);
    if let Some(before) = gaps.get_mut(index) {
        match (before.rfind('\n'), behind.find('\n')) {
            (Some(line), Some(end)) => before.replace_range(line.., &behind[end..]),
            (None, _) => *before = behind,
            (_, None) => {}
        }
    }
    set_gaps(list, gaps);
    if !is_of_lines(list) {
        list.fmt();
    }
}

fn is_of_lines(list: &Array) -> bool {
    list.to_string().contains('\n')
}

/// Returns the texts around the items without the commas: before the first, between two, and behind the last.
fn gaps(list: &Array) -> Vec<String> {
    let text = |raw: Option<&RawString>| raw.and_then(RawString::as_str).unwrap_or_default().to_owned();
    let mut gaps = Vec::new();
    let mut gap = String::new();
    for item in list {
        gap.push_str(&text(item.decor().prefix()));
        gaps.push(gap);
        gap = text(item.decor().suffix());
    }
    gap.push_str(&text(Some(list.trailing())));
    gaps.push(gap);
    gaps
}

/// Writes the texts around the items.
fn set_gaps(list: &mut Array, gaps: Vec<String>) {
    let mut gaps = gaps.into_iter();
    for item in list.iter_mut() {
        *item.decor_mut() = Decor::new(gaps.next().unwrap_or_default(), "");
    }
    list.set_trailing(gaps.next().unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> DisabledList {
        let (path, owner, document) = (PathBuf::new(), ConfigFileOwner::User, text.parse().unwrap());
        DisabledList { path, owner, before: Some(text.to_owned()), document }
    }

    fn pattern(text: &str) -> Pattern {
        Pattern::new(text).unwrap()
    }

    #[test]
    fn the_rest_of_the_file_stays_as_it_is() {
        let check = |before: &str, added: &str| {
            let mut edited = list(before);
            edited.add(&pattern("pdf"));
            assert_eq!(toml_text(before, &edited.document), added);
            let mut back = list(added);
            assert!(back.remove(&pattern("pdf")) && !back.remove(&pattern("pdf")));
            assert_eq!(toml_text(added, &back.document), before);
        };
        check("", "disabled = [\"pdf\"]\n");
        check("# Mine.\nroots = [\"a\"]\n", "# Mine.\nroots = [\"a\"]\ndisabled = [\"pdf\"]\n");
        check("# Mine.\n[scan]\nnested = true\n", "disabled = [\"pdf\"]\n# Mine.\n[scan]\nnested = true\n");
        check("disabled = [\"a\"] # why\n", "disabled = [\"a\", \"pdf\"] # why\n");
        check("roots = []\r\n\r\n[scan]\r\n", "roots = []\r\ndisabled = [\"pdf\"]\r\n\r\n[scan]\r\n");
        check("# Off.\ndisabled = []\n", "# Off.\ndisabled = [\"pdf\"]\n");
    }

    #[test]
    fn an_item_of_a_list_of_lines_has_its_own_line_and_comment() {
        let check = |before: &str, changes: &[&str], after: &str| {
            let mut edited = list(before);
            for change in changes {
                match change.split_at(1) {
                    ("+", name) => edited.add(&pattern(name)),
                    (_, name) => assert!(edited.remove(&pattern(name))),
                }
            }
            assert_eq!(toml_text(before, &edited.document), after);
        };
        let two = "disabled = [\n  # Slow.\n  \"a\", # why a\n  \"b\", # why b\n]\n";
        let three = "disabled = [\n  # Slow.\n  \"a\", # why a\n  \"b\", # why b\n  \"c\",\n]\n";
        check(two, &["+c"], three);
        check(three, &["-c"], two);
        check(three, &["-b"], "disabled = [\n  # Slow.\n  \"a\", # why a\n  \"c\",\n]\n");
        check(three, &["-a"], "disabled = [\n  # Slow.\n  \"b\", # why b\n  \"c\",\n]\n");
        check(two, &["-a", "-b"], "disabled = [\n  # Slow.\n]\n");
        check("disabled = [\n\t\"a\",\n]\n", &["-a"], "");
        check("disabled = [\n]\n", &["+a"], "disabled = [\n  \"a\"\n]\n");
        let no_comma = "disabled = [\r\n\t\"a\",\r\n\t\"b\" # why b\r\n]\r\n";
        check(no_comma, &["+c"], "disabled = [\r\n\t\"a\",\r\n\t\"b\", # why b\r\n\t\"c\"\r\n]\r\n");
        check(no_comma, &["-b"], "disabled = [\r\n\t\"a\"\r\n]\r\n");
        let shared = "disabled = [\n  \"a\", \"b\", # both\n  \"c\"]\n";
        check(shared, &["-b"], "disabled = [\n  \"a\", # both\n  \"c\"]\n");
        check(shared, &["-a"], "disabled = [\n  \"b\", # both\n  \"c\"]\n");
        check(shared, &["+d"], "disabled = [\n  \"a\", \"b\", # both\n  \"c\",\n  \"d\"]\n");
        check("disabled = [\"a\",\n  \"b\"]\n", &["-b"], "disabled = [\"a\"\n  ]\n");
    }

    #[test]
    fn a_kit_is_a_table_behind_the_others() {
        let check = |before: &str, after: &str| {
            let mut edited = list(before);
            assert!(edited.add_kit("web", &[pattern("css-*"), pattern("html")]));
            assert!(!edited.add_kit("web", &[pattern("pdf")]));
            assert_eq!(toml_text(before, &edited.document), after);
        };
        let kit = "[kits.web]\nskills = [\"css-*\", \"html\"]\n";
        check("", kit);
        check("# Mine.\nroots = []\n", &format!("# Mine.\nroots = []\n\n{kit}"));
        check("[kits.a]\nskills = [\"b\"]\n", &format!("[kits.a]\nskills = [\"b\"]\n\n{kit}"));
        assert!(!list("kits = 1\n").add_kit("web", &[]));
    }

    #[test]
    fn a_byte_order_mark_stays() {
        let before = "\u{feff}# Mine.\ndisabled = []\n";
        let mut edited = list(before);
        edited.add(&pattern("pdf"));
        assert_eq!(toml_text(before, &edited.document), "\u{feff}# Mine.\ndisabled = [\"pdf\"]\n");
    }
}
