import type { Devnet } from '../../infra/devnet/open.ts'
import type { NodeFault } from '../faults/faulty-node.ts'
import {
  changed,
  json,
  ofAttestationRewards,
  ofProposerRewards,
  ofStates,
  ofSyncRewards,
  rows,
} from '../faults/replies.ts'
import { SLASHED_PROPOSER } from './short-history.ts'

// How the reward endpoints of real clients are known to err, by the client's issue.

/** What a case's fault has to know of the true chain. */
export interface LightChain {
  /** Seats of a validator in the sync committee. */
  readonly seatsOf: (index: number) => number
  readonly balanceOf: (index: number) => number
}

export function lightChainOf({ history }: Devnet): LightChain {
  const { syncCommittee, balances } = history.head
  return {
    seatsOf: (index) => syncCommittee.filter((member) => member === index).length,
    balanceOf: (index) => balances[index] ?? 0,
  }
}

/**
 * What becomes of the figures that such a node tells. `published`: all of them, as they are; `rounded`: the same, of components that lack some
 * gwei; `withheld`: of some validators nothing; `refused`: of nobody anything, and the epoch waits.
 */
export type Fate = 'published' | 'rounded' | 'withheld' | 'refused'

export interface ErringClient {
  /** Project and number of the issue, or what the kind of error is called in it. */
  readonly issue: string
  readonly error: string
  readonly faults: (chain: LightChain) => readonly NodeFault[]
  readonly fate: Fate
  /** What an operator is told; nothing where it is not said. */
  readonly tells?: RegExp
  /** Only a validator with one seat in the sync committee is tracked. */
  readonly isOneSeat?: true
}

type Row = Readonly<Record<string, string>>

const texts = (all: readonly object[]) => all as readonly Row[]
const plus = (gwei: string | undefined, more: number) => String(Number(gwei) + more)

/** Attestation rewards of each validator, changed. */
const attestations = (change: (row: Row, epoch: number) => readonly Row[]): NodeFault => ({
  of: ofAttestationRewards,
  reply: changed((answer, { path }) => {
    const data = answer.data as { readonly total_rewards: readonly Row[] }
    const epoch = Number(path.split('/').at(-1))
    return { ...answer, data: { ...data, total_rewards: data.total_rewards.flatMap((row) => change(row, epoch)) } }
  }),
})

const proposals = (change: (data: Row) => Row): NodeFault => ({
  of: ofProposerRewards,
  reply: changed((answer) => ({ ...answer, data: change(answer.data as Row) })),
})

const sync = (change: (row: Row) => readonly Row[]): NodeFault => ({
  of: ofSyncRewards,
  reply: rows((all) => texts(all).flatMap(change)),
})

const shifted = (by: number): NodeFault => ({
  of: ofAttestationRewards,
  reply: (asked, truth) => {
    const epoch = Number(asked.path.split('/').at(-1))
    return truth(asked.path.replace(/\d+$/, String(Math.max(0, epoch + by))))
  },
})

const isSlashed = ({ validator_index: index }: Row) => Number(index) === SLASHED_PROPOSER

