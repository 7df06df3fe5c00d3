import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import autocannon, { type Result } from 'autocannon'
import { BATCH_DEPOSIT_ADDRESS } from '../../infra/devnet/execution/genesis.ts'
import { openLocalKeyVault } from '../../infra/key-vault/open-local.ts'
import { ethereumChain, writeChains } from '../e2e/configuration.ts'
import { eventually, runCommand, startDevnetChild } from '../e2e/processes.ts'
import { openLog } from '../e2e/stores.ts'
import { Report } from './report.ts'
import { startServerChild } from './server-child.ts'

const MANY = 100
const MANY_P50_MS_MAX = 150
const MANY_P99_MS_MAX = 250
const ONE_P50_MS_MAX = 20
const DELAY_P99_MS_MAX = 20
/** Of the reads while nothing is created. */
const READS_SHARE_MIN = 0.5
const MANY_REQUESTS = 40
const ONE_REQUESTS = 100
const READERS = 10
/** Those of an account that nobody funds are capped (1,000), as they are for anybody: after so many requests it is another's turn. */
const REQUESTS_AN_ACCOUNT = 9
/** The first one reads. */
const ACCOUNTS = 30
const VAULT_TIMES = 20
const READ_SECONDS = 4
const HEAD_SLOT = 64
const START_MS = 60_000

/** Measures the creation of validators over HTTP, with the local vault and the devnet's nodes, one request after the other. */
export async function benchCreate(): Promise<boolean> {
  const report = new Report()
  const directory = mkdtempSync(join(tmpdir(), 'epochline-create-'))
  try {
    await using devnet = await startDevnetChild()
    await devnet.advanceTo(HEAD_SLOT)
    const config = join(directory, 'epochline.yaml')
    writeChains(config, { mainnet: { ...ethereumChain(devnet), staking: { contract: BATCH_DEPOSIT_ADDRESS } } })
    const env = { EPOCHLINE_DATA: join(directory, 'data'), EPOCHLINE_CONFIG: config }
    await (await openLog(env))[Symbol.asyncDispose]()
    const tokens = await createTokens(env)
    await using server = await startServerChild('create-server.ts', env)
    const [base = '', ...bases] = tokens.map((token) => `${server.url}/ethereum/mainnet/${token}/api/v1/validator`)
    let asked = 0
    const create = (count: number) =>
      timedCreate(bases[Math.floor(asked++ / REQUESTS_AN_ACCOUNT) % bases.length] ?? '', count)
    const isServed = () =>
      create(1).then(
        () => true as const,
        () => undefined,
      )
    await eventually('the first validator', isServed, START_MS)

    report.heading('created over HTTP, one request after the other')
    const many = await repeated(MANY_REQUESTS, () => create(MANY))
    report.limited(`${MANY} validators: p50`, percentile(many, 50), { digits: 1, unit: 'ms', max: MANY_P50_MS_MAX })
    report.limited(`${MANY} validators: p99`, percentile(many, 99), { digits: 1, unit: 'ms', max: MANY_P99_MS_MAX })
    const one = await repeated(ONE_REQUESTS, () => create(1))
    report.limited('1 validator: p50', percentile(one, 50), { digits: 1, unit: 'ms', max: ONE_P50_MS_MAX })

    report.heading('the vault alone: keys, signatures, and their verification')
    report.info(`${MANY} validators: p50`, percentile(await preparedAlone(directory), 50), 1, 'ms')

    report.heading(`repeated reads by ${READERS} clients, alone and beside the creation of ${MANY} after ${MANY}`)
    const alone = await reads(`${base}/total-rewards`)
    await server.ask() // from here on
    let isReading = true
    const creating = (async () => {
      while (isReading) await create(MANY)
    })()
    const beside = await reads(`${base}/total-rewards`).finally(() => {
      isReading = false
    })
    await creating
    report.info('reads alone: per second', alone, 0)
    report.info('reads beside: per second', beside, 0)
    report.atLeast('reads beside / reads alone', beside / alone, { digits: 2, unit: '', min: READS_SHARE_MIN })
    const delayMs = await server.ask<number>()
    report.limited('event loop’s delay meanwhile: p99', delayMs, { digits: 1, unit: 'ms', max: DELAY_P99_MS_MAX })
    return report.within
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Of as many accounts as have room for all that is created. */
async function createTokens(env: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const tokens: string[] = []
  for (let i = 0; i < ACCOUNTS; i++) {
    const asked = ['admin', 'token', 'create', '--account', `bench-${i}`, '--new', '--scope', 'read,create']
    tokens.push((await runCommand(asked, env)).stdout.trim())
  }
  return tokens
}

const WITHDRAWAL_ADDRESS = `0x${'ad'.repeat(20)}`

/** In milliseconds. */
async function timedCreate(base: string, count: number): Promise<number> {
  const start = performance.now()
  const response = await fetch(`${base}/create`, {
    method: 'POST',
    body: JSON.stringify({ validator_count: count, withdrawal_address: WITHDRAWAL_ADDRESS }),
  })
  const answer = await response.text()
  if (!response.ok) throw new Error(`answered with ${response.status}: ${answer}`)
  return performance.now() - start
}

/** What of a creation is arithmetic, on all cores: milliseconds of each, ascending. */
async function preparedAlone(directory: string): Promise<readonly number[]> {
  const keySource = { kind: 'file', file: join(directory, 'alone.key'), mayCreate: true } as const
  await using vault = await openLocalKeyVault({ directory: join(directory, 'alone'), keySource })
  const terms = {
    chain: 'mainnet',
    genesisForkVersion: new Uint8Array(4),
    withdrawalCredentials: new Uint8Array(32),
    amountGwei: 32_000_000_000n,
  }
  await vault.prepare(MANY, terms) // starts its threads
  return await repeated(VAULT_TIMES, async () => {
    const start = performance.now()
    await vault.prepare(MANY, terms)
    return performance.now() - start
  })
}

/** Milliseconds of each, ascending. */
async function repeated(times: number, ask: () => Promise<number>): Promise<readonly number[]> {
  const took: number[] = []
  for (let i = 0; i < times; i++) {
    took.push(await ask())
  }
  return took.toSorted((a, b) => a - b)
}

function percentile(sorted: readonly number[], percent: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? 0
}

/** Answers per second. */
async function reads(url: string): Promise<number> {
  const ended = Promise.withResolvers<Result>()
  autocannon({ url, connections: READERS, duration: READ_SECONDS }, (error: Error | null, result) =>
    error === null ? ended.resolve(result) : ended.reject(error),
  )
  const { requests, duration, non2xx, errors } = await ended.promise
  if (non2xx + errors > 0) throw new Error(`${non2xx + errors} reads were not answered with 200`)
  return requests.total / duration
}
