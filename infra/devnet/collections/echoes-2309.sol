// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

import {IERC2309} from "@openzeppelin/contracts/interfaces/IERC2309.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ERC721Burnable} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721Burnable.sol";

/// @title An ERC-721 collection that tells of a mint twice: token by token, and as a range (ERC-2309)
contract Echoes is ERC721Burnable, IERC2309 {
    string private base;

    constructor(string memory base_) ERC721("Echoes", "ECHO") {
        base = base_;
    }

    function mintRange(address to, uint256 firstTokenId, uint256 count) external {
        for (uint256 i = 0; i < count; i++) _mint(to, firstTokenId + i);
        emit ConsecutiveTransfer(firstTokenId, firstTokenId + count - 1, address(0), to);
    }

    function _baseURI() internal view override returns (string memory) {
        return base;
    }
}
