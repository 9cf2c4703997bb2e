//! alloy-eips: base fee of Ethereum and of OP Stack before Jovian, blob base fee, excess blob gas.
use alloy_eips::{eip1559::{BaseFeeParams, calc_next_block_base_fee}, eip7840::BlobParams};
use board::{answer, number};

fn blobs(upgrade: &str) -> Option<BlobParams> {
    Some(match upgrade {
        "cancun" => BlobParams::cancun(),
        "prague" => BlobParams::prague(),
        "osaka" => BlobParams::osaka(),
        "bpo1" => BlobParams::bpo1(),
        "bpo2" => BlobParams::bpo2(),
        _ => return None,
    })
}

fn main() {
    answer(|rule, upgrade, inputs| {
        let small = |name| number::<u64>(inputs, name);
        match rule {
            "next_base_fee" if !["jovian", "karst", "shasta"].contains(&upgrade) => {
                let denominator = number(inputs, "denominator").unwrap_or(8);
                let params = BaseFeeParams::new(denominator, number(inputs, "elasticity").unwrap_or(2));
                let fee = calc_next_block_base_fee(small("gas_used")?, small("gas_limit")?, small("base_fee")?, params);
                Some(fee.to_string())
            }
            "blob_base_fee" => Some(blobs(upgrade)?.calc_blob_fee(small("excess_blob_gas")?).to_string()),
            "next_excess_blob_gas" if ["osaka", "bpo1", "bpo2"].contains(&upgrade) => {
                let (excess, used) = (small("excess_blob_gas")?, small("blob_gas_used")?);
                Some(blobs(upgrade)?.next_block_excess_blob_gas_osaka(excess, used, small("base_fee")?).to_string())
            }
            _ => None,
        }
    });
}
