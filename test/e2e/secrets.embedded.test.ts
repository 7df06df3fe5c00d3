import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Hex, parseTransaction } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { secretKeyOf } from '../../infra/devnet/consensus/keys.ts'
import { BATCH_DEPOSIT_ADDRESS } from '../../infra/devnet/execution/genesis.ts'
import { writeKeystore } from '../../infra/key-vault/keystore.ts'
import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { validatorsCreated } from '../../schemas/events/created-validators.ts'
import { exitSubmitted } from '../../schemas/events/exits.ts'
import type { Created } from '../../schemas/routes/validators/create-validators.ts'
import { secretsOf } from '../contract/key-vault-local.ts'
import { FakeClient } from '../keymanager/fake-client.ts'
import { WALLET } from '../wallets.ts'
import { FakeWeb3Signer } from '../web3signer/fake-web3signer.ts'
import type { Asked } from '../web3signer/table-server.ts'
import { createToken } from './account.ts'
import { ethereumChain, writeChains } from './configuration.ts'
import { type Gateway, openGateway } from './gateway.ts'
import {
  type DevnetChild,
  type Environment,
  eventually,
  type Running,
  runCommand,
  startDevnetChild,
  startProgram,
} from './processes.ts'
import { type Place, type Secret, secretsIn } from './secret-forms.ts'
import { placesOf } from './secret-places.ts'
import { eventsOf, openLog } from './stores.ts'

const FIRST_SLOT = 100
const SLOTS_PER_EPOCH = 32
/** Validators of the genesis may exit from the beginning. */
const PERIODS = { shardCommitteePeriodEpochs: 2 }
const NODE_CREDENTIAL = { user: 'node-user', password: 'node pass/w0rd', pathKey: 'node-path-key' }
const SIGNER_CREDENTIAL = { user: 'signer-user', password: 'signer pass/w0rd', pathKey: 'signer-path-key' }
const IMPORT_PASSWORD = 'correct horse battery staple'
const HOOK_KEY = 'hook-path-key'

