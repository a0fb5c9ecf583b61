//! Complaints about a document, and the way they are told: with the place and a line of the source under a caret.

use super::super::error::Crash;
use super::cursor::{Mark, is_break_or_end};

/// Why a document could not be loaded, ready to be shown.
#[derive(Debug)]
pub(in super::super) enum Refusal {
    /// A complaint, as it stands after `Invalid YAML in frontmatter: `.
    Yaml(String),
    /// A Python exception that nobody catches.
    Crash(Crash),
}

/// Why a document could not be loaded. Boxed, because every step of the scanner may return it.
#[derive(Debug)]
pub(super) struct Fault(Box<Kind>);

#[derive(Debug)]
enum Kind {
    Marked { context: Option<&'static str>, context_mark: Option<Mark>, problem: String, mark: Mark },
    Crash(Crash),
}

impl Fault {
    /// Returns the fault `problem` at `mark`.
    pub(super) fn new(problem: impl Into<String>, mark: Mark) -> Self {
        Self(Box::new(Kind::Marked { context: None, context_mark: None, problem: problem.into(), mark }))
    }

    /// Returns the fault `problem` at `mark`, met in the course of `context`.
    pub(super) fn in_context(context: &'static str, problem: impl Into<String>, mark: Mark) -> Self {
        let problem = problem.into();
        Self(Box::new(Kind::Marked { context: Some(context), context_mark: None, problem, mark }))
    }

    /// Returns the fault `problem` at `mark`, met in the course of `context`, which began at `since`.
    pub(super) fn since(context: &'static str, since: Mark, problem: impl Into<String>, mark: Mark) -> Self {
        let problem = problem.into();
        Self(Box::new(Kind::Marked { context: Some(context), context_mark: Some(since), problem, mark }))
    }

    /// Returns the fault of a Python exception that nobody catches.
    pub(super) fn crash(last_line: impl Into<String>) -> Self {
        Self(Box::new(Kind::Crash(Crash::new(last_line))))
    }

    /// Puts the fault in words, with excerpts from the document.
    pub(super) fn told_in(self, buffer: &[char]) -> Refusal {
        let (context, context_mark, problem, mark) = match *self.0 {
            Kind::Marked { context, context_mark, problem, mark } => (context, context_mark, problem, mark),
            Kind::Crash(crash) => return Refusal::Crash(crash),
        };
        let mut lines: Vec<String> = context.map(str::to_owned).into_iter().collect();
        // A context that is where the problem is goes unsaid.
        if let Some(since) = context_mark
            && (since.line, since.column) != (mark.line, mark.column)
        {
            lines.push(place(buffer, since));
        }
        lines.push(problem);
        lines.push(place(buffer, mark));
        Refusal::Yaml(lines.join("\n"))
    }
}

fn place(buffer: &[char], mark: Mark) -> String {
    let (line, column) = (mark.line + 1, mark.column + 1);
    format!("  in \"<unicode string>\", line {line}, column {column}:\n{}", excerpt(buffer, mark))
}

/// Returns the line around `mark`, shortened to what fits on a terminal, with a caret under the mark.
fn excerpt(buffer: &[char], mark: Mark) -> String {
    const REACH: usize = 36;
    const CUT: usize = 5;
    const CUT_SIGN: &str = " ... ";
    const INDENT: usize = 4;

    let (mut head, mut tail) = ("", "");
    let mut start = mark.index.min(buffer.len());
    while start > 0 && !is_break_or_end(buffer[start - 1]) {
        start -= 1;
        if mark.index - start > REACH {
            head = CUT_SIGN;
            start += CUT;
            break;
        }
    }
    let mut end = mark.index.min(buffer.len());
    while end < buffer.len() && !is_break_or_end(buffer[end]) {
        end += 1;
        if end - mark.index > REACH {
            tail = CUT_SIGN;
            end -= CUT;
            break;
        }
    }
    let text: String = buffer[start..end].iter().collect();
    let caret = " ".repeat(INDENT + mark.index - start + head.len());
    format!("{}{head}{text}{tail}\n{caret}^ (line: {})", " ".repeat(INDENT), mark.line + 1)
}
