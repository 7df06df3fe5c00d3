// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ERC721Burnable} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721Burnable.sol";
import {ERC721Enumerable} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721Enumerable.sol";

/// @title An ERC-721 collection that counts its tokens, whose documents a server has; anybody may mint
contract Lanterns is ERC721Enumerable, ERC721Burnable {
    string private base;

    constructor(string memory base_) ERC721("Paper Lanterns", "LANTERN") {
        base = base_;
    }

    /// @notice ERC-7572
    function contractURI() external view returns (string memory) {
        return string.concat(base, "contract");
    }

    function mint(address to, uint256 tokenId) external {
        _mint(to, tokenId);
    }

    function supportsInterface(bytes4 id) public view override(ERC721, ERC721Enumerable) returns (bool) {
        return super.supportsInterface(id);
    }

    function _baseURI() internal view override returns (string memory) {
        return base;
    }

    function _update(address to, uint256 tokenId, address auth)
        internal
        override(ERC721, ERC721Enumerable)
        returns (address)
    {
        return super._update(to, tokenId, auth);
    }

    function _increaseBalance(address account, uint128 value) internal override(ERC721, ERC721Enumerable) {
        super._increaseBalance(account, value);
    }
}
