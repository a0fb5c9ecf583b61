//! Numbers and texts as bytes, and back without trust.

use std::ops::Range;

/// The most things that room is reserved for before they are seen.
const MAX_RESERVED: usize = 64;

/// What a byte of a number says that is not the last one.
const MORE: u32 = 0x80;

/// Writes values one after the other, texts apart from all else: so they are known to be texts at one look.
#[derive(Debug, Default)]
pub(super) struct Writer {
    pub(super) bytes: Vec<u8>,
    texts: String,
}

impl Writer {
    pub(super) fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn i64(&mut self, value: i64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Writes a number of things; what does not fit 32 bits is too much to be cached and will not decode.
    ///
    /// Most are small and take one byte: seven bits at a time, the lowest first, and one that says whether there are more.
    pub(super) fn count(&mut self, count: usize) {
        let mut rest = u32::try_from(count).unwrap_or(u32::MAX);
        while rest >= MORE {
            self.u8((rest % MORE) as u8 | MORE as u8);
            rest /= MORE;
        }
        self.u8(rest as u8);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.count(text.len());
        self.texts.push_str(text);
    }

    pub(super) fn optional_text(&mut self, text: Option<&str>) {
        self.u8(u8::from(text.is_some()));
        if let Some(text) = text {
            self.text(text);
        }
    }

    pub(super) fn list_of_texts(&mut self, texts: &[impl AsRef<str>]) {
        self.count(texts.len());
        for text in texts {
            self.text(text.as_ref());
        }
    }

    /// Returns all that was written, for [`Reader::new`].
    pub(super) fn finish(self) -> Vec<u8> {
        let Self { bytes, texts } = self;
        let mut whole = Self::default();
        whole.bytes.reserve_exact(size_of::<u32>() + texts.len() + bytes.len());
        whole.u32(u32::try_from(texts.len()).unwrap_or(u32::MAX));
        whole.bytes.extend_from_slice(texts.as_bytes());
        whole.bytes.extend_from_slice(&bytes);
        whole.bytes
    }
}

/// Takes bytes from the front; every answer is `None` where there are not enough.
#[derive(Debug, Clone, Copy)]
pub(super) struct Take<'a> {
    all: &'a [u8],
    position: usize,
}

impl<'a> Take<'a> {
    pub(super) fn new(all: &'a [u8]) -> Self {
        Self { all, position: 0 }
    }

    pub(super) fn remaining(&self) -> usize {
        self.all.len() - self.position
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.remaining() == 0
    }

    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.position.checked_add(length)?;
        let bytes = self.all.get(self.position..end)?;
        self.position = end;
        Some(bytes)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }
}

/// Reads values back; every answer is `None` where the bytes do not hold what is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    bytes: Take<'a>,
    texts: &'a str,
    text_position: usize,
}

impl<'a> Reader<'a> {
    /// Returns a reader of what [`Writer::finish`] returned.
    pub(super) fn new(whole: &'a [u8]) -> Option<Self> {
        let mut bytes = Take::new(whole);
        let length = usize::try_from(u32::from_le_bytes(bytes.array()?)).ok()?;
        let texts = std::str::from_utf8(bytes.take(length)?).ok()?;
        Some(Self { bytes, texts, text_position: 0 })
    }

    /// Returns all texts, one behind the other.
    pub(super) fn texts(&self) -> &'a str {
        self.texts
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.bytes.is_at_end() && self.text_position == self.texts.len()
    }

    /// Returns how many bytes there are still, without those of texts.
    pub(super) fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes.array()
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    pub(super) fn usize(&mut self) -> Option<usize> {
        usize::try_from(self.u64()?).ok()
    }

    pub(super) fn bool(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// Reads a number of things of at least one byte each.
    pub(super) fn count(&mut self) -> Option<usize> {
        self.number().filter(|count| *count <= self.remaining())
    }

    /// Reads a number that was written as a count.
    pub(super) fn number(&mut self) -> Option<usize> {
        let mut number = 0;
        for shift in (0..u32::BITS).step_by(7) {
            let byte = u32::from(self.u8()?);
            number |= (byte % MORE).checked_shl(shift)?;
            if byte < MORE {
                return usize::try_from(number).ok();
            }
        }
        None
    }

    /// Reads a text, and returns where in [`Reader::texts`] it is.
    pub(super) fn text_range(&mut self) -> Option<Range<usize>> {
        let start = self.text_position;
        let length = self.text()?.len();
        Some(start..start + length)
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        let length = self.number()?;
        let range = self.text_position..self.text_position.checked_add(length)?;
        self.text_position = range.end;
        self.texts.get(range)
    }

    pub(super) fn optional_text(&mut self) -> Option<Option<&'a str>> {
        if self.bool()? { self.text().map(Some) } else { Some(None) }
    }

    pub(super) fn list_of_texts(&mut self) -> Option<Vec<String>> {
        self.list(|reader| reader.text().map(str::to_owned))
    }

    /// Reads a list with exactly the room it needs: there is one in memory for every skill.
    pub(super) fn list<T>(&mut self, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.count()?;
        let mut list = Vec::with_capacity(count.min(MAX_RESERVED));
        for _ in 0..count {
            list.push(item(self)?);
        }
        Some(list)
    }
}
