// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";

/// @title Shares of tokens, as ERC-404 has them: whoever holds two halves holds a token, which ends when one of them goes
contract Halves {
    string public constant name = "Halves";
    string public constant symbol = "HALF";
    uint8 public constant decimals = 0;
    uint256 private constant UNIT = 2;

    string private base;
    uint256 public minted;
    mapping(address account => uint256) public balanceOf;
    mapping(uint256 id => address) private owners;
    mapping(address account => uint256[]) private tokens;

    event ERC20Transfer(address indexed from, address indexed to, uint256 amount);
    event ERC721Transfer(address indexed from, address indexed to, uint256 indexed id);

    constructor(string memory base_) {
        base = base_;
    }

    function tokenURI(uint256 id) external view returns (string memory) {
        return string.concat(base, Strings.toString(id));
    }

    function ownerOf(uint256 id) external view returns (address owner) {
        owner = owners[id];
        require(owner != address(0), "Halves: no such token");
    }

    function mint(address to, uint256 amount) external {
        move(address(0), to, amount);
    }

    function burn(uint256 amount) external {
        move(msg.sender, address(0), amount);
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        require(to != address(0), "Halves: zero address");
        move(msg.sender, to, amount);
        return true;
    }

    /// @notice A token as a whole, with both its halves
    function transferToken(address to, uint256 id) external {
        require(owners[id] == msg.sender && to != address(0) && to != msg.sender, "Halves: not allowed");
        uint256[] storage own = tokens[msg.sender];
        for (uint256 i = 0; i < own.length; i++) {
            if (own[i] == id) own[i] = own[own.length - 1];
        }
        own.pop();
        balanceOf[msg.sender] -= UNIT;
        balanceOf[to] += UNIT;
        owners[id] = to;
        tokens[to].push(id);
        emit ERC721Transfer(msg.sender, to, id);
        emit ERC20Transfer(msg.sender, to, UNIT);
        // Nobody has more tokens than whole units: a half that `to` had does not become one with half of another.
    }

    function move(address from, address to, uint256 amount) private {
        if (from != address(0)) balanceOf[from] -= amount;
        if (to != address(0)) balanceOf[to] += amount;
        emit ERC20Transfer(from, to, amount);
        if (from != address(0)) settle(from);
        if (to != address(0)) settle(to);
    }

    /// @dev Ends or makes tokens until an account has as many as whole units
    function settle(address account) private {
        uint256[] storage own = tokens[account];
        uint256 whole = balanceOf[account] / UNIT;
        while (own.length > whole) {
            uint256 id = own[own.length - 1];
            own.pop();
            delete owners[id];
            emit ERC721Transfer(account, address(0), id);
        }
        while (own.length < whole) {
            uint256 id = ++minted;
            own.push(id);
            owners[id] = account;
            emit ERC721Transfer(address(0), account, id);
        }
    }
}
