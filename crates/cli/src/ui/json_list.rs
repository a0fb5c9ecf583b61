//! JSON documents with one long list, which is formatted on all cores.

use std::io::{self, Write};

use rayon::prelude::*;
use serde::Serialize;
use serde_json::ser::{Formatter as _, PrettyFormatter, Serializer};

/// How many items are formatted in one go; lists that are no longer than this are not worth a thread.
const CHUNK: usize = 256;

/// Writes `document`, whose member `key` is an empty list, with `items` in that list, each as `json` makes it.
pub(super) fn write<'a, T: Sync, J: Serialize>(
    out: &mut impl Write,
    document: &impl Serialize,
    key: &str,
    items: &'a [T],
    json: impl Fn(&'a T) -> J + Sync,
) -> io::Result<()> {
    let document = serde_json::to_string_pretty(document)?;
    let empty = format!("\n  \"{key}\": [");
    let Some(start) = document.find(&empty).filter(|_| !items.is_empty()) else {
        return out.write_all(document.as_bytes());
    };
    let (before, after) = document.split_at(start + empty.len());
    out.write_all(before.as_bytes())?;
    let mut is_first = true;
    let mut buffers = vec![Vec::new(); rayon::current_num_threads().min(items.len().div_ceil(CHUNK))];
    for wave in items.chunks(CHUNK * buffers.len()) {
        let format = |(buffer, chunk): (&mut Vec<u8>, &'a [T])| {
            // Buffers side by side share a cache line; each thread takes its own out of it while it writes.
            let mut own = std::mem::take(buffer);
            own.clear();
            let outcome = chunk.iter().try_for_each(|item| append(&mut own, &json(item)));
            *buffer = own;
            outcome
        };
        if wave.len() <= CHUNK {
            buffers.iter_mut().zip(wave.chunks(CHUNK)).try_for_each(format)?;
        } else {
            buffers.par_iter_mut().zip(wave.par_chunks(CHUNK)).try_for_each(format)?;
        }
        for buffer in buffers.iter().take(wave.len().div_ceil(CHUNK)) {
            // Every item has a comma before it, which the first does not need.
            out.write_all(&buffer[usize::from(is_first)..])?;
            is_first = false;
        }
    }
    out.write_all(b"\n  ")?;
    out.write_all(after.as_bytes())
}

/// Appends a comma and `item` as it stands in a list that is a member of a document.
fn append(buffer: &mut Vec<u8>, item: &impl Serialize) -> io::Result<()> {
    buffer.extend_from_slice(b",\n    ");
    let mut formatter = PrettyFormatter::new();
    formatter.begin_object(&mut io::sink())?;
    formatter.begin_array(&mut io::sink())?;
    Ok(item.serialize(&mut Serializer::with_formatter(buffer, formatter))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Document<'a> {
        number: u64,
        items: &'a [Item],
        problems: Vec<Item>,
    }

    #[derive(Serialize, Clone)]
    struct Item {
        text: String,
        list: Vec<u32>,
        nothing: Option<u32>,
    }

    #[test]
    fn a_list_is_written_as_if_in_one_piece() {
        for count in [0, 1, 2, CHUNK, CHUNK + 1, 5 * CHUNK + 7] {
            let item =
                |n: usize| Item { text: format!("\"items\": [] {n}\n"), list: vec![1; n % 3], nothing: None };
            let items: Vec<Item> = (0..count).map(item).collect();
            let problems = vec![item(0), item(1)];
            let whole = Document { number: 1, items: &items, problems: problems.clone() };
            let mut written = Vec::new();
            let empty = Document { number: 1, items: &[], problems };
            write(&mut written, &empty, "items", &items, Clone::clone).unwrap();
            let expected = serde_json::to_string_pretty(&whole).unwrap();
            assert!(written == expected.as_bytes(), "{count}");
        }
    }
}
