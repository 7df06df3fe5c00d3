// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

interface IERC721Receiver {
    function onERC721Received(address operator, address from, uint256 tokenId, bytes calldata data)
        external
        returns (bytes4);
}

/// @title An ERC-721 collection that anybody may mint
contract Collectible721 {
    string public constant name = "Devnet Collectibles";
    string public constant symbol = "DEVC";

    mapping(uint256 tokenId => address) private owners;
    mapping(address owner => uint256) private balances;
    mapping(uint256 tokenId => address) private approvals;
    mapping(address owner => mapping(address operator => bool)) private operators;

    event Transfer(address indexed from, address indexed to, uint256 indexed tokenId);
    event Approval(address indexed owner, address indexed approved, uint256 indexed tokenId);
    event ApprovalForAll(address indexed owner, address indexed operator, bool approved);

    function supportsInterface(bytes4 interfaceId) external pure returns (bool) {
        // ERC-165, ERC-721, ERC-721 Metadata
        return interfaceId == 0x01ffc9a7 || interfaceId == 0x80ac58cd || interfaceId == 0x5b5e139f;
    }

    function tokenURI(uint256 tokenId) external view returns (string memory) {
        ownerOf(tokenId);
        return string.concat(
            'data:application/json,{"name":"Devnet Collectible ', decimal(tokenId), '","description":"A token of a devnet"}'
        );
    }

    function balanceOf(address owner) external view returns (uint256) {
        require(owner != address(0), "Collectible721: zero address");
        return balances[owner];
    }

    function ownerOf(uint256 tokenId) public view returns (address owner) {
        owner = owners[tokenId];
        require(owner != address(0), "Collectible721: no such token");
    }

    function getApproved(uint256 tokenId) external view returns (address) {
        ownerOf(tokenId);
        return approvals[tokenId];
    }

    function isApprovedForAll(address owner, address operator) external view returns (bool) {
        return operators[owner][operator];
    }

    function approve(address approved, uint256 tokenId) external {
        address owner = ownerOf(tokenId);
        require(msg.sender == owner || operators[owner][msg.sender], "Collectible721: not allowed");
        approvals[tokenId] = approved;
        emit Approval(owner, approved, tokenId);
    }

    function setApprovalForAll(address operator, bool approved) external {
        operators[msg.sender][operator] = approved;
        emit ApprovalForAll(msg.sender, operator, approved);
    }

    function mint(address to, uint256 tokenId) external {
        require(to != address(0), "Collectible721: zero address");
        require(owners[tokenId] == address(0), "Collectible721: token exists");
        owners[tokenId] = to;
        balances[to] += 1;
        emit Transfer(address(0), to, tokenId);
    }

    function burn(uint256 tokenId) external {
        address owner = ownerOf(tokenId);
        requireAllowed(owner, tokenId);
        balances[owner] -= 1;
        delete owners[tokenId];
        clearApproval(tokenId);
        emit Transfer(owner, address(0), tokenId);
    }

    function transferFrom(address from, address to, uint256 tokenId) public {
        require(ownerOf(tokenId) == from, "Collectible721: not the owner");
        require(to != address(0), "Collectible721: zero address");
        requireAllowed(from, tokenId);
        clearApproval(tokenId);
        balances[from] -= 1;
        balances[to] += 1;
        owners[tokenId] = to;
        emit Transfer(from, to, tokenId);
    }

    function safeTransferFrom(address from, address to, uint256 tokenId) external {
        safeTransferFrom(from, to, tokenId, "");
    }

    function safeTransferFrom(address from, address to, uint256 tokenId, bytes memory data) public {
        transferFrom(from, to, tokenId);
        require(
            to.code.length == 0
                || IERC721Receiver(to).onERC721Received(msg.sender, from, tokenId, data)
                    == IERC721Receiver.onERC721Received.selector,
            "Collectible721: receiver refused"
        );
    }

    function requireAllowed(address owner, uint256 tokenId) private view {
        require(
            msg.sender == owner || operators[owner][msg.sender] || approvals[tokenId] == msg.sender,
            "Collectible721: not allowed"
        );
    }

    function clearApproval(uint256 tokenId) private {
        if (approvals[tokenId] != address(0)) delete approvals[tokenId];
    }

    function decimal(uint256 value) private pure returns (string memory) {
        if (value == 0) return "0";
        uint256 digits = 0;
        for (uint256 rest = value; rest != 0; rest /= 10) digits++;
        bytes memory text = new bytes(digits);
        for (uint256 rest = value; rest != 0; rest /= 10) text[--digits] = bytes1(uint8(48 + rest % 10));
        return string(text);
    }
}
