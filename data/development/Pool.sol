// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

interface IToken {
    function balanceOf(address holder) external view returns (uint256);
    function transfer(address to, uint256 value) external returns (bool);
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

/// A pool of two tokens that trades along x · y = k and keeps 0.3 % of what comes in.
contract Pool {
    IToken public token0;
    IToken public token1;
    uint128 public reserve0;
    uint128 public reserve1;
    bool private transient _entered;

    event Swap(address indexed sender, address indexed to, uint256 amountIn, uint256 amountOut);
    event Sync(uint256 reserve0, uint256 reserve1);

    error UnknownToken(address token);
    error Slippage(uint256 amountOut, uint256 minimum);
    error Reentered();
    error TransferFailed();

    constructor(IToken token0_, IToken token1_) {
        (token0, token1) = (token0_, token1_);
    }

    /// What `amountIn` of a token buys of the other one; panics where the pool is empty and nothing comes in.
    function quote(address tokenIn, uint256 amountIn) public view returns (uint256) {
        (uint256 reserveIn, uint256 reserveOut) = _isFirst(tokenIn) ? (reserve0, reserve1) : (reserve1, reserve0);
        uint256 kept = amountIn * 997;
        return (kept * reserveOut) / (reserveIn * 1000 + kept);
    }

    /// Sells `amountIn` of a token, which the caller has allowed the pool to take, for at least `minimum` of the other.
    function swapExactIn(address tokenIn, uint256 amountIn, uint256 minimum, address to)
        external
        returns (uint256 amountOut)
    {
        if (_entered) revert Reentered();
        _entered = true;
        amountOut = quote(tokenIn, amountIn);
        if (amountOut < minimum) revert Slippage(amountOut, minimum);
        IToken tokenOut = _isFirst(tokenIn) ? token1 : token0;
        if (!IToken(tokenIn).transferFrom(msg.sender, address(this), amountIn)) revert TransferFailed();
        if (!tokenOut.transfer(to, amountOut)) revert TransferFailed();
        _sync();
        emit Swap(msg.sender, to, amountIn, amountOut);
        _entered = false;
    }

    /// Takes what the pool holds as its reserves; tokens sent to it before are a gift to it.
    function sync() external {
        if (_entered) revert Reentered();
        _sync();
    }

    function _sync() private {
        (uint256 held0, uint256 held1) = (token0.balanceOf(address(this)), token1.balanceOf(address(this)));
        assert(held0 <= type(uint128).max && held1 <= type(uint128).max);
        (reserve0, reserve1) = (uint128(held0), uint128(held1));
        emit Sync(held0, held1);
    }

    function _isFirst(address token) private view returns (bool) {
        if (token == address(token0)) return true;
        if (token == address(token1)) return false;
        revert UnknownToken(token);
    }
}
