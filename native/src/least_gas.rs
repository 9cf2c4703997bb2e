//! The gas limits on which an execution ends the same way.
//!
//! As long as the path is the same, the gas left at any point is the limit minus what was spent before. So the least
//! limit of a frame is the maximum, over the points where gas must be there, of *spent before + needed there*. The
//! recorder is told of the three kinds of points: a frame begins or ends, and SSTORE wants to see more than 2,300 left.
//!
//! A child that halts consumes everything it was given, which is a part of what was left: from there on, what is spent
//! depends on the limit. The frame's record is then closed at that point (a `Burn`) and a new one begins; `need` goes
//! back over them at the end. With less gas the child halts too, at the same place or before, as long as its own calls
//! come to the same: otherwise it could go on in another way. With more gas it may not halt.
//!
//! Before EIP-150 a call was given just what it named, and its caller failed where that was not there; so what the child
//! did with it, halting included, is the same with any limit.

use std::cmp::{max, min};

/// SSTORE fails with this much left or less, EIP-2200.
const SSTORE_SENTRY: u64 = 2_300;

/// A call or creation on its way: what its caller had spent, and what it handed over.
#[derive(Clone, Copy, Debug, Default)]
struct Call {
    /// Spent by the caller before the gas was handed over, this instruction's own cost included.
    spent: u64,
    /// The caller's gas left once it was handed over.
    left: u64,
    /// Handed over, without the stipend.
    forwarded: u64,
    /// Given to the child on top of that, because value is transferred.
    stipend: u64,
    creates: bool,
}

/// A child that halted: everything the record says up to there.
#[derive(Clone, Copy, Debug)]
struct Burn {
    need: u64,
    need_of_calls: u64,
    spent: u64,
    /// What the call named as its gas; `None` where that was more than could be handed over.
    named: Option<u64>,
}

/// One frame under way.
#[derive(Clone, Debug, Default)]
struct Frame {
    limit: u64,
    /// Spent up to the last burn, which included.
    base: u64,
    /// The most that had to be there so far, since the last burn.
    need: u64,
    /// The part of it that calls and creations needed.
    need_of_calls: u64,
    burns: Vec<Burn>,
    call: Call,
}

impl Frame {
    fn spent(&self, left: u64) -> u64 {
        self.limit - left - self.base
    }

    /// Its call must be given at least `need`.
    fn hands_over(&mut self, need: u64, keeps_a_part: bool) {
        let enough = self.call.spent + if keeps_a_part { before_cap(need) } else { need };
        (self.need, self.need_of_calls) = (max(self.need, enough), max(self.need_of_calls, enough));
    }

    /// The least gas with which the frame comes to the same end, of which `left` was left over.
    fn need(&self, left: u64) -> u64 {
        let end = max(self.need, self.spent(left));
        self.burns.iter().rev().fold(end, |need, burn| max(burn.need, burn.before(need)))
    }

    /// The least gas with which the frame halts as it did, or before.
    fn need_to_halt(&self) -> u64 {
        self.burns.iter().rev().fold(self.need_of_calls, |need, burn| {
            max(burn.need_of_calls, if need == 0 { 0 } else { burn.before(need) })
        })
    }
}

impl Burn {
    /// What must be there before the child is called, that `need` is left after it.
    fn before(&self, need: u64) -> u64 {
        let most = need.saturating_mul(64);
        self.spent.saturating_add(self.named.map_or(most, |named| min(need.saturating_add(named), most)))
    }
}

/// How a child ended, as its caller sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It succeeded or reverted, and needed this much gas for it.
    Needed(u64),
    /// It never began (no funds, too deep): it needed nothing and gave everything back.
    Refused,
    /// It halted, and with it went all the gas it was given; with this much it halts, or with less.
    Halted(u64),
}

/// What is recorded of one execution.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    frames: Vec<Frame>,
    /// Whether a caller keeps a 64th, EIP-150.
    keeps_a_part: bool,
    /// Whether something on the path reads gas, or a balance that pays for it.
    pub reads: bool,
    /// Whether a frame halted, which with more gas it may not.
    pub halted: bool,
    /// Whether there was no call and no creation.
    pub single_frame: bool,
    /// The least gas with which the outermost frame ends the same way, once it has ended.
    pub least: u64,
}

impl Recorder {
    /// A recorder for one execution; `keeps_a_part` by the rules since EIP-150.
    pub fn new(keeps_a_part: bool) -> Self {
        Self { keeps_a_part, single_frame: true, ..Self::default() }
    }

    /// How many frames are under way.
    pub fn depth(&self) -> usize {
        self.frames.len()
    }

    /// The frame that runs, with `left` gas, calls; the child will be given `given`, `stipend` of it on top.
    pub fn calls(&mut self, left: u64, given: u64, stipend: u64) {
        self.hands_over(left, given, stipend, false);
    }

    /// The frame that runs, with `left` gas, creates; the child will be given `given`.
    pub fn creates(&mut self, left: u64, given: u64) {
        // In Frontier, code that cannot be paid for is left out, and the creation succeeds.
        self.reads |= !self.keeps_a_part;
        self.hands_over(left, given, 0, true);
    }

    fn hands_over(&mut self, left: u64, given: u64, stipend: u64, creates: bool) {
        let Some(frame) = self.frames.last_mut() else { return };
        self.single_frame = false;
        let forwarded = given - stipend;
        frame.call = Call { spent: frame.spent(left + forwarded), left, forwarded, stipend, creates };
    }

    /// The child begins to execute code.
    pub fn begins(&mut self, given: u64) {
        self.frames.push(Frame { limit: given, ..Frame::default() });
    }

    /// SSTORE begins with this much gas left.
    pub fn stores(&mut self, left: u64) {
        if let Some(frame) = self.frames.last_mut() {
            frame.need = max(frame.need, frame.spent(left) + SSTORE_SENTRY + 1);
        }
    }

