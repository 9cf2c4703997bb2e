//! MiMC over the scalar field of BLS12-377 (Miyaguchi-Preneel): the hash of the state tree until March 2026.

use std::sync::LazyLock;

use ark_bls12_377::Fr;
use ark_ff::{AdditiveGroup, BigInt, BigInteger, Field, PrimeField};
use revm::primitives::keccak256;

use crate::hashing::{BLOCK, Digest};

const ROUNDS: usize = 62;
const SEED: &str = "seed";

/// Keccak-256 of the seed, hashed again and again, modulo the order.
static CONSTANTS: LazyLock<Vec<Fr>> = LazyLock::new(|| {
    let hashes = std::iter::successors(Some(keccak256(SEED)), |hash| Some(keccak256(hash)));
    hashes.skip(1).take(ROUNDS).map(|hash| Fr::from_be_bytes_mod_order(hash.as_slice())).collect()
});

/// The digests of messages; `None` if a block is incomplete, or not below the order of the field.
pub fn digests(messages: &[&[u8]]) -> Option<Vec<Digest>> {
    messages.iter().map(|message| digest(message)).collect()
}

fn digest(message: &[u8]) -> Option<Digest> {
    let (blocks, []) = message.as_chunks::<BLOCK>() else { return None };
    let mut state = Fr::ZERO;
    for block in blocks {
        let element = Fr::from_bigint(integer(block))?;
        state = encrypted(state, element) + state.double() + element;
    }
    Some(state.into_bigint().to_bytes_be().try_into().expect("an element of the field has 32 bytes"))
}

/// `x = message; for each constant: x = (x + state + constant)**17`.
fn encrypted(state: Fr, message: Fr) -> Fr {
    CONSTANTS.iter().fold(message, |x, constant| {
        let base = x + state + constant;
        base * base.square().square().square().square()
    })
}

fn integer(block: &[u8; BLOCK]) -> BigInt<4> {
    let mut limbs = block.as_chunks().0.iter().rev().map(|limb| u64::from_be_bytes(*limb));
    BigInt::new(std::array::from_fn(|_| limbs.next().unwrap_or_default()))
}
