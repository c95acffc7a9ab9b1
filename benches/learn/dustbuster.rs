//! DustBuster, reconstructed from its papers, as a baseline.
//!
//! Bar-Yossef, Keidar, Schonfeld, "Do not crawl in the DUST", WWW 2007: substring rules from
//! buckets of URLs that are equal but for one substring, parameter rules likewise, ranked by
//! support; rules that another refines are dropped; the rest is validated. Fetching is not
//! possible here: a rule is validated on pairs of URLs that are both in the list, by digest.
//! Substrings have up to 12 tokens (the paper: 35), buckets up to 6, and only the first 300 likely
//! rules are looked at.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::seen::Seen;

const TOKENS_MAX: usize = 12;
const BUCKET_MAX: usize = 6;
const PARAMETER_BUCKET_MAX: usize = 500;
const SUPPORT_MIN: u64 = 3;
const RULES_MAX: usize = 300;
const SAMPLES: u64 = 100;
const PASSES_MAX: usize = 10;

/// Which rules are accepted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Validation {
    /// The first so many by support, unseen.
    None(usize),
    /// With so many pairs in the list or more, of which at most this share disagrees.
    Pairs(u64, f64),
}

/// A rewriting of the first occurrence of a text, or the removal of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    Substring(String, String),
    Parameter(String),
}

/// Rules in the order in which they are applied. Texts start with `^` and end with `$`.
pub(crate) struct DustBuster {
    rules: Vec<Rule>,
}

/// Ranges of the tokens of `text`: runs of letters and digits, and every other character.
fn tokens(text: &str) -> Vec<usize> {
    let mut borders = vec![0];
    let mut last = false;
    for (at, letter) in text.char_indices() {
        let word = letter.is_alphanumeric();
        if at > 0 && !(word && last) {
            borders.push(at);
        }
        last = word;
    }
    borders.push(text.len());
    borders
}

fn hashed(bytes: &[u8], start: u64) -> u64 {
    bytes.iter().fold(start, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3).rotate_left(29)
    })
}

/// Likely substring rules with their support, by sizes; and likely parameter rules.
fn likely(seen: &[Seen], texts: &[String]) -> Vec<(u64, Rule)> {
    let mut rows: Vec<(u64, u32, u32, u32)> = Vec::new();
    for (number, text) in (0u32..).zip(texts) {
        let borders = tokens(text);
        let bytes = text.as_bytes();
        let before: Vec<u64> = borders.iter().map(|at| hashed(&bytes[..*at], 1)).collect();
        let after: Vec<u64> = borders.iter().map(|at| hashed(&bytes[*at..], 2)).collect();
        for from in 1..borders.len() - 1 {
            for to in from..(from + TOKENS_MAX + 1).min(borders.len() - 1) {
                let envelope = before[from].wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ after[to];
                rows.push((envelope, number, borders[from] as u32, borders[to] as u32));
            }
        }
    }
    rows.sort_unstable();
    let mut support: HashMap<(&str, &str), u64> = HashMap::new();
    for bucket in rows.chunk_by(|a, b| a.0 == b.0) {
        if !(2..=BUCKET_MAX).contains(&bucket.len()) {
            continue;
        }
        for (at, a) in bucket.iter().enumerate() {
            for b in &bucket[at + 1..] {
                if !seen[a.1 as usize].has_like_size(&seen[b.1 as usize]) {
                    continue;
                }
                let part = |row: &(u64, u32, u32, u32)| {
                    &texts[row.1 as usize][row.2 as usize..row.3 as usize]
                };
                let (one, other) = (part(a), part(b));
                // The shrinking direction: the longer text becomes the shorter.
                let shrinks = (one.len(), one) > (other.len(), other);
                let pair = if shrinks { (one, other) } else { (other, one) };
                *support.entry(pair).or_insert(0) += 1;
            }
        }
    }
    let mut out: Vec<(u64, Rule)> = support
        .into_iter()
        .filter(|(_, count)| *count >= SUPPORT_MIN)
        .map(|((from, to), count)| (count, Rule::Substring(from.to_string(), to.to_string())))
        .collect();
    out.extend(parameters(seen));
    out.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    out
}

fn parameters(seen: &[Seen]) -> Vec<(u64, Rule)> {
    let mut buckets: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    for (number, one) in seen.iter().enumerate() {
        let query = one.url.split_once('?').map_or("", |(_, query)| query);
        let names: BTreeSet<&str> =
            query.split('&').map(|pair| pair.split('=').next().unwrap_or("")).collect();
        for name in names.into_iter().filter(|name| !name.is_empty()) {
            let key = (name.to_string(), dropped(&one.url, name));
            buckets.entry(key).or_default().push(number);
        }
    }
    let mut support: BTreeMap<String, u64> = BTreeMap::new();
    for ((name, _), members) in buckets {
        if members.len() <= PARAMETER_BUCKET_MAX {
            let like = |pair: &&[usize]| seen[pair[0]].has_like_size(&seen[pair[1]]);
            *support.entry(name).or_default() += members.windows(2).filter(like).count() as u64;
        }
    }
    let likely = support.into_iter().filter(|(_, count)| *count >= SUPPORT_MIN);
    likely.map(|(name, count)| (count, Rule::Parameter(name))).collect()
}

