//! Parses YAML with `granit-parser`, under a budget.

use granit_parser::{ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, Span};

use super::simple;
use super::tree::{MappingEntry, Node, ParsedYaml, Range, Scalar};

/// The deepest nesting of collections.
pub const MAX_DEPTH: usize = 16;
/// The most scalars and collections.
pub const MAX_NODES: usize = 4096;

/// The reason why a text could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlFault {
    /// True if a limit was exceeded rather than the syntax broken.
    pub over_budget: bool,
    /// The message, in lower case.
    pub message: String,
    /// The byte offset it was noticed at.
    pub offset: usize,
}

/// Parses one YAML document.
pub fn parse(text: &str) -> Result<ParsedYaml, YamlFault> {
    match simple::parse(text) {
        Some(parsed) => Ok(parsed),
        None => parse_within(text, &mut { MAX_NODES }),
    }
}

/// Parses one YAML document of at most `nodes` values, and takes those it has from `nodes`.
///
/// A text that is read in pieces has one budget for all of them.
pub fn parse_within(text: &str, nodes: &mut usize) -> Result<ParsedYaml, YamlFault> {
    let mut options = Options::default();
    options.flow_nesting_limit = MAX_DEPTH;
    options.block_nesting_limit = MAX_DEPTH;
    options.emit_comments = true;
    let parser = Parser::new_from_str_with_options(text, options);
    let mut builder = Builder { text, parser, comments: Vec::new(), nodes_left: *nodes };
    let root = builder.document()?;
    *nodes = builder.nodes_left;
    Ok(ParsedYaml { root, comments: builder.comments })
}

struct Builder<'a> {
    text: &'a str,
    parser: Parser<'a, granit_parser::StrInput<'a>>,
    comments: Vec<Range>,
    nodes_left: usize,
}

impl<'a> Builder<'a> {
    fn document(&mut self) -> Result<Option<Node>, YamlFault> {
        let mut root = None;
        let mut documents = 0;
        while let Some((event, span)) = self.next()? {
            match event {
                Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
                Event::DocumentStart(..) => {
                    documents += 1;
                    if documents > 1 {
                        return Err(self.fault("more than one YAML document", &span));
                    }
                }
                event => root = Some(self.node(event, &span, 0)?),
            }
        }
        // A document of nothing but comments comes as one empty plain scalar.
        Ok(root.filter(|node| !matches!(node, Node::Scalar(s) if s.plain && s.text.is_empty())))
    }

    /// Returns the next event that is not a comment.
    fn next(&mut self) -> Result<Option<(Event<'a>, Span)>, YamlFault> {
        loop {
            match self.parser.next() {
                None => return Ok(None),
                Some(Err(error)) => return Err(self.syntax(&error)),
                Some(Ok((Event::Comment(..), span))) => {
                    let range = self.range(&span);
                    self.comments.push(range);
                }
                Some(Ok(pair)) => return Ok(Some(pair)),
            }
        }
    }

