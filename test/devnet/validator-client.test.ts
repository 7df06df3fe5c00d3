import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PublicKey, Signature, verify } from '@chainsafe/blst'
import type { BeaconConfig } from '@lodestar/config'
import { DOMAIN_BEACON_PROPOSER, DOMAIN_RANDAO } from '@lodestar/params'
import { computeSigningRoot } from '@lodestar/state-transition'
import { type fulu, ssz } from '@lodestar/types'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createDevnetConfig } from '../../infra/devnet/consensus/chain-config.ts'
import { secretKeyOf } from '../../infra/devnet/consensus/keys.ts'
import type { Devnet } from '../../infra/devnet/open.ts'
import { tokenFileOf } from '../../infra/devnet/validator-client/client-files.ts'
import { DEFAULT_FEE_RECIPIENT } from '../../infra/devnet/validator-client/validator-client.ts'
import { writeKeystore } from '../../infra/key-vault/keystore.ts'
import { type Hex, hexOf } from '../../schemas/eth/hex.ts'
import { GENESIS_TIME_SEC, openShortDevnet, shortScenario } from './short-history.ts'
import { openSyntheticEngine } from './synthetic-engine.ts'

const TIMEOUT_MS = 240_000
const VALIDATORS = 64
/** Interop keys that are not among those of the devnet. */
const NUMBERS = [5_000, 5_001, 5_002, 5_003, 5_004, 5_005]
const RECIPIENT: Hex = `0x${'cc'.repeat(20)}`
const PASSWORD = 'correct horse'
const ACTIVE_SLOT = 12 * 32

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'devnet-'))
})
afterEach(() => rm(directory, { recursive: true }))

const pubkeys = NUMBERS.map((number) => hexOf(secretKeyOf(number).toPublicKey().toBytes()))

/** A quiet chain to which six strangers have deposited in its first slots. */
function openWithStrangers(): Promise<Devnet> {
  const deposits = new Map(
    NUMBERS.map((validatorNumber, index) => [3 + index, { validatorNumber, amountGwei: 32_000_000_000n }]),
  )
  return openShortDevnet({
    directory,
    validators: VALIDATORS,
    validatorPort: 0,
    scenario: { ...shortScenario, version: 'quiet', incidents: [] },
    openEngine: ({ genesisTimeSec }) =>
      openSyntheticEngine({ genesisTimeSec, deposits, withdrawalRequests: new Map() }),
  })
}

interface Answer {
  readonly status: number
  readonly body: unknown
}

async function ask(devnet: Devnet, method: string, path: string, body?: object, token?: string): Promise<Answer> {
  const { url, token: known } = devnet.validatorClient ?? { url: '', token: '' }
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token ?? known}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
}

function keystoreOf(number: number): Promise<string> {
  return writeKeystore({ key: secretKeyOf(number), path: `m/12381/3600/${number}/0/0` }, Buffer.from(PASSWORD))
}

async function importKeys(devnet: Devnet, numbers: readonly number[], slashingProtection?: string): Promise<Answer> {
  const keystores = await Promise.all(numbers.map(keystoreOf))
  const protection = slashingProtection === undefined ? {} : { slashing_protection: slashingProtection }
  return ask(devnet, 'POST', '/eth/v1/keystores', {
    keystores,
    passwords: keystores.map(() => PASSWORD),
    ...protection,
  })
}

function indexOf(devnet: Devnet, pubkey: Hex): number {
  return devnet.history.head.registry.findIndex((validator) => hexOf(validator.pubkey) === pubkey)
}

/** The slots of a range whose proposer is this validator, with their blocks. */
function turnsOf(devnet: Devnet, index: number, [from, to]: readonly [number, number]) {
  const slots = Array.from({ length: to - from + 1 }, (_, i) => from + i)
  return slots.flatMap((slot) => {
    const record = devnet.history.slot(slot)
    return record?.proposers[slot % 32] === index ? [{ slot, block: record.block }] : []
  })
}

/** What the validator's duties brought: its balance's change, and what was swept meanwhile. */
function gain(devnet: Devnet, index: number, [from, to]: readonly [number, number]): number {
  const at = (slot: number) => devnet.history.slot(slot)?.balances[index] ?? Number.NaN
  let swept = 0n
  for (let slot = from + 1; slot <= to; slot++) {
    const block = devnet.history.slot(slot)?.block
    if (block === undefined) continue
    const { withdrawals } = ssz.fulu.SignedBeaconBlock.deserialize(block.bytes()).message.body.executionPayload
    for (const { validatorIndex, amount } of withdrawals) if (validatorIndex === index) swept += amount
  }
  return at(to) - at(from) + Number(swept)
}

function roots(devnet: Devnet): readonly unknown[] {
  return Array.from({ length: devnet.headSlot + 1 }, (_, slot) => {
    const block = devnet.history.slot(slot)?.block
    return block === undefined ? undefined : [block.root, hexOf(block.signature())]
  })
}

