import { expect, test } from 'vitest'
import { RegistryScan } from '../../infra/beacon/registry-scan.ts'
import { wordOfRegistry } from '../../infra/beacon/registry-word.ts'
import { VALIDATOR_BYTES } from '../../infra/beacon/state-layout.ts'
import type { ExplainedRows, FinalChain, ValidatorIdentity } from '../../infra/ports/beacon-source.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { epochValidators } from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { registryLookedAt, validatorsIdentified } from '../../schemas/events/validators.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { BEACON_CHAIN, chainTo, eventsIn, ofChain, trackValidators } from './follow-synthetic.ts'
import { pubkeyOf, SLOTS_PER_EPOCH, type SyntheticChain } from './synthetic-chain.ts'

// Who a validator is by one node's word, against the registry of a state that the chain's blocks commit to.

const VALIDATORS = 8
const eventLog = eventLogOfEachTest()

const credentialsOf = (index: number, type = 1) => `0x0${type}${'00'.repeat(11)}${index.toString(16).padStart(40, '0')}`

/** Records of a registry; the type of each validator's credentials as it is said, and 1 of all others. */
function registryOf(types: ReadonlyMap<number, number> = new Map()): Buffer {
  const registry = Buffer.alloc(VALIDATORS * VALIDATOR_BYTES)
  for (let index = 0; index < VALIDATORS; index++) {
    registry.write(pubkeyOf(index).slice(2), index * VALIDATOR_BYTES, 'hex')
    registry.write(credentialsOf(index, types.get(index)).slice(2), index * VALIDATOR_BYTES + 48, 'hex')
  }
  return registry
}

interface States {
  /** Who the node says a key is. */
  readonly told: (index: number) => Partial<ValidatorIdentity>
  /** The registry that was read last, with the slot of its state; undefined while none was. */
  readonly registry: () => { readonly slot: number; readonly registry: Buffer } | undefined
  /** Type of a validator's credentials after an epoch. */
  readonly typeAfter: (epoch: number, index: number) => number
}

const READ: States = {
  told: () => ({}),
  registry: () => ({ slot: 1_000, registry: registryOf() }),
  typeAfter: () => 1,
}

/** What is final by a node that tells states. */
function computedBy(chain: SyntheticChain, { told, registry, typeAfter }: States): FinalChain {
  const final = chain.final
  return {
    ...final,
    identify: async (slot, pubkeys) =>
      (await final.identify(slot, pubkeys)).map((identity) => ({
        ...identity,
        withdrawalCredentials: credentialsOf(identity.index),
        ...told(identity.index),
      })),
    registered: async (claims) => {
      const read = registry()
      if (read === undefined) return undefined
      const scan = new RegistryScan()
      scan.read(read.registry)
      return wordOfRegistry({ ...read, scan }, claims)
    },
    explainedEpoch: async ({ epoch }, set): Promise<ExplainedRows> => {
      const states = await final.validators((epoch + 1) * SLOTS_PER_EPOCH - 1, set)
      const none = () => new BigInt64Array(states.validatorIndex.length)
      const { validatorIndex } = states
      return {
        states,
        credentialTypes: Uint8Array.from(validatorIndex, (index) => typeAfter(epoch, index)),
        attestations: {
          validatorIndex,
          sourceGwei: none(),
          targetGwei: none(),
          headGwei: none(),
          inactivityGwei: none(),
        },
        sync: { slot: new Uint32Array(0), validatorIndex: new Uint32Array(0), syncGwei: new BigInt64Array(0) },
        ...{
          proposals: [],
          effects: [],
          residuals: [],
          proposers: undefined,
          network: undefined,
          differences: [],
          cuts: [],
        },
        proof: { formulas: 1, stateRoot: `0x${'01'.repeat(32)}`, level: 'anchored' },
      }
    },
  }
}

/** Follows from epoch 0 or where the log stops up to an epoch; what was told as errors. */
async function followTo(epochs: number, states: States): Promise<readonly string[]> {
  const chain = chainTo((epochs + 2) * SLOTS_PER_EPOCH)
  const beacon = { ...chain.beacon, finalChain: () => computedBy(chain, states) }
  const errors: string[] = []
  const { log } = ofChain(BEACON_CHAIN, eventLog())
  const noting = { ...log, error: (_: object, message: string) => void errors.push(message) }
  const stop = new AbortController()
  const onProgress = ({ nextEpoch }: { readonly nextEpoch: number }) => nextEpoch >= epochs && stop.abort()
  await followEpochs(
    { ...ofChain(BEACON_CHAIN, eventLog()), log: noting, beacon, startEpoch: 0, onProgress, concurrency: 1 },
    stop.signal,
  )
  return errors
}

/** What the log says of who is who, in its order. */
async function identities(): Promise<readonly ValidatorIdentity[]> {
  const events = (await eventsIn(eventLog(), 'validators')).filter(({ type }) => type === validatorsIdentified.name)
  return events.flatMap((event) => decodeEvent(validatorsIdentified, event).validators)
}

