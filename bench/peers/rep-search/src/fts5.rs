//! SQLite's FTS5, in memory: its bm25 over name, description and body, stemmed, with the weights 5, 4 and 1.

use anyhow::Result;
use bench::pool::Skill;
use bench::ranker::Ranker;
use rusqlite::{Connection, params};

const TABLE: &str =
    "CREATE VIRTUAL TABLE skills USING fts5(name, description, body, tokenize = 'porter unicode61')";
const SEARCH: &str =
    "SELECT rowid FROM skills WHERE skills MATCH ? ORDER BY bm25(skills, 5.0, 4.0, 1.0) LIMIT 10";

pub struct Fts5(Connection);

impl Fts5 {
    pub fn new() -> Result<Self> {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(TABLE)?;
        Ok(Self(connection))
    }

    fn fill(&mut self, skills: &[Skill]) -> Result<()> {
        let transaction = self.0.transaction()?;
        {
            let mut insert = transaction
                .prepare("INSERT INTO skills (rowid, name, description, body) VALUES (?, ?, ?, ?)")?;
            for (place, skill) in skills.iter().enumerate() {
                let document = &skill.document;
                insert.execute(params![
                    place as i64,
                    document.name.as_str(),
                    &*document.description,
                    skill.body
                ])?;
            }
        }
        transaction.execute("INSERT INTO skills (skills) VALUES ('optimize')", [])?;
        transaction.commit()?;
        Ok(())
    }

    fn search(&self, query: &str) -> Result<Vec<usize>> {
        let asked = disjunction(query);
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let mut search = self.0.prepare_cached(SEARCH)?;
        let places = search.query_map([asked], |row| row.get::<_, i64>(0))?;
        places.map(|place| Ok(place? as usize)).collect()
    }
}

/// Returns the words of `query`, each once and in quotes, so that nothing in it is syntax.
fn disjunction(query: &str) -> String {
    let words = query.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut words: Vec<String> = words.map(|word| format!("\"{}\"", word.to_lowercase())).collect();
    words.sort();
    words.dedup();
    words.join(" OR ")
}

impl Ranker for Fts5 {
    fn name(&self) -> String {
        "fts5".to_owned()
    }

    fn index(&mut self, skills: &[Skill]) {
        self.fill(skills).expect("FTS5 indexes");
    }

    fn rank(&mut self, query: &str) -> Vec<usize> {
        self.search(query).expect("FTS5 answers")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_have_no_syntax() {
        assert_eq!(
            disjunction("Fill \"this\" NEAR form* OR -form"),
            r#""fill" OR "form" OR "near" OR "or" OR "this""#
        );
        assert_eq!(disjunction("\" * -"), "");
        let fts5 = Fts5::new().unwrap();
        assert_eq!(fts5.search("NEAR(\"a\" b) AND NOT * ^ {x}: ☃").unwrap(), [] as [usize; 0]);
    }
}
