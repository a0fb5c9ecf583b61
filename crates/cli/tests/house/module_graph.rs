//! Reads the modules of a crate from its sources, and resolves the paths in them to the files that define the
//! items.
//!
//! A module is a file. The reader knows as much of Rust as that takes: comments, literals, attributes, items
//! and paths. `use` trees and re-exports are followed; items under `#[cfg(test)]` are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The longest chain of re-exports that is followed.
const MAX_ALIASES: usize = 20;

/// The modules of one crate.
#[derive(Default)]
pub(crate) struct ModuleGraph {
    modules: Vec<Module>,
}

#[derive(Default)]
struct Module {
    file: String,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// The names that the file defines.
    items: BTreeSet<String>,
    /// True if it has items or implementations, and is not just an index of other modules.
    has_logic: bool,
    /// The names that `use` brings in, with their paths.
    aliases: BTreeMap<String, Vec<String>>,
    /// The paths of `use …::*`.
    globs: Vec<Vec<String>>,
    /// Every path that the code of the file names.
    paths: BTreeSet<Vec<String>>,
}

/// The files that each file imports from, with the imported paths.
pub(crate) type Imports = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

impl ModuleGraph {
    /// Reads the crate whose root is `root`. `read` returns the text of a file, if it exists.
    pub(crate) fn read(root: &Path, read: &dyn Fn(&Path) -> Option<String>) -> Self {
        let mut graph = Self::default();
        graph.add(root, root.parent().unwrap().to_owned(), None, read);
        graph
    }

    fn add(
        &mut self,
        file: &Path,
        home: PathBuf,
        parent: Option<usize>,
        read: &dyn Fn(&Path) -> Option<String>,
    ) -> usize {
        let tokens = without_tests(&tokens(&read(file).unwrap_or_default()));
        let (mut module, declared) = parse(&tokens);
        module.file = file.to_string_lossy().into_owned();
        module.parent = parent;
        let index = self.modules.len();
        self.modules.push(module);
        for name in declared {
            let flat = home.join(&name).with_extension("rs");
            let nested = home.join(&name).join("mod.rs");
            let file = if read(&flat).is_some() { flat } else { nested };
            let child = self.add(&file, home.join(&name), Some(index), read);
            self.modules[index].children.insert(name, child);
        }
        index
    }

    /// Returns the imports of each file with items of its own from the others.
    pub(crate) fn imports(&self) -> Imports {
        let mut imports = Imports::new();
        for (index, module) in self.modules.iter().enumerate().filter(|(_, module)| module.has_logic) {
            let from = imports.entry(module.file.clone()).or_default();
            for path in &module.paths {
                let Some(target) = self.resolve(index, path, MAX_ALIASES) else { continue };
                let target = &self.modules[target];
                if target.has_logic && target.file != module.file {
                    from.entry(target.file.clone()).or_default().insert(path.join("::"));
                }
            }
        }
        imports
    }

    /// Returns the module whose file defines what `path` names within module `from`.
    fn resolve(&self, from: usize, path: &[String], aliases_left: usize) -> Option<usize> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.descend(0, rest, aliases_left),
            "self" => self.descend(from, rest, aliases_left),
            "super" => self.descend(self.modules[from].parent?, rest, aliases_left),
            _ => self.descend_into(from, path, aliases_left),
        }
    }

    fn descend(&self, module: usize, path: &[String], aliases_left: usize) -> Option<usize> {
        match path.first().map(String::as_str) {
            None => Some(module),
            Some("super") => self.descend(self.modules[module].parent?, &path[1..], aliases_left),
            Some("self" | "*") => Some(module),
            // A name that is not found is made by a macro, or is a method; the file is the nearest answer.
            Some(_) => self.descend_into(module, path, aliases_left).or(Some(module)),
        }
    }

    /// Follows a path whose first segment is a name in the scope of `module`.
    fn descend_into(&self, module: usize, path: &[String], aliases_left: usize) -> Option<usize> {
        let (first, rest) = path.split_first()?;
        let scope = &self.modules[module];
        if let Some(child) = scope.children.get(first) {
            return self.descend(*child, rest, aliases_left);
        }
        if scope.items.contains(first) {
            return Some(module);
        }
        let aliases_left = aliases_left.checked_sub(1)?;
        if let Some(alias) = scope.aliases.get(first) {
            // `use first::…` names another crate, not itself.
            let is_itself = alias.first() == Some(first) && !scope.children.contains_key(first);
            let whole: Vec<String> = alias.iter().chain(rest).cloned().collect();
            return (!is_itself).then(|| self.resolve(module, &whole, aliases_left)).flatten();
        }
        scope.globs.iter().find_map(|glob| {
            let target = self.resolve(module, glob, aliases_left).filter(|target| *target != module)?;
            self.descend_into(target, path, aliases_left)
        })
    }
}

