//! Numbers and texts as bytes, and back without trust.

/// The most things that room is reserved for before they are seen.
const MAX_RESERVED: usize = 64;

/// Writes values one after the other.
#[derive(Debug, Default)]
pub(super) struct Writer {
    pub(super) bytes: Vec<u8>,
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
    pub(super) fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).unwrap_or(u32::MAX));
    }

    pub(super) fn block(&mut self, block: &[u8]) {
        self.count(block.len());
        self.bytes.extend_from_slice(block);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.block(text.as_bytes());
    }

    pub(super) fn optional_text(&mut self, text: Option<&str>) {
        self.u8(u8::from(text.is_some()));
        if let Some(text) = text {
            self.text(text);
        }
    }

    pub(super) fn texts(&mut self, texts: &[String]) {
        self.count(texts.len());
        for text in texts {
            self.text(text);
        }
    }
}

/// Reads values back; every answer is `None` where the bytes do not hold what is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    all: &'a [u8],
    position: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(all: &'a [u8]) -> Self {
        Self { all, position: 0 }
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.position == self.all.len()
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

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
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

    /// Reads a number of things of at least one byte each, so that it can be trusted to reserve room.
    pub(super) fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.u32()?).ok()?;
        (count <= self.all.len() - self.position).then_some(count)
    }

    pub(super) fn block(&mut self) -> Option<&'a [u8]> {
        let length = self.count()?;
        self.take(length)
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.block()?).ok()
    }

    pub(super) fn optional_text(&mut self) -> Option<Option<&'a str>> {
        if self.bool()? { self.text().map(Some) } else { Some(None) }
    }

    pub(super) fn texts(&mut self) -> Option<Vec<String>> {
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
