//! Media types in `Accept` and `Content-Type`.
//!
//! rmcp 3.8 searches these headers for exact substrings. HTTP ignores case and allows ranges such as `*/*`.

use ::http::{HeaderMap, HeaderValue, header};

const JSON: &str = "application/json";
pub(super) const EVENT_STREAM: &str = "text/event-stream";

/// Both media types of responses.
const ANY_ANSWER: &str = "application/json, text/event-stream";

/// Rewrites `Accept` and `Content-Type` to exact values that rmcp expects; removes them if they match none.
pub(super) fn normalize(headers: &mut HeaderMap) {
    let accepted = match (accepts(headers, JSON), accepts(headers, EVENT_STREAM)) {
        (true, true) => Some(ANY_ANSWER),
        (true, false) => Some(JSON),
        (false, true) => Some(EVENT_STREAM),
        (false, false) => None,
    };
    let kind = is_json(headers).then_some(JSON);
    for (name, value) in [(header::ACCEPT, accepted), (header::CONTENT_TYPE, kind)] {
        match value {
            Some(value) => headers.insert(name, HeaderValue::from_static(value)),
            None => headers.remove(name),
        };
    }
}

/// Returns whether `Content-Type` is JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let mut kinds = headers.get_all(header::CONTENT_TYPE).iter();
    let kind = kinds.next().filter(|_| kinds.next().is_none()).and_then(|kind| kind.to_str().ok());
    kind.and_then(|kind| kind.split(';').next()).is_some_and(|kind| kind.trim().eq_ignore_ascii_case(JSON))
}

/// Returns whether `Accept` allows the media type `kind`. The most specific matching range decides.
pub(super) fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges = values.flat_map(|value| value.split(','));
    let matches = ranges.filter_map(|range| Some((specificity(range, kind)?, is_wanted(range))));
    matches.max().is_some_and(|(_, is_wanted)| is_wanted)
}

/// Returns the specificity of the match of a range with `kind`, or none if it does not match.
fn specificity(range: &str, kind: &str) -> Option<u8> {
    let range = range.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let family = kind.split_once('/').map_or(kind, |(family, _)| family);
    match range.split_once('/')? {
        _ if range == kind => Some(2),
        (of, "*") if of == family => Some(1),
        ("*", "*") => Some(0),
        _ => None,
    }
}

/// Returns whether the quality of a range is above 0.
fn is_wanted(range: &str) -> bool {
    let weight = range.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then(|| value.trim().parse::<f32>().unwrap_or(1.0))
    });
    weight.is_none_or(|weight| weight > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(name: header::HeaderName, values: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(&name, value.parse().unwrap());
        }
        normalize(&mut headers);
        headers.get(&name).map(|value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn accept_ranges_include_their_media_types() {
        let check = |values: &[&str], expect: Option<&str>| {
            assert_eq!(plain(header::ACCEPT, values).as_deref(), expect, "{values:?}");
        };
        check(&["application/json, text/event-stream"], Some(ANY_ANSWER));
        check(&["application/json, text/plain, */*"], Some(ANY_ANSWER));
        check(&["application/*, text/*"], Some(ANY_ANSWER));
        check(&["APPLICATION/JSON;q=0.9 ,Text/Event-Stream; charset=utf-8"], Some(ANY_ANSWER));
        check(&["application/json", "text/event-stream"], Some(ANY_ANSWER));
        check(&["*/*"], Some(ANY_ANSWER));
        check(&["*/*;q=0.1"], Some(ANY_ANSWER));
        check(&["text/*"], Some(EVENT_STREAM));
        check(&["application/json"], Some(JSON));
        check(&["text/event-stream;q=0, */*"], Some(JSON));
        check(&["application/json; q=0.0, text/event-stream"], Some(EVENT_STREAM));
        check(&["text/html, application/xml, application/jsonl"], None);
        check(&["*/*;q=0", "json", ""], None);
        check(&[], None);
    }

    #[test]
    fn content_type_ignores_case_and_parameters() {
        let check = |values: &[&str], expect: Option<&str>| {
            assert_eq!(plain(header::CONTENT_TYPE, values).as_deref(), expect, "{values:?}");
        };
        check(&["application/json"], Some(JSON));
        check(&["Application/JSON ; charset=utf-8"], Some(JSON));
        check(&["application/json-patch+json"], None);
        check(&["text/plain"], None);
        check(&["application/json", "text/plain"], None);
        check(&[], None);
    }
}
