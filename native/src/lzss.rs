//! Compressed sizes of the compressor of Linea's blobs, without the compressed bytes.
//!
//! The compressor is LZSS with a dictionary. A compressed payload is a header, followed by symbols. A symbol is a
//! literal byte, or a reference to equal bytes. A near reference points to one of the last 2**14 bytes of the payload.
//! A far reference can point to any earlier byte of the payload and of the dictionary. The bytes 0xfe and 0xff mark
//! references and cannot be literals: they are always part of a reference, even of one byte.
//!
//! Source: Consensys/compress v0.2.5 (2024), lzss; v0.2.4 and v0.3.0 give the same sizes.
//!
//! Positions are found by keys. The key of a position is the first bytes at the position or, where these are all equal,
//! what `run_key` returns.

use std::cmp::{max, min};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use revm::primitives::map::{FxBuildHasher, HashMap};

const HEADER_BYTES: usize = 3;
const LITERAL_BITS: usize = 8;
const NEAR_BITS: i32 = 8 + 8 + 14; // mark, length, distance
const FAR_BITS: i32 = 8 + 8 + 21;
const FIRST_RESERVED: u8 = 0xfe;
/// Largest distance of a near reference, in bytes.
const WINDOW: usize = 1 << 14;
/// Longest reference, in bytes.
const LONGEST: usize = 256;
/// A run of at least this length is encoded by a reference to the byte before.
const LONG_RUN: usize = 160;
/// Shortest near reference that does not start at a reserved byte; a far one is a byte longer.
const SHORTEST: usize = 4;
/// Bytes of a key of the dictionary, the shortest far reference.
const KEY: usize = 5;
const LONGEST_DICTIONARY: usize = (1 << 21) - (1 << 18) + 2;
/// Most bytes of all payloads of a call.
const MOST: usize = 1 << 29;

/// Savings without a reference, in bits.
const NO_MATCH: i32 = -8 * LONGEST as i32;
/// A floor below all that a reference can save, also below `NO_MATCH`.
const ANY: i32 = NO_MATCH - 1;
/// Zeros after data that is read in words of eight bytes.
const PADDING: usize = 16;
/// Comparisons for each byte of a payload, beyond which the matches at all indices are tabulated. The search for
/// matches is faster in real transactions, but takes quadratic time for adversarial payloads.
const PATIENCE: i64 = 8;
/// Number of earlier positions of a key up to which no rarer key is looked for.
const FEW: u32 = 4;

/// The longest match at a position, and its latest start; negative where there is none.
#[derive(Clone, Copy)]
struct Match {
    length: usize,
    start: i32,
}

fn is_reserved(byte: u8) -> bool {
    byte >= FIRST_RESERVED
}

/// Bits that the best reference saves compared with literals. A far reference takes seven bits more than a near one,
/// so it is better if it replaces one byte more, which takes eight bits as a literal.
fn reference_savings(near: usize, longest: usize, reserved: bool) -> i32 {
    if near == longest && (near >= SHORTEST || reserved) {
        8 * near as i32 - NEAR_BITS
    } else if longest >= KEY || reserved {
        8 * longest as i32 - FAR_BITS
    } else {
        NO_MATCH
    }
}

/// The length of a reference from the bits it saves.
fn reference_length(savings: i32) -> usize {
    (savings + FAR_BITS) as usize / 8
}

#[inline(always)]
fn word(data: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*data[at..].first_chunk().expect("eight bytes"))
}

/// Whether the first bytes of a word are equal.
#[inline(always)]
fn all_equal(word: u64, width: usize) -> bool {
    (word ^ (word >> 8)) & ((1 << (8 * (width - 1))) - 1) == 0
}

/// The first bytes of a word.
#[inline(always)]
fn first(word: u64, width: usize) -> u64 {
    word & ((1 << (8 * width)) - 1)
}

/// The length of the common prefix, at most `limit`. Both slices go on for eight bytes or more after it.
#[inline(always)]
fn common_prefix(a: &[u8], b: &[u8], limit: usize) -> usize {
    let mut length = 0;
    while length < limit {
        let difference = word(a, length) ^ word(b, length);
        if difference != 0 {
            length += difference.trailing_zeros() as usize / 8;
            break;
        }
        length += 8;
    }
    min(length, limit)
}