test('validators of others do their duties with the keys that the client is given, and pay whom it is told; a replay needs no key', {
  timeout: TIMEOUT_MS,
}, async () => {
  const [first = '0x', second = '0x'] = pubkeys as readonly Hex[]
  const recorded = await (async () => {
    await using devnet = await openWithStrangers()
    await devnet.advanceTo(ACTIVE_SLOT)
    const indices = pubkeys.map((pubkey) => indexOf(devnet, pubkey))
    expect(indices.every((index) => index >= VALIDATORS)).toBe(true)

    const alone = [ACTIVE_SLOT, ACTIVE_SLOT + 128] as const
    await devnet.advanceTo(alone[1])
    for (const index of indices) {
      expect(gain(devnet, index, alone), 'nobody attests for it').toBeLessThan(0)
      expect(turnsOf(devnet, index, alone).flatMap(({ block }) => block ?? [])).toEqual([])
    }

    const given = NUMBERS.slice(0, 4)
    expect(await importKeys(devnet, given)).toEqual({
      status: 200,
      body: { data: given.map(() => ({ status: 'imported' })) },
    })
    const path = `/eth/v1/validator/${first}/feerecipient`
    expect((await ask(devnet, 'POST', path, { ethaddress: RECIPIENT })).status).toBe(202)
    const run = [alone[1] + 32, alone[1] + 32 + 256] as const
    await devnet.advanceTo(run[1])
    const config = configOf(devnet)
    let proposed = 0
    for (const [position, index] of indices.entries()) {
      const isGiven = position < given.length
      expect(gain(devnet, index, run) > 0, `validator ${position} gains`).toBe(isGiven)
      for (const { block } of turnsOf(devnet, index, run)) {
        if (!isGiven) expect(block).toBeUndefined()
        if (block === undefined) continue
        proposed++
        const signed = ssz.fulu.SignedBeaconBlock.deserialize(block.bytes())
        expect(hexOf(signed.message.body.executionPayload.feeRecipient)).toBe(
          index === indices[0] ? RECIPIENT : DEFAULT_FEE_RECIPIENT,
        )
        expectSigned(config, pubkeys[position] as Hex, signed)
      }
    }
    expect(proposed).toBeGreaterThan(2)

    const removed = await ask(devnet, 'DELETE', '/eth/v1/keystores', { pubkeys: [first] })
    expect(removed.body).toMatchObject({ data: [{ status: 'deleted' }] })
    const after = [devnet.headSlot + 32, devnet.headSlot + 160] as const
    await devnet.advanceTo(after[1])
    expect(gain(devnet, indices[0] ?? 0, after)).toBeLessThan(0)
    expect(gain(devnet, indices[1] ?? 0, after)).toBeGreaterThan(0)
    return { slot: devnet.headSlot, roots: roots(devnet) }
  })()
  expect(await readdir(join(directory, 'validator-client'))).not.toContain(`${first}.json`)

  await using again = await openWithStrangers()
  await again.advanceTo(recorded.slot)
  expect(roots(again)).toEqual(recorded.roots)
  const listed = (await ask(again, 'GET', '/eth/v1/keystores')).body as { data: { validating_pubkey: Hex }[] }
  expect(listed.data.map((key) => key.validating_pubkey).sort()).toEqual(pubkeys.slice(1, 4).sort())
  await again.advanceTo(recorded.slot + 64)
  expect(gain(again, indexOf(again, second), [recorded.slot, recorded.slot + 64])).toBeGreaterThan(0)
})

/** The signatures of a block are those of the validator's own key. */
function expectSigned(config: BeaconConfig, pubkey: Hex, { message: block, signature }: fulu.SignedBeaconBlock): void {
  const key = PublicKey.fromHex(pubkey)
  const blockDomain = config.getDomain(block.slot, DOMAIN_BEACON_PROPOSER)
  const blockRoot = computeSigningRoot(ssz.fulu.BeaconBlock, block, blockDomain)
  const revealDomain = config.getDomain(block.slot, DOMAIN_RANDAO)
  const revealRoot = computeSigningRoot(ssz.Epoch, Math.floor(block.slot / 32), revealDomain)
  expect(verify(blockRoot, key, Signature.fromBytes(signature))).toBe(true)
  expect(verify(revealRoot, key, Signature.fromBytes(block.body.randaoReveal))).toBe(true)
}

function configOf({ chainId, depositContractAddress, ...devnet }: Devnet): BeaconConfig {
  const facts = { genesisTimeSec: GENESIS_TIME_SEC, chainId, depositContractAddress, validators: VALIDATORS }
  return createDevnetConfig(facts, validatorsRootOf(devnet))
}

function validatorsRootOf(devnet: Pick<Devnet, 'stateBytes'>): Uint8Array {
  return ssz.fulu.BeaconState.deserialize(devnet.stateBytes(0)).genesisValidatorsRoot
}