    fn node(&mut self, event: Event<'a>, span: &Span, depth: usize) -> Result<Node, YamlFault> {
        let Some(nodes_left) = self.nodes_left.checked_sub(1) else {
            return Err(self.over_budget(&format!("more than {MAX_NODES} values"), span));
        };
        self.nodes_left = nodes_left;
        if depth > MAX_DEPTH {
            return Err(self.over_budget(&format!("nested deeper than {MAX_DEPTH} levels"), span));
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_properties(anchor, tag.is_some(), span)?;
                let plain = style == ScalarStyle::Plain;
                Ok(Node::Scalar(Scalar { text: text.into_owned(), plain, range: self.range(span) }))
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.refuse_properties(anchor, tag.is_some(), span)?;
                self.sequence(span, depth)
            }
            Event::MappingStart(_, anchor, tag) => {
                self.refuse_properties(anchor, tag.is_some(), span)?;
                self.mapping(span, depth)
            }
            Event::Alias(..) | Event::UnresolvedAlias(..) | Event::Anchor(..) => {
                Err(self.over_budget("anchors and aliases are not allowed", span))
            }
            _ => Err(self.fault("unexpected end", span)),
        }
    }

    fn sequence(&mut self, start: &Span, depth: usize) -> Result<Node, YamlFault> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.expect(start)?;
            if matches!(event, Event::SequenceEnd) {
                let range = self.range(start).start..self.range(&span).end;
                return Ok(Node::Sequence(items, range));
            }
            items.push(self.node(event, &span, depth + 1)?);
        }
    }

    fn mapping(&mut self, start: &Span, depth: usize) -> Result<Node, YamlFault> {
        let mut entries = Vec::new();
        loop {
            let (event, span) = self.expect(start)?;
            if matches!(event, Event::MappingEnd) {
                let range = self.range(start).start..self.range(&span).end;
                return Ok(Node::Mapping(entries, range));
            }
            let Node::Scalar(key) = self.node(event, &span, depth + 1)? else {
                return Err(self.fault("a key must be plain text", &span));
            };
            let (event, span) = self.expect(start)?;
            let value = self.node(event, &span, depth + 1)?;
            entries.push(MappingEntry { key, value });
        }
    }

    fn expect(&mut self, start: &Span) -> Result<(Event<'a>, Span), YamlFault> {
        self.next()?.ok_or_else(|| self.fault("unexpected end", start))
    }

    fn refuse_properties(&self, anchor: usize, tagged: bool, span: &Span) -> Result<(), YamlFault> {
        if anchor != 0 {
            return Err(self.over_budget("anchors and aliases are not allowed", span));
        }
        if tagged {
            return Err(self.over_budget("tags are not allowed", span));
        }
        Ok(())
    }

    fn range(&self, span: &Span) -> Range {
        let start = span.start.byte_offset().unwrap_or(0).min(self.text.len());
        let end = span.end.byte_offset().unwrap_or(start).clamp(start, self.text.len());
        start..end
    }

    fn syntax(&self, error: &ScanError) -> YamlFault {
        YamlFault {
            over_budget: is_limit(error.kind()),
            message: error.info(),
            offset: error.marker().byte_offset().unwrap_or(0).min(self.text.len()),
        }
    }

    fn fault(&self, message: &str, span: &Span) -> YamlFault {
        YamlFault { over_budget: false, message: message.to_owned(), offset: self.range(span).start }
    }

    fn over_budget(&self, message: &str, span: &Span) -> YamlFault {
        YamlFault { over_budget: true, ..self.fault(message, span) }
    }
}