/// `url` without the parameter.
fn dropped(url: &str, name: &str) -> String {
    let Some((place, query)) = url.split_once('?') else { return url.to_string() };
    let is_other = |pair: &&str| pair.split('=').next() != Some(name);
    let kept: Vec<&str> = query.split('&').filter(is_other).collect();
    let mark = if kept.is_empty() { "" } else { "?" };
    format!("{place}{mark}{}", kept.join("&"))
}

impl Rule {
    /// The text with the rule applied once; `None` if it does not change.
    fn apply(&self, text: &str) -> Option<String> {
        match self {
            Rule::Substring(from, to) => {
                // An empty text stands everywhere: that rule is none.
                let at = if from.is_empty() { None } else { text.find(from.as_str()) }?;
                Some(format!("{}{to}{}", &text[..at], &text[at + from.len()..]))
            }
            Rule::Parameter(name) => {
                let url = text.strip_prefix('^')?.strip_suffix('$')?;
                let new = format!("^{}$", dropped(url, name));
                (new != text).then_some(new)
            }
        }
    }

    /// Does the other rule say the same with more around it?
    fn is_refined_by(&self, other: &Rule) -> bool {
        let (Rule::Substring(from, to), Rule::Substring(longer, into)) = (self, other) else {
            return false;
        };
        if from.is_empty() || longer.len() <= from.len() {
            return false;
        }
        longer.match_indices(from.as_str()).any(|(at, _)| {
            let (head, tail) = (&longer[..at], &longer[at + from.len()..]);
            into.len() == head.len() + to.len() + tail.len()
                && into.starts_with(head)
                && into.ends_with(tail)
                && &into[head.len()..head.len() + to.len()] == to
        })
    }
}

/// Of two rules that say the same with nearly equal support the more specific stays.
fn without_redundant(likely: Vec<(u64, Rule)>) -> Vec<(u64, Rule)> {
    let mut gone = vec![false; likely.len()];
    for i in 0..likely.len() {
        for j in i + 1..likely.len().min(i + 1_100) {
            if gone[i] {
                break;
            }
            let apart = likely[i].0 - likely[j].0;
            if apart as f64 > (0.2 * likely[i].0 as f64).max(1.0) {
                break;
            }
            if likely[j].1.is_refined_by(&likely[i].1) {
                gone[j] = true;
            } else if !gone[j] && likely[i].1.is_refined_by(&likely[j].1) {
                gone[i] = true;
            }
        }
    }
    likely.into_iter().zip(gone).filter(|(_, gone)| !gone).map(|(rule, _)| rule).collect()
}

/// The likely rules of a site with their support, redundant ones left out: what all validations
/// start with.
pub(crate) fn likely_rules(seen: &[Seen]) -> Vec<(u64, Rule)> {
    let texts: Vec<String> = seen.iter().map(|one| format!("^{}$", one.url)).collect();
    let mut rules = likely(seen, &texts);
    rules.truncate(10 * RULES_MAX);
    let mut rules = without_redundant(rules);
    rules.truncate(RULES_MAX);
    rules
}

impl DustBuster {
    /// Accepts rules in the order of their support; one that an accepted rule says already is left
    /// out.
    pub(crate) fn accept(
        seen: &[Seen],
        likely: &[(u64, Rule)],
        validation: Validation,
    ) -> DustBuster {
        let mut rules: Vec<Rule> = Vec::new();
        match validation {
            Validation::None(most) => rules.extend(likely.iter().take(most).map(|r| r.1.clone())),
            Validation::Pairs(pairs_min, share) => {
                let texts: Vec<String> = seen.iter().map(|one| format!("^{}$", one.url)).collect();
                let places: HashMap<&str, usize> =
                    texts.iter().enumerate().map(|(at, text)| (text.as_str(), at)).collect();
                for (_, rule) in likely {
                    let known = rules.iter().any(|before| before.is_refined_by(rule));
                    if !known && validated(seen, &texts, &places, rule, pairs_min, share) {
                        rules.push(rule.clone());
                    }
                }
            }
        }
        DustBuster { rules }
    }

    /// How many rules are in force.
    pub(crate) fn len(&self) -> usize {
        self.rules.len()
    }

    /// The URL after passes over all rules, until nothing changes or there were ten.
    pub(crate) fn form(&self, url: &str) -> Vec<u8> {
        let mut text = format!("^{url}$");
        for _ in 0..PASSES_MAX {
            let before = text.clone();
            for rule in &self.rules {
                if let Some(new) = rule.apply(&text) {
                    text = new;
                }
            }
            if text == before {
                break;
            }
        }
        text.trim_start_matches('^').trim_end_matches('$').as_bytes().to_vec()
    }
}

/// Do the pairs of the list that the rule makes one have one digest? At most a hundred are looked
/// at, spread over the list.
fn validated(
    seen: &[Seen],
    texts: &[String],
    places: &HashMap<&str, usize>,
    rule: &Rule,
    pairs_min: u64,
    share: f64,
) -> bool {
    let (mut same, mut other) = (0u64, 0u64);
    // A step that shares no factor with most lengths: a sample without a generator.
    let step = 7919;
    for turn in 0..texts.len() {
        let at = turn * step % texts.len();
        let Some(to) = rule.apply(&texts[at]).and_then(|new| places.get(new.as_str()).copied())
        else {
            continue;
        };
        match seen[at].agrees(&seen[to]) {
            Some(true) => same += 1,
            Some(false) => other += 1,
            None => {}
        }
        if same + other == SAMPLES {
            break;
        }
    }
    same + other >= pairs_min && other as f64 <= share * (same + other) as f64
}
