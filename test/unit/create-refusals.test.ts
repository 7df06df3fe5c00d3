import { expect, test } from 'vitest'
import type { StakingNode } from '../../infra/ports/staking-node.ts'
import { createForAccount } from '../../processors/validators/create-validators.ts'
import type { StakingContract } from '../../schemas/eth/staking-transaction.ts'
import { askedFor, FACTS, givenCreating, nodeOf } from './given-creating.ts'

/** What validators are made for, how many, and what comes of it. */
interface Refused {
  readonly contract?: StakingContract
  readonly count: number
  readonly node?: Partial<StakingNode>
  readonly output: object
  /** For the operator. */
  readonly errors: readonly unknown[]
}

const BATCH: StakingContract = { kind: 'abyss', address: `0x${'ba'.repeat(20)}`, feeWei: 0n }
const UNAVAILABLE = { status: 'unavailable' }
const NOT_ITSELF = [expect.stringMatching(/^the configured staking contract is the deposit contract itself/)]
const NO_CODE = ['there is no contract at the address of the staking contract']

test.each<[string, Refused]>([
  [
    'two where no contract takes several deposits',
    {
      count: 2,
      output: {
        status: 'refused',
        reason:
          'validator_count is above 1, and no contract that takes several deposits is configured for this network',
      },
      errors: [],
    },
  ],
  ...(['abyss', 'kiln', 'stakefish'] as const).flatMap((kind) =>
    [1, 2].map((count): [string, Refused] => [
      `${count} where the deposit contract is configured as one of kind ${kind}`,
      {
        contract: { ...BATCH, kind, address: FACTS.depositContract },
        ...{ count, output: UNAVAILABLE, errors: NOT_ITSELF },
      },
    ]),
  ),
  ...[undefined, BATCH].map((contract): [string, Refused] => [
    `one where nothing is at the address of the ${contract === undefined ? 'deposit' : 'configured'} contract`,
    {
      ...(contract === undefined ? {} : { contract }),
      node: { hasCode: async (address) => address !== (contract?.address ?? FACTS.depositContract) },
      ...{ count: 1, output: UNAVAILABLE, errors: NO_CODE },
    },
  ]),
])('no keys are made for %s', async (_, { contract, count, node, output, errors }) => {
  const given = givenCreating({
    request: async () => undefined,
    prepare: () => Promise.reject(new Error('keys were made')),
    commit: () => Promise.reject(new Error('keys were sealed')),
  })
  const chain = { name: 'mainnet', network: 'mainnet', node: nodeOf(node), contract }
  expect(await createForAccount(given.creating, chain, askedFor(count))).toEqual(output)
  expect(given.errors).toEqual(errors)
  expect(given.told).toEqual([])
})
