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

/// @title A batch deposit contract that behaves as Kiln's does
/// @notice Packed fields, one withdrawal credential per key, no owner, no fee, no messages. As Kiln's it does not compare the
/// value with the number of keys: what it is sent too much stays in it, and pays for a later call that brings too little.
contract KilnBatchDeposit {
    uint256 private constant BATCH_MAX = 64;
    uint256 private constant BIG_BATCH_MAX = 512;
    uint256 private constant PUBKEY_BYTES = 48;
    uint256 private constant CREDENTIALS_BYTES = 32;
    uint256 private constant SIGNATURE_BYTES = 96;

    IDepositContract private immutable depositContract;

    constructor(address depositAdd) {
        depositContract = IDepositContract(depositAdd);
    }

    function batchDeposit(
        bytes calldata publicKeys,
        bytes calldata withdrawalCreds,
        bytes calldata signatures,
        bytes32[] calldata dataRoots
    ) external payable {
        require(dataRoots.length <= BATCH_MAX);
        depositAll(publicKeys, withdrawalCreds, signatures, dataRoots);
    }

    function bigBatchDeposit(
        bytes calldata publicKeys,
        bytes calldata withdrawalCreds,
        bytes calldata signatures,
        bytes32[] calldata dataRoots
    ) external payable {
        require(dataRoots.length <= BIG_BATCH_MAX);
        depositAll(publicKeys, withdrawalCreds, signatures, dataRoots);
    }

    function depositAll(
        bytes calldata publicKeys,
        bytes calldata withdrawalCreds,
        bytes calldata signatures,
        bytes32[] calldata dataRoots
    ) private {
        require(publicKeys.length == dataRoots.length * PUBKEY_BYTES);
        require(withdrawalCreds.length == dataRoots.length * CREDENTIALS_BYTES);
        require(signatures.length == dataRoots.length * SIGNATURE_BYTES);
        for (uint256 i = 0; i < dataRoots.length; i++) {
            depositContract.deposit{value: 32 ether}(
                part(publicKeys, i, PUBKEY_BYTES),
                part(withdrawalCreds, i, CREDENTIALS_BYTES),
                part(signatures, i, SIGNATURE_BYTES),
                dataRoots[i]
            );
        }
    }

    function part(bytes calldata packed, uint256 index, uint256 size) private pure returns (bytes calldata) {
        return packed[index * size:(index + 1) * size];
    }
}
