//! Which folders a skill is linked in, so that as few clients as possible read it by more than one path.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::clients::{Client, Owner, Places};

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
    /// What was chosen; most skills ask the same.
    chosen: BTreeMap<Question, Folders>,
}

/// What a choice depends on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Question {
    /// The folders that have the skill already.
    pub(super) held: Folders,
    /// For each client that is to have it, the folders that it reads.
    pub(super) needs: Vec<Folders>,
    /// The choice that is made if none is better.
    pub(super) usual: Folders,
}

/// The best choice so far.
struct Best {
    folders: Folders,
    /// How many clients are offered the skill twice, and by how many folders.
    cost: (usize, u32),
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

    /// Returns the folders to link a skill in, so that all who need it have it. They are the usual ones, unless others offer
    /// it to fewer clients twice; of these the fewest that do.
    pub(super) fn choose(&mut self, question: Question) -> Folders {
        if let Some(chosen) = self.chosen.get(&question) {
            return *chosen;
        }
        let Question { held, needs, usual } = &question;
        // The usual choice wins against all that are as good, however few folders they have.
        let mut best = Best { folders: *usual, cost: (self.offered_twice(held | usual), 0) };
        let forced = needs.iter().filter(|need| need.count_ones() == 1).fold(0, |all, need| all | need);
        if best.cost.0 > self.offered_twice(*held) {
            self.search(*held, needs, forced, 0, &mut best);
        }
        self.chosen.insert(question, best.folders);
        best.folders
    }

    /// Looks for a choice that is better than `best` among those that have all of `choice` and none of `banned`.
    fn search(&self, held: Folders, needs: &[Folders], choice: Folders, banned: Folders, best: &mut Best) {
        let cost = (self.offered_twice(held | choice), choice.count_ones());
        // Another folder never makes it better.
        if cost >= best.cost {
            return;
        }
        let Some(need) = needs.iter().find(|need| **need & choice == 0) else {
            *best = Best { folders: choice, cost };
            return;
        };
        // What was tried with a folder is not tried again beside it, so that every choice comes once.
        let mut tried = banned;
        for folder in (0..Folders::BITS).map(|bit| 1 << bit).filter(|folder| need & !banned & folder != 0) {
            self.search(held, needs, choice | folder, tried, best);
            tried |= folder;
        }
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
    const KIRO: Folders = 16;
    const GROK: Folders = 32;
    const PI: Folders = 64;

    fn choose(readers: &[Folders], connected: &[Folders], held: Folders, needs: &[Folders]) -> Folders {
        let reader =
            |folders: &Folders, is_connected| Reader { client: &CLIENTS[0], folders: *folders, is_connected };
        let linked = readers.iter().map(|folders| reader(folders, false));
        let readers = linked.chain(connected.iter().map(|folders| reader(folders, true))).collect();
        let own = needs.iter().filter(|need| **need & AGENTS == 0).fold(0, |all, need| all | need);
        let mut readers = Readers { readers, ..Readers::default() };
        let question = Question { held, needs: needs.to_vec(), usual: AGENTS | own };
        let chosen = readers.choose(question.clone());
        assert_eq!(readers.choose(question), chosen, "the second time");
        chosen
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

    #[test]
    fn a_choice_may_have_many_folders() {
        let (cursor, gemini) = (AGENTS | CLAUDE | CURSOR, AGENTS | GEMINI);
        let four = [CLAUDE, KIRO, GROK, gemini, cursor];
        assert_eq!(choose(&four, &[], 0, &four), CLAUDE | KIRO | GROK | GEMINI);
        let five = [cursor, gemini, PI, GROK, KIRO, CLAUDE];
        assert_eq!(choose(&five, &[], 0, &five), CLAUDE | KIRO | GROK | PI | GEMINI);
    }

    #[test]
    fn no_choice_of_all_is_better() {
        // Every set of needs out of some, against all choices there are.
        let clients = [
            CLAUDE,
            KIRO,
            AGENTS | CLAUDE | CURSOR,
            AGENTS | GEMINI,
            AGENTS | CLAUDE | KIRO,
            GEMINI | GROK,
            AGENTS | GROK | PI,
        ];
        for picked in 1_usize..1 << clients.len() {
            let is_picked = |(index, _): &(usize, &Folders)| picked & (1 << index) != 0;
            let needs: Vec<Folders> =
                clients.iter().enumerate().filter(is_picked).map(|(_, need)| *need).collect();
            let twice =
                |choice: Folders| needs.iter().filter(|need| (*need & choice).count_ones() > 1).count();
            let serves = |choice: &Folders| needs.iter().all(|need| need & choice != 0);
            let fewest = (0..PI << 1).filter(serves).map(twice).min().unwrap();
            let chosen = choose(&needs, &[], 0, &needs);
            assert!(serves(&chosen), "{needs:?} {chosen}");
            assert_eq!(twice(chosen), fewest, "{needs:?} {chosen}");
        }
    }
}
