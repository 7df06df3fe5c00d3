import type { BeaconConfig } from '@lodestar/config'
import { DOMAIN_BEACON_PROPOSER, DOMAIN_RANDAO, SLOTS_PER_EPOCH } from '@lodestar/params'
import { computeSigningRoot } from '@lodestar/state-transition'
import { type phase0, ssz } from '@lodestar/types'
import { secretKeyOf } from './keys.ts'
import { seededBytes, seededRandom } from './random.ts'

/** Aggregates are drawn from this many ready-made points: summing the signatures of every committee would cost more than the chain. */
const AGGREGATE_POINTS = 64

/**
 * The signatures of the devnet's blocks, made with the interop key of the validator's index. Randao reveals, blocks, slashed headers
 * and exits are really signed; aggregates of attestations and sync committees are valid curve points and no more.
 */
export interface Signer {
  randaoReveal(slot: number, proposer: number): Uint8Array
  block(slot: number, proposer: number, blockRoot: Uint8Array): Uint8Array
  header(header: phase0.BeaconBlockHeaderBigint): Uint8Array
  voluntaryExit(exit: phase0.VoluntaryExit): Uint8Array
  aggregate(label: string): Uint8Array
}

export function createSigner(seed: string, config: BeaconConfig): Signer {
  const keys = new Map<number, ReturnType<typeof secretKeyOf>>()
  const keyOf = (validator: number) => {
    const key = keys.get(validator) ?? secretKeyOf(validator)
    keys.set(validator, key)
    return key
  }
  const points = Array.from({ length: AGGREGATE_POINTS }, (_, i) =>
    keyOf(i)
      .sign(seededBytes(seed, `aggregate point ${i}`))
      .toBytes(),
  )
  return {
    randaoReveal(slot, proposer) {
      const domain = config.getDomain(slot, DOMAIN_RANDAO)
      const epoch = Math.floor(slot / SLOTS_PER_EPOCH)
      return keyOf(proposer)
        .sign(computeSigningRoot(ssz.Epoch, epoch, domain))
        .toBytes()
    },
    block(slot, proposer, blockRoot) {
      const domain = config.getDomain(slot, DOMAIN_BEACON_PROPOSER)
      return keyOf(proposer)
        .sign(computeSigningRoot(ssz.Root, blockRoot, domain))
        .toBytes()
    },
    header(header) {
      const domain = config.getDomain(Number(header.slot), DOMAIN_BEACON_PROPOSER)
      const root = computeSigningRoot(ssz.phase0.BeaconBlockHeaderBigint, header, domain)
      return keyOf(header.proposerIndex).sign(root).toBytes()
    },
    voluntaryExit(exit) {
      const slot = exit.epoch * SLOTS_PER_EPOCH
      const domain = config.getDomainForVoluntaryExit(slot, slot)
      return keyOf(exit.validatorIndex)
        .sign(computeSigningRoot(ssz.phase0.VoluntaryExit, exit, domain))
        .toBytes()
    },
    aggregate(label) {
      return points[Math.floor(seededRandom(seed, label)() * AGGREGATE_POINTS)] as Uint8Array
    },
  }
}
