import { expect, test } from 'vitest'
import { type Creating, createForAccount, type StakingChain } from '../../processors/validators/create-validators.ts'
import { StakingBook } from '../../processors/validators/staking-book.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import type { Created } from '../../schemas/routes/validators/create-validators.ts'
import { silentLog } from './silent-log.ts'

const ADDRESS = `0x${'ad'.repeat(20)}`
const ROOT = `0x${'07'.repeat(32)}`
const BODY_HASH = 'b'.repeat(64)

const ANSWER: Pick<Created, 'validators'> = {
  validators: [
    {
      network: 'mainnet',
      pubkey: `0x${'a1'.repeat(48)}`,
      amount_wei: '32000000000000000000',
      withdrawal_address: ADDRESS,
      deposit_from_address: ADDRESS,
      fee_recipient_address: ADDRESS,
      deposit_data: {
        amount: 32_000_000_000,
        signature: `0x${'05'.repeat(96)}`,
        deposit_data_root: ROOT,
        deposit_message_root: ROOT,
        fork_version: '0x10e70000',
      },
    },
  ],
}

test('a request that is repeated while it is being told of is told once', async () => {
  const told: EncodedEvent[] = []
  const append = async (_: unknown, events: readonly EncodedEvent[]) => {
    await Promise.resolve()
    told.push(...events)
    return []
  }
  const kept = { account: 'acme', bodyHash: BODY_HASH, answer: JSON.stringify(ANSWER) }
  const vault = { request: async () => kept }
  const parts = { writer: { append }, log: silentLog, book: new StakingBook(), now: () => 0, wallNow: () => 0 }
  const creating = { ...parts, vault } as unknown as Creating
  const chain = { name: 'mainnet', network: 'mainnet' } as StakingChain
  const input = {
    chain: 'mainnet',
    account: 'acme',
    requestId: 'a'.repeat(64),
    bodyHash: BODY_HASH,
    count: 1,
    withdrawalAddress: ADDRESS,
    depositFrom: ADDRESS,
    feeRecipient: ADDRESS,
    notAfterMs: 0,
  }
  const outputs = await Promise.all([1, 2, 3].map(() => createForAccount(creating, chain, input)))
  for (const output of outputs) expect(output).toEqual({ status: 'created', answer: kept.answer })
  expect(told).toHaveLength(1)
})
