//! A simulated prompt cache of a model service.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use repertoire_model::tokens::Tokenizer;

use super::prices::Prices;
use crate::client::ModelApi;
use crate::usage::TokenUsage;

/// The most breakpoints of a request; of more, the last ones count.
pub const MAX_BREAKPOINTS: usize = 4;

/// The number of segments, from a breakpoint backwards, at whose ends an entry of the cache is looked for.
const LOOK_BACK: usize = 20;

/// The steps, in tokens, in which prefixes are cached without breakpoints.
const STEP: u64 = 128;

/// A part of a request that is sent as one: a tool, the system prompt, or a block of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    text: Arc<str>,
    tokens: u64,
    hash: u64,
    breakpoint: bool,
}

impl Segment {
    /// Returns a segment without a breakpoint.
    pub fn new(text: &str, tokenizer: Tokenizer) -> Self {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let tokens = tokenizer.count(text) as u64;
        Self { text: text.into(), tokens, hash: hasher.finish(), breakpoint: false }
    }

    /// Returns the segment with a breakpoint at its end.
    #[must_use]
    pub fn with_breakpoint(mut self) -> Self {
        self.breakpoint = true;
        self
    }

    /// Returns its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the number of its tokens.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    fn is_same_text(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.text, &other.text) || (self.hash == other.hash && self.text == other.text)
    }
}

/// The rules by which a service caches prefixes of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheRules {
    /// Anthropic's: prefixes are cached that end at a breakpoint and have at least `minimum` tokens.
    Breakpoints {
        /// The fewest tokens of a cached prefix.
        minimum: u64,
    },
    /// OpenAI's: every prefix of at least `minimum` tokens is cached, in steps of 128 tokens.
    Automatic {
        /// The fewest tokens of a cached prefix.
        minimum: u64,
    },
}

impl CacheRules {
    /// Returns the rules for a model.
    pub fn of(prices: &Prices) -> Self {
        let minimum = prices.cache_minimum;
        match prices.provider {
            ModelApi::Anthropic => Self::Breakpoints { minimum },
            ModelApi::OpenAi | ModelApi::OpenAiResponses => Self::Automatic { minimum },
        }
    }
}

/// A simulated prompt cache of a model service. Nothing expires.
#[derive(Debug, Clone)]
pub struct PromptCache {
    rules: CacheRules,
    tokenizer: Tokenizer,
    /// The hashes of the prefixes that ended at breakpoints.
    prefixes: HashSet<u64>,
    /// The requests so far, where prefixes end anywhere.
    requests: Vec<Vec<Segment>>,
}

impl PromptCache {
    /// Returns an empty cache.
    pub fn new(rules: CacheRules, tokenizer: Tokenizer) -> Self {
        Self { rules, tokenizer, prefixes: HashSet::new(), requests: Vec::new() }
    }

    /// Takes a request, and returns which of its tokens were read from the cache, written to it, and neither.
    pub fn send(&mut self, request: &[Segment]) -> TokenUsage {
        let whole = request.iter().map(Segment::tokens).sum();
        let (read, cacheable) = match self.rules {
            CacheRules::Breakpoints { minimum } => self.send_with_breakpoints(request, minimum),
            CacheRules::Automatic { minimum } => self.send_plain(request, minimum, whole),
        };
        TokenUsage {
            requests: 1,
            input: whole - cacheable,
            cache_read: read,
            cache_write: cacheable - read,
            output: 0,
        }
    }

    /// Returns the tokens up to the end of the longest prefix that is cached, and up to that of the longest that is cached now.
    fn send_with_breakpoints(&mut self, request: &[Segment], minimum: u64) -> (u64, u64) {
        let mut ends = Vec::with_capacity(request.len());
        let (mut tokens, mut hasher) = (0, DefaultHasher::new());
        for segment in request {
            tokens += segment.tokens;
            segment.hash.hash(&mut hasher);
            ends.push((tokens, hasher.finish()));
        }
        let marked: Vec<usize> = (0..request.len()).filter(|end| request[*end].breakpoint).collect();
        let marked = &marked[marked.len().saturating_sub(MAX_BREAKPOINTS)..];
        let looked_at = marked.iter().flat_map(|end| (end + 1).saturating_sub(LOOK_BACK)..=*end);
        let read = looked_at.filter(|end| self.prefixes.contains(&ends[*end].1)).map(|end| ends[end].0);
        let read = read.max().unwrap_or_default();
        let written = marked.iter().map(|end| ends[*end]).filter(|(tokens, _)| *tokens >= minimum);
        let mut cacheable = read;
        for (tokens, hash) in written {
            self.prefixes.insert(hash);
            cacheable = cacheable.max(tokens);
        }
        (read, cacheable)
    }