/// Returns whether the parser stopped at one of its limits rather than at the syntax.
fn is_limit(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::RecursionLimitExceeded
            | ErrorKind::InputByteLimitExceeded { .. }
            | ErrorKind::DirectiveByteLimitExceeded { .. }
            | ErrorKind::TooManyReservedDirectiveParams { .. }
            | ErrorKind::TooManyComments
            | ErrorKind::AnchorCountOverflow
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn json(text: &str) -> Value {
        parse(text).unwrap().root.map_or(Value::Null, |node| node.to_json())
    }

    #[test]
    fn scalars_are_typed_by_the_core_schema() {
        let check = |text: &str, expect: Value| {
            assert_eq!(json(&format!("v: {text}")), json!({ "v": expect }), "{text}")
        };
        check("1.0", json!(1.0));
        check("1", json!(1));
        check("-12", json!(-12));
        check("+3", json!(3));
        check("0o17", json!(15));
        check("0x1F", json!(31));
        check("1e3", json!(1000.0));
        check(".5", json!(0.5));
        check("\"1.0\"", json!("1.0"));
        check("'true'", json!("true"));
        check("true", json!(true));
        check("yes", json!("yes"));
        check("no", json!("no"));
        check("~", json!(null));
        check("", json!(null));
        check("2024-01-02", json!("2024-01-02"));
        check("1.2.3", json!("1.2.3"));
        check(".nan", json!(".nan"));
        check("12:30:45", json!("12:30:45"));
        check("0o-7", json!("0o-7"));
    }

    #[test]
    fn numbers_that_json_cannot_hold_are_recognised() {
        let is_beyond = |text: &str| {
            let Some(Node::Mapping(entries, _)) = parse(&format!("v: {text}")).unwrap().root else {
                panic!()
            };
            matches!(&entries[0].value, Node::Scalar(scalar) if scalar.is_number_beyond_json())
        };
        for text in [".inf", "-.Inf", "+.INF", ".nan", ".NaN", "1e400", "-1e400", "0xFFFFFFFFFFFFFFFFFF"] {
            assert!(is_beyond(text), "{text}");
        }
        for text in [
            "\".inf\"",
            "'1e400'",
            "inf",
            "nan",
            "-.nan",
            ".infinity",
            "1e3",
            "1.0",
            "x",
            "1.2.3",
            "0o9",
            "-x",
            ".",
        ] {
            assert!(!is_beyond(text), "{text}");
        }
    }

    #[test]
    fn scalars_keep_their_source_text() {
        let Some(Node::Mapping(entries, _)) = parse("version: 1.10\nname: 007").unwrap().root else {
            panic!()
        };
        let text = |index: usize| match &entries[index].value {
            Node::Scalar(scalar) => scalar.text.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!([text(0), text(1)], ["1.10", "007"]);
    }

    #[test]
    fn collections_of_every_style() {
        assert_eq!(
            json("a: [x, {y: 1}]\nb:\n  - p\n  - q: r\nc: >\n  one\n  two\nd: |\n  l1\n  l2\n"),
            json!({
                "a": ["x", {"y": 1}], "b": ["p", {"q": "r"}], "c": "one two\n", "d": "l1\nl2\n"
            })
        );
        assert_eq!(json("m: {\n  \"a\": 1,\n  \"b\": [1, 2,],\n}\n"), json!({"m": {"a": 1, "b": [1, 2]}}));
    }

    #[test]
    fn empty_text_has_no_root() {
        assert_eq!(parse("").unwrap().root, None);
        assert_eq!(parse("# only a comment\n").unwrap().root, None);
    }

    #[test]
    fn the_budget_is_kept() {
        let over = |text: &str| parse(text).unwrap_err().over_budget;
        assert!(over("a: &x 1\nb: *x"));
        assert!(over("a: &x 1"));
        assert!(over("a: !!python/object:os.system x"));
        assert!(over("a: !!str x"));
        assert!(over(&format!("a: {}", "[".repeat(1000))));
        assert!(over(&format!("a: {}{}", "[".repeat(20), "]".repeat(20))));
        assert!(over(&"- ".repeat(30_000)));
        assert!(over(&(0..20).map(|depth| format!("{}k:\n", " ".repeat(depth))).collect::<String>()));
        assert!(over(&(0..5000).map(|i| format!("k{i}: v\n")).collect::<String>()));
    }

    #[test]
    fn syntax_errors_say_where() {
        let fault = parse("name: x\ndescription: a: b\n").unwrap_err();
        assert!(!fault.over_budget, "{fault:?}");
        assert!(fault.offset >= 8, "{fault:?}");
        assert!(parse("a: *undefined").is_err());
        assert!(parse("a: 1\n---\nb: 2").is_err());
        assert!(parse("? [a]\n: b").is_err());
    }

    /// Returns the tree as text, with ranges as the text they cover.
    fn told(text: &str, node: &Node) -> String {
        let covered = |range: &Range| text[range.clone()].trim_end().to_owned();
        match node {
            Node::Scalar(s) => format!("{:?} {} {:?} @{}", s.text, s.plain, covered(&s.range), s.range.start),
            Node::Sequence(items, range) => {
                let items: Vec<String> = items.iter().map(|item| told(text, item)).collect();
                format!("[{}] @{}", items.join(", "), range.start)
            }
            Node::Mapping(entries, range) => {
                let entries = entries.iter().map(|entry| {
                    let MappingEntry { key, value } = entry;
                    format!(
                        "{:?} {:?} @{}: {}",
                        key.text,
                        covered(&key.range),
                        key.range.start,
                        told(text, value)
                    )
                });
                format!("{{{}}} @{}", entries.collect::<Vec<_>>().join(", "), range.start)
            }
        }
    }

    fn check_short_way(text: &str) {
        let Some(short) = simple::parse(text) else { return };
        let long =
            parse_within(text, &mut { MAX_NODES }).unwrap_or_else(|fault| panic!("{text:?}: {fault:?}"));
        let root = |parsed: &ParsedYaml| parsed.root.as_ref().map(|root| told(text, root));
        assert_eq!(root(&short), root(&long), "{text:?}");
        assert!(long.comments.is_empty(), "{text:?}");
    }

    #[test]
    fn the_short_way_is_taken_by_ordinary_frontmatter() {
        let ordinary = "name: a\ndescription: Does things, e.g. C#. Use when: no\n";
        assert!(simple::parse(ordinary).is_none(), "a colon and a blank need the parser");
        let ordinary = "name: a\ndescription: 'Does things'\nlicense: MIT\nmetadata:\n  a: b\n  v: \"1.0\"\n";
        assert!(simple::parse(ordinary).is_some());
        check_short_way(ordinary);
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { cases: 4096, failure_persistence: None, ..Default::default() })]

        #[test]
        fn the_short_way_leads_to_the_same_place(lines in proptest::collection::vec(
            "( {0,2})(- )?[a-z]{1,3}(: ?| :|:  )?[a-zé0-9\"' :#,\\[\\]{}&*!|>%@`~.=+-]{0,8} {0,2}", 1..6
        )) {
            check_short_way(&lines.join("\n"));
            check_short_way(&(lines.join("\n") + "\n"));
        }

        #[test]
        fn the_short_way_survives_anything(text in "\\PC{0,40}|[a-z:\n \"'#-]{0,40}") {
            check_short_way(&text);
        }
    }
}
