// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// A growing list of values, a storage slot each: what a call costs is what it stores.
contract Records {
    uint256[] private _values;

    event Filled(uint256 count, uint256 length);
    event Cleared(uint256 count, uint256 length);

    error TooFew(uint256 asked, uint256 held);
    error NotEnoughGas(uint256 left, uint256 needed);

    function length() external view returns (uint256) {
        return _values.length;
    }

    /// Panics where no such value is.
    function valueAt(uint256 index) external view returns (uint256) {
        return _values[index];
    }

    /// The sum of the first `count` values.
    function sum(uint256 count) external view returns (uint256 total) {
        if (count > _values.length) revert TooFew(count, _values.length);
        for (uint256 index = 0; index < count; index++) {
            total += _values[index];
        }
    }

    /// Appends `count` values derived from `seed`, none of them zero.
    function fill(uint256 count, uint256 seed) public {
        for (uint256 index = 0; index < count; index++) {
            _values.push((uint256(keccak256(abi.encode(seed, index))) >> 64) | 1);
        }
        emit Filled(count, _values.length);
    }

    /// Takes away the last `count` values.
    function clear(uint256 count) external {
        if (count > _values.length) revert TooFew(count, _values.length);
        for (uint256 index = 0; index < count; index++) {
            _values.pop();
        }
        emit Cleared(count, _values.length);
    }

    /// `fill` that refuses to begin with less than `needed` gas left: it needs more gas than it uses.
    function fillGuarded(uint256 count, uint256 seed, uint256 needed) external {
        if (gasleft() < needed) revert NotEnoughGas(gasleft(), needed);
        fill(count, seed);
    }

    /// `fill` at the end of `depth` calls, each of which keeps a 64th of its gas back.
    function fillBelow(uint256 depth, uint256 count, uint256 seed) external {
        if (depth == 0) fill(count, seed);
        else this.fillBelow(depth - 1, count, seed);
    }

    /// `fill` whose failure changes nothing: it succeeds with too little gas too.
    function tryFill(uint256 count, uint256 seed) external returns (bool) {
        try this.fillBelow(0, count, seed) {
            return true;
        } catch {
            return false;
        }
    }
}
