// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

interface IDepositContract {
    function deposit(
        bytes calldata pubkey,
        bytes calldata withdrawal_credentials,
        bytes calldata signature,
        bytes32 deposit_data_root
    ) external payable;
}

/// @title Up to a hundred deposits in one transaction, for a devnet
/// @notice Same ABI, limits and event as AbyssEth2Depositor, without an owner
/// who may pause it. The address of the deposit contract is a constant: a genesis block holds code and runs no constructor.
contract BatchDeposit {
    IDepositContract public constant depositContract = IDepositContract(0x4242424242424242424242424242424242424242);

    uint256 public constant nodesMinAmount = 1;
    uint256 public constant nodesMaxAmount = 100;
    uint256 public constant pubkeyLength = 48;
    uint256 public constant credentialsLength = 32;
    uint256 public constant signatureLength = 96;
    uint256 public constant collateral = 32 ether;

    event DepositEvent(address from, uint256 nodesAmount);

    receive() external payable {
        revert("BatchDeposit: deposits only");
    }

    /// @notice All of the deposits are made, each of 32 ether, or none.
    function deposit(
        bytes[] calldata pubkeys,
        bytes[] calldata withdrawal_credentials,
        bytes[] calldata signatures,
        bytes32[] calldata deposit_data_roots
    ) external payable {
        uint256 count = pubkeys.length;
        require(count >= nodesMinAmount && count <= nodesMaxAmount, "BatchDeposit: not 1 to 100 validators");
        require(msg.value == count * collateral, "BatchDeposit: value is not 32 ether per validator");
        require(withdrawal_credentials.length == count, "BatchDeposit: not one withdrawal credential per pubkey");
        require(signatures.length == count, "BatchDeposit: not one signature per pubkey");
        require(deposit_data_roots.length == count, "BatchDeposit: not one deposit data root per pubkey");

        for (uint256 i = 0; i < count; i++) {
            depositOne(pubkeys[i], withdrawal_credentials[i], signatures[i], deposit_data_roots[i]);
        }
        emit DepositEvent(msg.sender, count);
    }

    function depositOne(
        bytes calldata pubkey,
        bytes calldata withdrawalCredentials,
        bytes calldata signature,
        bytes32 depositDataRoot
    ) private {
        require(pubkey.length == pubkeyLength, "BatchDeposit: pubkey must have 48 bytes");
        require(
            withdrawalCredentials.length == credentialsLength,
            "BatchDeposit: withdrawal credentials must have 32 bytes"
        );
        require(signature.length == signatureLength, "BatchDeposit: signature must have 96 bytes");
        depositContract.deposit{value: collateral}(pubkey, withdrawalCredentials, signature, depositDataRoot);
    }
}
