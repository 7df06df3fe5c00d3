import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { EventLog, EventWriter } from '../../infra/ports/event-log.ts'
import type { ExportedKey, ImportOutcome, KeyKeeping } from '../../infra/ports/key-keeping.ts'
import type { KeyVault } from '../../infra/ports/key-vault.ts'
import { toDepositEntry } from '../../processors/validators/deposit-data-file.ts'
import type { ExitChain } from '../../processors/validators/exit/exit-custody.ts'
import type { StakingBook } from '../../processors/validators/staking-book.ts'
import { exportedEvents, importedEvents, type VaultKey } from '../../processors/validators/vault-keys.ts'
import { AppError } from '../../schemas/errors.ts'
import { formatInstant } from '../../schemas/eth/time.ts'
import type { Created } from '../../schemas/routes/validators/create-validators.ts'
import { readBook } from '../admin/account-facts.ts'
import { knownAccount } from '../admin/known-account.ts'
import { answerPresign, checkPresign } from './answer-presign.ts'
import type { ExportCheck, ExportQuestion, ImportQuestion, KeyAnswer, KeyQuestion } from './key-question.ts'
import { namesOf } from './names-of.ts'

/** Whoever has the vault and its lease: the running program, or a command while none runs. */
export interface KeyCustody {
  readonly vault: KeyVault & KeyKeeping
  readonly lease: EventWriter
  readonly book: StakingBook
  readonly eventLog: EventLog
  /** A chain with its nodes; undefined for one that is paused or not configured. */
  readonly exitChainOf: (name: string) => Promise<ExitChain | undefined>
  /** Unix milliseconds on the chains. */
  readonly now: () => number
}

export interface Answering {
  readonly print: (answer: KeyAnswer) => Promise<void>
  readonly signal: AbortSignal
}

/** Keystores that are taken in before the log hears of their keys: it takes half a second each at most. */
const IMPORTED_AT_ONCE = 10

/** Does what a command asks for. Throws AppError for what cannot be done. */
export async function answerKeys(custody: KeyCustody, question: KeyQuestion, answering: Answering): Promise<void> {
  switch (question.command) {
    case 'keys-export':
      return await exportKeys(custody, question, answering)
    case 'keys-export-check':
      return void (await checkExport(custody, question))
    case 'keys-import':
      return await importKeys(custody, question, answering)
    case 'keys-presign':
      return await answerPresign(custody, question, answering)
    case 'keys-presign-check':
      return await checkPresign(custody, question, answering)
    case 'keys-backup': {
      const { keys } = await custody.vault.backup(question.file)
      return await answering.print({
        said: `${keys} keys are in ${question.file}, sealed as in the vault: keep the vault's key apart from it.`,
      })
    }
  }
}

/** The vault marks them, the log hears of it, and then they are handed out. */
async function exportKeys(custody: KeyCustody, question: ExportQuestion, { print }: Answering): Promise<void> {
  const { vault, book } = custody
  const { before, keys } = await book.moved.inTurn(() => takeOut(custody, question))
  if (before.length > 0)
    await print({ warning: `Exported once more: ${namesOf(before)}. A key that two validator clients run is slashed.` })
  for (const key of keys) {
    await print({ keystore: key.keystore, path: key.path })
    const deposit = await depositOf(vault, key)
    if (deposit !== undefined) await print({ deposit: { ...deposit } })
  }
}

/** Keys as keystores, of which the vault and the log have it; `before`: those that somebody may run already. */
async function takeOut(
  custody: KeyCustody,
  question: ExportQuestion,
): Promise<{ readonly before: readonly string[]; readonly keys: readonly ExportedKey[] }> {
  const { vault, book, lease } = custody
  const { pubkeys, password, again } = question
  const before = await checkExport(custody, question)
  const outcome = await vault.exportKeys(pubkeys, { password, again })
  if (outcome.status === 'exported_before') throw exportedBefore(outcome.pubkeys)
  if (outcome.status === 'lacking') throw lackingFault(outcome.pubkeys)
  await book.tell(lease, exportedEvents(outcome.keys, formatInstant(Math.floor(custody.now() / 1_000))))
  return { before, keys: outcome.keys }
}

/** Those of them that somebody may run already. Throws AppError `usage` where the export would be refused. */
async function checkExport(
  { vault, book: { moved } }: KeyCustody,
  { pubkeys, again }: Pick<ExportCheck, 'pubkeys' | 'again'>,
): Promise<readonly string[]> {
  const lacking = await vault.lacking(pubkeys)
  if (lacking.length > 0) throw lackingFault(lacking)
  const told = pubkeys.filter((pubkey) => moved.isExported(pubkey) || moved.clientOf(pubkey) !== undefined)
  const before = [...new Set([...told, ...(await vault.exportedBefore(pubkeys))])]
  if (before.length > 0 && !again) throw exportedBefore(before)
  return before
}

