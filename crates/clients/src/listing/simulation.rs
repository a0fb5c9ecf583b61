//! The listing that a rule makes of skills.

use unicode_width::UnicodeWidthStr as _;

use super::rule::{ListingBudget, ListingRule, OfferedSkill};

/// The number of tokens from which on a context window is large.
const LARGE_WINDOW: usize = 1_000_000;

/// The bytes of a token, as Codex estimates it.
const BYTES_PER_TOKEN: usize = 4;

/// The part of a skill that the model gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownPart {
    /// All of it.
    Whole,
    /// The description up to this number of characters.
    Cut(usize),
    /// The name without the description.
    NameOnly,
    /// Nothing.
    Gone,
}

/// A skill in a listing.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedSkill {
    /// The skill.
    pub skill: OfferedSkill,
    /// The part of it that the model gets.
    pub shown: ShownPart,
    /// The text that the model gets; empty if there is nothing.
    pub text: String,
}

impl ListedSkill {
    /// Returns the characters of the description that the model gets.
    pub fn characters(&self) -> usize {
        match self.shown {
            ShownPart::Whole => self.skill.description.chars().count(),
            ShownPart::Cut(characters) => characters,
            ShownPart::NameOnly | ShownPart::Gone => 0,
        }
    }
}

/// The listing that a model gets.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedListing {
    /// The room for all skills, and the unit it is counted in; `None` without a limit.
    pub budget: Option<(usize, &'static str)>,
    /// The part of the room that the client's own skills take.
    pub own: usize,
    /// The skills, in the order of the listing.
    pub skills: Vec<ListedSkill>,
}

impl SimulatedListing {
    /// Returns the number of skills of which the model gets less than all.
    pub fn losses(&self) -> usize {
        self.skills.iter().filter(|listed| listed.shown != ShownPart::Whole).count()
    }
}

/// Returns the listing of `skills` by `rule`.
pub fn simulate(rule: &ListingRule, mut skills: Vec<OfferedSkill>) -> SimulatedListing {
    skills.sort_by_cached_key(|skill| ((rule.order)(skill), skill.path.clone()));
    let own: Vec<(usize, usize)> = rule
        .own
        .iter()
        .filter(|(name, _)| rule.user_wins.is_none() || !skills.iter().any(|skill| skill.name == *name))
        .map(|(name, length)| (name.len(), *length))
        .collect();
    let written: Vec<Option<(String, bool)>> =
        skills.iter().map(|skill| written(rule, &skill.description)).collect();
    let text = |at: usize, description: &str| (rule.entry)(&skills[at], description);
    let whole =
        |at: usize| written[at].as_ref().map(|(description, _)| text(at, description)).unwrap_or_default();
    let part = |fraction: f64| rule.room.unwrap_or((rule.window as f64 * fraction) as usize);
    let (budget, own, shown) = match rule.budget {
        ListingBudget::Unlimited => (None, 0, vec![ShownPart::Whole; skills.len()]),
        ListingBudget::MostUsed(fraction, columns, reserved) => {
            let budget = part(fraction * columns[usize::from(rule.window < LARGE_WINDOW)] as f64);
            let line = |(name, length): &(usize, usize)| name + length + if *length == 0 { 3 } else { 5 };
            let own = own.iter().map(line).sum::<usize>() + reserved;
            let size = |at: usize| (text(at, "").width(), whole(at).width(), skills[at].uses);
            let sizes: Vec<_> = (0..skills.len()).map(size).collect();
            (Some((budget, "characters")), own, most_used(&sizes, budget.checked_sub(own)))
        }
        ListingBudget::Even(fraction) => {
            let budget = part(fraction).max(1);
            let path = "- : (file: r1//SKILL.md)\n".len();
            let mut lines: Vec<Line> =
                own.iter().map(|(name, length)| (2 * name + path, vec![1; *length])).collect();
            let spent = lines
                .iter()
                .map(|(name, characters)| tokens(name + characters.len(), characters.len()))
                .sum();
            lines.extend(written.iter().enumerate().map(|(at, written)| {
                let description = written.iter().flat_map(|(description, _)| description.chars());
                (text(at, "").len() + 1, description.map(char::len_utf8).collect())
            }));
            (Some((budget, "tokens")), spent, even(&lines, budget).split_off(own.len()))
        }
        ListingBudget::FirstCome(characters) => {
            let mut left = Some(characters);
            let shown = (0..skills.len()).map(|at| {
                let size = written[at].as_ref().map_or(0, |_| whole(at).chars().count() + 1);
                left = left.and_then(|left| left.checked_sub(size));
                if left.is_some() { ShownPart::Whole } else { ShownPart::NameOnly }
            });
            (Some((characters, "characters")), 0, shown.collect())
        }
    };
    let listed = skills.iter().zip(&written).zip(shown).map(|((skill, written), shown)| {
        let Some((description, is_cut)) = written else {
            return ListedSkill { skill: skill.clone(), shown: ShownPart::Gone, text: String::new() };
        };
        let shown = match shown {
            ShownPart::Whole if *is_cut => ShownPart::Cut(description.chars().count()),
            shown => shown,
        };
        let text = match shown {
            ShownPart::Whole => (rule.entry)(skill, description),
            ShownPart::Cut(most) => (rule.entry)(skill, &description.chars().take(most).collect::<String>()),
            ShownPart::NameOnly if matches!(rule.budget, ListingBudget::FirstCome(_)) => skill.name.clone(),
            ShownPart::NameOnly => (rule.entry)(skill, ""),
            ShownPart::Gone => String::new(),
        };
        ListedSkill { skill: skill.clone(), shown, text }
    });
    let listed = listed.collect();
    SimulatedListing { budget, own, skills: listed }
}

