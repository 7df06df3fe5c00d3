import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EventLog, Offsets } from '../../infra/ports/event-log.ts'
import { chainOfKey } from '../../schemas/chains.ts'
import type { EncodedEvent, Topic } from '../../schemas/events/codec.ts'
import { executionBlockReverted } from '../../schemas/events/execution-block.ts'
import { executionFinalized } from '../../schemas/events/execution-finality.ts'
import { ethereumChain, executionChain, writeChains } from './configuration.ts'
import { executionBlocksOf, finalBlockOf } from './execution-oracle.ts'
import { finalEpochOf, type OracleNode } from './oracle.ts'
import {
  type DevnetChild,
  type Environment,
  eventually,
  type Running,
  STEP_TIMEOUT_MS,
  startDevnetChild,
  startProgram,
} from './processes.ts'
import { cursorOf, dump, eventsOf, expectEqualTables, isProcessed, ofAnyLog, openLog } from './stores.ts'

const SECOND = 'scroll_mainnet'
const CHAINS = ['mainnet', SECOND] as const
/** Who waits for a chain writes it this soon after the death of the one that did. */
const TAKEOVER_MAX_MS = 15_000

/** Heads of both chains, one after the other. The second chain's block after 40 leaves out 38 to 40. */
const AT_DEATH = { slot: 70, block: 40 }
const AFTER_DEATH = { slot: 110, block: 60 }
const AFTER_SLEEP = { slot: 130, block: 80 }
const AT_END = { slot: 170, block: 100 }
const FIRST_REPLACED_BLOCK = 38

export interface LeasesOptions {
  readonly mode: string
  readonly modeOf: (name: string) => Environment
  /** Whether a holder that sleeps is succeeded: a lock of the kernel stays with it, a broker's group does not wait. */
  readonly succeedsSleepers: boolean
}

