// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

interface IERC1155Receiver {
    function onERC1155Received(address operator, address from, uint256 id, uint256 value, bytes calldata data)
        external
        returns (bytes4);
    function onERC1155BatchReceived(
        address operator,
        address from,
        uint256[] calldata ids,
        uint256[] calldata values,
        bytes calldata data
    ) external returns (bytes4);
}

/// @title An ERC-1155 collection that anybody may mint
contract Items1155 {
    mapping(uint256 id => mapping(address owner => uint256)) private balances;
    mapping(address owner => mapping(address operator => bool)) private operators;

    event TransferSingle(
        address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value
    );
    event TransferBatch(
        address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values
    );
    event ApprovalForAll(address indexed account, address indexed operator, bool approved);
    event URI(string value, uint256 indexed id);

    function supportsInterface(bytes4 interfaceId) external pure returns (bool) {
        // ERC-165, ERC-1155, ERC-1155 Metadata URI
        return interfaceId == 0x01ffc9a7 || interfaceId == 0xd9b67a26 || interfaceId == 0x0e89341c;
    }

    /// @notice The same text for every id: clients put the id where {id} stands.
    function uri(uint256) external pure returns (string memory) {
        return 'data:application/json,{"name":"Devnet Item {id}"}';
    }

    function balanceOf(address account, uint256 id) external view returns (uint256) {
        return balances[id][account];
    }

    function balanceOfBatch(address[] calldata accounts, uint256[] calldata ids)
        external
        view
        returns (uint256[] memory amounts)
    {
        require(accounts.length == ids.length, "Items1155: lengths differ");
        amounts = new uint256[](ids.length);
        for (uint256 i = 0; i < ids.length; i++) amounts[i] = balances[ids[i]][accounts[i]];
    }

    function isApprovedForAll(address account, address operator) external view returns (bool) {
        return operators[account][operator];
    }

    function setApprovalForAll(address operator, bool approved) external {
        operators[msg.sender][operator] = approved;
        emit ApprovalForAll(msg.sender, operator, approved);
    }

    function mint(address to, uint256 id, uint256 value) external {
        require(to != address(0), "Items1155: zero address");
        balances[id][to] += value;
        emit TransferSingle(msg.sender, address(0), to, id, value);
    }

    function mintBatch(address to, uint256[] calldata ids, uint256[] calldata values) external {
        require(to != address(0), "Items1155: zero address");
        require(ids.length == values.length, "Items1155: lengths differ");
        for (uint256 i = 0; i < ids.length; i++) balances[ids[i]][to] += values[i];
        emit TransferBatch(msg.sender, address(0), to, ids, values);
    }

    function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes calldata data) external {
        requireAllowed(from, to);
        move(from, to, id, value);
        emit TransferSingle(msg.sender, from, to, id, value);
        require(
            to.code.length == 0
                || IERC1155Receiver(to).onERC1155Received(msg.sender, from, id, value, data)
                    == IERC1155Receiver.onERC1155Received.selector,
            "Items1155: receiver refused"
        );
    }

    function safeBatchTransferFrom(
        address from,
        address to,
        uint256[] calldata ids,
        uint256[] calldata values,
        bytes calldata data
    ) external {
        requireAllowed(from, to);
        require(ids.length == values.length, "Items1155: lengths differ");
        for (uint256 i = 0; i < ids.length; i++) move(from, to, ids[i], values[i]);
        emit TransferBatch(msg.sender, from, to, ids, values);
        require(
            to.code.length == 0
                || IERC1155Receiver(to).onERC1155BatchReceived(msg.sender, from, ids, values, data)
                    == IERC1155Receiver.onERC1155BatchReceived.selector,
            "Items1155: receiver refused"
        );
    }

    function requireAllowed(address from, address to) private view {
        require(msg.sender == from || operators[from][msg.sender], "Items1155: not allowed");
        require(to != address(0), "Items1155: zero address");
    }

    function move(address from, address to, uint256 id, uint256 value) private {
        require(balances[id][from] >= value, "Items1155: balance too low");
        balances[id][from] -= value;
        balances[id][to] += value;
    }
}
