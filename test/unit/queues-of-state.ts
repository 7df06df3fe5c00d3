import type { StakingQueues } from '../../infra/ports/beacon-source.ts'
import { FAR_FUTURE_EPOCH } from '../../schemas/eth/far-future.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { firstSlotOfEpoch } from '../../schemas/eth/time.ts'
import type { WaitingState } from './waiting-chain.ts'

const SLOTS = { genesisTimeSec: 0, secondsPerSlot: 12, slotsPerEpoch: 32 }
const GWEI_PER_ETH = 1_000_000_000

/** What a node would tell of a state; `isTold`: whether it gives the whole state, too. */
export function queuesOfState(
  state: WaitingState,
  { own, isTold }: { readonly own: ReadonlySet<string>; readonly isTold: boolean },
): StakingQueues {
  const registry = state.validators.getAllReadonly()
  const fixed = (epoch: number) => (Number.isFinite(epoch) ? epoch : undefined)
  const byKey = new Map<string, (typeof registry)[number]>(registry.map((one) => [hexOf(one.pubkey), one]))
  const deposits = state.pendingDeposits.getAllReadonly()
  const partials = state.pendingPartialWithdrawals.getAllReadonly()
  const leaving = registry.flatMap((one, index) =>
    one.exitEpoch > state.epochCtx.epoch && Number.isFinite(one.exitEpoch) ? [{ one, index }] : [],
  )
  const none = new BigUint64Array(0)
  const noBytes = new Uint8Array(0)
  return {
    slot: firstSlotOfEpoch(SLOTS, state.epochCtx.epoch),
    root: `0x${'00'.repeat(32)}`,
    finalizedEpoch: state.finalizedCheckpoint.epoch,
    deposits: {
      pubkeyPrefix: BigUint64Array.from(deposits, ({ pubkey }) => Buffer.from(pubkey).readBigUInt64BE()),
      amountGwei: BigUint64Array.from(deposits, ({ amount }) => BigInt(amount)),
      slot: BigUint64Array.from(deposits, ({ slot }) => BigInt(slot)),
      withdrawableEpoch: BigUint64Array.from(deposits, ({ pubkey }) => {
        const epoch = fixed(byKey.get(hexOf(pubkey))?.withdrawableEpoch ?? Number.POSITIVE_INFINITY)
        return epoch === undefined ? FAR_FUTURE_EPOCH : BigInt(epoch)
      }),
    },
    own: [...own].flatMap((pubkey) => {
      const one = byKey.get(pubkey)
      return one === undefined
        ? []
        : {
            pubkey,
            eligibilityEpoch: fixed(one.activationEligibilityEpoch),
            activationEpoch: fixed(one.activationEpoch),
            exitEpoch: fixed(one.exitEpoch),
            withdrawableEpoch: fixed(one.withdrawableEpoch),
          }
    }),
    partials: {
      validatorIndex: BigUint64Array.from(partials, ({ validatorIndex }) => BigInt(validatorIndex)),
      amountGwei: BigUint64Array.from(partials, ({ amount }) => amount),
      withdrawableEpoch: BigUint64Array.from(partials, ({ withdrawableEpoch }) => BigInt(withdrawableEpoch)),
    },
    consolidatedIndices: BigUint64Array.from(state.pendingConsolidations.getAllReadonly(), ({ sourceIndex }) =>
      BigInt(sourceIndex),
    ),
    fields: isTold
      ? {
          nextWithdrawalValidatorIndex: state.nextWithdrawalValidatorIndex,
          depositBalanceToConsumeGwei: state.depositBalanceToConsume,
          exitBalanceToConsumeGwei: state.exitBalanceToConsume,
          earliestExitEpoch: state.earliestExitEpoch,
        }
      : undefined,
    exiting: {
      validatorIndex: Uint32Array.from(leaving, ({ index }) => index),
      balanceGwei: new BigInt64Array(0),
      effectiveBalanceEth: Uint32Array.from(leaving, ({ one }) => one.effectiveBalance / GWEI_PER_ETH),
      status: noBytes,
      slashed: noBytes,
      activationEligibilityEpoch: none,
      activationEpoch: none,
      exitEpoch: BigUint64Array.from(leaving, ({ one }) => BigInt(one.exitEpoch)),
      withdrawableEpoch: none,
    },
    registry: {
      size: registry.length,
      isSampled: false,
      totalActiveGwei: BigInt(state.epochCtx.totalActiveBalanceIncrements) * BigInt(GWEI_PER_ETH),
      sweepEligible: 0,
    },
    sweepPosition: 0,
  }
}