// Everything that knows or is told a secret, once as it should be and once with servers that repeat what they were shown.
describe('secrets of a program that says all it can', () => {
  const directory = mkdtempSync(join(tmpdir(), 'epochline-secrets-'))
  const at = (name: string) => join(directory, name)
  const data = at('data')
  const genesisKeys = [secretKeyOf(0), secretKeyOf(1)]
  const imported = genesisKeys.map((key) => hexOf(key.toPublicKey().toBytes()))
  const open = new AsyncDisposableStack()
  const secrets: Secret[] = []
  const said: Place[] = []
  const programs: Running[] = []
  let devnet: DevnetChild
  let node: Gateway
  let execution: Gateway
  let signer: FakeWeb3Signer
  let client: FakeClient
  let hooks: Server
  let program: Running
  let env: Environment
  let token: string
  /** A key that `create` answered with: the vault may have one before it, of a request that was given up. */
  let answered: string

  const note = (name: string, text: string) => said.push({ name, content: Buffer.from(text) })
  const command = async (args: readonly string[], input = '') => {
    const { code, stdout, stderr } = await runCommand(args, { ...env, LOG_LEVEL: 'trace' }, input)
    note(`what \`${args.slice(0, 3).join(' ')}\` says`, stdout + stderr)
    expect(code, stderr).toBe(0)
  }
  const ask = async <Data>(path: string, body: object) => {
    const url = `${program.url}/ethereum/mainnet/${token}/api/v1/validator/${path}`
    const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) })
    const text = await response.text()
    note(`the answer to ${path}`, text)
    return { status: response.status, data: (JSON.parse(text) as { readonly data?: Data }).data }
  }
  const untilTaken = async <Data>(path: string, body: object): Promise<Data> => {
    const taken = async () => {
      const { status, data: answer } = await ask<Data>(path, body)
      return status === 200 ? (answer ?? (true as Data)) : undefined
    }
    return await eventually(`a 200 of ${path}`, taken)
  }
  const refusedUntil = async (isGiven: () => Promise<true | undefined>, path: string, body: object) => {
    const isRefused = async () => {
      expect((await ask(path, body)).status).toBeGreaterThanOrEqual(500)
      return await isGiven()
    }
    await eventually(`a secret that is not taken at ${path}`, isRefused)
  }
  const start = async () => {
    program = await startProgram(['all'], { ...env, LOG_LEVEL: 'trace' })
    programs.push(program)
    await untilTaken('details', {})
  }
  const configure = (vault: Readonly<Record<string, object>>): void => {
    const urls = ethereumChain({ beaconUrl: 'env:NODE_URL', executionUrl: 'env:ENGINE_URL' })
    const mainnet = {
      ...urls,
      staking: { contract: BATCH_DEPOSIT_ADDRESS },
      validator_client: { url: client.url, token: `file:${at('client.token')}` },
    }
    writeChains(at('epochline.yaml'), { mainnet }, vault)
  }
  const create = () => untilTaken<Created>('create', { validator_count: 2, withdrawal_address: WALLET.address })
  const signed = ({ staking_transaction: { unsigned_transaction: unsigned } }: Created) =>
    WALLET.signTransaction(parseTransaction(unsigned as Hex) as Parameters<typeof WALLET.signTransaction>[0])
  const createdPubkeys = async () => {
    await using eventLog = await openLog(env)
    const stored = (await eventsOf(eventLog, 'accounts')).filter(({ event }) => event.type === validatorsCreated.name)
    return stored.flatMap(({ event }) => decodeEvent(validatorsCreated, event).pubkeys)
  }
  const exitsSubmitted = async () => {
    await using eventLog = await openLog(env)
    return (await eventsOf(eventLog, 'accounts')).filter(({ event }) => event.type === exitSubmitted.name).length
  }
  const leaves = async (pubkey: string) => {
    const before = await exitsSubmitted()
    await untilTaken('exit', { pubkeys: [pubkey] })
    const isSubmitted = async () => ((await exitsSubmitted()) > before ? true : undefined)
    await eventually('its exit', isSubmitted)
  }

  beforeAll(async () => {
    devnet = open.use(await startDevnetChild(PERIODS))
    node = open.use(await openGateway(devnet.beaconUrl, NODE_CREDENTIAL))
    execution = open.use(await openGateway(devnet.executionUrl, NODE_CREDENTIAL))
    signer = open.use(await FakeWeb3Signer.start())
    client = open.use(await FakeClient.start())
    const signerGate = open.use(await openGateway(signer.url, SIGNER_CREDENTIAL))
    hooks = createServer((request, response) => {
      // As servers do that explain what they refuse.
      response.writeHead(500).end(`${request.url} ${JSON.stringify(request.headers)}`)
    }).listen(0, '127.0.0.1')
    await once(hooks, 'listening')
    writeFileSync(at('client.token'), FakeClient.TOKEN)
    const hooksAt = `127.0.0.1:${(hooks.address() as AddressInfo).port}`
    env = {
      EPOCHLINE_DATA: data,
      EPOCHLINE_CONFIG: at('epochline.yaml'),
      NODE_URL: node.url,
      ENGINE_URL: execution.url,
      SIGNER_URL: signerGate.url,
      WEBHOOK_ALLOWED_SERVER: hooksAt,
    }
    configure({ vault: { web3signer: 'env:SIGNER_URL' } })
    token = await createToken(env, { scopes: 'read,create,exit' })
    const hook = await runCommand(
      ['admin', 'webhook', 'create', '--account', 'acme', '--url', `http://${hooksAt}/${HOOK_KEY}`],
      env,
    )
    expect(hook.code, hook.stderr).toBe(0)
    secrets.push(
      { name: 'the token', value: token },
      { name: 'the webhook’s secret', value: hook.stdout.trim().split('_').at(-1) ?? '' },
      { name: 'the webhook’s address', value: HOOK_KEY },
      { name: 'the token of the validator client', value: FakeClient.TOKEN },
      { name: 'the password of imported keys', value: IMPORT_PASSWORD },
      ...[NODE_CREDENTIAL, SIGNER_CREDENTIAL].flatMap(({ user, password, pathKey }) => [
        { name: `the password of ${user}`, value: password },
        { name: `the password of ${user} as a header has it`, value: btoa(`${user}:${password}`) },
        { name: `the key of ${user}`, value: pathKey },
      ]),
      ...genesisKeys.map((key, i) => ({ name: `imported key ${i}`, value: key.toBytes() })),
    )
    mkdirSync(at('incoming'))
    for (const [i, key] of genesisKeys.entries()) {
      const keystore = await writeKeystore({ key, path: '' }, Buffer.from(IMPORT_PASSWORD))
      writeFileSync(at(`incoming/keystore-${i}.json`), keystore)
    }
    writeFileSync(at('password'), IMPORT_PASSWORD)
    await devnet.advanceTo(FIRST_SLOT)
    await start()
  })

  afterAll(async () => {
    for (const one of programs) await one.kill()
    hooks?.closeAllConnections()
    hooks?.close()
    await open.disposeAsync()
    rmSync(directory, { recursive: true, force: true })
  })

  it('are given to a Web3Signer, which repeats them at first, and signs exits in the end', async () => {
    signer.misbehaviour = { importing: 500 }
    const isGiven = async () => signer.asked.flatMap(passwordsIn).length > 0 || undefined
    await refusedUntil(isGiven, 'create', { validator_count: 1, withdrawal_address: WALLET.address })
    signer.misbehaviour = {}
    const pubkeys = (await create()).validators.map(({ pubkey }) => pubkey)
    answered = pubkeys[0] as string
    await command(['keys', 'export', '--validator', ...pubkeys, '--to', at('exported'), '--again'])
    const exported = readFileSync(at('exported/password.txt'), 'utf8').trim()
    secrets.push({ name: 'the password of the export', value: exported })
    await command(['keys', 'import', at('incoming'), '--account', 'acme', '--password-file', at('password')])
    await command(['admin', 'validators', 'track', '--account', 'acme', '--yes'], imported.join('\n'))
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    writeFileSync(at('customer.pem'), publicKey.export({ format: 'pem', type: 'spki' }))
    const recipient = ['--account', 'acme', '--recipient', at('customer.pem'), '--to', at('exits')]
    await command(['keys', 'presign-exits', '--validator', ...imported, ...recipient])
    await leaves(imported[0] as string)
    expect(signer.asked.filter(({ path }) => path.includes('/sign/')).length).toBeGreaterThan(2)
  })

  it('are given to a validator client, which repeats them at first, and sign exits themselves', async () => {
    await program.kill()
    configure({})
    await start()
    const created = await create()
    client.misbehaviour = { import: 500 }
    const broadcast = { signed_transaction: await signed(created) }
    const isGiven = async () => client.asked.flatMap(passwordsIn).length > 0 || undefined
    await refusedUntil(isGiven, 'broadcast', broadcast)
    client.misbehaviour = {}
    await untilTaken('broadcast', broadcast)
    expect([...client.keys.keys()].toSorted()).toEqual(created.validators.map(({ pubkey }) => pubkey).toSorted())
    await leaves(imported[1] as string)
    await command(['keys', 'backup', '--to', at('backup.db')])
    await command(['admin', 'webhook', 'list'])
    await command(['admin', 'token', 'list'])
    await command(['admin', 'account', 'show', 'acme'])
    await command(['config', 'show'])
  })

  it('are shown to nodes that repeat them', async () => {
    for (const gate of [node, execution]) gate.isTalkative = true
    await devnet.advanceTo(FIRST_SLOT + 2 * SLOTS_PER_EPOCH)
    const isAway = async () => {
      const text = await (await fetch(`${program.url}/ready`)).text()
      note('what /ready says', text)
      return text.includes('"away"') || undefined
    }
    await eventually('the word that nodes refuse', isAway)
    expect((await ask('create', { validator_count: 1, withdrawal_address: WALLET.address })).status).toBe(503)
    expect((await ask('exit', { pubkeys: imported })).status).toBe(503)
    await command(['status', '--json'])
    for (const gate of [node, execution]) expect(gate.repeated).toBeGreaterThan(0)
    await program.kill()
  })

  it('stand in no file but the keys’ own, in no event, row, job, answer or line of the log', async () => {
    const vault = { above: data, directory: join(data, 'vault'), file: join(data, 'vault/vault.db') }
    const keyFile = join(data, 'vault.key')
    const { signingKeys, seeds, commonKeys, sealingKey, pubkeys } = secretsOf({
      ...vault,
      keyFile,
      options: {} as never,
    })
    // Two starts of the program with a seed each at least; every key has been told of, those of a request that was given up too.
    expect(seeds.length).toBeGreaterThanOrEqual(2)
    expect(pubkeys.map(hexOf).toSorted()).toEqual((await createdPubkeys()).toSorted())
    expect(signingKeys.length).toBeGreaterThanOrEqual(4)
    for (const [name, all] of Object.entries({ signingKeys, seeds, commonKeys }))
      secrets.push(...all.map((value, i) => ({ name: `${name} ${i}`, value })))
    const webhookKey = join(data, 'webhook.key')
    secrets.push({ name: 'the vault’s key', value: sealingKey })
    secrets.push({ name: 'the webhooks’ key', value: Buffer.from(readFileSync(webhookKey, 'utf8').trim(), 'hex') })
    const outputs = programs.map((one, i) => ({ name: `log of program ${i}`, content: Buffer.from(one.output()) }))
    const places = [...(await placesOf(env, [keyFile, webhookKey])), ...outputs, ...said]
    const passwords = new Set([...signer.asked, ...client.asked].flatMap(passwordsIn))
    expect(passwords.size).toBeGreaterThanOrEqual(4)
    secrets.push(...[...passwords].map((value, i) => ({ name: `random password ${i}`, value })))
    // What is no secret is found by the same search in each of them.
    const known = secretsIn(places, [{ name: 'a public key', value: bytesOf(answered) }])
    for (const place of ['events of accounts', 'table created_validators', 'vault/vault.db', 'the answer to create'])
      expect(known).toContain(`a public key in ${place}`)
    expect(outputs[0]?.content.toString()).toMatch(/"level":(10|20)\b/)
    expect(secretsIn(places, secrets)).toEqual([])
  })
})

/** The passwords of keystores that a server was given. */
function passwordsIn({ body }: Asked): readonly string[] {
  const { passwords = [] } = JSON.parse(body || '{}') as { readonly passwords?: readonly string[] }
  return passwords
}