test('the Keymanager API answers as its specification says', async () => {
  await using devnet = await openWithStrangers()
  const [one = '0x', two = '0x', three = '0x'] = pubkeys as readonly Hex[]
  expect((await ask(devnet, 'GET', '/eth/v1/keystores', undefined, 'another')).status).toBe(403)
  expect((await fetch(`${devnet.validatorClient?.url}/eth/v1/keystores`)).status).toBe(401)
  expect(await readFile(tokenFileOf(directory), 'utf8')).toBe(devnet.validatorClient?.token)
  expect((await stat(tokenFileOf(directory))).mode & 0o777).toBe(0o600)
  expect((await ask(devnet, 'GET', '/eth/v1/keystores')).body).toEqual({ data: [] })

  const keystores = [await keystoreOf(5_000), await keystoreOf(5_001), 'none', await keystoreOf(5_000)]
  const passwords = [PASSWORD, 'wrong', PASSWORD, PASSWORD]
  const imported = await ask(devnet, 'POST', '/eth/v1/keystores', { keystores, passwords })
  expect(imported.body).toEqual({
    data: [
      { status: 'imported' },
      { status: 'error', message: 'The keystore is refused: the password is another one.' },
      { status: 'error', message: expect.stringContaining('no keystore of EIP-2335') },
      { status: 'duplicate' },
    ],
  })
  expect((await stat(join(directory, 'validator-client', `${one}.json`))).mode & 0o777).toBe(0o600)
  expect((await ask(devnet, 'GET', '/eth/v1/keystores')).body).toEqual({
    data: [{ validating_pubkey: one, derivation_path: 'm/12381/3600/5000/0/0', readonly: false }],
  })
  for (const body of [{}, { keystores, passwords: [] }, { keystores: [], passwords: [] }])
    expect((await ask(devnet, 'POST', '/eth/v1/keystores', body)).status).toBe(400)

  const path = `/eth/v1/validator/${one}/feerecipient`
  const recipient = async () => (await ask(devnet, 'GET', path)).body
  expect(await recipient()).toEqual({ data: { pubkey: one, ethaddress: DEFAULT_FEE_RECIPIENT } })
  expect((await ask(devnet, 'POST', path, { ethaddress: RECIPIENT })).status).toBe(202)
  expect(await recipient()).toEqual({ data: { pubkey: one, ethaddress: RECIPIENT } })
  expect((await ask(devnet, 'POST', path, { ethaddress: `0x${'00'.repeat(20)}` })).status).toBe(400)
  expect((await ask(devnet, 'DELETE', path)).status).toBe(204)
  expect(await recipient()).toEqual({ data: { pubkey: one, ethaddress: DEFAULT_FEE_RECIPIENT } })
  expect((await ask(devnet, 'GET', `/eth/v1/validator/${two}/feerecipient`)).status).toBe(404)
  expect((await ask(devnet, 'GET', '/eth/v1/validator/0xab/feerecipient')).status).toBe(400)

  const removed = await ask(devnet, 'DELETE', '/eth/v1/keystores', { pubkeys: [one, three] })
  expect(removed.body).toMatchObject({ data: [{ status: 'deleted' }, { status: 'not_found' }] })
  const again = await ask(devnet, 'DELETE', '/eth/v1/keystores', { pubkeys: [one] })
  expect(again.body).toMatchObject({ data: [{ status: 'not_active' }] })
  const { slashing_protection: protection } = removed.body as { slashing_protection: string }
  const genesisValidatorsRoot = validatorsRootOf(devnet)
  expect(JSON.parse(protection)).toEqual({
    metadata: { interchange_format_version: '5', genesis_validators_root: hexOf(genesisValidatorsRoot) },
    data: [
      {
        pubkey: one,
        signed_blocks: [{ slot: '1' }],
        signed_attestations: [{ source_epoch: '0', target_epoch: '0' }],
      },
    ],
  })
})

test('what a key has signed elsewhere is not signed again', { timeout: TIMEOUT_MS }, async () => {
  await using devnet = await openWithStrangers()
  const genesisValidatorsRoot = validatorsRootOf(devnet)
  const metadata = { interchange_format_version: '5', genesis_validators_root: hexOf(genesisValidatorsRoot) }
  const signed = (lastEpoch: number) => ({
    pubkey: pubkeys[0],
    signed_blocks: [{ slot: String(lastEpoch * 32 + 31) }],
    signed_attestations: [{ source_epoch: '0', target_epoch: String(lastEpoch) }],
  })
  const foreign = { metadata: { ...metadata, genesis_validators_root: `0x${'11'.repeat(32)}` }, data: [] }
  expect((await importKeys(devnet, [5_000], JSON.stringify(foreign))).status).toBe(400)
  const lastEpoch = 18
  const given = await importKeys(devnet, [5_000, 5_001], JSON.stringify({ metadata, data: [signed(lastEpoch)] }))
  expect(given.body).toEqual({ data: [{ status: 'imported' }, { status: 'imported' }] })
  await devnet.advanceTo((lastEpoch + 8) * 32)
  const [kept, other] = [indexOf(devnet, pubkeys[0] as Hex), indexOf(devnet, pubkeys[1] as Hex)]
  const before = [ACTIVE_SLOT, lastEpoch * 32] as const
  const after = [(lastEpoch + 3) * 32, (lastEpoch + 8) * 32] as const
  expect([gain(devnet, kept, before) > 0, gain(devnet, other, before) > 0]).toEqual([false, true])
  expect([gain(devnet, kept, after) > 0, gain(devnet, other, after) > 0]).toEqual([true, true])
})