/** One `ingest` writes each chain, another waits: it takes over when the first one ends, however that happens. */
export function leasesSuite({ mode, modeOf, succeedsSleepers }: LeasesOptions): void {
  describe(`the one writer of a chain in ${mode} mode`, () => {
    const directory = mkdtempSync(join(tmpdir(), 'epochline-leases-'))
    const file = join(directory, 'epochline.yaml')
    const environmentOf = (name: string): Environment => ({
      ...modeOf(name),
      EPOCHLINE_DATA: join(directory, name),
      EPOCHLINE_CONFIG: file,
      LOG_LEVEL: 'debug',
    })
    const env = environmentOf('shared')
    const ingesters: Running[] = []
    let devnet: DevnetChild
    let log: EventLog
    /** Ends of the log when its last writer ended. */
    let ends: ReadonlyMap<Topic, Offsets>

    const advance = ({ slot, block }: typeof AT_DEATH) =>
      Promise.all([devnet.advanceTo(slot), devnet.advanceSecondTo(block)])
    const ingested = ({ slot, block }: typeof AT_DEATH, where = env) =>
      eventually(`slot ${slot} and block ${block} in the log`, async () => {
        const [first, second] = [await cursorOf(where, 'mainnet', 'head'), await cursorOf(where, SECOND, 'head')]
        return (first === slot + 1 && second === block + 1) || undefined
      })
    const startIngest = async (): Promise<Running> => {
      const started = await startProgram(['ingest'], env, { announces: false })
      ingesters.push(started)
      return started
    }
    const says = (who: Running, words: string) =>
      eventually(
        `the words "${words}" of both chains`,
        async () => CHAINS.every((chain) => chainsThatSay(who, words).includes(chain)) || undefined,
      )
    /** Time from now until both chains have new events, ms. */
    const takeover = async (): Promise<number> => {
      const start = performance.now()
      await eventually('new events of both chains', async () => {
        const blocks = [...(await newEvents('execution.blocks'))]
        return CHAINS.every((chain) => blocks.some(({ key }) => chainOfKey(key) === chain)) || undefined
      })
      return performance.now() - start
    }
    const newEvents = async (topic: Topic): Promise<readonly EncodedEvent[]> => {
      const from = ends.get(topic) ?? new Map()
      const stored = log.read({ topic, from, signal: AbortSignal.timeout(STEP_TIMEOUT_MS) })
      return (await Array.fromAsync(stored)).map(({ event }) => event)
    }
    const markEnds = async () => {
      const topics = ['execution.blocks', 'execution.logs', 'beacon.blocks'] as const
      ends = new Map(await Promise.all(topics.map(async (topic) => [topic, await log.ends(topic)] as const)))
    }
    /** Block events since the mark that are there more than once. */
    const repeated = async (): Promise<readonly string[]> => {
      const topics = ['execution.blocks', 'execution.logs', 'beacon.blocks'] as const
      const events = (await Promise.all(topics.map(newEvents))).flat()
      const told = events.filter(({ type }) => type !== executionFinalized.name).map(({ id }) => id)
      return told.filter((id, at) => told.indexOf(id) !== at)
    }

    beforeAll(async () => {
      devnet = await startDevnetChild()
      writeChains(file, { mainnet: ethereumChain(devnet), [SECOND]: executionChain(devnet.secondExecutionUrl) })
      await advance(AT_DEATH)
      log = await openLog(env)
    })

    afterAll(async () => {
      for (const ingester of ingesters) await ingester.kill()
      await log?.[Symbol.asyncDispose]()
      await devnet?.[Symbol.asyncDispose]()
      rmSync(directory, { recursive: true, force: true })
    })

    it('lets a second ingest wait, which takes over within 15 s of a kill -9 and takes back what was replaced', async () => {
      const holder = await startIngest()
      await says(holder, 'holds the chain')
      const waiting = await startIngest()
      await says(waiting, 'waits for the chain')
      await ingested(AT_DEATH)
      const orphans = await executionBlocksOf(devnet.secondExecutionUrl, FIRST_REPLACED_BLOCK, AT_DEATH.block)
      expect(chainsThatSay(waiting, 'holds the chain')).toEqual([])
      await markEnds()
      await holder.kill()
      const [, elapsedMs] = await Promise.all([advance(AFTER_DEATH), takeover()])
      expect(elapsedMs).toBeLessThan(TAKEOVER_MAX_MS)
      await ingested(AFTER_DEATH)
      expect(await repeated()).toEqual([])
      const reverted = (await newEvents('execution.blocks')).filter(({ type }) => type === executionBlockReverted.name)
      // Each block has a key of its own: a log of several partitions does not keep their order.
      expect(reverted.map(({ id }) => id).sort()).toEqual(
        orphans.map(({ hash }) => `${executionBlockReverted.name}:${SECOND}:${hash}`).sort(),
      )
    })

    it.runIf(succeedsSleepers)('refuses what a sleeper would write that another has succeeded meanwhile', async () => {
      const [, sleeper] = ingesters
      if (sleeper === undefined) throw new Error('the second ingest holds the chains')
      const successor = await startIngest()
      await says(successor, 'waits for the chain')
      await markEnds()
      sleeper.signal('SIGSTOP')
      await Promise.all([advance(AFTER_SLEEP), takeover()])
      await ingested(AFTER_SLEEP)
      sleeper.signal('SIGCONT')
      await says(sleeper, 'the right to write this chain is lost')
      expect(await repeated()).toEqual([])
      await markEnds()
      await successor.kill()
      const [, elapsedMs] = await Promise.all([advance(AT_END), takeover()])
      expect(elapsedMs).toBeLessThan(TAKEOVER_MAX_MS)
    })

    it('leaves a log from which the tables are those of one that one process wrote', async () => {
      const other = environmentOf('alone')
      await advance(AT_END)
      await using _alone = await startProgram(['ingest'], other, { announces: false })
      await using otherLog = await openLog(other)
      await Promise.all([
        ...[env, other].map((where) => ingested(AT_END, where)),
        ...[log, otherLog].map((one) => untilFinal(one, devnet.secondExecutionUrl)),
        ...[env, other].map((where) => untilEpochs(where, devnet)),
      ])
      for (const ingester of ingesters) await ingester.kill()
      await Promise.all([env, other].map(processed))
      const [ours, theirs] = [await dump(env), await dump(other)] // the embedded warehouse is one for a process
      expect(ours.execution_blocks.length).toBeGreaterThan(AT_END.block)
      expectEqualTables(ofAnyLog(ours), ofAnyLog(theirs))
    })
  })
}

/** The chains of which a process has said this in its log, one entry for each time. */
function chainsThatSay(who: Running, words: string): readonly string[] {
  return who
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as { readonly msg?: string; readonly chain?: string })
    .filter(({ msg }) => msg?.includes(words) === true)
    .flatMap(({ chain }) => chain ?? [])
}

/** Resolves when the log says that the second chain is final as far as its node says it is. */
async function untilFinal(log: EventLog, url: string): Promise<void> {
  const id = `${executionFinalized.name}:${SECOND}:${await finalBlockOf(url)}`
  await eventually(
    'the second chain’s finality',
    async () => (await eventsOf(log, 'execution.blocks')).some(({ event }) => event.id === id) || undefined,
  )
}

async function untilEpochs(env: Environment, node: OracleNode): Promise<void> {
  const next = (await finalEpochOf(node)) + 1
  await eventually('the final epochs', async () => (await cursorOf(env, 'mainnet', 'epochs')) === next || undefined)
}

/** Resolves when everything of a log that nobody writes any more is in the tables. */
async function processed(env: Environment): Promise<void> {
  await using processing = await startProgram(['process'], env, { announces: false })
  await eventually('an end of the work', async () => (await isProcessed(env)) || undefined)
  await processing.stop()
}
