/** How many the Ethereum begins with, unless a test asks for others. */
export const GENESIS_VALIDATORS = 256

/**
 * The root of their registry, by which nodes of its network are told from others: keys, addresses and balances follow from the
 * numbers of validators, whatever the seed.
 */
export const GENESIS_VALIDATORS_ROOT = '0xb22be95fac5548c2dfc6685fff8d117e5551a52ade12680b1c30cd0ffb18f5fb'
