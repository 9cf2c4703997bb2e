//! op-alloy-flz: FastLZ length, estimated size and footprint of OP Stack.
use board::{answer, bytes};
use op_alloy_flz::{flz_compress_len, tx_estimated_size_fjord_bytes};

fn main() {
    answer(|rule, _, inputs| match rule {
        "fastlz_size" => Some(flz_compress_len(&bytes(inputs, "payload")?).to_string()),
        "estimated_size" => Some(tx_estimated_size_fjord_bytes(&bytes(inputs, "transaction")?).to_string()),
        _ => None,
    });
}
