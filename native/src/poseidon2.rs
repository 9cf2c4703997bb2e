//! Poseidon2 over the KoalaBear field, with the rounds and keys of gnark-crypto: the hash of the state tree.
//!
//! Plonky3 computes the permutation, in the vector registers that the package was compiled for.

use std::array::from_fn;
use std::sync::LazyLock;

use p3_field::{Field, PackedField, PackedValue, PrimeCharacteristicRing, PrimeField32};
use p3_koala_bear::{KoalaBear, Poseidon2KoalaBear};
use p3_poseidon2::ExternalLayerConstants;
use p3_symmetric::Permutation;
use revm::primitives::keccak256;

use crate::hashing::{BLOCK, Digest};

const WIDTH: usize = 16;
const HALF: usize = WIDTH / 2;
const FULL_ROUNDS: usize = 6;
const PARTIAL_ROUNDS: usize = 21;
const SEED: &str = "Poseidon2-koalabear[t=16,rF=6,rP=21,d=3]";

/// One element of each of several messages.
type Lanes = <KoalaBear as Field>::Packing;

static PERMUTATION: LazyLock<Poseidon2KoalaBear<WIDTH>> = LazyLock::new(permutation);

/// The digests of messages of one length; `None` if an element is not below the order of the field.
pub fn digests(messages: &[&[u8]]) -> Option<Vec<Digest>> {
    let mut found = Vec::with_capacity(messages.len());
    for group in messages.chunks(Lanes::WIDTH) {
        if let [message] = group {
            absorb::<KoalaBear>(&[message], &mut found)?;
        } else {
            absorb::<Lanes>(group, &mut found)?;
        }
    }
    Some(found)
}

/// Hash as many messages as `V` has lanes, or fewer.
fn absorb<V>(messages: &[&[u8]], found: &mut Vec<Digest>) -> Option<()>
where
    V: PackedField<Scalar = KoalaBear> + PackedValue<Value = KoalaBear>,
    Poseidon2KoalaBear<WIDTH>: Permutation<[V; WIDTH]>,
{
    let mut state = [V::ZERO; WIDTH];
    for start in (0..messages[0].len()).step_by(BLOCK) {
        let mut block = [V::ZERO; HALF];
        for (lane, message) in messages.iter().enumerate() {
            let bytes = &message[start..message.len().min(start + BLOCK)];
            let mut padded = [0; BLOCK];
            padded[BLOCK - bytes.len()..].copy_from_slice(bytes);
            for (packed, bytes) in block.iter_mut().zip(padded.as_chunks().0) {
                let element = u32::from_be_bytes(*bytes);
                if element >= KoalaBear::ORDER_U32 {
                    return None;
                }
                packed.as_slice_mut()[lane] = KoalaBear::new(element);
            }
        }
        state[HALF..].copy_from_slice(&block);
        PERMUTATION.permute_mut(&mut state);
        state = from_fn(|i| if i < HALF { state[HALF + i] + block[i] } else { V::ZERO });
    }
    for lane in 0..messages.len() {
        let mut digest = [0; BLOCK];
        for (bytes, packed) in digest.as_chunks_mut().0.iter_mut().zip(&state) {
            *bytes = packed.as_slice()[lane].as_canonical_u32().to_be_bytes();
        }
        found.push(digest);
    }
    Some(())
}

/// The permutation with its keys, each of them Keccak-256 of the one before modulo the order.
fn permutation() -> Poseidon2KoalaBear<WIDTH> {
    let mut hash = keccak256(SEED);
    let mut key = || {
        hash = keccak256(hash);
        hash.iter().fold(KoalaBear::ZERO, |number, byte| number * KoalaBear::new(256) + KoalaBear::new((*byte).into()))
    };
    let initial = (0..FULL_ROUNDS / 2).map(|_| from_fn(|_| key())).collect();
    let partial = (0..PARTIAL_ROUNDS).map(|_| key()).collect();
    let terminal = (0..FULL_ROUNDS / 2).map(|_| from_fn(|_| key())).collect();
    Poseidon2KoalaBear::new(ExternalLayerConstants::new(initial, terminal), partial)
}
