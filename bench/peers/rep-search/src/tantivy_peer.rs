//! tantivy, in memory: BM25 over one stemmed field that holds the name five times, the description four times
//! and the body once.
//!
//! As three fields with these boosts it finds far less (nDCG@10 .443): words that are common elsewhere are
//! rare in names, and count too much there.

use anyhow::{Context, Result};
use bench::pool::Skill;
use bench::ranker::Ranker;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Query, TermQuery};
use tantivy::schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions, Value};
use tantivy::tokenizer::TextAnalyzer;
use tantivy::{Index, Searcher, TantivyDocument, Term};

/// The repetitions of the name and the description.
const NAMES: usize = 5;
const DESCRIPTIONS: usize = 4;
/// The memory that one thread may fill before it writes.
const HEAP_BYTES: usize = 256 << 20;
const TOKENIZER: &str = "en_stem";

pub struct Tantivy {
    index: Index,
    text: Field,
    place: Field,
    analyzer: TextAnalyzer,
    searcher: Option<Searcher>,
}

impl Tantivy {
    pub fn new() -> Result<Self> {
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(TOKENIZER)
            .set_index_option(IndexRecordOption::WithFreqs);
        let text = TextOptions::default().set_indexing_options(indexing);
        let text = schema.add_text_field("text", text);
        let place = schema.add_u64_field("place", FAST | tantivy::schema::STORED);
        let index = Index::create_in_ram(schema.build());
        let analyzer = index.tokenizers().get(TOKENIZER).context("tantivy has no English stemmer")?;
        Ok(Self { index, text, place, analyzer, searcher: None })
    }

    fn fill(&mut self, skills: &[Skill]) -> Result<()> {
        let mut writer = self.index.writer_with_num_threads(1, HEAP_BYTES)?;
        for (place, skill) in skills.iter().enumerate() {
            let mut document = TantivyDocument::default();
            let (name, description) = (skill.document.name.as_str(), &*skill.document.description);
            (0..NAMES).for_each(|_| document.add_text(self.text, name));
            (0..DESCRIPTIONS).for_each(|_| document.add_text(self.text, description));
            document.add_text(self.text, &skill.body);
            document.add_u64(self.place, place as u64);
            writer.add_document(document)?;
        }
        writer.commit()?;
        // It is fastest with one segment.
        let segments = self.index.searchable_segment_ids()?;
        if segments.len() > 1 {
            writer.merge(&segments).wait()?;
        }
        writer.wait_merging_threads()?;
        self.searcher = Some(self.index.reader()?.searcher());
        Ok(())
    }

    fn search(&mut self, query: &str) -> Result<Vec<usize>> {
        let searcher = self.searcher.as_ref().context("nothing is indexed")?;
        let mut words: Vec<String> = Vec::new();
        let mut stream = self.analyzer.token_stream(query);
        while stream.advance() {
            words.push(stream.token().text.clone());
        }
        words.sort();
        words.dedup();
        // A disjunction of terms: nothing in the query is syntax.
        let queries = words.iter().map(|word| {
            let term = Term::from_field_text(self.text, word);
            Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)) as Box<dyn Query>
        });
        let queries: Vec<Box<dyn Query>> = queries.collect();
        let found =
            searcher.search(&BooleanQuery::union(queries), &TopDocs::with_limit(10).order_by_score())?;
        let place = |address| -> Result<usize> {
            let document: TantivyDocument = searcher.doc(address)?;
            let place = document.get_first(self.place).and_then(|value| value.as_u64());
            Ok(place.context("a document has no place")? as usize)
        };
        found.into_iter().map(|(_, address)| place(address)).collect()
    }
}

impl Ranker for Tantivy {
    fn name(&self) -> String {
        "tantivy".to_owned()
    }

    fn index(&mut self, skills: &[Skill]) {
        self.fill(skills).expect("tantivy indexes");
    }

    fn rank(&mut self, query: &str) -> Vec<usize> {
        self.search(query).expect("tantivy answers")
    }
}
