import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DOMAIN_VOLUNTARY_EXIT } from '@lodestar/params'
import { computeDomain, computeSigningRoot } from '@lodestar/state-transition'
import { ssz } from '@lodestar/types'
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { expect, test } from 'vitest'
import { answerKeys } from '../../commands/keys/answer-keys.ts'
import type { KeyAnswer, PresignQuestion } from '../../commands/keys/key-question.ts'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import { readStakingBook } from '../../processors/validators/staking-book.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { type ExitsPresigned, exitsPresigned } from '../../schemas/events/presigned-exits.ts'
import { tracked } from '../unit/account-facts.ts'
import { EXIT_FACTS, TestExitChain } from '../unit/exit-chain.ts'
import { openJwe, type PrivateJwk } from '../unit/open-jwe.ts'
import { silentLog } from '../unit/silent-log.ts'
import { pubkeysOf, requestOf, TERMS } from './key-vault.ts'
import { newVaultFolder, openIn } from './key-vault-local.ts'

const SIGNAL = AbortSignal.timeout(120_000)
const CHAIN = 'mainnet'
/** Of RFC 7518, appendix C. */
const CUSTOMER: PrivateJwk = {
  kty: 'EC',
  crv: 'P-256',
  x: 'weNJy2HscCSM6AEDTDg04biOvhFhyyWvOHQfeF_PxMQ',
  y: 'e8lnCO-AlStT-NJVX-crhB7QRYhiix03illJOVAOyck',
  d: 'VEmDZpDXXK8p8N0Cndsxs924q6nS1RXFASRl6BfUqdw',
}
/** eth2 ciphersuite of the consensus specification. */
const DST = 'BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_'
const STRANGER = `0x${'ab'.repeat(48)}`

/** A vault with three validators of `acme` on a chain that knows the first from epoch 10 on; and who asks for exits. */
async function openWorld() {
  const folder = await newVaultFolder()
  const vault = await openIn(folder)
  const prepared = await vault.prepare(3, { ...TERMS, chain: CHAIN })
  await vault.commit(prepared.id, 'r', requestOf('acme'))
  const pubkeys = pubkeysOf(prepared)
  const eventLog = await openSqliteEventLog({ file: join(folder.above, 'events.db') })
  {
    await using lease = await eventLog.lease('accounts', SIGNAL)
    await lease.append('accounts', [tracked('acme', pubkeys), { ...tracked('other', [STRANGER]), id: 'of other' }])
  }
  const chain = new TestExitChain()
  chain.add(STRANGER, 0)
  chain.add(pubkeys[0] ?? '', 10)
  chain.epoch = 20
  const ask = async (more: Partial<PresignQuestion>) => {
    await using lease = await eventLog.lease('validators', SIGNAL)
    const book = await readStakingBook(eventLog, silentLog, SIGNAL)
    const exitChainOf = async (name: string) => (name === CHAIN ? { name, exitNode: chain } : undefined)
    const { x, y } = CUSTOMER
    const command = 'keys-presign' as const
    const question = { command, account: 'acme', chain: CHAIN, recipient: { x, y }, pubkeys: [] }
    const answers: KeyAnswer[] = []
    const answering = { print: async (answer: KeyAnswer) => void answers.push(answer), signal: SIGNAL }
    await answerKeys({ vault, lease, book, eventLog, exitChainOf, now: Date.now }, { ...question, ...more }, answering)
    return answers.flatMap((answer) => ('jwe' in answer ? [answer] : []))
  }
  return { folder, eventLog, chain, pubkeys, ask }
}

async function presignedIn(eventLog: EventLog): Promise<readonly ExitsPresigned[]> {
  const found: ExitsPresigned[] = []
  for await (const { event } of eventLog.read({ topic: 'accounts', signal: SIGNAL }))
    if (event.type === exitsPresigned.name) found.push(decodeEvent(exitsPresigned, event))
  return found
}

test('a signed exit is for its recipient alone, counts from the first epoch in which the validator may exit, and is told', async () => {
  const { folder, eventLog, pubkeys, ask } = await openWorld()
  await using _ = eventLog
  const [pubkey = ''] = pubkeys
  const [answer] = await ask({ pubkeys: [pubkey] })
  const epoch = 10 + EXIT_FACTS.shardCommitteePeriodEpochs
  expect(answer).toMatchObject({ pubkey, validatorIndex: 1, epoch })
  const { text } = await openJwe(answer?.jwe ?? '', CUSTOMER)
  const { message, signature } = JSON.parse(text) as { message: object; signature: string }
  expect(message).toEqual({ epoch: String(epoch), validator_index: '1' })
  const domain = computeDomain(DOMAIN_VOLUNTARY_EXIT, EXIT_FACTS.capellaForkVersion, EXIT_FACTS.genesisValidatorsRoot)
  const root = computeSigningRoot(ssz.phase0.VoluntaryExit, { epoch, validatorIndex: 1 }, domain)
  const { longSignatures } = bls12_381
  expect(longSignatures.verify(bytesOf(signature), longSignatures.hash(root, DST), bytesOf(pubkey))).toBe(true)

  expect(await presignedIn(eventLog)).toEqual([
    { chain: CHAIN, account: 'acme', recipient: expect.stringMatching(/^[\w-]{43}$/), pubkeys: [pubkey] },
  ])
  const plain = [signature.slice(2), Buffer.from(signature.slice(2), 'hex').toString('latin1')]
  for (const file of readdirSync(folder.above, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue
    const bytes = readFileSync(join(file.parentPath, file.name), 'latin1')
    for (const form of plain) expect(bytes.includes(form), file.name).toBe(false)
  }
})

test('none of a list is signed where one cannot be, and the sentence names it', async () => {
  const { eventLog, chain, pubkeys, ask } = await openWorld()
  await using _ = eventLog
  const [first = '', second = '', third = ''] = pubkeys
  const refusal = (pattern: RegExp) => ({ code: 'usage', message: expect.stringMatching(pattern) })
  const asked: readonly (readonly [Partial<PresignQuestion>, RegExp])[] = [
    [{ pubkeys: [first, STRANGER] }, new RegExp(`no secret of ${STRANGER}; no exit was signed`)],
    [{ pubkeys: [first, second] }, new RegExp(`no index yet of ${second}, .*; no exit was signed`)],
    [{ pubkeys: [first], account: 'other' }, new RegExp(`other does not have ${first} on mainnet today`)],
    [{ pubkeys: [first], chain: 'hoodi' }, /hoodi is paused or not configured/],
  ]
  for (const [question, pattern] of asked) await expect(ask(question)).rejects.toMatchObject(refusal(pattern))
  chain.addWaiting(third)
  await expect(ask({ pubkeys: [first, third] })).rejects.toMatchObject(refusal(new RegExp(`not active: ${third}`)))
  // Known at the head, and not final yet.
  chain.epoch = 1
  await expect(ask({ pubkeys: [first] })).rejects.toMatchObject(refusal(/no index yet/))
  expect(await presignedIn(eventLog)).toEqual([])
})
