//! The quality and speed of a ranking.

use serde::Serialize;

/// The figures of a ranker.
#[derive(Debug, Clone, Serialize)]
pub struct Figures {
    /// The name of the ranker.
    pub ranker: String,
    /// The share of queries whose first skill is a right one.
    pub hit1: f64,
    /// The share of right skills among the first five.
    pub r5: f64,
    /// The share of right skills among the first ten.
    pub r10: f64,
    /// The normalised discounted cumulative gain of the first ten (NDCG@10).
    pub ndcg10: f64,
    /// The median time of a query, in microseconds.
    pub p50_us: f64,
    /// The 99th percentile of the time of a query, in microseconds.
    pub p99_us: f64,
    /// The time to index all documents, in seconds.
    pub index_s: f64,
    /// The number of documents.
    pub documents: usize,
    /// The number of queries.
    pub queries: usize,
}

impl Figures {
    /// Returns the heads of the columns that [`Figures::row`] fills.
    pub fn heads() -> String {
        format!(
            "{:<30} {:>6} {:>6} {:>6} {:>7} {:>9} {:>9} {:>8}",
            "ranker", "hit@1", "r@5", "r@10", "ndcg@10", "p50 µs", "p99 µs", "index s"
        )
    }

    /// Returns them as a line of a table for people.
    pub fn row(&self) -> String {
        let Self { ranker, hit1, r5, r10, ndcg10, p50_us, p99_us, index_s, .. } = self;
        format!(
            "{ranker:<30} {hit1:>6.3} {r5:>6.3} {r10:>6.3} {ndcg10:>7.3} {p50_us:>9.0} {p99_us:>9.0} {index_s:>8.2}"
        )
    }

    /// Returns the number of documents indexed per second.
    pub fn indexed_per_s(&self) -> f64 {
        self.documents as f64 / self.index_s.max(f64::MIN_POSITIVE)
    }
}

/// The quality of one ranking.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Quality {
    /// 1 if the first result is correct, else 0.
    pub hit1: f64,
    /// The share of right ones among the first five.
    pub r5: f64,
    /// The share of right ones among the first ten.
    pub r10: f64,
    /// The normalised discounted cumulative gain of the first ten (NDCG@10).
    pub ndcg10: f64,
}

impl Quality {
    /// Returns the quality of `ranking` where `gold` is correct.
    pub fn of(ranking: &[usize], gold: &[usize]) -> Self {
        let right = |place: &usize| gold.contains(place);
        let share = |count: usize| {
            ranking.iter().take(count).filter(|place| right(place)).count() as f64 / gold.len().max(1) as f64
        };
        let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
        let found = ranking.iter().take(10).enumerate().filter(|(_, skill)| right(skill));
        let ideal: f64 = (0..gold.len().min(10)).map(gain).sum();
        Self {
            hit1: f64::from(u8::from(ranking.first().is_some_and(right))),
            r5: share(5),
            r10: share(10),
            ndcg10: if ideal > 0.0 {
                found.map(|(place, _)| gain(place)).fold(0.0, |sum, gain| sum + gain) / ideal
            } else {
                0.0
            },
        }
    }

    /// Returns the quality of `ranking` if a skill of each group is needed: it counts at its first skill.
    pub fn of_groups(ranking: &[usize], groups: &[Vec<usize>]) -> Self {
        let mut open: Vec<&Vec<usize>> = groups.iter().collect();
        // Each group stands for its number; a skill of no open group for none.
        let firsts: Vec<usize> = ranking
            .iter()
            .map(|skill| {
                let group = open.iter().position(|group| group.contains(skill));
                group.map_or(usize::MAX, |place| {
                    let found = open.remove(place);
                    groups.iter().position(|group| std::ptr::eq(group, found)).unwrap_or(usize::MAX)
                })
            })
            .collect();
        Self::of(&firsts, &(0..groups.len()).collect::<Vec<_>>())
    }

    /// Returns the mean of `all`.
    pub fn mean(all: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| {
            all.iter().map(of).fold(0.0, |sum, one| sum + one) / all.len().max(1) as f64
        };
        Self {
            hit1: mean(|one| one.hit1),
            r5: mean(|one| one.r5),
            r10: mean(|one| one.r10),
            ndcg10: mean(|one| one.ndcg10),
        }
    }
}

/// Returns the value below which `share` of `sorted` lies.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = ((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len().max(1)) - 1;
    sorted.get(place).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_depends_on_the_ranks_of_correct_results() {
        let check = |ranking: &[usize], gold: &[usize], expected: [f64; 4]| {
            let Quality { hit1, r5, r10, ndcg10 } = Quality::of(ranking, gold);
            let found = [hit1, r5, r10, (ndcg10 * 1000.0).round() / 1000.0];
            assert_eq!(found, expected, "{ranking:?} {gold:?}");
        };
        check(&[7, 1, 2], &[7], [1.0, 1.0, 1.0, 1.0]);
        check(&[1, 7, 2], &[7], [0.0, 1.0, 1.0, 0.631]);
        check(&[1, 7, 2], &[7, 9], [0.0, 0.5, 0.5, 0.387]);
        check(&[0, 1, 2, 3, 4, 7], &[7], [0.0, 0.0, 1.0, 0.356]);
        check(&[], &[7], [0.0; 4]);
        // Nothing is nothing, not less: the sum of no numbers is -0.0.
        let nothing = [Quality::of(&[], &[7]), Quality::mean(&[]), Quality::mean(&[Quality::of(&[], &[])])];
        assert!(
            nothing
                .iter()
                .all(|quality| quality.ndcg10.is_sign_positive() && quality.hit1.is_sign_positive())
        );
    }

    #[test]
    fn a_group_counts_once() {
        let groups = [vec![1, 2], vec![3]];
        assert_eq!(Quality::of_groups(&[1, 3], &groups).ndcg10, 1.0);
        assert_eq!(Quality::of_groups(&[1, 2, 3], &groups).r5, 1.0);
        assert!(Quality::of_groups(&[1, 2, 3], &groups).ndcg10 < 1.0);
        assert_eq!(Quality::of_groups(&[9, 2], &groups).hit1, 0.0);
    }

    #[test]
    fn quantiles_are_values_that_were_measured() {
        let sorted: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!((quantile(&sorted, 0.5), quantile(&sorted, 0.99)), (50.0, 99.0));
        assert_eq!(quantile(&[], 0.5), 0.0);
    }
}
