//! Which folders a skill is linked in, so that as few clients as possible read it by more than one path.

use std::path::{Path, PathBuf};

use crate::clients::{Client, Owner, Places};

/// The most folders of one choice that is not the usual one.
const MAX_FOLDERS: usize = 3;

/// Some of the folders, one bit each.
pub(super) type Folders = u128;

/// A client that may be offered a skill, linked for or not.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    pub(super) client: &'static Client,
    /// The folders that it reads, in the project and of the user.
    folders: Folders,
    /// Whether a server offers it the skills already.
    is_connected: bool,
}

/// The clients and the folders that they read.
#[derive(Debug, Default)]
pub(super) struct Readers {
    pub(super) readers: Vec<Reader>,
    paths: Vec<PathBuf>,
}

impl Readers {
    /// Returns the readers that `clients` are; those of which `is_connected` is true have the skills from a server.
    pub(super) fn new(
        places: &Places,
        clients: impl Iterator<Item = &'static Client>,
        is_connected: impl Fn(&Client) -> bool,
    ) -> Self {
        let mut all = Self::default();
        for client in clients {
            if all.readers.iter().any(|reader| reader.client.id == client.id) {
                continue;
            }
            let paths = [Owner::Project, Owner::User].map(|owner| places.skills(client, owner)).concat();
            let folders = paths.iter().fold(0, |folders, path| folders | all.bit(path));
            all.readers.push(Reader { client, folders, is_connected: is_connected(client) });
        }
        all
    }

    /// Returns the folder at `path`.
    pub(super) fn bit(&mut self, path: &Path) -> Folders {
        let index = self.paths.iter().position(|known| known == path).unwrap_or_else(|| {
            self.paths.push(path.to_owned());
            self.paths.len() - 1
        });
        u32::try_from(index).ok().and_then(|index| 1_u128.checked_shl(index)).unwrap_or(0)
    }

    /// Returns the folders that hold a skill called `name` by now.
    pub(super) fn holding(&self, name: &str) -> Folders {
        let is_there = |(_, path): &(usize, &PathBuf)| path.join(name).join("SKILL.md").is_file();
        let held = self.paths.iter().enumerate().take(Folders::BITS as usize).filter(is_there);
        held.fold(0, |folders, (index, _)| folders | 1 << index)
    }

    /// Returns how many clients would be offered a skill twice that lies in `folders`.
    fn offered_twice(&self, folders: Folders) -> usize {
        let ways = |reader: &Reader| (reader.folders & folders).count_ones() + u32::from(reader.is_connected);
        self.readers.iter().filter(|reader| ways(reader) > 1).count()
    }

    /// Returns the folders to link a skill in that `held` have already: each of `needs`, the folders that one client reads,
    /// is to have it. It is the `usual` choice, unless another one offers it to fewer clients twice.
    pub(super) fn choose(&self, held: Folders, needs: &[Folders], usual: Folders) -> Folders {
        let fewest = self.offered_twice(held);
        let mut best = (self.offered_twice(held | usual), usual);
        let all = needs.iter().fold(0, |all, need| all | need);
        let candidates: Vec<Folders> =
            (0..Folders::BITS).map(|bit| 1 << bit).filter(|bit| all & bit != 0).collect();
        let mut choices: Vec<(Folders, usize)> = vec![(0, 0)];
        for _ in 0..MAX_FOLDERS {
            if best.0 <= fewest {
                break;
            }
            // Each choice grows by folders behind its last, so that every set comes once.
            let grown = |(choice, next): &(Folders, usize)| {
                let (choice, next) = (*choice, *next);
                let rest = candidates.iter().enumerate().skip(next);
                rest.map(move |(index, folder)| (choice | folder, index + 1)).collect::<Vec<_>>()
            };
            choices = choices.iter().flat_map(grown).collect();
            for (choice, _) in
                choices.iter().filter(|(choice, _)| needs.iter().all(|need| need & choice != 0))
            {
                let twice = self.offered_twice(held | choice);
                if twice < best.0 {
                    best = (twice, *choice);
                }
            }
        }
        best.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::CLIENTS;

    const AGENTS: Folders = 1;
    const CLAUDE: Folders = 2;
    const CURSOR: Folders = 4;
    const GEMINI: Folders = 8;

    fn choose(readers: &[Folders], connected: &[Folders], held: Folders, needs: &[Folders]) -> Folders {
        let reader =
            |folders: &Folders, is_connected| Reader { client: &CLIENTS[0], folders: *folders, is_connected };
        let linked = readers.iter().map(|folders| reader(folders, false));
        let readers = linked.chain(connected.iter().map(|folders| reader(folders, true))).collect();
        let own = needs.iter().filter(|need| **need & AGENTS == 0).fold(0, |all, need| all | need);
        Readers { readers, paths: Vec::new() }.choose(held, needs, AGENTS | own)
    }

    #[test]
    fn the_usual_choice_is_left_only_for_a_better_one() {
        let (claude, cursor, gemini) = (CLAUDE, AGENTS | CLAUDE | CURSOR, AGENTS | GEMINI);
        for (readers, connected, held, needs, expect) in [
            (vec![claude], vec![], 0, vec![claude], AGENTS | CLAUDE),
            (vec![claude, gemini], vec![], 0, vec![claude, gemini], AGENTS | CLAUDE),
            // Both read what the one reads alone.
            (vec![claude, cursor], vec![], 0, vec![claude, cursor], CLAUDE),
            (vec![claude, cursor, gemini], vec![], 0, vec![claude, cursor, gemini], CLAUDE | GEMINI),
            // Cursor is there, and reads it already.
            (vec![cursor, gemini], vec![], CLAUDE, vec![gemini], GEMINI),
            // It lies where Cursor reads it, and Claude reads one folder only.
            (vec![claude, cursor], vec![], AGENTS, vec![claude], AGENTS | CLAUDE),
            // Whoever has it from a server is not given it by a folder too.
            (vec![claude], vec![gemini], 0, vec![claude], CLAUDE),
        ] {
            assert_eq!(choose(&readers, &connected, held, &needs), expect, "{readers:?} {held} {needs:?}");
        }
    }
}