/// Splits Rust into identifiers, `::` and single characters, without comments and literals.
fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = chars.get(at).copied() {
        let next = chars.get(at + 1).copied();
        if c == '/' && next == Some('/') {
            at += chars[at..].iter().take_while(|c| **c != '\n').count();
        } else if c == '/' && next == Some('*') {
            let end = (at + 2..chars.len()).find(|end| chars[*end..].starts_with(&['*', '/']));
            at = end.map_or(chars.len(), |end| end + 2);
        } else if let Some(end) = string_end(&chars, at) {
            at = end;
        } else if c == '\'' {
            at = match (next, chars.get(at + 2)) {
                (Some('\\'), _) => (at + 3..chars.len()).find(|end| chars[*end] == '\'').unwrap_or(at) + 1,
                (_, Some('\'')) => at + 3,
                // A lifetime: its name is not a path.
                _ => at + 1 + chars[at + 1..].iter().take_while(|c| is_word(**c)).count(),
            };
        } else if is_word(c) {
            let length = chars[at..].iter().take_while(|c| is_word(**c)).count();
            tokens.push(chars[at..at + length].iter().collect());
            at += length;
        } else if c == ':' && next == Some(':') {
            tokens.push("::".to_owned());
            at += 2;
        } else {
            if !c.is_whitespace() {
                tokens.push(c.to_string());
            }
            at += 1;
        }
    }
    tokens
}

/// Returns the position behind the string literal that starts at `at`, if one does.
fn string_end(chars: &[char], at: usize) -> Option<usize> {
    let is_inside_word = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    let prefix = chars[at..].iter().take_while(|c| matches!(c, 'b' | 'c' | 'r')).count();
    let is_raw = prefix > 0 && chars[at + prefix - 1] == 'r';
    let hashes = if is_raw { chars[at + prefix..].iter().take_while(|c| **c == '#').count() } else { 0 };
    let mut end = at + prefix + hashes;
    if prefix > 2 || (prefix > 0 && is_inside_word) || chars.get(end) != Some(&'"') {
        return None;
    }
    end += 1;
    while end < chars.len() {
        match chars[end] {
            '\\' if !is_raw => end += 1,
            '"' if chars[end + 1..].iter().take_while(|c| **c == '#').count() >= hashes => {
                return Some(end + 1 + hashes);
            }
            _ => {}
        }
        end += 1;
    }
    Some(end)
}

