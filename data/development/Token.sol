// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// An ERC-20 token with a fixed supply. A transfer of too much reverts with a text, as most tokens in use do, and a
/// `transferFrom` of too much with a custom error, as newer ones do.
contract Token {
    mapping(address holder => uint256) public balanceOf;
    mapping(address holder => mapping(address spender => uint256)) public allowance;
    uint256 public totalSupply;
    string public name;
    string public symbol;
    uint8 public constant decimals = 18;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    error InsufficientAllowance(address spender, uint256 allowed, uint256 needed);

    constructor(string memory name_, string memory symbol_, uint256 supply) {
        (name, symbol, totalSupply, balanceOf[msg.sender]) = (name_, symbol_, supply, supply);
        emit Transfer(address(0), msg.sender, supply);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        _move(msg.sender, to, value);
        return true;
    }

    function approve(address spender, uint256 value) external returns (bool) {
        _allow(msg.sender, spender, value);
        return true;
    }

    /// Panics where the sum is no 256-bit number.
    function increaseAllowance(address spender, uint256 added) external returns (bool) {
        _allow(msg.sender, spender, allowance[msg.sender][spender] + added);
        return true;
    }

    /// An allowance of 2**256 - 1 has no end.
    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        uint256 allowed = allowance[from][msg.sender];
        if (allowed != type(uint256).max) {
            if (value > allowed) revert InsufficientAllowance(msg.sender, allowed, value);
            allowance[from][msg.sender] = allowed - value;
        }
        _move(from, to, value);
        return true;
    }

    function _allow(address owner, address spender, uint256 value) private {
        allowance[owner][spender] = value;
        emit Approval(owner, spender, value);
    }

    function _move(address from, address to, uint256 value) private {
        require(to != address(0), "ERC20: transfer to the zero address");
        uint256 held = balanceOf[from];
        require(value <= held, "ERC20: transfer amount exceeds balance");
        unchecked {
            balanceOf[from] = held - value;
            balanceOf[to] += value; // the supply bounds every balance
        }
        emit Transfer(from, to, value);
    }
}