/// Returns `description` as the model gets it, and whether that is not all; `None` if its skill is left out.
fn written(rule: &ListingRule, description: &str) -> Option<(String, bool)> {
    let text = (rule.written)(description);
    let longest = rule.longest.unwrap_or(usize::MAX);
    let Some(mark) = rule.cut_mark else {
        return (description.chars().count() <= longest).then_some((text, false));
    };
    if text.chars().count() <= longest {
        return Some((text, false));
    }
    let kept = longest.saturating_sub(mark.chars().count());
    Some((text.chars().take(kept).chain(mark.chars()).collect(), true))
}

/// Returns what is shown in a room of `left` columns of skills, each with the columns of its name and of all
/// of it, and the weight of its use. Names stay where there is no room.
fn most_used(skills: &[(usize, usize, f64)], left: Option<usize>) -> Vec<ShownPart> {
    let names: usize = skills.iter().map(|(name, ..)| name + 1).sum();
    let mut left = left.and_then(|left| (left + 1).checked_sub(names));
    let mut order: Vec<usize> = (0..skills.len()).collect();
    order.sort_by(|a, b| skills[*b].2.total_cmp(&skills[*a].2));
    let mut shown = vec![ShownPart::NameOnly; skills.len()];
    for at in order {
        let (name, whole, _) = skills[at];
        if let Some(rest) = left.and_then(|left| left.checked_sub(whole - name)) {
            (left, shown[at]) = (Some(rest), ShownPart::Whole);
        }
    }
    shown
}

/// A line: its bytes without the description, and the bytes of each character of the description.
type Line = (usize, Vec<usize>);

/// Returns the tokens of a line of so many bytes, and a blank before the description.
fn tokens(bytes: usize, characters: usize) -> usize {
    (bytes + usize::from(characters > 0)).div_ceil(BYTES_PER_TOKEN)
}

/// Returns what is shown of each of `lines` within `budget` tokens.
fn even(lines: &[Line], budget: usize) -> Vec<ShownPart> {
    let names: usize = lines.iter().map(|(name, _)| tokens(*name, 0)).sum();
    let Some(mut left) = budget.checked_sub(names) else {
        let mut left = budget;
        let shown = |(name, _): &Line| {
            let rest = left.checked_sub(tokens(*name, 0));
            left = rest.unwrap_or(left);
            rest.map_or(ShownPart::Gone, |_| ShownPart::NameOnly)
        };
        return lines.iter().map(shown).collect();
    };
    // One character for each in turn, so that what short descriptions do not need is left for the others.
    let mut kept: Vec<(usize, usize)> = lines.iter().map(|(name, _)| (0, *name)).collect();
    let mut is_changed = true;
    while is_changed {
        is_changed = false;
        for ((_, all), (characters, bytes)) in lines.iter().zip(&mut kept) {
            let Some(next) = all.get(*characters) else { continue };
            let more = tokens(*bytes + next, *characters + 1) - tokens(*bytes, *characters);
            if let Some(rest) = left.checked_sub(more) {
                (left, *characters, *bytes) = (rest, *characters + 1, *bytes + next);
                is_changed = true;
            }
        }
    }
    let shown = |((_, all), (characters, _)): (&Line, &(usize, usize))| match *characters {
        kept if kept == all.len() => ShownPart::Whole,
        0 => ShownPart::NameOnly,
        some => ShownPart::Cut(some),
    };
    lines.iter().zip(&kept).map(shown).collect()
}