function lackingFault(pubkeys: readonly string[]): AppError {
  return new AppError('usage', `The key vault has no secret of ${namesOf(pubkeys)}; nothing was exported.`)
}

function exportedBefore(pubkeys: readonly string[]): AppError {
  return new AppError(
    'usage',
    `Exported before, or given to a validator client, so another program may run it: ${namesOf(pubkeys)}; nothing was exported. ` +
      'A key that two validator clients run is slashed: see that no other has it, then export it with --again.',
  )
}

/** Of a key that was imported there is none here. */
async function depositOf(vault: KeyVault, { pubkey, account, created }: ExportedKey) {
  if (created === undefined) return undefined
  const request = await vault.request(account, created.requestId)
  const entry = request && toDepositEntry(JSON.parse(request.answer) as Created, { pubkey, ...created })
  if (entry !== undefined) return entry
  throw new AppError('key_vault', `The key vault's record of the deposit of ${pubkey} does not hold: do not send it.`)
}

async function importKeys(custody: KeyCustody, question: ImportQuestion, { print, signal }: Answering): Promise<void> {
  const { vault, book, lease, eventLog } = custody
  const { folder, chain, account, password } = question
  knownAccount(await readBook(eventLog, signal), account)
  const files = await keystoresIn(folder)
  const outcomes: ImportOutcome[] = []
  for (let at = 0; at < files.length; at += IMPORTED_AT_ONCE) {
    const some = await vault.importKeys(files.slice(at, at + IMPORTED_AT_ONCE), { chain, account, password })
    const keys = some
      .flatMap((one) => importedKey(one, question))
      .filter(({ pubkey }) => !book.moved.isImported(pubkey))
    if (keys.length > 0) await book.tell(lease, importedEvents(keys, formatInstant(Math.floor(custody.now() / 1_000))))
    outcomes.push(...some)
  }
  const refused = outcomes.filter((one) => one.status === 'refused')
  for (const { file, reason } of refused) await print({ warning: `${file} was not imported: ${reason}` })
  const others = keptForOthers(outcomes, question)
  for (const [owner, pubkeys] of others)
    await print({ warning: `The vault has keys of ${owner}, and keeps them so: ${namesOf(pubkeys)}.` })
  const othersCount = [...others.values()].flat().length
  await print({ said: importedText(outcomes, othersCount) })
  if (refused.length > 0)
    throw new AppError('usage', `${refused.length} of ${outcomes.length} keystores were not imported.`)
  if (othersCount === outcomes.length)
    throw new AppError(
      'usage',
      `None of these keys was imported for ${account} on ${chain}: the vault has them for ${[...others.keys()].join(', ')}, whose they stay.`,
    )
}

/** Public keys that are in the vault for another account or chain than is asked for, by whom they are for. */
function keptForOthers(
  outcomes: readonly ImportOutcome[],
  { chain, account }: ImportQuestion,
): ReadonlyMap<string, readonly string[]> {
  const present = outcomes
    .filter((one) => one.status === 'present')
    .filter(({ keptFor }) => keptFor.chain !== chain || keptFor.account !== account)
  const grouped = Map.groupBy(present, ({ keptFor }) => `${keptFor.account} on ${keptFor.chain}`)
  return new Map([...grouped].map(([owner, some]) => [owner, some.map(({ pubkey }) => pubkey)]))
}

/** Also one that was imported before: whoever was stopped between the vault and the log imports the same folder again. */
function importedKey(outcome: ImportOutcome, { chain, account }: ImportQuestion): readonly VaultKey[] {
  switch (outcome.status) {
    case 'imported':
      return [{ chain, account, pubkey: outcome.pubkey }]
    case 'present':
      return outcome.isImported ? [{ ...outcome.keptFor, pubkey: outcome.pubkey }] : []
    case 'refused':
      return []
  }
}

function importedText(outcomes: readonly ImportOutcome[], others: number): string {
  const countOf = (wanted: ImportOutcome['status']) => outcomes.filter(({ status }) => status === wanted).length
  const [imported, present] = [countOf('imported'), countOf('present') - others]
  const already = present === 0 ? '' : `, ${present} were in the vault already`
  const more = others === 0 ? already : `${already}, ${others} are in the vault for another account or chain`
  return `${imported} keys were imported${more}. What ran them before may still do so: a key that two validator clients run is slashed.`
}

/** As the deposit tools and validator clients name them. Throws AppError `usage` where there is none. */
async function keystoresIn(folder: string): Promise<readonly string[]> {
  try {
    const names = (await readdir(folder)).filter((name) => /^keystore.*\.json$/.test(name)).toSorted()
    if (names.length > 0) return names.map((name) => join(folder, name))
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause)) throw cause
    throw new AppError('usage', `The folder ${folder} cannot be read (${cause.code}); nothing was imported.`, { cause })
  }
  throw new AppError('usage', `There is no file keystore….json in ${folder}; nothing was imported.`)
}
