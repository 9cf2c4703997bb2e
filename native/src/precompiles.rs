//! The precompiles, whose results are kept while one message is executed again and again.
//!
//! The probes of a search call the same precompile with the same input, and in pure Rust to recover a signer takes as
//! long as 50,000 gas of ordinary code. A precompile reads nothing but its input, so its result holds for all probes.

use revm::context::{Cfg, ContextTr};
use revm::handler::{EthPrecompiles, PrecompileProvider, precompile_output_to_interpreter_result};
use revm::interpreter::{CallInputs, InstructionResult, InterpreterResult};
use revm::precompile::modexp::{berlin_gas_calc, byzantium_gas_calc, osaka_gas_calc};
use revm::precompile::{PrecompileHalt, PrecompileOutput, PrecompileSpecId, Precompiles};
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

/// The price of MODEXP, and the length of the exponent that it would make room for.
fn modexp(input: &[u8], spec: SpecId) -> (u64, u64) {
    let word = |start: usize, size: usize| {
        let mut word = [0; 32];
        let given = input.get(start..).unwrap_or_default();
        let count = given.len().min(size);
        word[32 - size..32 - size + count].copy_from_slice(&given[..count]);
        U256::from_be_bytes(word)
    };
    let [base, exponent, modulus] = [0, 32, 64].map(|start| u64::try_from(word(start, 32)).unwrap_or(u64::MAX));
    let start = usize::try_from(base).unwrap_or(usize::MAX).saturating_add(96);
    let head = word(start, exponent.min(32) as usize);
    let price = match spec {
        _ if spec.is_enabled_in(SpecId::OSAKA) => osaka_gas_calc,
        _ if spec.is_enabled_in(SpecId::BERLIN) => berlin_gas_calc,
        _ => byzantium_gas_calc,
    };
    (price(base, exponent, modulus, &head), if base == 0 && modulus == 0 { 0 } else { exponent })
}

/// geth's words for an input that a precompile refuses, by revm's.
///
/// Source: ethereum/go-ethereum at v1.17.10, core/vm/contracts.go, crypto/bn256/gnark; consensys/gnark-crypto 0.18.1.
pub fn fault(words: &str) -> &'static str {
    const FAULTS: [(PrecompileHalt, &str); 22] = [
        (PrecompileHalt::Blake2WrongLength, "invalid input length"),
        (PrecompileHalt::Blake2WrongFinalIndicatorFlag, "invalid final flag"),
        (PrecompileHalt::ModexpEip7823LimitSize, "one or more of base/exponent/modulus length exceeded 1024 bytes"),
        (PrecompileHalt::Bn254FieldPointNotAMember, "invalid fp.Element encoding"),
        (PrecompileHalt::Bn254AffineGFailedToCreate, "point is not on curve"),
        (PrecompileHalt::Bn254PairLength, "bad elliptic curve pairing size"),
        (PrecompileHalt::BlobInvalidInputLength, "invalid input length"),
        (PrecompileHalt::BlobMismatchedVersion, "mismatched versioned hash"),
        (PrecompileHalt::BlobVerifyKzgProofFailed, "error verifying kzg proof"),
        (PrecompileHalt::NonCanonicalFp, "invalid fp.Element encoding"),
        (PrecompileHalt::Bls12381G1NotOnCurve, "invalid point: not on curve"),
        (PrecompileHalt::Bls12381G1NotInSubgroup, "g1 point is not on correct subgroup"),
        (PrecompileHalt::Bls12381G2NotOnCurve, "invalid point: not on curve"),
        (PrecompileHalt::Bls12381G2NotInSubgroup, "g2 point is not on correct subgroup"),
        (PrecompileHalt::Bls12381G1AddInputLength, "invalid input length"),
        (PrecompileHalt::Bls12381G1MsmInputLength, "invalid input length"),
        (PrecompileHalt::Bls12381G2AddInputLength, "invalid input length"),
        (PrecompileHalt::Bls12381G2MsmInputLength, "invalid input length"),
        (PrecompileHalt::Bls12381PairingInputLength, "invalid input length"),
        (PrecompileHalt::Bls12381MapFpToG1InputLength, "invalid input length"),
        (PrecompileHalt::Bls12381MapFp2ToG2InputLength, "invalid input length"),
        (PrecompileHalt::Bls12381FpPaddingInvalid, "invalid field element top bytes"),
    ];
    let found = FAULTS.iter().find(|(halt, _)| halt.to_string() == words);
    found.map_or("", |(_, ours)| ours)
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
        let mut is_paid = true;
        if contract == MODEXP {
            let (price, exponent) = modexp(&input, self.ordinary.spec);
            is_paid = price <= call.gas_limit;
            if is_paid && exponent > MAX_EXPONENT && !self.ordinary.spec.is_enabled_in(SpecId::OSAKA) {
                return Err(LONG_EXPONENT.into());
            }
        }
        let known = self.found.iter().find(|known| known.contract == contract && known.input == input);
        if let Some(known) = known.filter(|known| known.used <= call.gas_limit) {
            let output = PrecompileOutput::new(known.used, known.output.clone(), call.reservoir);
            return Ok(Some(precompile_output_to_interpreter_result(output, call.gas_limit)));
        }
        let mut result = self.ordinary.run(context, call)?;
        if let Some(found) = &mut result
            && found.result == InstructionResult::PrecompileError
            && !is_paid
        {
            found.result = InstructionResult::PrecompileOOG; // nodes take the gas before they look at the lengths
        }
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