/// Returns the position behind the bracket that closes the one at `open`.
fn group_end(tokens: &[String], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// Returns the tokens without attributes, and without items and statements that are for tests alone.
fn without_tests(tokens: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut is_for_tests = false;
    let mut at = 0;
    while at < tokens.len() {
        let is_inner = tokens[at] == "#" && tokens.get(at + 1).is_some_and(|next| next == "!");
        let open = at + 1 + usize::from(is_inner);
        if tokens[at] == "#" && tokens.get(open).is_some_and(|next| next == "[") {
            let end = group_end(tokens, open);
            let words: Vec<&str> = tokens[open + 1..end].iter().map(String::as_str).collect();
            is_for_tests |= words.starts_with(&["test", "]"])
                || words.starts_with(&["cfg", "(", "test", ")"])
                || words.starts_with(&["cfg", "(", "all", "(", "test", ","]);
            at = end;
        } else if is_for_tests {
            let end = (at..tokens.len()).find(|end| matches!(tokens[*end].as_str(), ";" | "{"));
            at = end.map_or(
                tokens.len(),
                |end| {
                    if tokens[end] == "{" { group_end(tokens, end) } else { end + 1 }
                },
            );
            is_for_tests = false;
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// Returns the module that `tokens` are the text of, and the names of the modules that it declares in other
/// files.
fn parse(tokens: &[String]) -> (Module, Vec<String>) {
    let mut module = Module::default();
    let mut declared = Vec::new();
    let mut reexports = Vec::new();
    let mut depth = 0_usize;
    let mut at = 0;
    let word = |at: usize| tokens.get(at).map_or("", String::as_str);
    while at < tokens.len() {
        match word(at) {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            "mod" if word(at + 2) == ";" => {
                declared.push(word(at + 1).to_owned());
                at += 2;
            }
            "use" if !matches!(word(at + 1), "<" | "::") => {
                let is_public = at > 0 && matches!(word(at - 1), "pub" | ")") && depth == 0;
                let end = (at..tokens.len()).find(|end| tokens[*end] == ";").unwrap_or(tokens.len());
                let mut leaves = Vec::new();
                use_tree(&tokens[at + 1..end], &[], &mut leaves);
                for (name, path) in leaves {
                    match (name.as_str(), is_public) {
                        ("*", _) => module.globs.push(path.clone()),
                        ("_", _) => {}
                        _ => _ = module.aliases.insert(name.clone(), path.clone()),
                    }
                    if is_public {
                        reexports.push((name, path));
                    } else {
                        module.paths.insert(path);
                    }
                }
                at = end;
            }
            "impl" if depth == 0 => module.has_logic = true,
            "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union" | "mod"
                if depth == 0 && word(at + 1) != "fn" =>
            {
                module.items.insert(word(at + 1).to_owned());
                at += 1;
            }
            "macro_rules" if depth == 0 => {
                module.items.insert(word(at + 2).to_owned());
                at += 2;
            }
            _ if word(at + 1) == "::" && !matches!(word(at.wrapping_sub(1)), "::" | "$") => {
                let mut path = vec![word(at).to_owned()];
                while word(at + 1) == "::"
                    && word(at + 2).starts_with(|c: char| c.is_alphabetic() || c == '_')
                {
                    path.push(word(at + 2).to_owned());
                    at += 2;
                }
                module.paths.insert(path);
            }
            _ => {}
        }
        at += 1;
    }
    module.has_logic |= !module.items.is_empty();
    // A re-export is an import only where the file uses the name itself.
    for (name, path) in reexports {
        let is_used = module.paths.iter().any(|other| other[0] == name)
            || tokens.iter().filter(|token| **token == name).count() > 1;
        if is_used && name != "*" {
            module.paths.insert(path);
        }
    }
    (module, declared)
}

/// Adds the names that a `use` tree brings in to `leaves`, with their paths.
fn use_tree(tokens: &[String], before: &[String], leaves: &mut Vec<(String, Vec<String>)>) {
    let mut path = before.to_vec();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token.as_str() {
            "::" => {}
            "{" => {
                let inside = &tokens[at + 1..group_end(tokens, at) - 1];
                let mut start = 0;
                let mut depth = 0_usize;
                for end in 0..=inside.len() {
                    match inside.get(end).map(String::as_str) {
                        Some("{") => depth += 1,
                        Some("}") => depth -= 1,
                        Some(",") | None if depth == 0 => {
                            if start < end {
                                use_tree(&inside[start..end], &path, leaves);
                            }
                            start = end + 1;
                        }
                        _ => {}
                    }
                }
                return;
            }
            "as" => {
                leaves.push((tokens.get(at + 1).cloned().unwrap_or_default(), path));
                return;
            }
            "*" => {
                leaves.push(("*".to_owned(), path));
                return;
            }
            "self" if !path.is_empty() => {}
            _ => path.push(token.clone()),
        }
        at += 1;
    }
    leaves.push((path.last().cloned().unwrap_or_default(), path));
}
