// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

/// @title A withdrawal address asks its operator for voluntary exits
/// @notice Many validators in one transaction of an ordinary account. It is a request and no more: the protocol does not know it, the
/// operator who has the keys signs the exits. Who asks is the sender; whether the validators are the sender's own is for the operator to
/// look at. It has no owner, no storage, and takes no ether.
contract ExitRequest {
    uint256 public constant pubkeyLength = 48;
    uint256 public constant validatorsMax = 100;

    event ExitsRequested(address indexed withdrawalAddress, bytes pubkeys);
    event AllExitsRequested(address indexed withdrawalAddress);

    /// @param pubkeys 1 to 100 public keys of 48 bytes, one after the other.
    function requestExits(bytes calldata pubkeys) external {
        require(pubkeys.length > 0 && pubkeys.length % pubkeyLength == 0, "ExitRequest: not whole pubkeys");
        require(pubkeys.length <= validatorsMax * pubkeyLength, "ExitRequest: more than 100 validators");
        emit ExitsRequested(msg.sender, pubkeys);
    }

    /// @notice Of every validator that has the sender as its withdrawal address when the request is read.
    function requestAllExits() external {
        emit AllExitsRequested(msg.sender);
    }
}
