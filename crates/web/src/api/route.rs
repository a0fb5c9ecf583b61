//! The table of routes: the router and the document are both made of it.

use axum::routing::MethodRouter;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

pub(crate) struct Route<S> {
    /// The method, in lower case.
    pub(crate) method: &'static str,
    /// The path, with parameters in braces.
    pub(crate) path: &'static str,
    /// The name of the operation.
    pub(crate) id: &'static str,
    /// The operation in a sentence.
    pub(crate) summary: &'static str,
    pub(crate) query: Option<SchemaOf>,
    pub(crate) body: Option<SchemaOf>,
    pub(crate) body_types: &'static [&'static str],
    /// The answer: its media type and schema.
    pub(crate) answer: (&'static str, SchemaOf),
    pub(crate) statuses: &'static [u16],
    pub(crate) errors: &'static [u16],
    pub(crate) handler: MethodRouter<S>,
}

/// The media type of JSON.
const JSON: &str = "application/json";

/// The media type of an archive.
const GZIP: &str = "application/gzip";

fn binary(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "format": "binary"})
}

impl<S> Route<S> {
    pub(crate) fn get<T: JsonSchema>(
        path: &'static str,
        id: &'static str,
        summary: &'static str,
        handler: MethodRouter<S>,
    ) -> Self {
        let answer: SchemaOf = SchemaGenerator::subschema_for::<T>;
        Self {
            method: "get",
            path,
            id,
            summary,
            query: None,
            body: None,
            body_types: &[JSON],
            answer: (JSON, answer),
            statuses: &[200],
            errors: &[],
            handler,
        }
    }

    /// Returns a route that answers POST with a `T`, and takes a `B`.
    pub(crate) fn post<B: JsonSchema, T: JsonSchema>(
        path: &'static str,
        id: &'static str,
        summary: &'static str,
        handler: MethodRouter<S>,
    ) -> Self {
        let errors = &[400, 403, 404, 409, 503];
        Self {
            method: "post",
            body: Some(SchemaGenerator::subschema_for::<B>),
            errors,
            ..Self::get::<T>(path, id, summary, handler)
        }
    }

    /// Returns a route that answers PUT with a `T`, and takes an archive.
    pub(crate) fn put_archive<T: JsonSchema>(
        path: &'static str,
        id: &'static str,
        summary: &'static str,
        handler: MethodRouter<S>,
    ) -> Self {
        Self {
            method: "put",
            body: Some(binary),
            body_types: &[GZIP, "application/zip"],
            statuses: &[200, 201, 202],
            ..Self::get::<T>(path, id, summary, handler)
        }
    }

    pub(crate) fn archive(mut self) -> Self {
        self.answer = (GZIP, binary);
        self
    }

    /// Takes the parameters `Q`.
    pub(crate) fn query<Q: JsonSchema>(mut self) -> Self {
        self.query = Some(SchemaGenerator::subschema_for::<Q>);
        self
    }

    /// Answers some requests with these statuses of errors.
    pub(crate) fn errors(mut self, errors: &'static [u16]) -> Self {
        self.errors = errors;
        self
    }

    /// Answers with another media type than JSON.
    pub(crate) fn media_type(mut self, media_type: &'static str) -> Self {
        self.answer.0 = media_type;
        self
    }
}
