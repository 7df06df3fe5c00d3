import { mnemonicToAccount } from 'viem/accounts'

/** The phrase that every wallet and tool knows; the devnet gives its first accounts ten million ETH each, for whoever wants to send. */
const PHRASE = 'test test test test test test test test test test test junk'

export const WALLET = mnemonicToAccount(PHRASE)
export const STRANGER = mnemonicToAccount(PHRASE, { addressIndex: 1 })
