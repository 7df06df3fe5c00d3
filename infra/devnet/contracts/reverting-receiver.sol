// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

/// @title An account that takes nothing
/// @notice Plain transfers to it revert, so a builder's payment to it fails; `spin` burns all the gas it is given.
contract RevertingReceiver {
    receive() external payable {
        revert("RevertingReceiver: refused");
    }

    function spin() external pure {
        assembly {
            invalid()
        }
    }
}
