import { expect, test } from 'vitest'
import { projectFinalized } from '../../processors/rewards/finalized.ts'
import { epochBlocks } from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { earlierEpoch } from './earlier-epoch.ts'

const clock = { genesisTimeSec: 1_606_824_023, secondsPerSlot: 12, slotsPerEpoch: 32 }
const HEADER = { chain: 'history', clock, epoch: 3, blocks: [], effects: [], residuals: [], parts: [] }
const proof = (level: string) => ({ formulas: 1, stateRoot: `0x${'ab'.repeat(32)}`, level })

test.each([
  [3, { ...HEADER, proof: proof('anchored') }],
  [3, { ...HEADER, proof: null }],
  [4, { ...HEADER, proof: proof('agreed') }],
  [4, { ...HEADER, proof: null }],
])(
  'an epoch of version %i leaves unknown who was to propose, what the network earned and who differed',
  (version, header) => {
    const event = earlierEpoch({ version, chain: 'history', header })
    const unknown = { proposers: null, network: null, differences: null }
    expect(decodeEvent(epochBlocks, event).header).toEqual({ ...header, ...unknown })
    const { rows } = projectFinalized({ position: { partition: 0, offset: 0n }, event }, '')
    const columnsOf = (name: string) => rows.find(({ table }) => table === name)?.columns
    expect(columnsOf('epoch_proofs')).toMatchObject({ has_proposers: Uint8Array.of(0), is_compared: Uint8Array.of(0) })
    for (const name of ['missed_slots', 'network_epochs', 'epoch_differences'])
      expect([name, columnsOf(name)?.version?.length]).toEqual([name, 0])
  },
)

test('a slot without a block was missed by whose turn it was; slot 0 by nobody', () => {
  const block = (slot: number) => ({
    ...{ slot, proposerIndex: slot + 100, executionBlockNumber: slot, feeRecipient: `0x${'11'.repeat(20)}` },
    ...{ root: `0x${'22'.repeat(32)}`, parentRoot: `0x${'33'.repeat(32)}`, executionBlockHash: `0x${'44'.repeat(32)}` },
    ...{ attestationsGwei: null, syncAggregateGwei: null, proposerSlashingsGwei: null, attesterSlashingsGwei: null },
  })
  const filled = Array.from({ length: 32 }, (_, slot) => slot).filter((slot) => ![0, 5, 31].includes(slot))
  const proposers = Array.from({ length: 32 }, (_, slot) => slot + 100)
  const header = {
    ...HEADER,
    epoch: 0,
    blocks: filled.map(block),
    proof: null,
    proposers,
    network: null,
    differences: null,
  }
  const { rows } = projectFinalized(
    { position: { partition: 0, offset: 6n }, event: earlierEpoch({ version: 5, chain: 'history', header }) },
    '',
  )
  expect(rows.find(({ table }) => table === 'missed_slots')?.columns).toMatchObject({
    slot: BigUint64Array.of(5n, 31n),
    proposer_index: Uint32Array.of(105, 131),
  })
})
