// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.33;

import { RollupRevenueVault } from "../src/operational/RollupRevenueVault.sol";

/// Everybody that Linea's revenue vault deals with, in one contract: message service, bridge, token and exchange.
contract Driver {
    uint256 public minimumFeeInWei;
    uint256 private _swapped;
    uint256 private _messageFee;

    function swap() external payable {
        _swapped = msg.value;
    }

    function bridgeToken(address, uint256, address) external payable {
        _messageFee = msg.value;
    }

    function balanceOf(address) external pure returns (uint256) {
        return 1;
    }

    function approve(address, uint256) external pure returns (bool) {
        return true;
    }

    /// Days of income, an invoice (0: none) and a burn; for each what the vault paid, burned, spent, kept and owes.
    function run(
        RollupRevenueVault vault,
        address receiver,
        uint256 minimumFee,
        uint256 arrears,
        uint256[] calldata incomes,
        uint256[] calldata invoices
    ) external returns (uint256[7][] memory rows) {
        minimumFeeInWei = minimumFee;
        address self = address(this);
        vault.initializeRolesAndStorageVariables(1, self, self, self, receiver, self, self, self, self, self);
        vault.updateInvoiceArrears(arrears, 1);
        rows = new uint256[7][](incomes.length);
        for (uint256 day = 0; day < incomes.length; day++) {
            if (incomes[day] > 0) {
                (bool taken, ) = address(vault).call{ value: incomes[day] }("");
                require(taken);
            }
            uint256 before = receiver.balance;
            uint256 next = vault.lastInvoiceDate() + 1;
            if (invoices[day] > 0) vault.submitInvoice(next, next + 1, invoices[day]);
            rows[day][0] = receiver.balance - before;
            before = receiver.balance;
            uint256 burned = address(0).balance;
            (_swapped, _messageFee) = (0, 0);
            vault.burnAndBridge(abi.encodeCall(this.swap, ()));
            rows[day][1] = receiver.balance - before;
            rows[day][2] = address(0).balance - burned;
            rows[day][3] = _swapped;
            rows[day][4] = _messageFee;
            rows[day][5] = address(vault).balance;
            rows[day][6] = vault.invoiceArrears();
        }
    }
}
