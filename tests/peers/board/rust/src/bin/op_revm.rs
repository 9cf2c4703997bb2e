//! op-revm: L1 fee of a transaction and operator fee.
use board::{answer, bytes, number};
use op_revm::{L1BlockInfo, OpSpecId};
use revm::primitives::U256;

fn spec(upgrade: &str) -> Option<OpSpecId> {
    let name = upgrade.get(..1)?.to_uppercase() + &upgrade[1..];
    name.parse().ok()
}

fn main() {
    answer(|rule, upgrade, inputs| {
        let wide = |name| number::<U256>(inputs, name);
        match rule {
            "l1_fee_of_transaction" => {
                let mut info = L1BlockInfo { l1_base_fee: wide("l1_base_fee")?, ..Default::default() };
                if ["bedrock", "regolith", "canyon"].contains(&upgrade) {
                    (info.l1_fee_overhead, info.l1_base_fee_scalar) = (wide("overhead"), wide("scalar")?);
                } else {
                    info.l1_base_fee_scalar = wide("base_fee_scalar")?;
                    (info.l1_blob_base_fee, info.l1_blob_base_fee_scalar) = (wide("blob_base_fee"), wide("blob_base_fee_scalar"));
                }
                Some(info.calculate_tx_l1_cost(&bytes(inputs, "transaction")?, spec(upgrade)?).to_string())
            }
            "operator_fee" if ["isthmus", "jovian", "karst"].contains(&upgrade) => {
                let info = L1BlockInfo {
                    operator_fee_scalar: wide("scalar"),
                    operator_fee_constant: wide("constant"),
                    ..Default::default()
                };
                Some(info.operator_fee_charge(&[2], wide("gas")?, spec(upgrade)?).to_string())
            }
            _ => None,
        }
    });
}
