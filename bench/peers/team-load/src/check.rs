//! The checks of answers: the status, the content, and that nothing outside the scope of the token is in it.

use std::collections::{HashMap, HashSet};

use memchr::memmem;

use crate::connection::Response;
use crate::plan::{Plan, is_within};
use crate::request::{Kind, Request};

/// A phrase of the instructions of every generated skill.
const PHRASE: &[u8] = b"Read [the guide]";

/// An answer that is not as it should be.
pub enum Fault {
    /// It is an error, or not an answer to the request.
    Error(String),
    /// It has something outside the scope of the token.
    Leak(String),
}

/// Checks answers.
pub struct Checker<'p> {
    plan: &'p Plan,
    names: HashSet<&'p str>,
    /// Whether a scope has a name, for the names that were met.
    known: HashMap<(usize, String), bool>,
}

impl<'p> Checker<'p> {
    pub fn new(plan: &'p Plan) -> Self {
        Self { plan, names: plan.names(), known: HashMap::new() }
    }

    /// Checks the answer to a request.
    pub fn check(&mut self, request: &Request, response: &Response) -> Result<(), Fault> {
        let body = &response.body[..];
        let expected: &[u16] = match request.kind {
            Kind::Publish => &[200, 201],
            _ => &[200],
        };
        let has = |text: &[u8]| memmem::find(body, text).is_some();
        let shown = || String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned();
        let wrong = |why: &str| {
            let (kind, skill) = (request.kind.name(), &request.skill);
            Err(Fault::Error(format!("{kind} {skill}: {why}: {} {}", response.status, shown())))
        };
        if !expected.contains(&response.status) {
            return wrong("status");
        }
        match request.kind {
            Kind::Foreign if has(PHRASE) => {
                return Err(Fault::Leak(format!("{} was loaded outside its scope", request.skill)));
            }
            Kind::Foreign if !has(b"\"isError\":true") => return wrong("no error"),
            Kind::Load if has(b"\"isError\":true") => return wrong("not loaded"),
            Kind::Load | Kind::Seen | Kind::File | Kind::SkillPage if !has(request.skill.as_bytes()) => {
                return wrong("another skill");
            }
            _ => {}
        }
        // The names of a publisher are its own.
        if matches!(request.kind, Kind::Publish | Kind::Foreign) {
            return Ok(());
        }
        self.expect_in_scope(request, body)
    }

    /// Fails if an answer has the name of a skill outside the scope.
    fn expect_in_scope(&mut self, request: &Request, body: &[u8]) -> Result<(), Fault> {
        let is_of_name = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
        let mut words = body.split(|byte| !is_of_name(byte));
        // Names with a number do not occur in texts; real skills may be called like a word, and so are only
        // looked for where JSON has a name.
        while let Some(word) = words.find(|word| word.len() > 6 && word.contains(&b'-') && word.ends_with_number()) {
            self.expect_name_in_scope(request, &String::from_utf8_lossy(word))?;
        }
        for start in memmem::find_iter(body, b"\"name\":\"") {
            let rest = &body[start + 8..];
            let end = memchr::memchr(b'"', rest).unwrap_or(0);
            self.expect_name_in_scope(request, &String::from_utf8_lossy(&rest[..end]))?;
        }
        Ok(())
    }

    fn expect_name_in_scope(&mut self, request: &Request, name: &str) -> Result<(), Fault> {
        if !self.names.contains(name) {
            return Ok(());
        }
        let key = (request.scope, name.to_owned());
        let scope = &self.plan.scopes[request.scope];
        if *self.known.entry(key).or_insert_with(|| is_within(scope, name)) {
            return Ok(());
        }
        Err(Fault::Leak(format!("{} of scope {} tells of {name}", request.kind.name(), request.scope)))
    }
}

/// The end of a name.
trait EndsWithNumber {
    /// Returns whether the last part is a number of five digits.
    fn ends_with_number(&self) -> bool;
}

impl EndsWithNumber for [u8] {
    fn ends_with_number(&self) -> bool {
        self.len() > 5 && self[self.len() - 5..].iter().all(u8::is_ascii_digit)
    }
}
