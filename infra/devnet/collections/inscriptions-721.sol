// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ERC721Burnable} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721Burnable.sol";
import {Base64} from "@openzeppelin/contracts/utils/Base64.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";

/// @title An ERC-721 collection whose documents and pictures are on the chain, as data: addresses; anybody may mint
contract Inscriptions is ERC721Burnable {
    constructor() ERC721("Inscriptions", "INSC") {}

    function mint(address to, uint256 tokenId) external {
        _mint(to, tokenId);
    }

    function tokenURI(uint256 tokenId) public view override returns (string memory) {
        _requireOwned(tokenId);
        string memory number = Strings.toString(tokenId);
        string memory picture = string.concat(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100"><circle cx="50" cy="50" r="',
            Strings.toString(10 + tokenId % 40),
            '" fill="#446"/></svg>'
        );
        string memory document = string.concat(
            '{"name":"Inscription ',
            number,
            '","description":"All of it is on the chain","image":"data:image/svg+xml;base64,',
            Base64.encode(bytes(picture)),
            '","attributes":[{"trait_type":"Number","value":',
            number,
            "}]}"
        );
        return string.concat("data:application/json;base64,", Base64.encode(bytes(document)));
    }
}
