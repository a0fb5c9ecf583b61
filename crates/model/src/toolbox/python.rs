//! Finds the functions that `tools.py` defines, by its text alone.

/// The file of Python functions that run tools.
pub const PYTHON_FILE: &str = "tools.py";

/// Returns whether the text of a Python module gives a function the name `name` at its top level.
///
/// It looks for a definition, an assignment or an import; nothing is run.
pub(super) fn defines(module: &str, name: &str) -> bool {
    module.lines().any(|line| {
        let line = line.strip_prefix("async ").map_or(line, str::trim_start);
        if let Some(rest) = line.strip_prefix("def ") {
            return word(rest.trim_start()) == name;
        }
        if line.starts_with("from ") || line.starts_with("import ") {
            return line.split(|c: char| !is_part(c)).any(|part| part == name);
        }
        let is_assigned = |rest: &str| rest.trim_start().starts_with(['=', ':']);
        word(line) == name && line.strip_prefix(name).is_some_and(is_assigned)
    })
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the name that `text` begins with.
fn word(text: &str) -> &str {
    text.split(|c: char| !is_part(c)).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_assignments_and_imports_count() {
        let check = |module: &str, expect: bool| assert_eq!(defines(module, "go"), expect, "{module}");
        check("def go():\n", true);
        check("import x\n\nasync def go(a):\n", true);
        check("go = partial(f)\n", true);
        check("go: Callable = f\n", true);
        check("from .impl import stop, go\n", true);
        check("def going():\n", false);
        check("    def go(self):\n", false);
        check("go()\n", false);
        check("# def go\n", false);
        check("", false);
    }
}
