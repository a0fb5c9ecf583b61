//! The changes that are made to a library, and how they are undone.

use std::fs;
use std::path::{Path, PathBuf};

/// The kinds of changes, in turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A line more in the instructions, written in place.
    Body,
    /// Another description, written aside and renamed.
    Description,
    /// A skill that was not there.
    Add,
    /// That skill again gone.
    Remove,
}

impl Kind {
    /// Every kind, in the order of their turns.
    pub const ALL: [Self; 4] = [Self::Body, Self::Description, Self::Add, Self::Remove];

    /// Returns the kind's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Body => "body",
            Self::Description => "description",
            Self::Add => "add",
            Self::Remove => "remove",
        }
    }
}

/// A change that is about to be made.
pub struct Change {
    pub kind: Kind,
    /// The skill it is about.
    pub name: String,
    directory: PathBuf,
    text: String,
}

/// The files that were changed, as they were.
pub struct Changes {
    library: PathBuf,
    names: Vec<String>,
    originals: Vec<(PathBuf, String)>,
    made: usize,
}

impl Changes {
    /// Returns changes all over `library`.
    pub fn new(library: &Path) -> Self {
        let entries = fs::read_dir(library).expect("the library is there").flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().into_string().expect("a name of a skill")).collect();
        names.sort();
        Self { library: library.to_owned(), names, originals: Vec::new(), made: 0 }
    }

    /// Returns the next change, ready to be made: what comes before it is read here.
    pub fn next(&mut self) -> Change {
        const STRIDE: usize = 7_919;
        let number = self.made;
        self.made += 1;
        let model = &self.names[number * STRIDE % self.names.len()];
        let path = self.library.join(model).join("SKILL.md");
        let text = fs::read_to_string(&path).expect("a skill has text");
        let kind = Kind::ALL[number % Kind::ALL.len()];
        let added = format!("added-skill-{:05}", number / 4);
        let (name, text) = match kind {
            Kind::Body => (model.clone(), format!("{text}\nOne more line, the {number}th of all.\n")),
            Kind::Description => {
                (model.clone(), text.replacen("description: ", &format!("description: No. {number}. "), 1))
            }
            Kind::Add => (added.clone(), text.replacen(model.as_str(), &added, 1)),
            Kind::Remove => (added, String::new()),
        };
        if matches!(kind, Kind::Body | Kind::Description)
            && !self.originals.iter().any(|(known, _)| *known == path)
        {
            self.originals.push((path.clone(), fs::read_to_string(&path).expect("a skill has text")));
        }
        let directory = self.library.join(&name);
        Change { kind, name, directory, text }
    }

    /// Puts everything back.
    pub fn undo(&mut self) {
        for (path, text) in self.originals.drain(..) {
            fs::write(path, text).expect("what was written before can be written");
        }
        for number in 0..=self.made / 4 {
            let _ = fs::remove_dir_all(self.library.join(format!("added-skill-{number:05}")));
        }
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.undo();
    }
}

impl Change {
    /// Makes the change.
    pub fn make(&self) {
        let path = self.directory.join("SKILL.md");
        match self.kind {
            Kind::Body => fs::write(path, &self.text),
            Kind::Description => {
                let aside = self.directory.join(".SKILL.md.new");
                fs::write(&aside, &self.text).and_then(|()| fs::rename(aside, path))
            }
            Kind::Add => fs::create_dir(&self.directory).and_then(|()| fs::write(path, &self.text)),
            Kind::Remove => fs::remove_dir_all(&self.directory),
        }
        .expect("the library can be written");
    }
}
