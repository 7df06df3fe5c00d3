// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

/// @title The beacon chain's deposit contract, for a devnet
/// @notice Same ABI, same event data and same deposit root as the contract of the consensus specification. Nothing is
/// written by a constructor, so its code can be placed into a genesis block without storage.
contract DepositContract {
    uint256 private constant TREE_DEPTH = 32;
    uint256 private constant DEPOSITS_MAX = 2 ** TREE_DEPTH - 1;
    uint256 private constant DEPOSIT_WEI_MIN = 1 ether;

    /// Left siblings on the path of the next leaf: a level holds a value while its bit of the count is set.
    bytes32[TREE_DEPTH] private leftSiblings;
    uint256 private depositCount;

    event DepositEvent(bytes pubkey, bytes withdrawal_credentials, bytes amount, bytes signature, bytes index);

    function deposit(
        bytes calldata pubkey,
        bytes calldata withdrawal_credentials,
        bytes calldata signature,
        bytes32 deposit_data_root
    ) external payable {
        require(pubkey.length == 48, "DepositContract: pubkey must have 48 bytes");
        require(withdrawal_credentials.length == 32, "DepositContract: withdrawal credentials must have 32 bytes");
        require(signature.length == 96, "DepositContract: signature must have 96 bytes");
        require(msg.value >= DEPOSIT_WEI_MIN, "DepositContract: less than 1 ether");
        require(msg.value % 1 gwei == 0, "DepositContract: value is not a whole number of gwei");
        uint256 amountGwei = msg.value / 1 gwei;
        require(amountGwei <= type(uint64).max, "DepositContract: value is too high");

        bytes memory amount = littleEndian64(uint64(amountGwei));
        emit DepositEvent(pubkey, withdrawal_credentials, amount, signature, littleEndian64(uint64(depositCount)));

        bytes32 leaf = depositDataRoot(pubkey, withdrawal_credentials, amount, signature);
        require(leaf == deposit_data_root, "DepositContract: deposit data do not match deposit_data_root");
        append(leaf);
    }

    /// @notice Root of the tree of all deposits, mixed in with their number.
    function get_deposit_root() external view returns (bytes32) {
        bytes32 node = bytes32(0);
        bytes32 emptySubtree = bytes32(0);
        uint256 remaining = depositCount;
        for (uint256 level = 0; level < TREE_DEPTH; level++) {
            node = remaining & 1 == 1 ? hashPair(leftSiblings[level], node) : hashPair(node, emptySubtree);
            emptySubtree = hashPair(emptySubtree, emptySubtree);
            remaining >>= 1;
        }
        return sha256(abi.encodePacked(node, littleEndian64(uint64(depositCount)), bytes24(0)));
    }

    function get_deposit_count() external view returns (bytes memory) {
        return littleEndian64(uint64(depositCount));
    }

    /// @notice ERC-165: itself and the deposit contract's interface.
    function supportsInterface(bytes4 interfaceId) external pure returns (bool) {
        bytes4 depositInterface =
            this.deposit.selector ^ this.get_deposit_root.selector ^ this.get_deposit_count.selector;
        return interfaceId == this.supportsInterface.selector || interfaceId == depositInterface;
    }

    /// hash_tree_root of the SSZ container DepositData.
    function depositDataRoot(
        bytes calldata pubkey,
        bytes calldata withdrawalCredentials,
        bytes memory amount,
        bytes calldata signature
    ) private pure returns (bytes32) {
        bytes32 pubkeyRoot = sha256(abi.encodePacked(pubkey, bytes16(0)));
        bytes32 signatureRoot = hashPair(sha256(signature[:64]), sha256(abi.encodePacked(signature[64:], bytes32(0))));
        return hashPair(
            sha256(abi.encodePacked(pubkeyRoot, withdrawalCredentials)),
            sha256(abi.encodePacked(amount, bytes24(0), signatureRoot))
        );
    }

    function append(bytes32 leaf) private {
        require(depositCount < DEPOSITS_MAX, "DepositContract: the tree is full");
        depositCount += 1;
        uint256 remaining = depositCount;
        bytes32 node = leaf;
        // The number of deposits is below the tree's capacity, so one of its 32 low bits is set and the loop ends there.
        for (uint256 level = 0; ; level++) {
            if (remaining & 1 == 1) {
                leftSiblings[level] = node;
                return;
            }
            node = hashPair(leftSiblings[level], node);
            remaining >>= 1;
        }
    }

    function hashPair(bytes32 left, bytes32 right) private pure returns (bytes32) {
        return sha256(abi.encodePacked(left, right));
    }

    function littleEndian64(uint64 value) private pure returns (bytes memory encoded) {
        encoded = new bytes(8);
        for (uint256 i = 0; i < 8; i++) {
            encoded[i] = bytes1(uint8(value >> (8 * i)));
        }
    }
}
