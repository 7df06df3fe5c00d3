import { describe, expect, it } from 'vitest'
import { projectFinalized } from '../../processors/rewards/finalized.ts'
import { epochValidators } from '../../schemas/events/beacon-epoch.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'

const numbers = (of: readonly bigint[]) => BigInt64Array.from(of)

describe('rows of an epoch’s validators', () => {
  it('have effective balances in gwei, to the largest that an event can tell', () => {
    const eth = [0, 1, 31, 32, 2_048, 9_007_200, 2 ** 32 - 1]
    const none = eth.map(() => 0n)
    const event = encodeEvent(epochValidators, {
      ...{ id: 'x', key: 'x', time: '2026-01-01T00:00:00.000Z' },
      data: {
        header: {
          ...{ chain: 'mainnet', epoch: 7, range: 0 },
          clock: { genesisTimeSec: 1_606_824_023, secondsPerSlot: 12, slotsPerEpoch: 32 },
        },
        columns: {
          validatorIndex: Uint32Array.from(eth, (_, index) => index),
          sourceGwei: numbers(none),
          targetGwei: numbers(none),
          headGwei: numbers(none),
          inactivityGwei: numbers(none),
          balanceGwei: numbers(none),
          effectiveBalanceEth: Uint32Array.from(eth),
          status: new Uint8Array(eth.length),
          slashed: new Uint8Array(eth.length),
          activationEpoch: new BigUint64Array(eth.length),
          exitEpoch: new BigUint64Array(eth.length),
          withdrawableEpoch: new BigUint64Array(eth.length),
        },
      },
    })
    const { rows } = projectFinalized({ position: { partition: 0, offset: 3n }, event }, 'mainnet')
    const { columns } = rows.find(({ table }) => table === 'validator_epochs') ?? {}
    expect(columns?.effective_balance_gwei).toEqual(numbers(eth.map((one) => BigInt(one) * 10n ** 9n)))
  })
})
