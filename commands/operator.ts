import { randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { openEventLog, openMigratedWarehouse } from '../infra/open-ports.ts'
import { openProgress } from '../infra/progress.ts'
import { backfill, parseBackfillRange } from '../ingest/backfill/backfill.ts'
import { rebuild } from '../processors/loop/rebuild.ts'
import { type DayProof, findDayGaps, proveDays, proveEpochs, proveSettlements } from '../processors/verify/verify.ts'
import { AppError } from '../schemas/errors.ts'
import { DAY_OFFSET_SEC, DAY_SEC, dayOfInstant, formatInstant, parseDay } from '../schemas/eth/time.ts'
import { parseRate } from '../schemas/eth/units.ts'
import {
  ACCOUNT_PATTERN,
  ACCOUNTS_KEY,
  feeRateSet,
  hashToken,
  TRACKED_PER_EVENT_MAX,
  tokenCreated,
  tokenRevoked,
  validatorsTracked,
} from '../schemas/events/accounts.ts'
import { decodeEvent, type EncodedEvent, encodeEvent } from '../schemas/events/codec.ts'
import { firstChain, nodesOf } from './first-chain.ts'
import { openSources, type Setting } from './roles.ts'

const TOKEN_BYTES = 24
const PUBKEY = /^0x[0-9a-f]{96}$/

/** Ingests finalized epochs of the past for every tracked validator. */
export async function runBackfill(
  setting: Setting,
  range: { readonly from: string; readonly to: string },
): Promise<void> {
  const { config, log, signal } = setting
  await using ports = new AsyncDisposableStack()
  const eventLog = ports.use(await openEventLog(config, log))
  const { beacon, execution } = await openSources(nodesOf(config), { log, ports })
  const { clock } = await beacon.chain()
  const epochs = parseBackfillRange(range, clock)
  using progress = openProgress()
  let isComplete = false
  await backfill(
    {
      beacon,
      execution,
      eventLog,
      network: firstChain(config).names.network,
      log,
      concurrency: config.concurrency,
      onProgress({ done, total }) {
        isComplete = done === total
        progress.update('backfill', { done, total, note: 'epochs' })
      },
    },
    epochs,
    signal,
  )
  if (!isComplete) {
    throw new AppError(
      'usage',
      'The backfill was interrupted: run it again with the same range, it goes on where it was.',
    )
  }
}

/** Empties the projections and replays the log. */
export async function runRebuild({ config, log, signal }: Setting): Promise<void> {
  await using eventLog = await openEventLog(config, log)
  await using warehouse = await openMigratedWarehouse(config)
  using progress = openProgress()
  await rebuild(
    { eventLog, warehouse, log },
    ({ group, done, total }) => progress.update(group, { done, total, note: 'events' }),
    signal,
  )
  if (signal.aborted)
    throw new AppError(
      'usage',
      'The rebuild was interrupted: tables are incomplete until it is run again or the program is started.',
    )
}

/** Prints the proof of every tracked validator and day; throws when a figure does not hold. Gaps are told, and are no fault. */
export async function runVerify({ config }: Setting, { quiet }: { readonly quiet: boolean }): Promise<void> {
  await using warehouse = await openMigratedWarehouse(config)
  const print = (line: string): void => {
    process.stdout.write(`${line}\n`)
  }
  let days = 0
  let proofs = 0
  let wrong = 0
  for await (const day of proveDays(warehouse)) {
    days++
    for (const proof of day) {
      proofs++
      const holds = proof.residual === '0' && proof.stored_agrees === 1
      if (!holds) wrong++
      if (!quiet || !holds) print(formatProof(proof, holds))
    }
  }
  const epochs = await proveEpochs(warehouse)
  for (const { epoch, validator_index, residual } of epochs.examples) {
    print(`epoch ${epoch} validator ${validator_index}: ${residual} gwei unexplained`)
  }
  const settlements = await proveSettlements(warehouse)
  for (const { account, slot, reason } of settlements.examples) print(`account ${account} slot ${slot}: ${reason}`)
  for (const { day, closed, validators_missing: missing } of await findDayGaps(warehouse)) {
    print(
      closed === 1 ? `${day} lacks ${missing} tracked validators: backfill it to have them` : `${day} is not closed`,
    )
  }
  print(
    `${days} days, ${proofs} validator-days, ${wrong} wrong; ${epochs.checked} validator-epochs, ${epochs.unexplained} unexplained; ` +
      `${settlements.checked} settlements, ${settlements.wrong} wrong`,
  )
  if (wrong + epochs.unexplained + settlements.wrong > 0) {
    throw new AppError('warehouse', 'Not every figure holds: see the lines above.')
  }
}

function formatProof(proof: DayProof, holds: boolean): string {
  const change = BigInt(proof.balance_end) - BigInt(proof.balance_start)
  const flows = [
    `rewards ${proof.rewards}`,
    `deposits ${proof.deposits}`,
    `withdrawals ${proof.withdrawals}`,
    `returned ${proof.returned}`,
  ]
  const verdict = holds
    ? 'ok'
    : proof.residual === '0'
      ? 'WRONG: the stored row is missing or differs from its detail'
      : `WRONG by ${proof.residual}`
  return `${proof.day} validator ${proof.validator_index}: ${flows.join(' + ')} = ${change} gwei  ${verdict}`
}

/** Creates a token for the account and prints it; the log keeps its hash only. */
export async function createToken(setting: Setting, account: string): Promise<void> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const tokenHash = hashToken(token)
  await appendFacts(setting, (fact) => [
    encodeEvent(tokenCreated, {
      ...fact,
      id: `account.token-created:${tokenHash}`,
      data: { account: checkedAccount(account), tokenHash },
    }),
  ])
  process.stdout.write(`${token}\n`)
}

