//! The precompiles, whose results are kept while one message is executed again and again.
//!
//! The probes of a search call the same precompile with the same input, and in pure Rust to recover a signer takes as
//! long as 50,000 gas of ordinary code. A precompile reads nothing but its input, so its result holds for all probes.

use revm::context::{Cfg, ContextTr};
use revm::handler::{EthPrecompiles, PrecompileProvider, precompile_output_to_interpreter_result};
use revm::interpreter::{CallInputs, InstructionResult, InterpreterResult};
use revm::precompile::modexp::{berlin_gas_calc, byzantium_gas_calc};
use revm::precompile::utilities::right_pad_with_offset;
use revm::precompile::{PrecompileOutput, PrecompileSpecId, Precompiles};
use revm::primitives::hardfork::SpecId;
use revm::primitives::{Address, AddressSet, Bytes, U256};

/// Results that are kept, and the longest input of one.
const MOST: usize = 64;
const LONGEST: usize = 4_096;
/// SHA-256, RIPEMD-160 and the identity, which are found faster than looked up.
const QUICK: [Address; 3] = [Address::with_last_byte(2), Address::with_last_byte(3), Address::with_last_byte(4)];

const MODEXP: Address = Address::with_last_byte(5);
/// The longest exponent of MODEXP: before EIP-7823 one of gigabytes could be paid for.
const MAX_EXPONENT: u64 = 16 << 20;
/// The error for a longer one.
pub const LONG_EXPONENT: &str = "MODEXP with too long an exponent";

/// Whether this gas pays for MODEXP with an exponent longer than that, which revm makes room for.
fn pays_for_long_exponent(input: &[u8], gas: u64, spec: SpecId) -> bool {
    let word = |start: usize| U256::from_be_bytes(right_pad_with_offset::<32>(input, start).into_owned());
    let [base, exponent, modulus] = [0, 32, 64].map(|start| u64::try_from(word(start)).unwrap_or(u64::MAX));
    if exponent <= MAX_EXPONENT || (base == 0 && modulus == 0) || spec.is_enabled_in(SpecId::OSAKA) {
        return false;
    }
    let head = word(usize::try_from(base).unwrap_or(usize::MAX).saturating_add(96));
    let price = if spec.is_enabled_in(SpecId::BERLIN) { berlin_gas_calc } else { byzantium_gas_calc };
    price(base, exponent, modulus, &head) <= gas
}

/// A call of a precompile that succeeded.
#[derive(Clone, Debug)]
struct Success {
    contract: Address,
    input: Bytes,
    used: u64,
    output: Bytes,
}

/// The precompiles of a fork, and what they answered.
#[derive(Clone, Debug)]
pub struct Remembering {
    ordinary: EthPrecompiles,
    found: Vec<Success>,
    /// Where the message is that they were called for.
    message: usize,
}

impl Remembering {
    pub fn new(spec: SpecId) -> Self {
        Self { ordinary: EthPrecompiles::new(spec), found: Vec::new(), message: 0 }
    }

    /// Another message may follow: what was found for others is dropped, which bounds what is kept.
    pub fn begin<Message>(&mut self, message: &Message) {
        let place = std::ptr::from_ref(message).addr();
        if place != self.message {
            self.message = place;
            self.found.clear();
        }
    }
}

impl<Context: ContextTr<Cfg: Cfg<Spec = SpecId>>> PrecompileProvider<Context> for Remembering {
    type Output = InterpreterResult;

    fn set_spec(&mut self, spec: SpecId) -> bool {
        if spec == self.ordinary.spec {
            return false;
        }
        self.found.clear(); // other rules, other prices
        self.ordinary.precompiles = Precompiles::new(PrecompileSpecId::from_spec_id(spec));
        self.ordinary.spec = spec;
        true
    }

    fn run(&mut self, context: &mut Context, call: &CallInputs) -> Result<Option<InterpreterResult>, String> {
        let contract = call.bytecode_address;
        if !self.ordinary.contains(&contract) || QUICK.contains(&contract) {
            return self.ordinary.run(context, call);
        }
        let input = Bytes::copy_from_slice(&call.input.as_bytes(context));
        if contract == MODEXP && pays_for_long_exponent(&input, call.gas_limit, self.ordinary.spec) {
            return Err(LONG_EXPONENT.into());
        }
        let known = self.found.iter().find(|known| known.contract == contract && known.input == input);
        if let Some(known) = known.filter(|known| known.used <= call.gas_limit) {
            let output = PrecompileOutput::new(known.used, known.output.clone(), call.reservoir);
            return Ok(Some(precompile_output_to_interpreter_result(output, call.gas_limit)));
        }
        let result = self.ordinary.run(context, call)?;
        if let Some(found) = &result
            && found.result == InstructionResult::Return
            && input.len() <= LONGEST
            && self.found.len() < MOST
        {
            let used = call.gas_limit - found.gas.remaining();
            self.found.push(Success { contract, input, used, output: found.output.clone() });
        }
        Ok(result)
    }

    fn warm_addresses(&self) -> &AddressSet {
        self.ordinary.warm_addresses()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_kept_for_one_message() {
        let (first, second) = ([1], [2]);
        let mut precompiles = Remembering::new(SpecId::OSAKA);
        precompiles.begin(&first);
        let contract = Address::with_last_byte(1);
        precompiles.found.push(Success { contract, input: Bytes::new(), used: 3_000, output: Bytes::new() });
        precompiles.begin(&first);
        assert_eq!(1, precompiles.found.len());
        precompiles.begin(&second);
        assert_eq!(0, precompiles.found.len());
    }
}