    /// Returns the same where prefixes end anywhere.
    fn send_plain(&mut self, request: &[Segment], minimum: u64, whole: u64) -> (u64, u64) {
        let tokenizer = self.tokenizer;
        let shared = self.requests.iter().map(|earlier| shared_tokens(earlier, request, tokenizer)).max();
        self.requests.push(request.to_vec());
        let cached = |tokens: u64| if tokens < minimum { 0 } else { tokens / STEP * STEP };
        (cached(shared.unwrap_or_default()), cached(whole))
    }
}

/// Returns the number of tokens that two requests have in common at their beginnings.
fn shared_tokens(earlier: &[Segment], request: &[Segment], tokenizer: Tokenizer) -> u64 {
    let mut tokens = 0;
    for (earlier, segment) in earlier.iter().zip(request) {
        if !earlier.is_same_text(segment) {
            let common = segment.text.char_indices().zip(earlier.text.chars());
            let end = common.take_while(|((_, a), b)| a == b).last().map(|((at, a), _)| at + a.len_utf8());
            let common = tokenizer.count(&segment.text[..end.unwrap_or_default()]) as u64;
            return tokens + common.min(segment.tokens);
        }
        tokens += segment.tokens;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a text of `tokens` tokens that is another one for each `name`.
    fn text(name: char, tokens: usize) -> String {
        format!("{name}{}", " word".repeat(tokens - 1))
    }

    fn segment(name: char, tokens: usize) -> Segment {
        let segment = Segment::new(&text(name, tokens), Tokenizer::O200kBase);
        assert_eq!(segment.tokens(), tokens as u64);
        segment
    }

    fn cache(rules: CacheRules) -> PromptCache {
        PromptCache::new(rules, Tokenizer::O200kBase)
    }

    /// Returns the tokens that were read, written, and neither.
    fn sent(cache: &mut PromptCache, request: &[Segment]) -> (u64, u64, u64) {
        let usage = cache.send(request);
        (usage.cache_read, usage.cache_write, usage.input)
    }

    const BREAKPOINTS: CacheRules = CacheRules::Breakpoints { minimum: 1024 };
    const AUTOMATIC: CacheRules = CacheRules::Automatic { minimum: 1024 };

    #[test]
    fn prefixes_below_the_minimum_are_not_cached() {
        let mut cache = cache(BREAKPOINTS);
        let short = [segment('a', 1023).with_breakpoint()];
        assert_eq!(sent(&mut cache, &short), (0, 0, 1023));
        assert_eq!(sent(&mut cache, &short), (0, 0, 1023));
        let long = [segment('b', 1024).with_breakpoint()];
        assert_eq!(sent(&mut cache, &long), (0, 1024, 0));
        assert_eq!(sent(&mut cache, &long), (1024, 0, 0));
    }

    #[test]
    fn a_conversation_that_is_appended_to_is_read_up_to_its_previous_end() {
        let mut cache = cache(BREAKPOINTS);
        let mut request = vec![segment('t', 1000), segment('s', 500).with_breakpoint(), segment('u', 10)];
        assert_eq!(sent(&mut cache, &request), (0, 1500, 10));
        request.extend([segment('a', 20), segment('v', 30).with_breakpoint(), segment('w', 7)]);
        assert_eq!(sent(&mut cache, &request), (1500, 60, 7));
        request.push(segment('x', 5).with_breakpoint());
        assert_eq!(sent(&mut cache, &request), (1560, 12, 0));
        // A change of the tools, which come first, leaves nothing.
        request[0] = segment('T', 1000);
        assert_eq!(sent(&mut cache, &request), (0, 1572, 0));
    }

    #[test]
    fn entries_are_looked_for_in_the_twenty_segments_before_a_breakpoint() {
        for (between, read) in [(18, 2000), (19, 2000), (20, 0)] {
            let mut cache = cache(BREAKPOINTS);
            let mut request = vec![segment('s', 2000).with_breakpoint()];
            assert_eq!(sent(&mut cache, &request), (0, 2000, 0));
            request[0] = segment('s', 2000);
            request.extend((0..between).map(|_| segment('m', 2)));
            let last = request.len() - 1;
            request[last] = segment('m', 2).with_breakpoint();
            let whole = 2000 + 2 * between;
            assert_eq!(sent(&mut cache, &request), (read, whole - read, 0), "{between}");
        }
    }

    #[test]
    fn of_more_than_four_breakpoints_the_last_count() {
        let mut cache = cache(BREAKPOINTS);
        let five: Vec<Segment> = "abcde".chars().map(|name| segment(name, 1100).with_breakpoint()).collect();
        assert_eq!(sent(&mut cache, &five), (0, 5500, 0));
        assert_eq!(sent(&mut cache, &five[..1]), (0, 1100, 0));
        assert_eq!(sent(&mut cache, &five[..2]), (2200, 0, 0));
    }

    #[test]
    fn automatic_caches_need_no_breakpoints_and_count_in_steps() {
        let mut cache = cache(AUTOMATIC);
        let mut request = vec![segment('s', 1000), segment('u', 100)];
        assert_eq!(sent(&mut cache, &request), (0, 1024, 76));
        request.push(segment('v', 100));
        assert_eq!(sent(&mut cache, &request), (1024, 128, 48));
        // The first half of a text that changed is the same.
        let marked = Segment::new(&format!("{} [loaded]", text('s', 1300)), Tokenizer::O200kBase);
        let plain = Segment::new(&format!("{} [other]", text('s', 1300)), Tokenizer::O200kBase);
        sent(&mut cache, &[marked]);
        assert_eq!(sent(&mut cache, &[plain]).0, 1280);
    }

    fn request() -> impl Strategy<Value = Vec<Segment>> {
        let segment = (prop::char::range('a', 'd'), 1usize..900, any::<bool>());
        let segments = prop::collection::vec(segment, 1..40);
        segments.prop_map(|segments| {
            let made = segments.into_iter().map(|(name, tokens, is_marked)| {
                let segment = segment_of(name, tokens);
                if is_marked { segment.with_breakpoint() } else { segment }
            });
            made.collect()
        })
    }

    fn segment_of(name: char, tokens: usize) -> Segment {
        Segment::new(&text(name, tokens), Tokenizer::Chars4)
    }

    fn rules() -> impl Strategy<Value = CacheRules> {
        prop_oneof![
            (1u64..5000).prop_map(|minimum| CacheRules::Breakpoints { minimum }),
            (1u64..5000).prop_map(|minimum| CacheRules::Automatic { minimum }),
        ]
    }

    proptest! {
        #[test]
        fn every_token_is_read_or_written_or_neither(rules in rules(), requests in prop::collection::vec(request(), 1..6)) {
            let mut cache = PromptCache::new(rules, Tokenizer::Chars4);
            for request in requests {
                let usage = cache.send(&request);
                prop_assert_eq!(usage.whole_input(), request.iter().map(Segment::tokens).sum::<u64>());
            }
        }

        #[test]
        fn an_identical_request_writes_nothing_and_reads_all_that_was_cached(rules in rules(), before in prop::collection::vec(request(), 0..4), request in request()) {
            let mut cache = PromptCache::new(rules, Tokenizer::Chars4);
            for request in before {
                cache.send(&request);
            }
            let first = cache.send(&request);
            let second = cache.send(&request);
            prop_assert_eq!(second.cache_write, 0);
            prop_assert_eq!(second.cache_read, first.cache_read + first.cache_write);
        }

        #[test]
        fn a_changed_first_segment_leaves_nothing_to_read(rules in rules(), request in request()) {
            let mut cache = PromptCache::new(rules, Tokenizer::Chars4);
            cache.send(&request);
            let mut changed = request;
            changed[0] = Segment { breakpoint: changed[0].breakpoint, ..segment_of('z', 800) };
            prop_assert_eq!(cache.send(&changed).cache_read, 0);
        }

        #[test]
        fn what_is_appended_costs_nothing_of_what_was_cached(rules in rules(), request in request(), more in 0usize..19) {
            let mut cache = PromptCache::new(rules, Tokenizer::Chars4);
            let mut request: Vec<Segment> = request.into_iter().map(|segment| Segment { breakpoint: false, ..segment }).collect();
            if let Some(last) = request.last_mut() {
                last.breakpoint = true;
            }
            let first = cache.send(&request);
            request.extend((0..more).map(|_| segment_of('z', 10)));
            if let Some(last) = request.last_mut() {
                last.breakpoint = true;
            }
            prop_assert!(cache.send(&request).cache_read >= first.cache_write);
        }
    }
}
