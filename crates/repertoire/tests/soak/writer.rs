//! A writer that changes the library.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::history::{Histories, State, Step};
use super::mark;
use super::permissions::{CLOSED, OPEN, set_mode};
use super::random::Random;

/// The longest pause between two changes of one writer, in milliseconds.
const PAUSE: usize = 25;
/// The longest time for which a directory cannot be read, in milliseconds.
const CLOSED_TIME: usize = 120;
/// No file is larger than what the system writes at once.
const FILLER: usize = 2_000;

/// One skill as its writer knows it.
#[derive(Debug)]
struct Slot {
    index: usize,
    /// The name of its directory.
    directory: String,
    skill: State,
    file: State,
    version: u64,
}

/// Changes its share of the skills at random.
pub(crate) struct Writer {
    root: PathBuf,
    /// A directory that is not watched, for preparing and removing directories.
    aside: PathBuf,
    slots: Vec<Slot>,
    histories: Arc<Histories>,
    random: Random,
    pub(crate) made: usize,
}

/// Returns the name of the skill number `index`.
pub(crate) fn name(index: usize) -> String {
    format!("soak-{index:02}")
}

/// Returns the name in the mark of the other file of the skill number `index`.
pub(crate) fn file_name(index: usize) -> String {
    format!("file-{index:02}")
}

/// Returns the text of a version of a skill.
fn text(index: usize, version: u64, filler: usize) -> String {
    let name = name(index);
    let line = mark::line(&name, version, filler);
    format!(
        "---\nname: {name}\ndescription: Does {name} things, version {version}. Use when asked.\n---\n{line}"
    )
}

/// Writes the files of a new skill: `SKILL.md` and another file, each with its version.
fn write_new(directory: &Path, index: usize, (version, file): (u64, u64), filler: usize) {
    fs::create_dir_all(directory.join("references")).unwrap();
    fs::write(directory.join("references/data.md"), mark::line(&file_name(index), file, filler)).unwrap();
    fs::write(directory.join("SKILL.md"), text(index, version, filler)).unwrap();
}

