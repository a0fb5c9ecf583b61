//! The OpenAPI document, made of the table of routes.

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::error::ErrorBody;
use super::route::Route;

pub(crate) fn document<S>(routes: &[Route<S>], version: &str) -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut generator = settings.into_generator();
    let error = generator.subschema_for::<ErrorBody>();
    let mut paths = Map::new();
    for route in routes {
        let path = paths.entry(route.path.replace("{*", "{")).or_insert_with(|| json!({}));
        path[route.method] = operation(route, &error, &mut generator);
    }
    let schemas = generator.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Repertoire",
            "version": version,
            "description": "Skills, their use, their versions and proposals to change them. Lists have a `cursor` of the next part. \
                Errors are `{\"error\": {\"code\", \"message\"}}` with codes that stay the same.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    })
}

fn operation<S>(route: &Route<S>, error: &Schema, generator: &mut SchemaGenerator) -> Value {
    let mut parameters: Vec<Value> = path_parameters(route.path)
        .map(|name| {
            let schema = match name {
                "version" if route.path.ends_with("{version}") => {
                    json!({"type": "string", "pattern": "^[A-Za-z0-9._+-]{1,64}$"})
                }
                "id" | "version" => {
                    json!({"type": "integer", "minimum": 0, "maximum": 1_000_000_000, "format": "uint64"})
                }
                _ => json!({"type": "string"}),
            };
            json!({"name": name, "in": "path", "required": true, "schema": schema})
        })
        .collect();
    parameters.extend(route.query.iter().flat_map(|query| query_parameters(query(generator), generator)));
    let (media_type, answer) = route.answer;
    let mut responses = Map::new();
    for status in route.statuses {
        let schema = answer(generator);
        let response = json!({"description": "the answer", "content": {media_type: {"schema": schema}}});
        responses.insert(status.to_string(), response);
    }
    let mut errors = route.errors.to_vec();
    errors.extend([401, 429, 500].iter().filter(|status| !route.errors.contains(status)));
    errors.sort_unstable();
    for status in errors {
        // These are refused before the API gets the request.
        let content = if matches!(status, 401 | 413 | 429) {
            json!({"text/plain": {"schema": {"type": "string"}}})
        } else {
            json!({"application/json": {"schema": error}})
        };
        responses.insert(status.to_string(), json!({"description": reason(status), "content": content}));
    }
    let mut operation = json!({
        "operationId": route.id,
        "summary": route.summary,
        "parameters": parameters,
        "responses": responses,
    });
    if let Some(body) = route.body {
        let schema = body(generator);
        let content: Map<String, Value> =
            route.body_types.iter().map(|kind| ((*kind).to_owned(), json!({"schema": schema}))).collect();
        operation["requestBody"] = json!({"required": true, "content": content});
    }
    operation
}

fn reason(status: u16) -> &'static str {
    match status {
        400 => "the request is wrong",
        401 => "a token is missing or invalid",
        403 => "the sender may not do this",
        404 => "there is no such thing, or the sender may not see it",
        409 => "it does not fit the state of things",
        413 => "the body is too large",
        422 => "the archive has no valid skill of this name, or the rules refuse it",
        429 => "the sender is over a limit; `Retry-After` has the seconds to wait",
        503 => "the store is not available",
        _ => "something failed",
    }
}

/// Returns the names in braces in `path`.
fn path_parameters(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter_map(|part| Some(part.strip_prefix('{')?.strip_suffix('}')?.trim_start_matches('*')))
}

fn query_parameters(query: Schema, generator: &mut SchemaGenerator) -> Vec<Value> {
    let resolved = query.get("$ref").and_then(Value::as_str).and_then(|reference| {
        let name = reference.rsplit('/').next()?.to_owned();
        generator.definitions_mut().remove(&name)
    });
    let schema = resolved.unwrap_or_else(|| query.to_value());
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    properties
        .into_iter()
        .map(|(name, mut schema)| {
            let is_required = required.contains(&name.as_str());
            let description = schema.as_object_mut().and_then(|schema| schema.shift_remove("description"));
            let mut parameter = json!({"name": name, "in": "query", "required": is_required});
            if let Some(description) = description {
                parameter["description"] = description;
            }
            without_null(&mut schema);
            parameter["schema"] = schema;
            parameter
        })
        .collect()
}

/// Removes `null` from the types of `schema`: a query cannot have it.
fn without_null(schema: &mut Value) {
    if let Some(types) = schema["type"].as_array() {
        let mut types = types.iter().filter(|kind| *kind != "null");
        if let (Some(kind), None) = (types.next().cloned(), types.next()) {
            schema["type"] = kind;
        }
    } else if let Some(kinds) = schema["anyOf"].as_array() {
        let kind = kinds.iter().find(|kind| kind["type"] != "null").cloned();
        if let Some(kind) = kind {
            *schema = kind;
        }
    }
    if let Some(object) = schema.as_object_mut() {
        object.shift_remove("default");
        if object.get("type") == Some(&Value::Null) {
            object.shift_remove("type");
        }
        if object.get("anyOf") == Some(&Value::Null) {
            object.shift_remove("anyOf");
        }
    }
}
