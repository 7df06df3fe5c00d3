import { hash } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/schema'
import { AppError } from '../../schemas/errors.ts'
import { ChainNode, DEFAULT_LIMITS, type NodeLimits } from '../nodes/nodes.ts'
import type { Log } from '../ports/log.ts'
import type { RelayClaim, RelayClaims } from '../ports/relay-claims.ts'

/** What a relay may take and answer: a handful of bid traces, while a block waits for it. */
const RELAY_LIMITS: Partial<NodeLimits> = {
  connectTimeoutMs: 1_000,
  headersTimeoutMs: 2_000,
  bodyTimeoutMs: 1_000,
  bodyFloorMs: 2_000,
  bodyBytesMax: 64 * 1024,
  connections: 4,
}
const PATH = '/relay/v1/data/bidtraces/proposer_payload_delivered?block_hash='

const Hex = (digits: number) => Type.String({ pattern: `^0x[0-9a-fA-F]{${digits}}$` })
/** Decimal text of a uint256 at most. */
const Integer = Type.String({ pattern: '^[0-9]{1,78}$' })
/** A slot that stays exact in JavaScript. */
const Slot = Type.String({ pattern: '^[0-9]{1,15}$' })
const BidTrace = Type.Object({
  slot: Slot,
  block_hash: Hex(64),
  builder_pubkey: Hex(96),
  proposer_pubkey: Hex(96),
  proposer_fee_recipient: Hex(40),
  value: Integer,
})
type BidTrace = Static<typeof BidTrace>
const isBidTraces = Compile(Type.Array(BidTrace))
const UINT256_MAX = 2n ** 256n - 1n

const NAME_CHARACTERS = 8

/** What a relay is called in its claims: by its host, which is not shown, so that a list in another order names the same relay. */
function claimantOf(url: string): string {
  return `relay ${hash('sha256', new URL(url).host, 'hex').slice(0, NAME_CHARACTERS)}`
}

/** A relay that is asked; messages name it by its place in the configuration. */
interface Relay {
  readonly node: ChainNode
  /** Its name in claims. */
  readonly claimant: string
}

/**
 * Opens the data APIs of relays (flashbots/relay-specs, proposer_payload_delivered); asks them nothing. Throws AppError `config` for an
 * address that is none.
 */
export function openRelays({ urls, log }: { readonly urls: readonly string[]; readonly log: Log }): RelayClaims {
  const relays = urls.map((url, place): Relay => {
    const node = new ChainNode(`relay ${place + 1}`, url, { ...DEFAULT_LIMITS, ...RELAY_LIMITS })
    return { node, claimant: claimantOf(url) }
  })
  return {
    count: relays.length,
    claimsOf: async (blockHash) => {
      const told = await Promise.all(relays.map((relay) => claimOf(relay, blockHash, log)))
      return told.filter((claim) => claim !== undefined)
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(relays.map(({ node }) => node[Symbol.asyncDispose]()))
    },
  }
}

async function claimOf({ node, claimant }: Relay, blockHash: string, log: Log): Promise<RelayClaim | undefined> {
  try {
    const answer = await node.request({ method: 'GET', path: `${PATH}${blockHash}`, accept: 'application/json' })
    const told = answer && toldOf(node, readTraces(node, answer.body), blockHash)
    return told && { relay: claimant, ...told }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    // Its claim is no figure, so nothing waits for it.
    log.warn(
      { relay: node.name, code: error.code },
      `${error.message}: block ${blockHash} is left without the relay's claim`,
    )
    return undefined
  }
}

function readTraces(relay: ChainNode, body: Uint8Array): readonly BidTrace[] {
  let told: unknown
  try {
    told = JSON.parse(Buffer.from(body).toString())
  } catch {
    throw relay.fault('node_malformed', 'answered something that is not JSON')
  }
  if (isBidTraces.Check(told)) return told
  throw relay.fault('node_malformed', 'answered something that is no list of bid traces')
}

/** Undefined where the relay has not delivered the block. */
function toldOf(
  relay: ChainNode,
  traces: readonly BidTrace[],
  blockHash: string,
): Omit<RelayClaim, 'relay'> | undefined {
  const own = traces.filter((trace) => trace.block_hash.toLowerCase() === blockHash)
  if (own.length !== traces.length) throw relay.fault('node_inconsistent', 'answered with another block')
  const [trace] = own
  if (trace === undefined) return undefined
  const valueWei = BigInt(trace.value)
  if (own.some(({ value }) => value !== trace.value) || valueWei > UINT256_MAX) {
    throw relay.fault('node_inconsistent', 'names several values of one block')
  }
  return {
    valueWei,
    feeRecipient: trace.proposer_fee_recipient.toLowerCase(),
    proposerPubkey: trace.proposer_pubkey.toLowerCase(),
    builderPubkey: trace.builder_pubkey.toLowerCase(),
    slot: Number(trace.slot),
  }
}
