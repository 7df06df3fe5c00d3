import type { BeaconConfig } from '@lodestar/config'
import { DOMAIN_BEACON_PROPOSER, DOMAIN_RANDAO, SLOTS_PER_EPOCH } from '@lodestar/params'
import { computeSigningRoot } from '@lodestar/state-transition'
import { type phase0, ssz } from '@lodestar/types'
import { secretKeyOf } from './keys.ts'
import { seededBytes, seededRandom } from './random.ts'
import type { ThreadSigner } from './thread-signer.ts'
import type { Holder, ValidatorKeys } from './validator-keys.ts'

/** Aggregates are drawn from this many ready-made points: summing the signatures of every committee would cost more than the chain. */
const AGGREGATE_POINTS = 64

/** Of this epoch and the next. */
const REVEALS_KEPT = 2 * SLOTS_PER_EPOCH

/**
 * The signatures of the devnet's blocks, made with the interop key of the validator's number, or by who runs it. Randao reveals, blocks, slashed headers
 * and exits are really signed; aggregates of attestations and sync committees are valid curve points and no more.
 */
export interface Signer {
  /** The same for all slots of an epoch. */
  randaoReveal(slot: number, proposer: number): Promise<Uint8Array>
  /** Has the reveals of a slot's epoch made before they are asked for. */
  prepareReveals(slot: number, proposers: readonly number[]): void
  /** Resolves when the signatures that are being made are not too many. */
  keepsUp(): Promise<unknown>
  block(slot: number, proposer: number, blockRoot: Uint8Array): LaterSignature
  header(header: phase0.BeaconBlockHeaderBigint): Uint8Array
  voluntaryExit(exit: phase0.VoluntaryExit): Uint8Array
  aggregate(label: string): Uint8Array
}

/** A signature that is made beside the chain, or now when somebody wants it before. */
export type LaterSignature = () => Uint8Array

export interface Signing {
  /** Without one everything is signed when it is asked for. */
  readonly thread?: ThreadSigner | undefined
  /** Without them every validator has the devnet's key of its index. */
  readonly keys?: ValidatorKeys | undefined
}

export function createSigner(
  seed: string,
  config: BeaconConfig,
  { thread, keys: validatorKeys }: Signing = {},
): Signer {
  const holderOf = (validator: number): Holder =>
    validatorKeys?.holderOf(validator) ?? { kind: 'devnet', number: validator }
  /** Undefined for a validator of the devnet. */
  const signOutside = (validator: number, root: Uint8Array): Uint8Array | undefined => {
    const holder = holderOf(validator)
    return holder.kind === 'outside' ? validatorKeys?.outside.sign(holder.pubkey, root) : undefined
  }
  const numberOf = (validator: number): number => {
    const holder = holderOf(validator)
    return holder.kind === 'devnet' ? holder.number : validator
  }
  const keys = new Map<number, ReturnType<typeof secretKeyOf>>()
  const keyOf = (validator: number) => {
    const key = keys.get(validator) ?? secretKeyOf(numberOf(validator))
    keys.set(validator, key)
    return key
  }
  const points = Array.from({ length: AGGREGATE_POINTS }, (_, i) =>
    keyOf(i)
      .sign(seededBytes(seed, `aggregate point ${i}`))
      .toBytes(),
  )
  const reveals = new Map<string, Promise<Uint8Array>>()

  function later(validator: number, signingRoot: Uint8Array): LaterSignature {
    let made = signOutside(validator, signingRoot)
    if (made !== undefined) return () => made as Uint8Array
    const keep = (signature: Uint8Array) => {
      made = signature
    }
    // When the thread fails, the next reveal does too; what it has not signed is signed here.
    thread?.sign(numberOf(validator), signingRoot, 'nobody waits').then(keep, () => undefined)
    return () => {
      made ??= keyOf(validator).sign(signingRoot).toBytes()
      return made
    }
  }

  function reveal(slot: number, proposer: number): Promise<Uint8Array> {
    const epoch = Math.floor(slot / SLOTS_PER_EPOCH)
    const key = `${epoch} ${proposer}`
    const known = reveals.get(key)
    if (known !== undefined) return known
    const root = computeSigningRoot(ssz.Epoch, epoch, config.getDomain(slot, DOMAIN_RANDAO))
    const outside = signOutside(proposer, root)
    if (outside !== undefined) return Promise.resolve(outside)
    const made =
      thread?.sign(numberOf(proposer), root, 'waited for') ?? Promise.resolve(keyOf(proposer).sign(root).toBytes())
    made.catch(() => undefined) // its failure belongs to whoever asks for the reveal
    reveals.set(key, made)
    for (const oldest of reveals.keys()) {
      if (reveals.size <= REVEALS_KEPT) break
      reveals.delete(oldest)
    }
    return made
  }

  return {
    randaoReveal: reveal,
    prepareReveals(slot, proposers) {
      if (thread === undefined) return
      for (const proposer of proposers) if (holderOf(proposer).kind === 'devnet') void reveal(slot, proposer)
    },
    keepsUp: async () => thread?.keepsUp(),
    block(slot, proposer, blockRoot) {
      const domain = config.getDomain(slot, DOMAIN_BEACON_PROPOSER)
      return later(proposer, computeSigningRoot(ssz.Root, blockRoot, domain))
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
