//! tantivy, in memory: BM25 over name, description and body, stemmed, with boosts.

use anyhow::{Context, Result};
use bench::pool::Skill;
use bench::ranker::Ranker;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, BoostQuery, Query, TermQuery};
use tantivy::schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions, Value};
use tantivy::tokenizer::TextAnalyzer;
use tantivy::{Index, Searcher, TantivyDocument, Term};

/// What a word counts in each field.
const BOOSTS: [(&str, f32); 3] = [("name", 5.0), ("description", 4.0), ("body", 1.0)];
/// The memory that one thread may fill before it writes.
const HEAP_BYTES: usize = 256 << 20;
const TOKENIZER: &str = "en_stem";

pub struct Tantivy {
    index: Index,
    fields: Vec<(Field, f32)>,
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
        let fields = BOOSTS.map(|(name, boost)| (schema.add_text_field(name, text.clone()), boost)).to_vec();
        let place = schema.add_u64_field("place", FAST | tantivy::schema::STORED);
        let index = Index::create_in_ram(schema.build());
        let analyzer = index.tokenizers().get(TOKENIZER).context("tantivy has no English stemmer")?;
        Ok(Self { index, fields, place, analyzer, searcher: None })
    }

    fn fill(&mut self, skills: &[Skill]) -> Result<()> {
        let mut writer = self.index.writer_with_num_threads(1, HEAP_BYTES)?;
        for (place, skill) in skills.iter().enumerate() {
            let mut document = TantivyDocument::default();
            let texts = [skill.document.name.as_str(), &*skill.document.description, &*skill.body];
            for ((field, _), text) in self.fields.iter().zip(texts) {
                document.add_text(*field, text);
            }
            document.add_u64(self.place, place as u64);
            writer.add_document(document)?;
        }
        writer.commit()?;
        // One segment is what it answers from fastest.
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
        let terms = words
            .iter()
            .flat_map(|word| self.fields.iter().map(move |(field, boost)| (word, *field, *boost)));
        let queries: Vec<Box<dyn Query>> = terms
            .map(|(word, field, boost)| {
                let term = TermQuery::new(Term::from_field_text(field, word), IndexRecordOption::WithFreqs);
                Box::new(BoostQuery::new(Box::new(term), boost)) as Box<dyn Query>
            })
            .collect();
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
