//! revm: gas of a transaction before it runs, and its floor.
use board::{answer, bytes, number};
use revm::context_interface::cfg::gas::calculate_initial_tx_gas;
use revm::primitives::hardfork::SpecId;

fn spec(upgrade: &str) -> Option<SpecId> {
    Some(match upgrade {
        "paris" => SpecId::MERGE,
        "shanghai" => SpecId::SHANGHAI,
        "cancun" => SpecId::CANCUN,
        "prague" => SpecId::PRAGUE,
        "osaka" | "bpo1" | "bpo2" => SpecId::OSAKA,
        _ => return None,
    })
}

fn main() {
    answer(|rule, upgrade, inputs| {
        let old = ["paris", "shanghai", "cancun"].contains(&upgrade);
        if old && number::<u64>(inputs, "authorizations") != Some(0) {
            return None; // no transaction before Prague has authorizations
        }
        let count = |name| number::<u64>(inputs, name).unwrap_or(0);
        let gas = calculate_initial_tx_gas(
            spec(upgrade)?,
            &bytes(inputs, "data")?,
            count("creates") == 1,
            count("addresses"),
            count("slots"),
            count("authorizations"),
            None,
        );
        match rule {
            "intrinsic_gas" => Some(gas.initial_regular_gas.to_string()),
            "calldata_floor_gas" => Some(gas.floor_gas.to_string()),
            _ => None,
        }
    });
}
