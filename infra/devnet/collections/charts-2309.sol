// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ERC721Burnable} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721Burnable.sol";
import {ERC721Consecutive} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721Consecutive.sol";

/// @title An ERC-721 collection that is minted in ranges with its creation (ERC-2309), from token 0 on
contract Charts is ERC721Consecutive, ERC721Burnable {
    string private base;

    constructor(string memory base_, address[] memory receivers, uint96[] memory counts) ERC721("Sea Charts", "CHART") {
        base = base_;
        for (uint256 i = 0; i < receivers.length; i++) _mintConsecutive(receivers[i], counts[i]);
    }

    function _ownerOf(uint256 tokenId) internal view override(ERC721, ERC721Consecutive) returns (address) {
        return super._ownerOf(tokenId);
    }

    function _update(address to, uint256 tokenId, address auth)
        internal
        override(ERC721, ERC721Consecutive)
        returns (address)
    {
        return super._update(to, tokenId, auth);
    }

    function _baseURI() internal view override returns (string memory) {
        return base;
    }
}
