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

/// @title A batch deposit contract that behaves as stakefish's does
/// @notice Packed keys and signatures, one withdrawal credential for all of them, and a fee per validator that stays in it. Its
/// owner may pause it and change the fee.
contract StakefishBatchDeposit {
    uint256 private constant PUBKEY_BYTES = 48;
    uint256 private constant CREDENTIALS_BYTES = 32;
    uint256 private constant SIGNATURE_BYTES = 96;
    uint256 private constant VALIDATORS_MAX = 100;
    uint256 private constant DEPOSIT_WEI = 32 ether;

    address private immutable depositContract;
    address public immutable owner;
    uint256 public fee;
    bool public paused;

    event FeeChanged(uint256 previousFee, uint256 newFee);
    event FeeCollected(address indexed payee, uint256 weiAmount);

    modifier onlyOwner() {
        require(msg.sender == owner, "StakefishBatchDeposit: only its owner may");
        _;
    }

    constructor(address depositContractAddr, uint256 initialFee) {
        require(initialFee % 1 gwei == 0, "StakefishBatchDeposit: fee is not a whole number of gwei");
        depositContract = depositContractAddr;
        owner = msg.sender;
        fee = initialFee;
    }

    function batchDeposit(
        bytes calldata pubkeys,
        bytes calldata withdrawal_credentials,
        bytes calldata signatures,
        bytes32[] calldata deposit_data_roots
    ) external payable {
        require(!paused, "StakefishBatchDeposit: paused");
        uint256 count = deposit_data_roots.length;
        require(count > 0 && count <= VALIDATORS_MAX, "StakefishBatchDeposit: not 1 to 100 validators");
        require(pubkeys.length == count * PUBKEY_BYTES, "StakefishBatchDeposit: not one pubkey per root");
        require(signatures.length == count * SIGNATURE_BYTES, "StakefishBatchDeposit: not one signature per root");
        require(withdrawal_credentials.length == CREDENTIALS_BYTES, "StakefishBatchDeposit: not one credential for all");
        require(msg.value == (DEPOSIT_WEI + fee) * count, "StakefishBatchDeposit: value is not 32 ether and the fee each");

        emit FeeCollected(msg.sender, fee * count);
        for (uint256 i = 0; i < count; i++) {
            IDepositContract(depositContract).deposit{value: DEPOSIT_WEI}(
                part(pubkeys, i, PUBKEY_BYTES),
                withdrawal_credentials,
                part(signatures, i, SIGNATURE_BYTES),
                deposit_data_roots[i]
            );
        }
    }

    function changeFee(uint256 newFee) external onlyOwner {
        require(newFee % 1 gwei == 0, "StakefishBatchDeposit: fee is not a whole number of gwei");
        emit FeeChanged(fee, newFee);
        fee = newFee;
    }

    function pause() external onlyOwner {
        paused = true;
    }

    function unpause() external onlyOwner {
        paused = false;
    }

    function part(bytes calldata packed, uint256 index, uint256 size) private pure returns (bytes calldata) {
        return packed[index * size:(index + 1) * size];
    }
}
