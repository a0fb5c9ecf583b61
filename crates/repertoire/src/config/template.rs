//! The commented configuration file that `rep init` writes.

/// A configuration file with the keys that people change most, commented out.
pub const TEMPLATE: &str = include_str!("template.toml");

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::super::trust::FileTrust;
    use super::*;

    #[test]
    fn the_template_has_ten_keys_that_a_project_may_set() {
        let project = tempfile::tempdir().unwrap();
        let parse = |text: &str| parse(text, project.path(), &FileTrust::Within(project.path().to_owned()));
        let (assignments, faults) = parse(TEMPLATE);
        assert_eq!((assignments.len(), faults), (0, vec![]));
        let is_setting = |line: &str| line.strip_prefix("# ").is_some_and(|line| line.contains(" = "));
        let bare: Vec<&str> =
            TEMPLATE.lines().map(|line| if is_setting(line) { &line[2..] } else { line }).collect();
        let (assignments, faults) = parse(&bare.join("\n"));
        assert_eq!((assignments.len(), faults), (10, vec![]));
    }
}