impl Writer {
    /// Returns the writer number `index` of `count`, with all its skills in place.
    pub(crate) fn new(
        directory: &Path,
        histories: &Arc<Histories>,
        index: usize,
        count: usize,
        random: Random,
    ) -> Self {
        let (root, aside) = (directory.join("skills"), directory.join(format!("aside-{index}")));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&aside).unwrap();
        let slot = |index| Slot {
            index,
            directory: name(index),
            skill: State::Absent,
            file: State::Absent,
            version: 0,
        };
        let slots = (index..histories.skills.len()).step_by(count).map(slot).collect();
        let mut writer = Self { root, aside, slots, histories: Arc::clone(histories), random, made: 0 };
        (0..writer.slots.len()).for_each(|slot| writer.add(slot, Step::AtOnce));
        writer
    }

    /// Makes one change, and rests.
    pub(crate) fn change(&mut self) {
        let slot = self.random.below(self.slots.len());
        let step = if self.random.below(2) == 0 { Step::AtOnce } else { Step::InSteps };
        let choice = self.random.below(100);
        match (self.slots[slot].skill, choice) {
            (State::Absent, 0..30) => self.add_closed(slot),
            (State::Absent, _) => self.add(slot, step),
            (_, 0..8) => self.remove(slot, step),
            (_, 8..15) => self.move_directory(slot),
            (_, 15..40) => self.write_file(slot, step),
            (State::Good(_), 40..50) => self.break_skill(slot, step),
            (State::Good(_), 50..56) => self.write_by_halves(slot),
            (_, 56..62) => self.close(slot),
            _ => self.write_skill(slot, step),
        }
        self.made += 1;
        std::thread::sleep(Duration::from_millis(self.random.below(PAUSE) as u64));
    }

    /// Makes all skills whole that are broken.
    pub(crate) fn mend(&mut self) {
        for slot in 0..self.slots.len() {
            if self.slots[slot].skill == State::Broken {
                self.write_skill(slot, Step::InSteps);
            }
        }
    }

    /// Does `work` while the skill and its file become `skill` and `file`.
    fn become_so(
        &mut self,
        slot: usize,
        (skill, file): (State, State),
        step: Step,
        work: impl FnOnce(&Self, &Path),
    ) {
        let Slot { index, skill: old_skill, file: old_file, .. } = self.slots[slot];
        let path = self.root.join(&self.slots[slot].directory);
        let (skills, files) = (&self.histories.skills[index], &self.histories.files[index]);
        // A directory that moves is another state of both, though they stay what they are.
        let is_all = skill == old_skill && file == old_file;
        if is_all || skill != old_skill {
            skills.begin(skill, step);
        }
        if is_all || file != old_file {
            files.begin(file, step);
        }
        work(self, &path);
        skills.end();
        files.end();
        (self.slots[slot].skill, self.slots[slot].file) = (skill, file);
    }

    fn next_version(&mut self, slot: usize) -> u64 {
        self.slots[slot].version += 1;
        self.slots[slot].version
    }

    /// Replaces the file at `path`.
    fn put(&self, path: &Path, text: &str, step: Step) {
        match step {
            Step::InSteps => fs::write(path, text).unwrap(),
            Step::AtOnce => {
                let aside = path.with_extension("new");
                fs::write(&aside, text).unwrap();
                fs::rename(aside, path).unwrap();
            }
        }
    }

    fn add(&mut self, slot: usize, step: Step) {
        let (version, file) = (self.next_version(slot), self.next_version(slot));
        let filler = self.random.below(FILLER);
        let index = self.slots[slot].index;
        self.become_so(slot, (State::Good(version), State::Good(file)), step, |writer, path| {
            let ready = match step {
                Step::AtOnce => writer.aside.join("ready"),
                Step::InSteps => path.to_owned(),
            };
            write_new(&ready, index, (version, file), filler);
            if step == Step::AtOnce {
                fs::rename(ready, path).unwrap();
            }
        });
    }

    /// Adds a skill as root copies it: its directory can be read only at the end.
    fn add_closed(&mut self, slot: usize) {
        let (version, file) = (self.next_version(slot), self.next_version(slot));
        let (filler, pause) = (self.random.below(FILLER), self.pause());
        let index = self.slots[slot].index;
        self.become_so(slot, (State::Good(version), State::Good(file)), Step::InSteps, |writer, path| {
            let ready = writer.aside.join("ready");
            write_new(&ready, index, (version, file), filler);
            set_mode(&ready, CLOSED);
            fs::rename(ready, path).unwrap();
            std::thread::sleep(pause);
            set_mode(path, OPEN);
        });
    }

    /// Makes the directory of a skill unreadable for a while.
    fn close(&mut self, slot: usize) {
        let Slot { skill, file, .. } = self.slots[slot];
        let pause = self.pause();
        self.become_so(slot, (skill, file), Step::InSteps, |_, path| {
            set_mode(path, CLOSED);
            std::thread::sleep(pause);
            set_mode(path, OPEN);
        });
    }

    fn pause(&mut self) -> Duration {
        Duration::from_millis(self.random.below(CLOSED_TIME) as u64)
    }

    fn remove(&mut self, slot: usize, step: Step) {
        self.become_so(slot, (State::Absent, State::Absent), step, |writer, path| match step {
            Step::AtOnce => fs::rename(path, writer.aside.join("gone")).unwrap(),
            Step::InSteps => fs::remove_dir_all(path).unwrap(),
        });
        let _ = fs::remove_dir_all(self.aside.join("gone"));
        self.slots[slot].directory = name(self.slots[slot].index);
    }

    /// Gives the directory of a skill another name; the skill keeps its own.
    fn move_directory(&mut self, slot: usize) {
        let Slot { index, skill, file, .. } = self.slots[slot];
        let directory = format!("{}-moved-{}", name(index), self.next_version(slot));
        let path = self.root.join(&directory);
        self.become_so(slot, (skill, file), Step::InSteps, |_, old| fs::rename(old, path).unwrap());
        self.slots[slot].directory = directory;
    }

    fn write_skill(&mut self, slot: usize, step: Step) {
        let (version, filler) = (self.next_version(slot), self.random.below(FILLER));
        let text = text(self.slots[slot].index, version, filler);
        let file = self.slots[slot].file;
        self.become_so(slot, (State::Good(version), file), step, |writer, path| {
            writer.put(&path.join("SKILL.md"), &text, step);
        });
    }

    /// Writes a skill as a slow program does: for a while there is half of its frontmatter.
    fn write_by_halves(&mut self, slot: usize) {
        let (version, filler) = (self.next_version(slot), self.random.below(FILLER));
        let text = text(self.slots[slot].index, version, filler);
        let file = self.slots[slot].file;
        let pause = self.pause();
        self.become_so(slot, (State::Good(version), file), Step::InSteps, |_, path| {
            let mut open = fs::File::create(path.join("SKILL.md")).unwrap();
            let (half, rest) = text.split_at(30);
            open.write_all(half.as_bytes()).unwrap();
            std::thread::sleep(pause);
            open.write_all(rest.as_bytes()).unwrap();
        });
    }

    fn break_skill(&mut self, slot: usize, step: Step) {
        let file = self.slots[slot].file;
        let text =
            ["---\nname: soak\ndescription: Does so", "", "---\n- no\n- skill\n---\n"][self.random.below(3)];
        self.become_so(slot, (State::Broken, file), step, |writer, path| {
            writer.put(&path.join("SKILL.md"), text, step);
        });
    }

    fn write_file(&mut self, slot: usize, step: Step) {
        let Slot { index, skill, file, .. } = self.slots[slot];
        if file != State::Absent && self.random.below(5) == 0 {
            return self.become_so(slot, (skill, State::Absent), Step::AtOnce, |_, path| {
                fs::remove_file(path.join("references/data.md")).unwrap();
            });
        }
        let (version, filler) = (self.next_version(slot), self.random.below(FILLER));
        let line = mark::line(&file_name(index), version, filler);
        self.become_so(slot, (skill, State::Good(version)), step, |writer, path| {
            writer.put(&path.join("references/data.md"), &line, step);
        });
    }
}
