//! Documents as bytes, and back through the constructors of their parts.

use std::sync::Arc;

use repertoire_model::document::Body;
use repertoire_model::{Diagnostic, Document, Manifest, RuleId, Severity, SkillName, Span, Standing};

use super::codec::{Reader, Writer};

/// Writes `document`. Rules are written as their row in the table that stands at the head of the file.
pub(super) fn encode(document: &Document) -> Vec<u8> {
    let mut writer = Writer::default();
    encode_document(document, &mut writer);
    writer.finish()
}

/// Reads a document whose rules are rows of `rules`.
pub(super) fn decode(bytes: &[u8], rules: &[RuleId]) -> Option<Document> {
    let mut reader = Reader::new(bytes)?;
    decode_document(&mut reader, rules).filter(|_| reader.is_at_end())
}

fn encode_document(document: &Document, writer: &mut Writer) {
    // Taken apart field by field, so that a new field cannot be forgotten.
    let Document { name, description, manifest, standing, repaired, body, head_checksum, diagnostics } =
        document;
    encode_manifest(manifest, writer);
    encode_like(name.as_str(), manifest.name.as_deref(), writer);
    encode_like(description, manifest.description.as_deref(), writer);
    writer.u8(match standing {
        Standing::Sound => 0,
        Standing::Quarantined => 1,
        Standing::Abort => 2,
    });
    writer.u8(u8::from(*repaired));
    let Body { offset, length, lines, checksum } = body;
    for number in [offset, length, lines] {
        writer.u64(*number as u64);
    }
    for checksum in [checksum, head_checksum] {
        writer.u64(*checksum);
    }
    writer.count(diagnostics.len());
    for diagnostic in diagnostics {
        encode_diagnostic(diagnostic, writer);
    }
}

fn decode_document(reader: &mut Reader<'_>, rules: &[RuleId]) -> Option<Document> {
    let manifest = decode_manifest(reader)?;
    let name = SkillName::exact(&decode_like(reader, manifest.name.as_ref())?)?;
    let description = decode_like(reader, manifest.description.as_ref())?;
    let standing = match reader.u8()? {
        0 => Standing::Sound,
        1 => Standing::Quarantined,
        2 => Standing::Abort,
        _ => return None,
    };
    let repaired = reader.bool()?;
    let body = Body {
        offset: reader.usize()?,
        length: reader.usize()?,
        lines: reader.usize()?,
        checksum: reader.u64()?,
    };
    let head_checksum = reader.u64()?;
    let diagnostics = reader.list(|reader| decode_diagnostic(reader, rules))?;
    Some(Document { name, description, manifest, standing, repaired, body, head_checksum, diagnostics })
}

/// Writes a text that is most often the same as another.
fn encode_like(text: &str, other: Option<&str>, writer: &mut Writer) {
    writer.optional_text(if other == Some(text) { None } else { Some(text) });
}

/// Reads it; where it is the same, one text serves both.
fn decode_like(reader: &mut Reader<'_>, other: Option<&Arc<str>>) -> Option<Arc<str>> {
    match reader.optional_text()? {
        Some(text) => Some(text.into()),
        None => other.cloned(),
    }
}

fn encode_manifest(manifest: &Manifest, writer: &mut Writer) {
    let Manifest {
        name,
        description,
        license,
        compatibility,
        metadata,
        allowed_tools,
        version,
        author,
        trigger_keywords,
        references,
        scripts,
        assets,
        tags,
        requires,
        paths,
        disable_model_invocation,
        user_invocable,
        unknown,
    } = manifest;
    writer.optional_text(description.as_deref());
    writer.optional_text(name.as_deref());
    for text in [license, compatibility, version, author] {
        writer.optional_text(text.as_deref());
    }
    writer.count(metadata.len());
    for (key, value) in metadata {
        writer.text(key);
        writer.text(value);
    }
    for list in [allowed_tools, trigger_keywords, references, scripts, assets, tags, requires, paths, unknown]
    {
        writer.list_of_texts(list);
    }
    writer.u8(u8::from(*disable_model_invocation));
    writer.u8(user_invocable.map_or(2, u8::from));
}

fn decode_manifest(reader: &mut Reader<'_>) -> Option<Manifest> {
    let description = reader.optional_text()?.map(Into::into);
    let name = reader.optional_text()?.map(Into::into);
    let mut text = || reader.optional_text().map(|text| text.map(str::to_owned));
    let (license, compatibility, version, author) = (text()?, text()?, text()?, text()?);
    let metadata = reader.list(|reader| Some((reader.text()?.to_owned(), reader.text()?.to_owned())))?;
    Some(Manifest {
        name,
        description,
        license,
        compatibility,
        metadata,
        version,
        author,
        allowed_tools: reader.list_of_texts()?,
        trigger_keywords: reader.list_of_texts()?,
        references: reader.list_of_texts()?,
        scripts: reader.list_of_texts()?,
        assets: reader.list_of_texts()?,
        tags: reader.list_of_texts()?,
        requires: reader.list_of_texts()?,
        paths: reader.list_of_texts()?,
        unknown: reader.list_of_texts()?,
        disable_model_invocation: reader.bool()?,
        user_invocable: match reader.u8()? {
            0 => Some(false),
            1 => Some(true),
            2 => None,
            _ => return None,
        },
    })
}

fn encode_diagnostic(diagnostic: &Diagnostic, writer: &mut Writer) {
    let Diagnostic { rule, severity, message, help, file, span } = diagnostic;
    writer.u32(*rule as u32);
    writer.u8(match severity {
        Severity::Info => 0,
        Severity::Warning => 1,
        Severity::Error => 2,
    });
    writer.text(message);
    writer.optional_text(help.as_deref());
    writer.optional_text(file.as_deref());
    writer.u8(u8::from(span.is_some()));
    if let Some(Span { start, length, line }) = span {
        for number in [start, length, line] {
            writer.u32(*number);
        }
    }
}

fn decode_diagnostic(reader: &mut Reader<'_>, rules: &[RuleId]) -> Option<Diagnostic> {
    let rule = *rules.get(usize::try_from(reader.u32()?).ok()?)?;
    let severity = match reader.u8()? {
        0 => Severity::Info,
        1 => Severity::Warning,
        2 => Severity::Error,
        _ => return None,
    };
    let message = reader.text()?.to_owned();
    let help = reader.optional_text()?.map(str::to_owned);
    let file = reader.optional_text()?.map(str::to_owned);
    let span = if reader.bool()? {
        Some(Span { start: reader.u32()?, length: reader.u32()?, line: reader.u32()? })
    } else {
        None
    };
    Some(Diagnostic { rule, severity, message, help, file, span })
}
