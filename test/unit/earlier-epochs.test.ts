import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { projectFinalized } from '../../processors/rewards/finalized.ts'
import { EPOCH_BLOCKS_LAYOUT, epochBlocks } from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent, encodeEvent, packedEvent } from '../../schemas/events/codec.ts'

/** As releases have told epochs before they told of the network; the header is written as it was. */
function eventOf(version: number, header: object) {
  const before = packedEvent(
    { name: epochBlocks.name, version, topic: 'beacon.epochs' },
    Type.Object({}, { additionalProperties: true }),
    EPOCH_BLOCKS_LAYOUT,
  )
  const columns = { slotOffset: new Uint8Array(), validatorIndex: new Uint32Array(), syncGwei: new BigInt64Array() }
  const about = { id: 'beacon.epoch-blocks:history:3', key: 'history', time: '2026-11-20T00:00:00.000Z' }
  return encodeEvent(before, { ...about, data: { header, columns } })
}

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
    const event = eventOf(version, header)
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
  const { rows } = projectFinalized({ position: { partition: 0, offset: 6n }, event: eventOf(5, header) }, '')
  expect(rows.find(({ table }) => table === 'missed_slots')?.columns).toMatchObject({
    slot: BigUint64Array.of(5n, 31n),
    proposer_index: Uint32Array.of(105, 131),
  })
})
