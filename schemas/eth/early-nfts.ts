import type { EarlyForm } from './nft-transfers.ts'

/**
 * Contracts of before ERC-721, by their addresses on Ethereum: in a log alone nothing tells them from ERC-20 contracts. They are told
 * as ERC-721.
 */
const EARLY_CONTRACTS: Readonly<Record<string, EarlyForm>> = {
  // CryptoKitties
  '06012c8cf97bead5deae237070f9587f8e7a266d': 'unindexed',
  // CryptoPunks
  b47e3cd837ddf8e4c57f05d70ab865de6e193bbb: 'punks',
  // Axie
  f5b0a3efb8e8e4c201e2a935f110eaaf3ffecb8d: 'two_indexed',
  // CryptoArte
  bace7e22f06554339911a03b8e0ae28203da9598: 'two_indexed',
  // Cryptovoxels parcels
  '79986af15539de2db9a5086382daeda917a9cf0c': 'two_indexed',
  // MakersPlace, with "Everydays: The First 5000 Days"
  '2a46f2ffd99e19a89476e2f62270e0a35bbf0756': 'two_indexed',
}

/** Whether any of their addresses begins with a byte. */
const BEGINNINGS = new Uint8Array(256)
for (const address of Object.keys(EARLY_CONTRACTS)) BEGINNINGS[Number.parseInt(address.slice(0, 2), 16)] = 1

/** How the contract at an address (20 bytes) tells of what it moves; undefined where it keeps to a standard, as nearly all do. */
export function earlyFormOf(address: Uint8Array): EarlyForm | undefined {
  // One byte of each log, instead of a text.
  if (BEGINNINGS[address[0] as number] !== 1) return undefined
  return EARLY_CONTRACTS[Buffer.from(address.buffer, address.byteOffset, address.byteLength).toString('hex')]
}
