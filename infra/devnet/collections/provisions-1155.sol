// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";
import {ERC1155Burnable} from "@openzeppelin/contracts/token/ERC1155/extensions/ERC1155Burnable.sol";

/// @title An ERC-1155 collection whose documents a server has, by ids where {id} stands; anybody may mint
contract Provisions is ERC1155Burnable {
    string public constant name = "Ship's Provisions";
    string public constant symbol = "PROV";

    string private base;

    constructor(string memory base_) ERC1155(string.concat(base_, "{id}")) {
        base = base_;
    }

    /// @notice ERC-7572
    function contractURI() external view returns (string memory) {
        return string.concat(base, "contract");
    }

    function mint(address to, uint256 id, uint256 value) external {
        _mint(to, id, value, "");
    }

    function mintBatch(address to, uint256[] calldata ids, uint256[] calldata values) external {
        _mintBatch(to, ids, values, "");
    }

    /// @notice Says that the document of a token has changed
    function announce(uint256 id) external {
        emit URI(uri(id), id);
    }
}
