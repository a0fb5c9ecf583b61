//! The few colours there are.

/// The role of a piece of text, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Heading,
    /// The name of a skill.
    Name,
    /// Something that matters less.
    Faint,
    /// Success.
    Good,
    /// Information.
    Info,
    Warning,
    Error,
    Hint,
    /// A line that a diff adds.
    Added,
    /// A line that a diff removes.
    Removed,
}

impl Style {
    /// Returns the style of a line of a unified diff.
    pub(crate) fn of_diff_line(line: &str) -> Option<Self> {
        match line.as_bytes().first() {
            Some(b'+') => Some(Self::Added),
            Some(b'-') => Some(Self::Removed),
            Some(b'@') => Some(Self::Faint),
            _ => None,
        }
    }

    pub(crate) fn paint(self, text: &str, is_coloured: bool) -> String {
        if !is_coloured || text.is_empty() {
            return text.to_owned();
        }
        let codes = match self {
            Self::Heading => "1",
            Self::Name => "1;36",
            Self::Faint => "2",
            Self::Good | Self::Added => "32",
            Self::Info => "34",
            Self::Warning => "33",
            Self::Error => "1;31",
            Self::Hint => "36",
            Self::Removed => "31",
        };
        format!("\x1b[{codes}m{text}\x1b[0m")
    }
}

impl From<repertoire_model::Severity> for Style {
    fn from(severity: repertoire_model::Severity) -> Self {
        match severity {
            repertoire_model::Severity::Info => Self::Info,
            repertoire_model::Severity::Warning => Self::Warning,
            repertoire_model::Severity::Error => Self::Error,
        }
    }
}
