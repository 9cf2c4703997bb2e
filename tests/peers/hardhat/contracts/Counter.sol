// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.0;

contract Counter {
    uint256 public count;

    event Counted(address indexed by, uint256 count);

    function increment() external {
        count += 1;
        emit Counted(msg.sender, count);
    }
}
