import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answerKeys, type KeyCustody } from '../../commands/keys/answer-keys.ts'
import type { Running } from '../../commands/role.ts'
import { validatorClientOf } from '../../commands/validators/client-of-chain.ts'
import { openClientFiles } from '../../infra/devnet/validator-client/client-files.ts'
import { openKeymanagerApi } from '../../infra/devnet/validator-client/open-keymanager-api.ts'
import { ValidatorClient } from '../../infra/devnet/validator-client/validator-client.ts'
import { openValidatorClient } from '../../infra/key-vault/keymanager.ts'
import { handOver, type RunChain } from '../../processors/validators/hand-over.ts'
import { type HandingDeposited, handOverDeposited } from '../../processors/validators/hand-over-deposited.ts'
import { exportedEvents } from '../../processors/validators/vault-keys.ts'
import { chainNames } from '../../schemas/chains.ts'
import { type Hex, hexOf } from '../../schemas/eth/hex.ts'
import { decodeEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { validatorsCreated } from '../../schemas/events/created-validators.ts'
import { keysAssigned, keysTaken } from '../../schemas/events/vault-keys.ts'
import { FakeClient, type Misbehaviour } from '../keymanager/fake-client.ts'
import {
  CREATED_AT,
  chainWith,
  FEE_RECIPIENT,
  GENESIS_ROOT,
  type GivenHanding,
  givenHanding,
  openSharedVault,
  type SharedVault,
  startClient,
} from './given-handing.ts'
import { TERMS } from './key-vault.ts'

let shared: SharedVault
beforeAll(async () => {
  shared = await openSharedVault()
})
afterAll(() => shared[Symbol.asyncDispose]())

const createdKeys = (count: number) => givenHanding(count, shared)

const RUN = { status: 'run' }
const CREATED_SLOT = 3_200
const CLOCK = {
  genesisTimeSec: Date.parse(CREATED_AT) / 1_000 - 12 * CREATED_SLOT,
  secondsPerSlot: 12,
  slotsPerEpoch: 32,
}
const refused = (reason: string) => ({ status: 'refused', reason, sentence: expect.any(String) })
const away = (message: RegExp) => ({
  code: 'validator_client',
  retryable: true,
  message: expect.stringMatching(message),
})

const give = (role: HandingDeposited, chain: RunChain, pubkeys: readonly string[]) =>
  handOver(role, chain, { pubkeys, notAfterMs: Date.now() + 60_000 })

const typesTold = ({ told }: GivenHanding) => told.slice(1).map(({ type }) => type)

test('keys are in the client with their fee recipients, told before and after, and given once', async () => {
  const [given, client] = [await createdKeys(3), await startClient()]
  const role = given.start()
  client.onImport = async () => expect(typesTold(given)).toEqual([keysAssigned.name])
  expect(await give(role, chainWith(client), given.pubkeys)).toEqual(RUN)
  expect([...client.keys]).toEqual(given.pubkeys.map((pubkey) => [pubkey, FEE_RECIPIENT]))
  const metadata = { interchange_format_version: '5', genesis_validators_root: `0x${'4b'.repeat(32)}` }
  expect(client.protections).toEqual([{ metadata, data: [] }])
  const [, assigned, taken] = given.told
  if (assigned === undefined || taken === undefined) throw new Error('both are told')
  const told = { chain: TERMS.chain, account: 'acme', pubkeys: given.pubkeys }
  expect(decodeEvent(keysAssigned, assigned)).toEqual({ ...told, client: expect.stringMatching(/^[0-9a-f]{64}$/) })
  expect(decodeEvent(keysTaken, taken)).toEqual(decodeEvent(keysAssigned, assigned))
  expect(await given.vault.exportedBefore(given.pubkeys)).toEqual(given.pubkeys)
  const asked = client.asked.length
  for (const again of [role, given.start()]) expect(await give(again, chainWith(client), given.pubkeys)).toEqual(RUN)
  expect(client.asked).toHaveLength(asked)
  expect(client.faults).toEqual([])
})

test("the devnet's own client is known without a setting, and takes keys and fee recipients", async () => {
  const given = await createdKeys(2)
  const dataDirectory = given.directory
  const files = openClientFiles(join(dataDirectory, 'devnet'))
  const client = new ValidatorClient(files, () => 7)
  const genesisValidatorsRoot = hexOf(GENESIS_ROOT)
  const options = { host: '127.0.0.1', port: 0, token: files.token, client, genesisValidatorsRoot }
  await using api = await openKeymanagerApi(options)
  const source = { kind: 'devnet', layer: 'ethereum' } as const
  const running = { devnet: { keymanagerUrl: api.url }, config: { dataDirectory } } as Running
  const validatorClient = await validatorClientOf(
    { source, names: chainNames('ethereum', 'mainnet'), paused: false },
    running,
  )
  const chain = { ...chainWith(undefined), validatorClient }
  expect(await give(given.start(), chain, given.pubkeys)).toEqual(RUN)
  expect(
    client
      .list()
      .map(({ pubkey }) => pubkey)
      .toSorted(),
  ).toEqual(given.pubkeys.toSorted())
  for (const pubkey of given.pubkeys) expect(client.currentFeeRecipient(pubkey as Hex)).toBe(FEE_RECIPIENT)
})

test('of many who ask at once one gives them', async () => {
  const [given, client] = [await createdKeys(2), await startClient()]
  const role = given.start()
  const chain = chainWith(client)
  const answers = await Promise.all(Array.from({ length: 20 }, () => give(role, chain, given.pubkeys)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(['run']))
  expect([...client.imports.values()]).toEqual([1, 1])
  expect(typesTold(given)).toEqual([keysAssigned.name, keysTaken.name])
})

test('a kill at any of the steps leads to the same client, once', async () => {
  for (const failing of [1, 2]) {
    const [given, client] = [await createdKeys(2), await startClient()]
    given.failing = failing
    await expect(give(given.start(), chainWith(client), given.pubkeys)).rejects.toThrow('killed')
    expect(client.keys.size).toBe(failing === 1 ? 0 : 2)
    expect(await give(given.start(), chainWith(client), given.pubkeys)).toEqual(RUN)
    expect([...client.imports.values()]).toEqual([1, 1])
    expect([...client.keys.values()]).toEqual([FEE_RECIPIENT, FEE_RECIPIENT])
    expect(typesTold(given)).toEqual([keysAssigned.name, keysTaken.name])
  }
})

test('what is for one client is never given to another, before or after that has taken it', async () => {
  const [given, one, other] = [await createdKeys(2), await startClient(), await startClient()]
  one.misbehaviour = { import: 'cut' }
  await expect(give(given.start(), chainWith(one), given.pubkeys)).rejects.toMatchObject(away(/cannot be reached/))
  for (const chain of [chainWith(other), chainWith(undefined)])
    expect(await give(given.start(), chain, given.pubkeys)).toEqual(refused('other_validator_client'))
  one.misbehaviour = {}
  expect(await give(given.start(), chainWith(one), given.pubkeys)).toEqual(RUN)
  expect(await give(given.start(), chainWith(other), given.pubkeys)).toEqual(RUN)
  expect(await give(given.start(), chainWith(undefined), given.pubkeys)).toEqual(RUN)
  expect([...one.imports.values()]).toEqual([1, 1])
  expect(other.keys.size).toBe(0)
})

test('what its owner has moved away from the client is not given to it again', async () => {
  const [given, client] = [await createdKeys(1), await startClient()]
  expect(await give(given.start(), chainWith(client), given.pubkeys)).toEqual(RUN)
  client.keys.clear()
  expect(await give(given.start(), chainWith(client), given.pubkeys)).toEqual(RUN)
  expect(client.keys.size).toBe(0)
})

test.each<[string, Misbehaviour, RegExp]>([
  ['refuses to list', { list: 500 }, /^The validator client: it refused to list its keys with status 500\.$/],
  ['lists something else', { list: 'garbage' }, /something else/],
  ['lists nothing', { list: 'silence' }, /did not answer within/],
  ['refuses keystores', { import: 401 }, /refused keystores with status 401/],
  ['answers keystores with garbage', { import: 'garbage' }, /something else/],
  ['answers too few keystores', { import: 'short' }, /something else/],
  ['dies while it takes them', { import: 'cut' }, /cannot be reached/],
  ['refuses fee recipients', { feeRecipient: 404 }, /refused a fee recipient with status 404/],
  ['is slow with fee recipients', { feeRecipient: 'silence' }, /did not answer within/],
])('a client that %s makes nobody run them, and can be asked again', async (_, misbehaviour, message) => {
  const [given, client] = [await createdKeys(2), await startClient()]
  client.misbehaviour = misbehaviour
  // Where it does answer, a busy machine is no client that does not.
  const timeoutMs = Object.values(misbehaviour).includes('silence') ? 300 : undefined
  const chain = chainWith(client, timeoutMs)
  const failure = await give(given.start(), chain, given.pubkeys).catch((error: unknown) => error)
  expect(failure).toMatchObject(away(message))
  const said = String((failure as Error).message)
  for (const secret of [FakeClient.TOKEN, new URL(client.url).port]) expect(said).not.toContain(secret)
  expect(typesTold(given)).toEqual(misbehaviour.list === undefined ? [keysAssigned.name] : [])
  client.misbehaviour = {}
  expect(await give(given.start(), chainWith(client), given.pubkeys)).toEqual(RUN)
  expect([...client.keys.values()]).toEqual([FEE_RECIPIENT, FEE_RECIPIENT])
  expect(Math.max(...client.imports.values())).toBe(1)
})

test('a wrong token or address binds no key to a client', async () => {
  const [given, client] = [await createdKeys(1), await startClient()]
  const other = (url: string, token: string) => ({
    ...chainWith(client),
    validatorClient: openValidatorClient({ url, token }),
  })
  const wrong = other(client.url, 'another-token')
  await expect(give(given.start(), wrong, given.pubkeys)).rejects.toMatchObject(away(/status 403/))
  const nowhere = other('http://127.0.0.1:9', FakeClient.TOKEN)
  await expect(give(given.start(), nowhere, given.pubkeys)).rejects.toMatchObject(away(/cannot be reached/))
  expect(given.told).toHaveLength(1)
  expect(await given.vault.exportedBefore(given.pubkeys)).toEqual([])
  expect(await give(given.start(), chainWith(client), given.pubkeys)).toEqual(RUN)
})

test('a key that the client does not take is named, the others are run', async () => {
  const [given, client] = [await createdKeys(3), await startClient()]
  const [first = '', second = '', third = ''] = given.pubkeys
  client.misbehaviour = { refuses: [second] }
  const answer = await give(given.start(), chainWith(client), given.pubkeys)
  expect(answer).toEqual(refused('refused_by_validator_client'))
  expect(answer).toMatchObject({
    sentence: `the validator client does not take the key of ${second}: ask the operator`,
  })
  expect(await give(given.start(), chainWith(client), [first, third])).toEqual(RUN)
  client.misbehaviour = {}
  expect(await give(given.start(), chainWith(client), given.pubkeys)).toEqual(RUN)
  expect([...client.imports.values()]).toEqual([1, 1, 1])
})

async function exportOf({ vault, directory, pubkeys }: GivenHanding): Promise<void> {
  const file = join(directory, 'password.txt')
  await writeFile(file, 'correct horse')
  const outcome = await vault.exportKeys(pubkeys, { password: { kind: 'file', file }, again: true })
  expect(outcome.status).toBe('exported')
}

const exportedBy = (given: GivenHanding) =>
  exportedEvents(
    given.pubkeys.map((pubkey) => ({ chain: TERMS.chain, account: 'acme', pubkey })),
    '2026-01-02T00:00:00.000Z',
  )

test('without a client they have to be exported first, and what was exported is never given to one', async () => {
  const [given, client] = [await createdKeys(2), await startClient()]
  const none = chainWith(undefined)
  expect(await give(given.start(), none, given.pubkeys)).toMatchObject({
    ...refused('keys_not_exported'),
    sentence: expect.stringMatching(/export its key first \(keys export\)$/),
  })
  expect(given.told).toHaveLength(1)
  await exportOf(given)
  // As after a kill between the vault's mark and the log, and then as it should be.
  for (const chain of [none, chainWith(client)]) expect(await give(given.start(), chain, given.pubkeys)).toEqual(RUN)
  given.told.push(...exportedBy(given))
  for (const chain of [none, chainWith(client)]) expect(await give(given.start(), chain, given.pubkeys)).toEqual(RUN)
  expect(client.imports.size).toBe(0)
})

test('a key that was exported in spite of the warning, while it was on its way to the client, is not sent there', async () => {
  const [given, client] = [await createdKeys(1), await startClient()]
  client.misbehaviour = { import: 500 }
  await expect(give(given.start(), chainWith(client), given.pubkeys)).rejects.toMatchObject(away(/status 500/))
  await exportOf(given)
  given.told.push(...exportedBy(given))
  client.misbehaviour = {}
  expect(await give(given.start(), chainWith(client), given.pubkeys)).toEqual(RUN)
  expect(client.keys.size).toBe(0)
})

/** `keys export`, as whoever has the vault answers it. */
async function exportByCommand(role: HandingDeposited, { vault, directory, pubkeys }: GivenHanding): Promise<void> {
  const file = join(directory, 'password.txt')
  await writeFile(file, 'correct horse')
  const custody = { vault, lease: role.writer, book: role.book, now: role.now } as unknown as KeyCustody
  const password = { kind: 'file', file } as const
  const question = { pubkeys: [...pubkeys], again: false, password }
  await answerKeys(
    custody,
    { command: 'keys-export', ...question },
    { print: async () => {}, signal: new AbortController().signal },
  )
}

test('what is for a client is not exported unwarned, even before that has it', async () => {
  const [given, client] = [await createdKeys(1), await startClient()]
  client.misbehaviour = { import: 500 }
  await expect(give(given.start(), chainWith(client), given.pubkeys)).rejects.toMatchObject(away(/status 500/))
  const warned = { code: 'usage', message: expect.stringMatching(/given to a validator client.*--again/s) }
  await expect(exportByCommand(given.start(), given)).rejects.toMatchObject(warned)
})

test('a key that is exported and given at the same time goes to one of them', async () => {
  for (const isExportFirst of [true, false]) {
    const [given, client] = [await createdKeys(1), await startClient()]
    const role = given.start()
    const works = [() => exportByCommand(role, given), () => give(role, chainWith(client), given.pubkeys)]
    await Promise.allSettled((isExportFirst ? works : works.toReversed()).map((work): Promise<unknown> => work()))
    const [pubkey = ''] = given.pubkeys
    expect([role.book.moved.isExported(pubkey), client.keys.has(pubkey)].toSorted()).toEqual([false, true])
  }
})

test('nothing is given for whom nobody waits any more', async () => {
  const [given, client] = [await createdKeys(1), await startClient()]
  const late = { pubkeys: given.pubkeys, notAfterMs: Date.now() - 1 }
  expect(await handOver(given.start(), chainWith(client), late)).toEqual({ status: 'late' })
  expect([client.asked, given.told.length]).toEqual([[], 1])
})

/** A chain that says what is deposited, and remembers how many blocks it was asked for. */
function chainThatSays(client: FakeClient | undefined, asked: number[]) {
  const says = {
    headSlot: CREATED_SLOT + 50_000,
    registeredKeys: [] as string[],
    logged: [] as { readonly pubkey: string; readonly depositDataRoot: string }[],
  }
  const at = { transactionHash: `0x${'0e'.repeat(32)}`, blockNumber: 1 }
  const chain = {
    ...chainWith(client),
    node: {
      facts: async () => ({ depositContract: '0x', clock: CLOCK }),
      headSlot: async () => says.headSlot,
    } as never,
    registered: async (pubkeys: readonly string[]) => pubkeys.filter((pubkey) => says.registeredKeys.includes(pubkey)),
    broadcast: {
      recentDeposits: async (_: string, blocks: number) => {
        asked.push(blocks)
        return says.logged.map((deposit) => ({ ...deposit, ...at }))
      },
    },
  }
  return { says, chain }
}

const rootOf = (role: HandingDeposited, pubkey: string) =>
  role.book.created.termsOf({ chain: TERMS.chain, account: 'acme' }, pubkey)?.depositDataRoot ?? ''

test('keys of validators that were deposited by other means are given, those that are not deposited stay', async () => {
  const [given, client] = [await createdKeys(3), await startClient()]
  const [registered = '', logged = '', strange = ''] = given.pubkeys
  const errors: unknown[] = []
  const asked: number[] = []
  const role = given.start()
  const log = { ...role.log, error: (fields: object) => void errors.push(fields) }
  const { says, chain } = chainThatSays(undefined, asked)
  says.registeredKeys = [registered]
  says.logged = [
    { pubkey: logged, depositDataRoot: rootOf(role, logged) },
    { pubkey: strange, depositDataRoot: `0x${'99'.repeat(32)}` },
  ]
  for (let looks = 0; looks < 2; looks++) await handOverDeposited({ ...role, log }, chain)
  expect(errors).toEqual([{ chain: TERMS.chain, pubkeys: [registered, logged], reason: 'keys_not_exported' }])
  const withClient = { ...chain, ...chainWith(client) }
  await handOverDeposited({ ...role, log }, withClient)
  expect([...client.keys.keys()].toSorted()).toEqual([registered, logged].toSorted())
  const requests = client.asked.length
  says.headSlot += 32
  await handOverDeposited({ ...role, log }, withClient)
  expect(client.asked).toHaveLength(requests)
  // Since their creation once, whether those that are deposited are run or not, and then what is new.
  expect(asked).toEqual([50_000, 0, 0, 32])
  expect([...role.looks.keys()]).toEqual([strange])
  expect(errors).toHaveLength(1)
})

test('no block is read again for what is deposited while its client is away, nor for others that are created meanwhile', async () => {
  const [given, later, client] = [await createdKeys(1), await createdKeys(1), await startClient()]
  const asked: number[] = []
  const role = given.start()
  const { says, chain } = chainThatSays(client, asked)
  says.registeredKeys = [...given.pubkeys]
  client.misbehaviour = { list: 500 }
  for (let looks = 0; looks < 3; looks++)
    await expect(handOverDeposited(role, chain)).rejects.toMatchObject(away(/status 500/))
  expect(asked).toEqual([50_000])
  says.headSlot += 500
  const [created] = later.told
  if (created === undefined) throw new Error('it is told')
  const time = new Date(Date.parse(CREATED_AT) + 12_000 * 50_400).toISOString()
  const data = { ...decodeEvent(validatorsCreated, created), requestId: 'cd'.repeat(32) }
  role.book.add(encodeEvent(validatorsCreated, { ...created, time, data }))
  for (let looks = 0; looks < 2; looks++) {
    await expect(handOverDeposited(role, chain)).rejects.toMatchObject(away(/status 500/))
    says.headSlot += 32
  }
  expect(asked).toEqual([50_000, 100, 32])
  client.misbehaviour = {}
  says.registeredKeys.push(...later.pubkeys)
  await handOverDeposited(role, chain)
  expect([...client.keys.keys()].toSorted()).toEqual([...given.pubkeys, ...later.pubkeys].toSorted())
  expect(asked).toEqual([50_000, 100, 32, 32])
  expect(role.looks.size).toBe(0)
})

test('a Keymanager behind a user and a path is the same client with another user, and another one at another path', async () => {
  const idOf = (url: string) => openValidatorClient({ url, token: 'x' }).id
  expect(idOf('http://user:secret@host:1/vc/')).toBe(idOf('http://host:1/vc'))
  expect(new Set(['http://host:1/vc', 'http://host:1', 'http://host:2', 'http://other:1'].map(idOf)).size).toBe(4)
  const client = await startClient()
  const { url } = client
  await expect(openValidatorClient({ url, token: 'of two\nlines' }).keys()).rejects.toMatchObject(away(/cannot be/))
})
