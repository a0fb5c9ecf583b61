//! What was not carried over, as far as anybody wants to read it.

use std::fmt::Display;

/// How many names are told, and how much of each.
const MAX_TOLD: usize = 100;
const MAX_LETTERS: usize = 200;

/// Names of what was not carried over. A command made them up, and may have made millions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LeftOut {
    names: Vec<String>,
    more: usize,
}

impl LeftOut {
    pub(crate) fn push(&mut self, name: &(impl Display + ?Sized)) {
        if self.names.len() >= MAX_TOLD {
            self.more += 1;
            return;
        }
        let letter = |letter: char| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter };
        self.names.push(name.to_string().chars().take(MAX_LETTERS).map(letter).collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the names, and how many more there are.
    pub(crate) fn told(mut self) -> Vec<String> {
        self.names.extend((self.more > 0).then(|| format!("{} more", self.more)));
        self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_command_made_up_are_told_in_short() {
        let mut left_out = LeftOut::default();
        assert!(left_out.is_empty());
        (0..120).for_each(|_| left_out.push(&"\u{1b}[2J".repeat(100)));
        let told = left_out.told();
        assert_eq!((told.len(), told[0].chars().count(), told[100].as_str()), (101, 200, "20 more"));
        assert!(!told[0].contains('\u{1b}'));
    }
}
