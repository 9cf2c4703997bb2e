//! What an execution is asked for beside its outcome: gas by contract, and the accounts and slots that its code names.
//!
//! Executions that are not asked for it do not record any of this: see `Machine::new`.

use std::collections::hash_map::Entry;

use revm::primitives::{Address, AddressMap, HashSet, U256};

/// A frame that has begun and not ended.
#[derive(Clone, Copy, Debug)]
struct Frame {
    contract: Address,
    given: u64,
    /// Used by the frames that it called.
    by_children: u64,
}

/// What was recorded.
#[derive(Clone, Debug, Default)]
pub struct Inspection {
    /// Gas by the contract whose code used it, in the order in which they first ended.
    pub gas: Vec<(Address, u64)>,
    /// Accounts that code named, and slots that it read or wrote, in the order in which it first did.
    pub touched: Vec<(Address, Vec<U256>)>,
    frames: Vec<Frame>,
    gas_places: AddressMap<usize>,
    touched_places: AddressMap<usize>,
    slots: HashSet<(Address, U256)>,
}

impl Inspection {
    /// A frame begins to execute the code of a contract.
    pub fn begins(&mut self, contract: Address, given: u64) {
        self.frames.push(Frame { contract, given, by_children: 0 });
    }

    /// The frame that runs ends, with this much gas left.
    pub fn ends(&mut self, left: u64) {
        if let Some(frame) = self.frames.pop() {
            let used = frame.given - left;
            self.uses(frame.contract, used.saturating_sub(frame.by_children));
            self.called(used);
        }
    }

    /// The frame that runs called what has no frame of its own: a precompile.
    pub fn called_precompile(&mut self, contract: Address, used: u64) {
        self.uses(contract, used);
        self.called(used);
    }

    fn called(&mut self, used: u64) {
        if let Some(caller) = self.frames.last_mut() {
            caller.by_children += used;
        }
    }

    fn uses(&mut self, contract: Address, gas: u64) {
        if gas == 0 {
            return;
        }
        match self.gas_places.entry(contract) {
            Entry::Occupied(place) => self.gas[*place.get()].1 += gas,
            Entry::Vacant(place) => {
                place.insert(self.gas.len());
                self.gas.push((contract, gas));
            }
        }
    }

    /// Code names an account.
    pub fn names(&mut self, account: Address) {
        self.place(account);
    }

    fn place(&mut self, account: Address) -> usize {
        *self.touched_places.entry(account).or_insert_with(|| {
            self.touched.push((account, Vec::new()));
            self.touched.len() - 1
        })
    }

    /// Code reads or writes a slot of an account.
    pub fn touches(&mut self, account: Address, slot: U256) {
        let place = self.place(account);
        if self.slots.insert((account, slot)) {
            self.touched[place].1.push(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gas_goes_to_the_contract_whose_code_used_it() {
        let [outer, inner, precompile] = [1, 2, 3].map(Address::with_last_byte);
        let mut inspection = Inspection::default();
        inspection.begins(outer, 1_000);
        inspection.begins(inner, 500);
        inspection.called_precompile(precompile, 60);
        inspection.ends(400); // 100 used, 60 of it by the precompile
        inspection.begins(inner, 500);
        inspection.ends(490);
        inspection.ends(700); // 300 used, 110 of it by the two calls
        assert_eq!(vec![(precompile, 60), (inner, 50), (outer, 190)], inspection.gas);
    }

    #[test]
    fn accounts_and_slots_are_listed_once() {
        let [first, second] = [1, 2].map(Address::with_last_byte);
        let mut inspection = Inspection::default();
        inspection.touches(second, U256::from(5));
        inspection.names(first);
        inspection.touches(second, U256::from(4));
        inspection.touches(second, U256::from(5));
        assert_eq!(vec![(second, vec![U256::from(5), U256::from(4)]), (first, vec![])], inspection.touched);
    }
}