/// The key of a position at which a run of `run` equal bytes starts, followed by the byte `following`.
///
/// A match goes on beyond the end of the run only if it starts where an earlier run has as many bytes left. So the key
/// contains `run`, and the positions of a run have different keys.
#[inline(always)]
fn run_key(run: usize, byte: u8, following: u8) -> u64 {
    1 << 63 | (run as u64) << 16 | u64::from(byte) << 8 | u64::from(following)
}

/// A hash whose higher bits depend on the whole key (Fibonacci hashing).
#[inline(always)]
fn hashed(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The starts of all suffixes, sorted by their first `LONGEST` bytes. A suffix that is a prefix of another comes first.
fn suffix_order(data: &[u8]) -> Vec<u32> {
    let suffix = |start: u32| &data[start as usize..min(start as usize + LONGEST, data.len())];
    let mut first_bytes = 0_u64;
    let mut suffixes: Vec<(u64, u32)> = Vec::with_capacity(data.len());
    for start in (0..data.len()).rev() {
        first_bytes = first_bytes >> 8 | u64::from(data[start]) << 56;
        suffixes.push((first_bytes, start as u32));
    }
    suffixes.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| suffix(a.1).cmp(suffix(b.1))));
    suffixes.into_iter().map(|(_, start)| start).collect()
}

/// The sorted suffixes of a dictionary and, for each key, the suffixes that start with it.
struct Dictionary {
    /// The dictionary, followed by zeros.
    data: Vec<u8>,
    order: Vec<u32>,
    /// For each byte, the index in `order` of the first suffix that starts with it.
    byte_bounds: [usize; 257],
    /// For each byte, the length of its longest run.
    longest_run: [usize; 256],
    /// Start and end in `order` of the suffixes with each key.
    ranges: HashMap<u64, (u32, u32), FxBuildHasher>,
}

impl Dictionary {
    fn new(bytes: &[u8]) -> Self {
        let order = suffix_order(bytes);
        let mut byte_bounds = [0; 257];
        let mut longest_run = [0; 256];
        let mut runs = vec![1; bytes.len()];
        for start in (0..bytes.len()).rev() {
            if start + 1 < bytes.len() && bytes[start] == bytes[start + 1] {
                runs[start] = runs[start + 1] + 1;
            }
            let byte = usize::from(bytes[start]);
            longest_run[byte] = max(longest_run[byte], runs[start]);
            byte_bounds[byte + 1] += 1;
        }
        for byte in 0..256 {
            byte_bounds[byte + 1] += byte_bounds[byte];
        }
        let mut data = bytes.to_vec();
        data.resize(bytes.len() + PADDING, 0);
        let mut index = Self { data, order, byte_bounds, longest_run, ranges: HashMap::default() };
        index.enter_keys(&runs);
        index
    }

    /// Enter the key of every suffix.
    ///
    /// Suffixes with the same key are neighbours in `order`, except those that start with a run longer than `LONGEST`,
    /// whose keys are not looked for. The order of suffixes whose first `LONGEST` bytes are equal does not matter: no
    /// match is longer.
    fn enter_keys(&mut self, runs: &[usize]) {
        let keys: Vec<Option<u64>> = self.order.iter().map(|start| self.key(runs, *start as usize)).collect();
        let mut start = 0;
        for same in keys.chunk_by(|a, b| a == b) {
            let end = start + same.len();
            if let Some(key) = same[0] {
                self.ranges.insert(key, (start as u32, end as u32));
            }
            start = end;
        }
    }

    /// The key at a position; `None` where too few bytes follow.
    fn key(&self, runs: &[usize], at: usize) -> Option<u64> {
        if at + max(runs[at] + 1, KEY) > runs.len() {
            None
        } else if runs[at] >= KEY {
            Some(run_key(runs[at], self.data[at], self.data[at + runs[at]]))
        } else {
            Some(first(word(&self.data, at), KEY))
        }
    }

