// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

import {IERC165} from "@openzeppelin/contracts/interfaces/IERC165.sol";
import {IERC4906} from "@openzeppelin/contracts/interfaces/IERC4906.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ERC721Burnable} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721Burnable.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";

/// @title An ERC-721 collection whose documents change, and that says so (ERC-4906); anybody may mint and revise
contract Almanac is ERC721Burnable, IERC4906 {
    bytes4 private constant ERC4906 = 0x49064906;

    string private base;
    uint256 public edition;
    mapping(uint256 tokenId => uint256) public revision;

    constructor(string memory base_) ERC721("Almanac", "ALMA") {
        base = base_;
    }

    function mint(address to, uint256 tokenId) external {
        _mint(to, tokenId);
    }

    function revise(uint256 tokenId) external {
        _requireOwned(tokenId);
        revision[tokenId]++;
        emit MetadataUpdate(tokenId);
    }

    function reviseAll() external {
        edition++;
        emit BatchMetadataUpdate(0, type(uint256).max);
    }

    function tokenURI(uint256 tokenId) public view override returns (string memory) {
        _requireOwned(tokenId);
        string memory version = string.concat(Strings.toString(edition), ".", Strings.toString(revision[tokenId]));
        return string.concat(base, Strings.toString(tokenId), "?edition=", version);
    }

    function supportsInterface(bytes4 id) public view override(ERC721, IERC165) returns (bool) {
        return id == ERC4906 || super.supportsInterface(id);
    }
}