/** Indices that epochs are told of, in the order of the log. */
async function toldIndices(): Promise<readonly (readonly number[])[]> {
  const events = (await eventsIn(eventLog(), 'beacon.epochs')).filter(({ type }) => type === epochValidators.name)
  return events.map((event) => [...decodeEvent(epochValidators, event).columns.validatorIndex])
}

const isTrue = (index: number, type = 1): ValidatorIdentity => ({
  index,
  pubkey: pubkeyOf(index),
  withdrawalCredentials: credentialsOf(index, type),
})

const track = (indices: readonly number[]) => trackValidators(eventLog(), indices, BEACON_CHAIN)
/** Says of validator 3's key that it is validator 5, whom nobody tracks. */
const wrong = (index: number) => (index === 3 ? { index: 5 } : {})

test('a wrong index is told of and not published: the key has the one of the registry', async () => {
  await track([1, 3])
  const errors = await followTo(2, { ...READ, told: wrong })
  expect(errors).toEqual([
    `a node has said that ${pubkeyOf(3)} is validator 5 of mainnet: by the registry of a state that is ${pubkeyOf(5)}; the registry has the key as validator 3`,
  ])
  expect(await identities()).toEqual([isTrue(1), isTrue(3)])
  expect(await toldIndices()).toEqual([
    [1, 3],
    [1, 3],
  ])
})

test('a wrong index that is found out when the first state is read is in no epoch and no event', async () => {
  await track([1, 3])
  let isRead = false
  const registry = () => (isRead ? READ.registry() : undefined)
  const typeAfter = () => {
    isRead = true
    return 1
  }
  await followTo(2, { ...READ, told: wrong, registry, typeAfter })
  expect(await identities()).toEqual([isTrue(1), isTrue(3)])
  expect((await toldIndices()).flat()).not.toContain(5)
})

test('a wrong index that the log has from before is taken back from the key', async () => {
  await track([1, 3])
  await followTo(1, { ...READ, told: wrong, registry: () => undefined, typeAfter: () => 1 })
  expect(await identities()).toEqual([])
  const endpoints = chainTo(4 * SLOTS_PER_EPOCH)
  const lying = {
    ...endpoints.final,
    identify: async (slot: number, pubkeys: readonly string[]) =>
      (await endpoints.final.identify(slot, pubkeys)).map(({ index }) => ({ ...isTrue(index), ...wrong(index) })),
  }
  const stop = new AbortController()
  const onProgress = ({ nextEpoch }: { readonly nextEpoch: number }) => nextEpoch >= 2 && stop.abort()
  const beacon = { ...endpoints.beacon, finalChain: () => lying }
  await followEpochs({ ...ofChain(BEACON_CHAIN, eventLog()), beacon, startEpoch: 0, onProgress }, stop.signal)
  expect(await identities()).toEqual([isTrue(1), { ...isTrue(3), index: 5 }])
  const errors = await followTo(4, READ)
  expect(errors).toHaveLength(1)
  expect((await identities()).slice(2)).toEqual([isTrue(3), isTrue(5)])
  expect((await toldIndices()).at(-1)).toEqual([1, 3])
})

test('who was identified waits for the first state that is read, with what tells that it was looked for', async () => {
  await track([1])
  await followTo(2, { ...READ, registry: () => undefined })
  const types = async () => (await eventsIn(eventLog(), 'validators')).map(({ type }) => type)
  expect(await types()).not.toContain(registryLookedAt.name)
  expect(await identities()).toEqual([])
  await followTo(3, READ)
  expect((await types()).slice(-2)).toEqual([validatorsIdentified.name, registryLookedAt.name])
  expect(await identities()).toEqual([isTrue(1)])
})

test('withdrawal credentials are those of the registry, and told again when they have changed', async () => {
  await track([1, 3])
  const told = (index: number) => (index === 3 ? { withdrawalCredentials: credentialsOf(7) } : {})
  await followTo(2, { ...READ, told })
  expect(await identities()).toEqual([isTrue(1), isTrue(3)])
  const types = new Map([[1, 2]])
  let slot = 0
  // The change is in the registry of the state behind epoch 4, and of all later ones.
  const typeAfter = (epoch: number, index: number) => {
    slot = (epoch + 1) * SLOTS_PER_EPOCH - 1
    return index === 1 && epoch >= 4 ? 2 : 1
  }
  const registry = () => ({
    slot: slot + 1_000,
    registry: registryOf(slot > 4 * SLOTS_PER_EPOCH ? types : undefined),
  })
  await followTo(6, { ...READ, registry, typeAfter })
  expect((await identities()).slice(2)).toEqual([isTrue(1, 2)])
})

test('a registry from before does not take back what withdrawals go by', async () => {
  await track([1])
  await followTo(2, { ...READ, registry: () => ({ slot: 1_000, registry: registryOf(new Map([[1, 2]])) }) })
  expect(await identities()).toEqual([isTrue(1, 2)])
  // As long as the last state that was read is from before the checkpoint.
  await followTo(4, { ...READ, registry: () => ({ slot: 11, registry: registryOf() }) })
  expect(await identities()).toEqual([isTrue(1, 2)])
})
