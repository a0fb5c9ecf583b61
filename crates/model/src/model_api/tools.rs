//! Writes tools as the APIs of models take them.

use serde_json::{Value, json};

crate::words! {
    /// The API of a model, by the shape of its tools.
    #[derive(Default)]
    ApiFormat {
        /// Anthropic's Messages API; the default.
        #[default]
        Anthropic "anthropic",
        /// OpenAI's Chat Completions API, which many services speak.
        OpenAi "openai",
        /// OpenAI's Responses API.
        OpenAiResponses "openai-responses",
        /// Gemini's API.
        Gemini "gemini",
        /// No API: the JSON Schema of each tool's arguments, with the tool's name as `title`.
        JsonSchema "json-schema",
    }
}

/// Returns `tools`, each with name, description and the JSON Schema of its arguments, as `format` takes them.
///
/// Gemini takes one object that holds all of them. OpenAI's strict mode knows no optional arguments.
pub fn tools<'a>(
    format: ApiFormat,
    tools: impl IntoIterator<Item = (&'a str, &'a str, &'a Value)>,
) -> Vec<Value> {
    let written = |(name, description, schema): (&str, &str, &Value)| match format {
        ApiFormat::Anthropic => json!({"name": name, "description": description, "input_schema": schema}),
        ApiFormat::OpenAi => {
            let function = json!({"name": name, "description": description, "parameters": schema});
            json!({"type": "function", "function": function})
        }
        ApiFormat::OpenAiResponses => {
            json!({"type": "function", "name": name, "description": description, "parameters": schema, "strict": false})
        }
        ApiFormat::Gemini => {
            json!({"name": name, "description": description, "parametersJsonSchema": schema})
        }
        ApiFormat::JsonSchema => {
            let mut document = json!({"title": name, "description": description});
            for (key, value) in schema.as_object().into_iter().flatten() {
                document[key] = value.clone();
            }
            document
        }
    };
    let written: Vec<Value> = tools.into_iter().map(written).collect();
    match format {
        ApiFormat::Gemini if !written.is_empty() => vec![json!({"functionDeclarations": written})],
        _ => written,
    }
}