/** Revokes the token on standard input: arguments can be read by every process of the machine. */
export async function revokeToken(setting: Setting): Promise<void> {
  const token = (await text(process.stdin)).trim()
  if (token === '')
    throw new AppError(
      'usage',
      'No token on standard input: write it there, e.g. echo "$TOKEN" | epochline admin token revoke.',
    )
  const tokenHash = hashToken(token)
  if (!(await isTokenKnown(setting, tokenHash)))
    throw new AppError('usage', 'No such token was ever created here: nothing was revoked.')
  await appendFacts(setting, (fact) => [
    encodeEvent(tokenRevoked, { ...fact, id: `account.token-revoked:${tokenHash}`, data: { tokenHash } }),
  ])
}

async function isTokenKnown({ config, log, signal }: Setting, tokenHash: string): Promise<boolean> {
  await using eventLog = await openEventLog(config, log)
  for await (const { event } of eventLog.read({ topic: 'accounts', signal })) {
    if (event.type === tokenCreated.name && decodeEvent(tokenCreated, event).tokenHash === tokenHash) return true
  }
  return false
}

/** Counts validators for the account from now on. */
export async function trackValidators(setting: Setting, account: string, args: readonly string[]): Promise<void> {
  const given = args.length > 0 ? args : (await text(process.stdin)).split(/\s+/).filter((word) => word !== '')
  if (given.length === 0)
    throw new AppError('usage', 'No public keys: name them as arguments or one per line on standard input.')
  const pubkeys = [...new Set(given.map((key) => key.toLowerCase()))]
  const wrong = pubkeys.find((key) => !PUBKEY.test(key))
  if (wrong !== undefined) {
    throw new AppError(
      'usage',
      `${JSON.stringify(wrong.slice(0, 20))} is not a BLS public key: 0x and 96 hex digits; nothing was tracked.`,
    )
  }
  await appendFacts(setting, (fact) => {
    const events: EncodedEvent[] = []
    for (let at = 0; at < pubkeys.length; at += TRACKED_PER_EVENT_MAX) {
      const part = pubkeys.slice(at, at + TRACKED_PER_EVENT_MAX)
      events.push(
        encodeEvent(validatorsTracked, {
          ...fact,
          id: `account.validators-tracked:${account}:${part[0]}:${part.length}`,
          data: { account: checkedAccount(account), pubkeys: part },
        }),
      )
    }
    return events
  })
  process.stdout.write(
    `${pubkeys.length} validators are tracked for ${account} from the next finalized epoch on; backfill brings what was before.\n`,
  )
}

/** Sets the account's fee rate from the start of a UTC+8 day on. */
export async function setFeeRate(
  setting: Setting,
  options: { readonly account: string; readonly rate: string; readonly from?: string },
): Promise<void> {
  if (parseRate(options.rate) === undefined) {
    throw new AppError(
      'usage',
      `--rate is not a decimal fraction from 0 to 1: ${JSON.stringify(options.rate)}; e.g. --rate 0.1.`,
    )
  }
  const day = options.from === undefined ? dayOfInstant(Date.now() / 1000) : parseDay(options.from)
  if (day === undefined)
    throw new AppError(
      'usage',
      `--from is not a date YYYY-MM-DD: ${JSON.stringify(options.from)}; e.g. --from 2026-01-31.`,
    )
  const effectiveFrom = formatInstant(day * DAY_SEC - DAY_OFFSET_SEC)
  await appendFacts(setting, (fact) => [
    encodeEvent(feeRateSet, {
      ...fact,
      id: `account.fee-rate-set:${options.account}:${effectiveFrom}`,
      data: { account: checkedAccount(options.account), rate: options.rate, effectiveFrom },
    }),
  ])
}

function checkedAccount(account: string): string {
  if (new RegExp(ACCOUNT_PATTERN).test(account)) return account
  throw new AppError(
    'usage',
    `--account is not a name of a-z, 0-9, - and _ (at most 63): ${JSON.stringify(account)}; e.g. --account acme.`,
  )
}

/** Account facts need the log only, so this works while the program runs. Their time is the operator's clock. */
async function appendFacts(
  { config, log }: Setting,
  events: (fact: { readonly key: string; readonly time: string }) => readonly EncodedEvent[],
): Promise<void> {
  const facts = events({ key: ACCOUNTS_KEY, time: formatInstant(Math.floor(Date.now() / 1000)) })
  await using eventLog = await openEventLog(config, log)
  await eventLog.append('accounts', facts)
}