    /// The length of the longest match at `i`, or `known` if no match is longer.
    ///
    /// The length is at most `limit`. A match shorter than `KEY` is found only if the byte is reserved and `known` is
    /// less than `KEY - 1`.
    #[inline(never)]
    fn longest(&self, payload: &Payload, i: usize, limit: usize, mut known: usize) -> usize {
        let data = &payload.data[..];
        let (byte, word_here) = (data[i], word(data, i));
        let long_run = limit >= KEY && all_equal(word_here, KEY);
        let mut range = (0, 0);
        if is_reserved(byte) && known < KEY - 1 && !long_run {
            range = (self.byte_bounds[usize::from(byte)], self.byte_bounds[usize::from(byte) + 1]);
        } else if limit < KEY {
            return known;
        } else {
            if known >= KEY {
                // A longer match contains the byte after the known match.
                let last = word(data, i + known + 1 - KEY);
                if !all_equal(last, KEY) && !self.ranges.contains_key(&first(last, KEY)) {
                    return known;
                }
            }
            if !long_run {
                range = self.with_key(first(word_here, KEY));
            } else {
                let run = payload.runs[i] as usize;
                known = max(known, min(min(run, limit), self.longest_run[usize::from(byte)]));
                if run < limit {
                    range = self.with_key(run_key(run, byte, data[i + run]));
                }
            }
        }
        let (mut low, mut high) = range;
        while low < high {
            let middle = (low + high) / 2;
            let start = self.order[middle] as usize;
            let rest = self.order.len() - start;
            let length = common_prefix(&self.data[start..], &data[i..], min(limit, rest));
            known = max(known, length);
            if length == limit {
                break;
            }
            if length == rest || self.data[start + length] < data[i + length] {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        known
    }

    /// Where the suffixes with a key are in `order`.
    #[inline(always)]
    fn with_key(&self, key: u64) -> (usize, usize) {
        self.ranges.get(&key).map_or((0, 0), |(low, high)| (*low as usize, *high as usize))
    }
}

/// A payload and its earlier positions by key, reused for the next payload to keep its memory.
#[derive(Default)]
struct Payload {
    length: usize,
    /// 1 + the length of all payloads before.
    origin: u32,
    /// The payload, followed by zeros.
    data: Vec<u8>,
    /// The latest earlier position with the same hash of the key, and the number of all such positions. Negative where
    /// there is none; undefined for the last `SHORTEST - 1` positions.
    previous: Vec<i32>,
    rank: Vec<u32>,
    /// In runs of at least `SHORTEST` equal bytes, the length that the run still has; undefined where it is shorter.
    runs: Vec<u32>,
    /// For the first position of a run, the start of the run before of the same byte; negative where there is none.
    previous_run: Vec<i32>,
    /// For a reserved byte, its last position, and that of the same two bytes; negative where there is none.
    previous_byte: Vec<i32>,
    previous_pair: Vec<i32>,
    /// The latest position with each hash of a key, and its rank. Positions count from 1 at the first payload, so those
    /// in earlier payloads are negative after subtraction of `origin`.
    heads: Vec<(u32, u32)>,
    /// The latest start of a run of each byte, of each pair of a reserved byte and another, and of each reserved byte.
    last_runs: Vec<u32>,
    last_pairs: [Vec<u32>; 2],
    last_bytes: [u32; 2],
    /// Bits that the best reference saves at each index, if they are tabulated.
    savings: Vec<i32>,
    comparisons: usize,
}

/// The base-2 logarithm of the number of heads: two for each byte.
fn head_bits(length: usize) -> u32 {
    (2 * length).next_power_of_two().ilog2().clamp(10, 18)
}

impl Payload {
    /// The compressed size of the next payload, in bytes.
    fn size(&mut self, bytes: &[u8], dictionary: &Dictionary, patience: i64) -> usize {
        self.load(bytes);
        HEADER_BYTES + self.bits(dictionary, patience).div_ceil(8)
    }

    /// Take the next payload.
    fn load(&mut self, bytes: &[u8]) {
        let length = bytes.len();
        self.origin = max(1, self.origin + self.length as u32);
        self.length = length;
        self.comparisons = 0;
        self.savings.clear();
        self.data.clear();
        self.data.extend_from_slice(bytes);
        self.data.resize(length + PADDING, 0);
        if self.rank.len() < length {
            self.rank.resize(length, 0);
            self.runs.resize(length, 0);
            for positions in
                [&mut self.previous, &mut self.previous_run, &mut self.previous_byte, &mut self.previous_pair]
            {
                positions.resize(length, 0);
            }
        }
        let heads = (1 << head_bits(length)) + LONGEST;
        if self.heads.len() < heads {
            self.heads.resize(heads, (0, 0));
        }
        self.last_runs.resize(256, 0);
        self.last_pairs.iter_mut().for_each(|pairs| pairs.resize(256, 0));
        self.enter_keys(64 - head_bits(length));
        for (start, chunk) in (0..).step_by(32).zip(bytes.chunks(32)) {
            if chunk.iter().fold(0, |most, byte| max(most, *byte)) >= FIRST_RESERVED {
                (start..).zip(chunk).filter(|(_, byte)| is_reserved(**byte)).for_each(|(i, _)| self.enter_reserved(i));
            }
        }
    }

    /// Enter the keys of all positions except the last `SHORTEST - 1`.
    ///
    /// Where a run has `LONGEST` bytes left or more, no match goes beyond it, and the position has no key.
    fn enter_keys(&mut self, shift: u32) {
        let (length, origin) = (self.length, self.origin);
        let (data, heads) = (&self.data[..length + PADDING], &mut self.heads[..]);
        let (rank, previous) = (&mut self.rank[..length], &mut self.previous[..length]);
        let mut enter = |i: usize, slot: Option<usize>| {
            (previous[i], rank[i]) = (-1, 0);
            if let Some(slot) = slot {
                let (latest, latest_rank) = heads[slot];
                previous[i] = latest as i32 - origin as i32;
                rank[i] = if previous[i] >= 0 { latest_rank + 1 } else { 0 };
                heads[slot] = (origin + i as u32, rank[i]);
            }
        };
        let mut i = 0;
        while i + SHORTEST <= length {
            let here = word(data, i);
            if !all_equal(here, SHORTEST) {
                enter(i, Some((hashed(first(here, SHORTEST)) >> shift) as usize));
                i += 1;
                continue;
            }
            let (byte, end) = (data[i], i + 1 + common_prefix(&data[i + 1..], &data[i..], length - i - 1));
            let last = &mut self.last_runs[usize::from(byte)];
            self.previous_run[i] = std::mem::replace(last, origin + i as u32) as i32 - origin as i32;
            let first = (hashed(run_key(0, byte, data[end])) >> shift) as usize;
            for run in SHORTEST..=end - i {
                self.runs[end - run] = run as u32;
                enter(end - run, (run < LONGEST).then_some(first + run));
            }
            i = end + 1 - SHORTEST;
        }
    }

    fn enter_reserved(&mut self, i: usize) {
        let origin = self.origin;
        let byte = usize::from(self.data[i] & 1);
        let pair = &mut self.last_pairs[byte][usize::from(self.data[i + 1])];
        let position = origin + i as u32;
        self.previous_pair[i] = std::mem::replace(pair, position) as i32 - origin as i32;
        self.previous_byte[i] = std::mem::replace(&mut self.last_bytes[byte], position) as i32 - origin as i32;
    }

    /// The bits of all symbols.
    ///
    /// If a reference saves bits, the references at the next two indices are also tried, and one that saves more is
    /// taken instead.
    fn bits(&mut self, dictionary: &Dictionary, patience: i64) -> usize {
        let (mut bits, mut i) = (0, 0);
        'symbols: while i < self.length {
            let byte = self.data[i];
            let run = self.run_at(i);
            if run >= LONG_RUN {
                if i == 0 || self.data[i - 1] != byte {
                    bits += if is_reserved(byte) { FAR_BITS as usize } else { LITERAL_BITS };
                }
                bits += NEAR_BITS as usize;
                i += min(run, LONGEST);
                continue;
            }
            if self.savings.is_empty() && self.comparisons as i64 > patience.saturating_mul(self.length as i64) {
                self.tabulate(dictionary);
            }
            let mut saved = self.savings_at(i, dictionary, ANY);
            while !is_reserved(self.data[i]) {
                if saved < 0 {
                    bits += LITERAL_BITS;
                    i += 1;
                    continue 'symbols;
                }
                let mut ahead = 1;
                let mut better = self.savings_at(i + 1, dictionary, saved + 1);
                if better <= saved + 1 {
                    if is_reserved(self.data[i + 1]) {
                        break;
                    }
                    ahead = 2;
                    better = self.savings_at(i + 2, dictionary, saved + 2);
                    if better <= saved + 2 {
                        break;
                    }
                }
                bits += LITERAL_BITS * ahead;
                i += ahead;
                saved = better;
                if self.run_at(i) >= LONG_RUN {
                    continue 'symbols;
                }
            }
            let length = reference_length(saved);
            bits = (bits + 8 * length).wrapping_add_signed(-saved as isize);
            i += length;
        }
        bits
    }

    /// The length of the run of equal bytes at a position, or 0 if it is shorter than `SHORTEST`.
    #[inline(always)]
    fn run_at(&self, i: usize) -> usize {
        if i + SHORTEST <= self.length && all_equal(word(&self.data, i), SHORTEST) { self.runs[i] as usize } else { 0 }
    }

    /// The bits that the best reference saves at an index, exact if they are above `floor`.
    #[inline(always)]
    fn savings_at(&mut self, i: usize, dictionary: &Dictionary, floor: i32) -> i32 {
        if i >= self.length {
            return NO_MATCH;
        }
        if !self.savings.is_empty() {
            return self.savings[i];
        }
        let limit = min(LONGEST, self.length - i);
        let reserved = is_reserved(self.data[i]);
        let any = floor == ANY;
        // Only a match of more than `known` bytes can save more than `floor`.
        let known = if any { SHORTEST - 1 } else { (floor + NEAR_BITS) as usize / 8 };
        // Even a match of one byte is needed, as reserved bytes cannot be literals.
        let short = reserved && any;
        if limit <= known && !short {
            return NO_MATCH;
        }
        let mut found = Match { length: known, start: -1 };
        if limit > known {
            if any && !reserved && self.previous[i] < 0 {
                // the most frequent case
                let here = word(&self.data, i);
                if !all_equal(here, SHORTEST) && (limit < KEY || !dictionary.ranges.contains_key(&first(here, KEY))) {
                    return NO_MATCH;
                }
            }
            found = self.longest_before(i, limit, known);
        }
        if found.start < 0 {
            found = if short { self.short_before(i, limit) } else { Match { length: known, start: -1 } };
        }
        let near = if found.start >= 0 && i - found.start as usize <= WINDOW { found.length } else { 0 };
        let longest = if found.length == limit { limit } else { dictionary.longest(self, i, limit, found.length) };
        if found.start < 0 && longest == found.length && !short {
            return NO_MATCH;
        }
        reference_savings(near, longest, reserved)
    }

    /// The longest match in earlier data that is longer than `known`, which is at least `SHORTEST - 1`.
    ///
    /// A match longer than the best so far contains the keys of `i` and of several later indices. The search takes the
    /// rarest of these keys, and visits its earlier positions from the latest to the earliest. So the first match that
    /// is found for a length is also the latest of this length.
    #[inline(never)]
    fn longest_before(&mut self, i: usize, limit: usize, known: usize) -> Match {
        let (data, previous) = (&self.data[..], &self.previous[..]);
        let mut comparisons = 0;
        let run = min(self.run_at(i), limit);
        let mut best = Match { length: known, start: -1 };
        if run > known {
            best.length = run; // a longer match starts at an index with the same key
            if i > 0 && data[i - 1] == data[i] {
                best.start = i as i32 - 1;
            }
        }
        let mut shift = if best.length < SHORTEST || best.length == run { 0 } else { self.rarest_key(i, best.length) };
        let before = |candidate: usize, shift: usize| previous[candidate + shift] - shift as i32;
        let mut candidate = if best.length < limit { before(i, shift) } else { -1 };
        while candidate >= 0 {
            comparisons += 1;
            let start = candidate as usize;
            let mut following = before(start, shift);
            if data[start + best.length] == data[i + best.length] {
                let shared = common_prefix(&data[start..], &data[i..], limit);
                comparisons += shared / 8;
                if shared > best.length {
                    best = Match { length: shared, start: candidate };
                    if shared >= limit {
                        break;
                    }
                    shift = self.rarest_key(i, shared);
                    comparisons += shared / 16;
                    // If the match contains the new key, the key also occurs in the candidate, so continue there.
                    // Otherwise go back from `i` to the last occurrence before the candidate.
                    let index = if shift + SHORTEST <= shared { start } else { i };
                    following = before(index, shift);
                    while following >= candidate {
                        comparisons += 1;
                        following = before(following as usize, shift);
                    }
                }
            }
            candidate = following;
        }
        if best.start < 0 && run > known {
            // No match goes beyond the run, so look for it in other runs.
            best.length = known;
            let mut candidate = self.previous_run[i];
            while candidate >= 0 && best.length < run {
                comparisons += 1;
                let other = self.runs[candidate as usize] as usize;
                let shared = min(other, run);
                if shared > best.length {
                    best = Match { length: shared, start: candidate + (other - shared) as i32 };
                }
                candidate = self.previous_run[candidate as usize];
            }
        }
        self.comparisons += comparisons;
        best
    }

    /// The offset from `i` of the key with the fewest earlier positions, among the keys in the next `length + 1` bytes.
    ///
    /// Keys of runs are skipped, except that at `i`: they depend on the end of the run, which may be further on.
    #[inline(always)]
    fn rarest_key(&self, i: usize, length: usize) -> usize {
        let (mut shift, mut fewest) = (0, self.rank[i]);
        for further in (1..length + 2 - SHORTEST).rev() {
            if fewest <= FEW {
                break;
            }
            let rank = self.rank[i + further];
            if rank < fewest && !all_equal(word(&self.data, i + further), SHORTEST) {
                (shift, fewest) = (further, rank);
            }
        }
        shift
    }

    /// The longest earlier match at a reserved byte, if all are shorter than `SHORTEST`.
    fn short_before(&mut self, i: usize, limit: usize) -> Match {
        let latest = if limit >= 2 { self.previous_pair[i] } else { -1 };
        let mut candidate = if limit >= 3 { latest } else { -1 };
        while candidate >= 0 {
            self.comparisons += 1;
            if self.data[candidate as usize + 2] == self.data[i + 2] {
                return Match { length: 3, start: candidate };
            }
            candidate = self.previous_pair[candidate as usize];
        }
        if latest >= 0 {
            return Match { length: 2, start: latest };
        }
        let latest = self.previous_byte[i];
        Match { length: usize::from(latest >= 0), start: latest }
    }

    /// Fill `savings` in O(n log n) time.
    ///
    /// Suffixes with a long common prefix are near each other in sorted order. So the longest match of a suffix is with
    /// the nearest candidate before or after it in this order: all earlier suffixes, or only those in the window.
    #[cold]
    fn tabulate(&mut self, dictionary: &Dictionary) {
        let order = suffix_order(&self.data[..self.length]);
        let mut rank = vec![0; self.length];
        for (index, start) in order.iter().enumerate() {
            rank[*start as usize] = index;
        }
        let (mut before, mut in_window) = (BTreeSet::new(), BTreeSet::new());
        for i in 0..self.length {
            let limit = min(LONGEST, self.length - i);
            let longest_among = |ranks: &BTreeSet<usize>| {
                let neighbours = [ranks.range(..rank[i]).next_back(), ranks.range(rank[i]..).next()];
                let starts = neighbours.into_iter().flatten().map(|neighbour| order[*neighbour] as usize);
                starts.map(|start| common_prefix(&self.data[start..], &self.data[i..], limit)).max().unwrap_or(0)
            };
            let near = longest_among(&in_window);
            let mut longest = dictionary.longest(self, i, limit, near);
            if i > WINDOW && longest < limit {
                longest = max(longest, longest_among(&before));
            }
            self.savings.push(reference_savings(near, longest, is_reserved(self.data[i])));
            before.insert(rank[i]);
            in_window.insert(rank[i]);
            if i >= WINDOW {
                in_window.remove(&rank[i - WINDOW]);
            }
        }
    }
}

/// The compressor with a dictionary, indexed once.
#[pyclass(frozen, module = "feemodel_native")]
pub struct Lzss {
    dictionary: Dictionary,
    /// Memory of calls that have ended.
    spare: Mutex<Vec<Payload>>,
}

#[pymethods]
impl Lzss {
    /// A dictionary must contain both reserved bytes.
    #[new]
    fn new(py: Python<'_>, dictionary: &[u8]) -> PyResult<Self> {
        if dictionary.len() > LONGEST_DICTIONARY {
            return Err(PyValueError::new_err(format!("dictionary: more than {LONGEST_DICTIONARY} bytes")));
        }
        if !(FIRST_RESERVED..=0xff).all(|byte| dictionary.contains(&byte)) {
            return Err(PyValueError::new_err("dictionary: expected both reserved bytes, 0xfe and 0xff"));
        }
        Ok(Self { dictionary: py.detach(|| Dictionary::new(dictionary)), spare: Mutex::default() })
    }

    /// The compressed size of each payload, in bytes; `patience` does not change it.
    #[pyo3(signature = (payloads, patience=PATIENCE))]
    fn sizes(&self, py: Python<'_>, payloads: Vec<PyBackedBytes>, patience: i64) -> PyResult<Vec<usize>> {
        let total = payloads.iter().map(|bytes| bytes.len()).sum::<usize>();
        if total > MOST {
            return Err(PyValueError::new_err(format!("payloads: more than {MOST} bytes")));
        }
        let payloads: Vec<&[u8]> = payloads.iter().map(AsRef::as_ref).collect();
        Ok(py.detach(|| {
            let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner);
            let kept = spare().pop().filter(|payload| payload.origin as usize + payload.length + total <= 2 * MOST);
            let mut payload = kept.unwrap_or_default();
            let sizes = payloads.iter().map(|bytes| payload.size(bytes, &self.dictionary, patience)).collect();
            spare().push(payload);
            sizes
        }))
    }
}
