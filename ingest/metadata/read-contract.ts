import type { CallAnswer, ContractNode } from '../../infra/ports/contract-node.ts'
import { chainKey } from '../../schemas/chains.ts'
import {
  decodeBoolean,
  decodeText,
  decodeUint,
  INTERFACES,
  NAME_CALL,
  SYMBOL_CALL,
  supportsCall,
  TOTAL_SUPPLY_CALL,
} from '../../schemas/eth/contract-calls.ts'
import type { TokenStandard } from '../../schemas/eth/nft-transfers.ts'
import { formatInstant } from '../../schemas/eth/time.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { contractRead } from '../../schemas/events/nft-metadata.ts'

/** A name or a symbol: longer ones are none. */
const NAME_CHARACTERS_MAX = 1_000

export interface ContractQuestion {
  readonly chain: string
  readonly contract: string
  /** As what its tokens were moved: how it behaves, where it does not say what it is. */
  readonly moved: ReadonlySet<TokenStandard>
  /** Where it is known already who made it, or that no receipt names them: a contract is made once. */
  readonly known: Deployed | undefined
  /** Unix seconds. */
  readonly nowSec: number
}

/** What is known of how a contract came to be. */
export interface Deployed {
  readonly deployer: string | null
  readonly deployBlock: number | null
  readonly deployReason: string | null
}

/** What a contract says that it is; null where there is none. */
export type ContractType = TokenStandard | 'UNKNOWN' | null

/** Asks a contract what it is; the answer is an event. Throws AppError of a node fault. */
export async function readContract(
  node: ContractNode,
  question: ContractQuestion,
): Promise<{ readonly event: EncodedEvent; readonly tokenType: ContractType }> {
  const { chain, contract, moved, nowSec } = question
  const calls = [
    ...[NAME_CALL, SYMBOL_CALL, TOTAL_SUPPLY_CALL],
    ...[INTERFACES.erc165, INTERFACES.none, INTERFACES.erc721, INTERFACES.erc1155].map(supportsCall),
  ]
  const deployed = question.known ?? (await deployedBy(node, contract))
  const { block, answers } = await node.call(calls.map((data) => ({ to: contract, data })))
  const [name, symbol, supply, ...interfaces] = answers.map((answer) =>
    answer.status === 'returned' ? answer : undefined,
  )
  const [is165, isAnything, is721, is1155] = interfaces.map((answer) => isYes(answer))
  const saysTruth = is165 === true && isAnything !== true
  const isContract = deployed.deployReason !== 'not_a_contract'
  const tokenType = isContract ? typeOf({ is721: saysTruth && is721, is1155: saysTruth && is1155, moved }) : null
  const event = encodeEvent(contractRead, {
    id: `${contractRead.name}:${chain}:${contract}:${block.hash}:${nowSec}`,
    key: chainKey(chain, contract),
    time: formatInstant(block.timeSec),
    data: {
      chain,
      contract,
      block: { number: block.number, hash: block.hash },
      atSec: nowSec,
      name: textOf(name),
      symbol: textOf(symbol),
      tokenType,
      totalSupply: supply === undefined ? null : (decodeUint(supply.data)?.toString() ?? null),
      ...deployed,
    },
  })
  return { event, tokenType }
}

async function deployedBy(node: ContractNode, contract: string): Promise<Deployed> {
  const { block, deployer, reason } = await node.deploymentOf(contract)
  return { deployer, deployBlock: block, deployReason: reason }
}

type Returned = Extract<CallAnswer, { status: 'returned' }>

function isYes(answer: Returned | undefined): boolean {
  return answer !== undefined && decodeBoolean(answer.data) === true
}

function textOf(answer: Returned | undefined): string | null {
  const text = answer === undefined ? undefined : decodeText(answer.data)
  return text === undefined || text.length > NAME_CHARACTERS_MAX ? null : text
}

interface Signs {
  readonly is721: boolean | undefined
  readonly is1155: boolean | undefined
  readonly moved: ReadonlySet<TokenStandard>
}

/** What it says first, then what it does; of both, ERC-721. */
function typeOf({ is721, is1155, moved }: Signs): TokenStandard | 'UNKNOWN' {
  if (is721 === true) return 'ERC721'
  if (is1155 === true) return 'ERC1155'
  if (moved.has('ERC721')) return 'ERC721'
  return moved.has('ERC1155') ? 'ERC1155' : 'UNKNOWN'
}
