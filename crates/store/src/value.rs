//! Values of columns, and the types that they stand for.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use repertoire::{Error, ErrorKind};
use repertoire_model::bundle::Digest;

/// The value of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SqlValue {
    /// No value.
    Null,
    /// An integer.
    Int(i64),
    /// A text without NUL characters.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl From<&str> for SqlValue {
    fn from(text: &str) -> Self {
        Self::Text(without_nul(text))
    }
}

impl From<&String> for SqlValue {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<u64> for SqlValue {
    fn from(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<SystemTime> for SqlValue {
    fn from(time: SystemTime) -> Self {
        Self::Int(milliseconds(time))
    }
}

impl From<&Digest> for SqlValue {
    fn from(digest: &Digest) -> Self {
        Self::Bytes(digest.as_bytes().to_vec())
    }
}

impl<T> From<Option<T>> for SqlValue
where
    Self: From<T>,
{
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Self::from)
    }
}

/// Returns `text` with U+FFFD instead of NUL characters, which PostgreSQL cannot keep.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Returns the milliseconds from 1970-01-01 UTC to `time`.
pub(crate) fn milliseconds(time: SystemTime) -> i64 {
    let from = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => from(after),
        Err(before) => -from(before.duration()),
    }
}

/// Returns the time this many milliseconds after 1970-01-01 UTC.
pub(crate) fn time(milliseconds: i64) -> SystemTime {
    let duration = Duration::from_millis(milliseconds.unsigned_abs());
    let time =
        if milliseconds < 0 { UNIX_EPOCH.checked_sub(duration) } else { UNIX_EPOCH.checked_add(duration) };
    time.unwrap_or(UNIX_EPOCH)
}

/// A row of a result, whose columns are taken from left to right.
#[derive(Debug)]
pub struct Row(std::vec::IntoIter<SqlValue>);

impl Row {
    pub(crate) fn new(columns: Vec<SqlValue>) -> Self {
        Self(columns.into_iter())
    }

    /// Returns the next column if it is not null.
    fn next(&mut self) -> Option<SqlValue> {
        self.0.next().filter(|value| *value != SqlValue::Null)
    }

    /// Returns the next column, an integer or nothing.
    pub(crate) fn optional_int(&mut self) -> Result<Option<i64>, Error> {
        match self.next() {
            None => Ok(None),
            Some(SqlValue::Int(number)) => Ok(Some(number)),
            Some(_) => Err(unexpected("a number is missing")),
        }
    }

    /// Returns the next column, an integer.
    pub(crate) fn int(&mut self) -> Result<i64, Error> {
        self.optional_int()?.ok_or_else(|| unexpected("a number is missing"))
    }

    /// Returns the next column, a number that is not negative.
    pub(crate) fn number(&mut self) -> Result<u64, Error> {
        u64::try_from(self.int()?).map_err(|_| unexpected("a number is negative"))
    }

    /// Returns the next column, a time.
    pub(crate) fn time(&mut self) -> Result<SystemTime, Error> {
        Ok(time(self.int()?))
    }

    /// Returns the next column, a text or nothing.
    pub(crate) fn optional_text(&mut self) -> Result<Option<String>, Error> {
        match self.next() {
            None => Ok(None),
            Some(SqlValue::Text(text)) => Ok(Some(text)),
            Some(_) => Err(unexpected("a text is missing")),
        }
    }

    /// Returns the next column, a text.
    pub(crate) fn text(&mut self) -> Result<String, Error> {
        self.optional_text()?.ok_or_else(|| unexpected("a text is missing"))
    }

    /// Returns the next column, a word that `parse` knows.
    pub(crate) fn word<T>(&mut self, parse: impl Fn(&str) -> Option<T>) -> Result<T, Error> {
        let word = self.text()?;
        parse(&word).ok_or_else(|| {
            unexpected(&format!("this version of rep does not know `{word}`; a newer one wrote it"))
        })
    }

    /// Returns the next column, bytes.
    pub(crate) fn bytes(&mut self) -> Result<Vec<u8>, Error> {
        match self.next() {
            Some(SqlValue::Bytes(bytes)) => Ok(bytes),
            _ => Err(unexpected("bytes are missing")),
        }
    }

    /// Returns the next column, a digest or nothing.
    pub(crate) fn optional_digest(&mut self) -> Result<Option<Digest>, Error> {
        let Some(value) = self.next() else { return Ok(None) };
        let SqlValue::Bytes(bytes) = value else { return Err(unexpected("a digest is missing")) };
        let bytes = bytes.try_into().map_err(|_| unexpected("a digest has the wrong length"))?;
        Ok(Some(Digest::from_bytes(bytes)))
    }

    /// Returns the next column, a digest.
    pub(crate) fn digest(&mut self) -> Result<Digest, Error> {
        self.optional_digest()?.ok_or_else(|| unexpected("a digest is missing"))
    }
}

fn unexpected(why: &str) -> Error {
    Error::new(ErrorKind::Store).because(format!("a row is not as expected: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_kept_to_the_millisecond_and_bounded() {
        let check = |time: SystemTime, expect: i64| assert_eq!(milliseconds(time), expect);
        check(UNIX_EPOCH + Duration::from_micros(1_999), 1);
        check(UNIX_EPOCH - Duration::from_millis(5), -5);
        for milliseconds in [i64::MIN, -1, 0, 1_700_000_000_123, i64::MAX] {
            let read = super::milliseconds(time(milliseconds));
            assert!(read == milliseconds || read == 0 || read == -i64::MAX, "{milliseconds} {read}");
        }
    }

    #[test]
    fn columns_of_the_wrong_type_are_errors() {
        let row = || Row::new(vec![SqlValue::Text("x".to_owned())]);
        assert!(row().int().is_err() && row().number().is_err() && row().time().is_err());
        assert!(row().bytes().is_err() && row().digest().is_err());
        assert!(Row::new(vec![SqlValue::Int(-1)]).number().is_err());
        assert!(Row::new(vec![SqlValue::Bytes(vec![1])]).digest().is_err());
        assert!(Row::new(vec![]).text().is_err());
        let unknown = row().word(|_| None::<()>).unwrap_err();
        assert!(unknown.chain().contains("a newer one wrote it"), "{}", unknown.chain());
    }
}