export const ERRING_CLIENTS: readonly ErringClient[] = [
  {
    issue: 'none',
    error: 'a node that tells the truth',
    faults: () => [],
    fate: 'published',
  },
  {
    issue: 'sigp/lighthouse, seen on Sepolia',
    error: 'attestation rewards lack 1 to 3 gwei of an epoch',
    faults: () => [
      attestations((row, epoch) => {
        const lacks = (part: number) => ((Number(row.validator_index) + epoch) % 3 >= part ? -1 : 0)
        return [
          { ...row, head: plus(row.head, lacks(2)), target: plus(row.target, -1), source: plus(row.source, lacks(1)) },
        ]
      }),
    ],
    fate: 'rounded',
  },
  {
    issue: 'status-im/nimbus-eth2#7452',
    error: 'one row per seat of a sync committee',
    faults: ({ seatsOf }) => [
      sync((row) => {
        const seats = seatsOf(Number(row.validator_index))
        // As many rows as seats; those that signed earn, the others lose as much.
        const shares = Array.from({ length: seats }, () => Math.trunc(Number(row.reward) / seats))
        shares[0] = Number(row.reward) - shares.slice(1).reduce((sum, gwei) => sum + gwei, 0)
        return shares.map((gwei) => ({ ...row, reward: String(gwei) }))
      }),
    ],
    fate: 'published',
  },
  {
    issue: 'status-im/nimbus-eth2#7452',
    error: 'one row per seat, each with what all seats have earned',
    faults: ({ seatsOf }) => [sync((row) => new Array<Row>(seatsOf(Number(row.validator_index))).fill(row))],
    fate: 'refused',
    tells: /sync committee reward of validator \d+ does not follow from its seats/,
  },
  {
    issue: 'status-im/nimbus-eth2#6810',
    error: 'a block has one vote of the sync aggregate',
    faults: () => [
      proposals((data) => ({ ...data, sync_aggregate: String(Math.floor(Number(data.sync_aggregate) / 512)) })),
    ],
    fate: 'withheld',
    tells: /did not explain their balances/,
  },
  {
    issue: 'ChainSafe/lodestar#8718',
    error: 'a member of the sync committee has its balance for what it earned',
    faults: ({ balanceOf }) => [sync((row) => [{ ...row, reward: String(balanceOf(Number(row.validator_index))) }])],
    fate: 'refused',
    tells: /sync committee reward of validator \d+ does not follow from its seats/,
  },
  {
    issue: 'ChainSafe/lodestar#8718',
    error: 'a member with one seat has its balance for what it earned',
    faults: ({ balanceOf }) => [sync((row) => [{ ...row, reward: String(balanceOf(Number(row.validator_index))) }])],
    fate: 'refused',
    tells: /sync committee reward of validator \d+ is \d+ gwei, which none is/,
    isOneSeat: true,
  },
  {
    issue: 'sigp/lighthouse#6818',
    error: 'HTTP 500 to attestation rewards, once a balance is above 32 ETH',
    faults: () => [{ of: ofAttestationRewards, reply: () => json(500, { code: 500, message: 'UNHANDLED_ERROR' }) }],
    fate: 'refused',
    tells: /answered HTTP 500/,
  },
  {
    issue: 'sigp/lighthouse#4929',
    error: 'what a proposer earned is counted twice',
    faults: () => [
      proposals((data) => ({ ...data, attestations: plus(data.attestations, Number(data.attestations)) })),
    ],
    fate: 'withheld',
    tells: /did not explain their balances/,
  },
  {
    issue: 'sigp/lighthouse#6533',
    error: 'penalties of a slashed validator come two epochs late',
    faults: () => [
      {
        of: ofAttestationRewards,
        reply: async (asked, truth) => {
          const late = await truth(asked.path.replace(/\d+$/, (epoch) => String(Math.max(0, Number(epoch) - 2))))
          const before = JSON.parse(Buffer.from(late.body).toString()).data.total_rewards as readonly Row[]
          const own = attestations((row) => (isSlashed(row) ? before.filter(isSlashed) : [row]))
          return own.reply(asked, truth)
        },
      },
    ],
    fate: 'withheld',
  },
  {
    issue: 'sigp/lighthouse#6533',
    error: 'a slashed validator has no penalties any more',
    faults: () => [
      attestations((row) =>
        isSlashed(row) ? [{ ...row, head: '0', target: '0', source: '0', inactivity: '0' }] : [row],
      ),
    ],
    fate: 'withheld',
  },
  {
    issue: 'ethereum/beacon-APIs#480',
    error: 'a row of zeros is left out of sync committee rewards',
    faults: () => [sync((row) => (row.reward === '0' ? [] : [row]))],
    fate: 'published',
  },
  {
    issue: 'ethereum/beacon-APIs#480',
    error: 'an attester that missed everything has no row',
    faults: () => [attestations((row) => (Number(row.target) < 0 ? [] : [row]))],
    fate: 'refused',
    tells: /attestation rewards of epoch \d+ lack validator \d+/,
  },
  {
    issue: 'ethereum/beacon-APIs#480',
    error: 'penalties are told as zeros',
    faults: () => [
      attestations((row) => {
        const noLess = (gwei: string | undefined) => String(Math.max(0, Number(gwei)))
        return [{ ...row, target: noLess(row.target), source: noLess(row.source) }]
      }),
    ],
    fate: 'withheld',
  },
  {
    issue: 'sigp/lighthouse#6401',
    error: 'an epoch has the attestation rewards of the one before it',
    faults: () => [shifted(-1)],
    fate: 'withheld',
  },
  {
    issue: 'sigp/lighthouse#6401',
    error: 'an epoch has the attestation rewards of the one after it',
    faults: () => [shifted(1)],
    fate: 'withheld',
  },
  {
    issue: 'sigp/lighthouse#7193',
    error: 'HTTP 404 to states of the past',
    faults: () => [{ of: ofStates, reply: () => json(404, { code: 404, message: 'NOT_FOUND: missing state' }) }],
    fate: 'refused',
    tells: /does not have the state of slot/,
  },
]
