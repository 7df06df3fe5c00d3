import { expect, test } from 'vitest'
import { readInterchange } from '../../infra/devnet/validator-client/interchange.ts'

const KEY = `0x${'ab'.repeat(48)}` as const
const ROOT = `0x${'11'.repeat(32)}` as const
/** More than a call takes as arguments. */
const SIGNATURES = 200_000

test('the highest of all signatures counts, however many there are', () => {
  const all = Array.from({ length: SIGNATURES }, (_, i) => String((i * 7) % SIGNATURES))
  const told = {
    metadata: { interchange_format_version: '5', genesis_validators_root: ROOT },
    data: [
      {
        pubkey: KEY,
        signed_blocks: all.map((slot) => ({ slot })),
        signed_attestations: all.map((epoch) => ({ source_epoch: '0', target_epoch: epoch })),
      },
    ],
  }
  expect(readInterchange(JSON.stringify(told), ROOT)).toEqual({
    status: 'read',
    signed: new Map([[KEY, { blockSlot: SIGNATURES - 1, targetEpoch: SIGNATURES - 1 }]]),
  })
})