    /// The frame that runs ends, with this much gas left, or with none where it halts.
    pub fn ends(&mut self, left: Option<u64>) -> End {
        let frame = self.frames.pop().unwrap_or_default();
        left.map_or_else(|| End::Halted(frame.need_to_halt()), |left| End::Needed(frame.need(left)))
    }

    /// The caller, which is now the frame that runs, is told how its child ended.
    pub fn returns(&mut self, end: End) {
        let Some(frame) = self.frames.last_mut() else {
            self.halted |= matches!(end, End::Halted(_));
            self.least = if let End::Needed(need) | End::Halted(need) = end { need } else { 0 };
            return;
        };
        let call = frame.call;
        if !self.keeps_a_part && !call.creates {
            frame.need = max(frame.need, call.spent + call.forwarded);
            return;
        }
        match end {
            End::Needed(need) => frame.hands_over(need.saturating_sub(call.stipend), self.keeps_a_part),
            End::Refused => frame.hands_over(0, self.keeps_a_part),
            End::Halted(need) => {
                if need > call.stipend {
                    frame.hands_over(need - call.stipend, self.keeps_a_part);
                }
                let available = call.left + call.forwarded;
                let named = (call.forwarded < available - available / 64).then_some(call.forwarded);
                let (need, need_of_calls) = (frame.need, frame.need_of_calls);
                frame.burns.push(Burn { need, need_of_calls, spent: call.spent, named });
                (frame.need, frame.need_of_calls) = (0, 0);
                frame.base = frame.limit - call.left;
                self.halted = true;
            }
        }
    }
}

/// The least gas of which all but a 64th is at least `need`, EIP-150.
fn before_cap(need: u64) -> u64 {
    if need == 0 { 0 } else { need + (need - 1) / 63 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_a_64th_of_it_is_enough_and_of_one_less_is_not() {
        for need in (0..5_000).chain([1 << 40, (1 << 40) + 62]) {
            let least = before_cap(need);
            assert!(least - least / 64 >= need);
            assert!(least == 0 || (least - 1) - (least - 1) / 64 < need);
        }
    }

    #[test]
    fn code_without_calls_needs_what_it_spends() {
        let mut recorder = Recorder::new(true);
        recorder.calls(0, 1_000, 0);
        recorder.begins(1_000);
        let end = recorder.ends(Some(400));
        recorder.returns(end);
        assert_eq!((600, false, true), (recorder.least, recorder.reads, recorder.single_frame));
    }

    #[test]
    fn a_store_wants_to_see_more_than_the_stipend() {
        let mut recorder = Recorder::new(true);
        recorder.begins(100_000);
        recorder.stores(99_994); // after two pushes; the store itself costs 100
        assert_eq!(End::Needed(6 + 2_301), recorder.ends(Some(99_894)));
    }

    #[test]
    fn a_call_needs_a_63rd_more_than_its_child_but_for_the_stipend() {
        let mut recorder = Recorder::new(true);
        recorder.begins(100_000);
        recorder.calls(1_400, 92_300 + 2_300, 2_300); // 6,300 spent by then
        recorder.begins(94_600);
        let end = recorder.ends(Some(94_600 - 6_400));
        assert_eq!(End::Needed(6_400), end);
        recorder.returns(end);
        assert_eq!(End::Needed(6_300 + before_cap(4_100)), recorder.ends(Some(93_700 - 4_100)));
        assert!(!recorder.single_frame && !recorder.halted);
    }

    #[test]
    fn a_child_that_was_refused_needs_nothing() {
        let mut recorder = Recorder::new(true);
        recorder.begins(100_000);
        recorder.calls(1_400, 92_300 + 2_300, 2_300);
        recorder.returns(End::Refused); // the stipend is the caller's to keep
        assert_eq!(End::Needed(6_300), recorder.ends(Some(96_000)));
    }

    #[test]
    fn what_follows_a_child_that_halted_must_be_left_over() {
        let mut recorder = Recorder::new(true);
        recorder.begins(64_700);
        recorder.calls(1_000, 63_000, 0); // 700 spent, 64,000 there, all but a 64th handed over
        recorder.returns(End::Halted(0));
        assert_eq!(End::Needed(700 + 64 * 50), recorder.ends(Some(950))); // 50 spent after it
        assert!(recorder.halted);

        recorder.begins(64_700);
        recorder.calls(54_000, 10_000, 0); // the same, but 10,000 named
        recorder.returns(End::Halted(0));
        assert_eq!(End::Needed(700 + min(10_050, 64 * 50)), recorder.ends(Some(53_950)));
    }

    #[test]
    fn before_eip_150_a_call_needs_what_it_names() {
        let mut recorder = Recorder::new(false);
        recorder.begins(100_000);
        recorder.calls(40_000, 50_000, 0);
        recorder.returns(End::Refused);
        assert_eq!(End::Needed(60_000), recorder.ends(Some(90_000)));
        assert!(!recorder.halted);
    }
    #[test]
    fn a_frame_that_halts_needs_what_its_calls_need() {
        let mut recorder = Recorder::new(true);
        recorder.begins(100_000);
        recorder.calls(1_400, 94_600, 2_300); // 6,300 spent by then
        recorder.returns(End::Needed(6_400));
        assert_eq!(End::Halted(6_300 + before_cap(4_100)), recorder.ends(None));

        recorder.begins(100_000);
        recorder.stores(50_000); // where it could also halt
        recorder.calls(1_400, 92_300, 0);
        recorder.returns(End::Halted(4_000)); // in which a call must not fail that did not
        assert_eq!(End::Halted(6_300 + before_cap(4_000)), recorder.ends(None));
    }
}
