import { type Abi, encodeAbiParameters, encodeEventTopics, type Hex, parseAbi } from 'viem'
import { bytesOf } from '../../schemas/eth/hex.ts'
import type { RawLog } from '../../schemas/eth/nft-transfers.ts'

// Logs of contracts with tokens, made of the ABIs of their standards by another implementation than the one that reads them.

export const ABI = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)',
  'event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)',
  'event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values)',
  'event ConsecutiveTransfer(uint256 indexed fromTokenId, uint256 toTokenId, address indexed from, address indexed to)',
  'event ERC721Transfer(address indexed from, address indexed to, uint256 indexed id)',
  'event ERC20Transfer(address indexed from, address indexed to, uint256 amount)',
  'event Assign(address indexed to, uint256 punkIndex)',
  'event PunkTransfer(address indexed from, address indexed to, uint256 punkIndex)',
  'event PunkBought(uint256 indexed punkIndex, uint256 value, address indexed fromAddress, address indexed toAddress)',
])
export const ERC20 = parseAbi(['event Transfer(address indexed from, address indexed to, uint256 value)'])
export const KITTIES = parseAbi(['event Transfer(address from, address to, uint256 tokenId)'])

/** A log as the compiler's code would emit it. */
export function logOf(abi: Abi, eventName: string, args: Record<string, unknown>): RawLog {
  const topics = encodeEventTopics({ abi, eventName, args } as never) as readonly Hex[]
  const event = abi.find((item) => item.type === 'event' && item.name === eventName)
  const inputs = event?.type === 'event' ? event.inputs.filter(({ indexed }) => indexed !== true) : []
  const data = encodeAbiParameters(inputs, inputs.map(({ name = '' }) => args[name]) as never)
  return { topics: bytesOf(joined(topics)), data: bytesOf(data) }
}

const joined = (parts: readonly string[]): Hex => `0x${parts.map((part) => part.slice(2)).join('')}`
