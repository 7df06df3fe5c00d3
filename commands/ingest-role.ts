import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { hasBeacon } from '../infra/config/select-chain.ts'
import type { ChainConfig } from '../infra/config/types.ts'
import type { EventLog, Lease } from '../infra/ports/event-log.ts'
import { followBeaconHead } from '../ingest/beacon-head/beacon-head.ts'
import { followEpochs } from '../ingest/epochs/epoch-follower.ts'
import { firstEpoch } from '../ingest/epochs/first-epoch.ts'
import { followStates } from '../ingest/epochs/state-follower.ts'
import { ToldCheckpoints } from '../ingest/epochs/told-checkpoints.ts'
import { BlockEvidenceReader } from '../ingest/execution/block-evidence.ts'
import { followExecutionHead } from '../ingest/execution/execution-head.ts'
import { followLateEvidence, WaitingEvidence } from '../ingest/execution/late-evidence.ts'
import { followQueues } from '../ingest/queues/queue-follower.ts'
import { openLogFacts } from '../processors/loop/log-facts.ts'
import { AppError } from '../schemas/errors.ts'
import { retryWithBackoff } from '../schemas/retry.ts'
import { untilAborted } from '../schemas/wait.ts'
import { type ChainNodes, openChainNodes } from './chain-nodes.ts'
import type { Role, Running } from './role.ts'
import { nowSec } from './setting.ts'
import { whileLeased } from './while-leased.ts'

/** The name of the right to write what a chain tells. */
export function ingestLease(chain: string): string {
  return `ingest:${chain}`
}

/** Chain -> event log, for every configured chain that is not paused; chains come and go while it runs. */
export const ingestRole: Role = {
  name: 'ingest',
  needs: ['eventLog'],
  async run({ eventLog }, running, signal) {
    const { log } = running
    const opened = await retryWithBackoff({ log, signal, what: 'the start of the ingesters' }, () =>
      openLogFacts(eventLog, nowSec(), signal),
    )
    if (opened === undefined) return
    const { unnamedChain } = opened
    const failed = new AbortController()
    const ending = AbortSignal.any([signal, failed.signal])
    let failure: unknown
    const ingesters = new Map<string, Ingester>()
    const start = (chain: ChainConfig): void => {
      const { name } = chain.names
      const stop = new AbortController()
      const ended = ingestChain(chain, { eventLog, running, unnamedChain }, AbortSignal.any([ending, stop.signal]))
      const guarded = ended.catch((error: unknown) => {
        // A chain that cannot be followed must not stop the others; the only one ends the program with its reason.
        const isActionable = error instanceof AppError && (error.code === 'config' || error.code === 'usage')
        if (isActionable && running.chains.current.length > 1) {
          running.log.error({ chain: name, code: error.code }, error.message)
          return
        }
        failure ??= error
        failed.abort()
      })
      ingesters.set(name, { chain, stop, ended: guarded })
    }
    const reconcile = async (): Promise<void> => {
      const wanted = running.chains.current.filter(({ paused }) => !paused)
      for (const [name, { chain, stop, ended }] of ingesters) {
        if (wanted.some((one) => isDeepStrictEqual(one, chain))) continue
        stop.abort()
        await ended
        ingesters.delete(name)
      }
      for (const chain of wanted) if (!ingesters.has(chain.names.name)) start(chain)
    }
    let reconciling = reconcile()
    running.chains.onChange(() => {
      reconciling = reconciling.then(reconcile)
    }, ending)
    await untilAborted(ending)
    await reconciling
    await Promise.all([...ingesters.values()].map(({ ended }) => ended))
    if (failure !== undefined) throw failure
  },
}

interface Ingester {
  readonly chain: ChainConfig
  readonly stop: AbortController
  readonly ended: Promise<void>
}

interface Ingesting {
  readonly eventLog: EventLog
  readonly running: Running
  readonly unnamedChain: string
}

/** Follows one chain whenever its lease can be had: another process may hold it, and this one takes over when that ends. */
async function ingestChain(chain: ChainConfig, ingesting: Ingesting, signal: AbortSignal): Promise<void> {
  const { eventLog, running } = ingesting
  const { name } = chain.names
  const statesFolder = join(running.config.dataDirectory, 'states', name)
  await using nodes = await openChainNodes(chain, { ...running, statesFolder }, signal)
  running.nodes.set(name, () => nodes.status())
  try {
    running.log.debug({ chain: name }, 'waits for the chain')
    await whileLeased(
      {
        ...{ eventLog, log: running.log, lease: ingestLease(name), what: `the ingesting of ${name}` },
        onLost: (reason) =>
          running.log.warn({ chain: name, reason }, 'the right to write this chain is lost: asking for it again'),
      },
      async (lease, ending) => {
        running.log.debug({ chain: name }, 'holds the chain')
        await tellOtherStart(chain, ingesting, signal)
        await follow(chain, { ...ingesting, nodes, lease }, ending)
      },
      signal,
    )
  } finally {
    running.nodes.delete(name)
    running.nodeHeads.delete(name)
  }
}

/** A start counts for a new log only: one that was changed afterwards, and does nothing, is told. */
async function tellOtherStart(chain: ChainConfig, ingesting: Ingesting, signal: AbortSignal): Promise<void> {
  const { start, names } = chain
  if (start === undefined || !hasBeacon(chain)) return
  const first = await firstEpoch({ ...ingesting, chain: names.name, signal })
  if (first === undefined || first === start) return
  const wayOut =
    start < first
      ? `backfill --from epoch:${start} --to epoch:${first - 1} brings what was before`
      : 'for a later start take another data folder, or remove the chain (chain remove)'
  ingesting.running.log.warn(
    { chain: names.name, configured: start, first },
    `START_EPOCH, or start in the configuration, is ${start} and does nothing: the log begins with epoch ${first}; ${wayOut}`,
  )
}

/** Follows head, finality, queues and states side by side; the first that fails ends both. */
async function follow(
  chain: ChainConfig,
  parts: Ingesting & { readonly nodes: ChainNodes; readonly lease: Lease },
  signal: AbortSignal,
): Promise<void> {
  const { eventLog, unnamedChain, nodes, lease, running } = parts
  const { log, progress, config } = running
  const { name } = chain.names
  const stop = new AbortController()
  const ending = AbortSignal.any([signal, stop.signal])
  const shared = { chain: name, writer: lease, eventLog, unnamedChain, log, concurrency: config.concurrency }
  const label = (what: string): string => (running.chains.current.length > 1 ? `${name} ${what}` : what)
  const headOptions = {
    ...shared,
    execution: nodes.execution,
    onProgress: ({ height, headHeight }: { readonly height: number; readonly headHeight: number }) => {
      running.nodeHeads.set(name, headHeight)
      progress.update(label('blocks'), { done: height, total: headHeight, note: `lag ${headHeight - height}` })
    },
  }
  const { beacon } = nodes
  const told = new ToldCheckpoints()
  const waiting = new WaitingEvidence()
  const evidence = new BlockEvidenceReader({ ...shared, ...nodes, onLacking: (lacking) => waiting.note(lacking) })
  const followers =
    beacon === undefined
      ? [
          followExecutionHead(
            {
              ...headOptions,
              startBlock: chain.start,
              finalityDepth: chain.source.kind === 'execution' ? chain.source.finalityDepth : undefined,
            },
            ending,
          ),
        ]
      : [
          followBeaconHead(
            {
              ...headOptions,
              beacon,
              told,
              startEpoch: chain.start,
              evidence,
            },
            ending,
          ),
          followEpochs(
            {
              ...shared,
              beacon,
              told,
              startEpoch: chain.start,
              onProgress: ({ nextEpoch, finalEpochs }) =>
                progress.update(label('epochs'), {
                  done: nextEpoch,
                  total: finalEpochs,
                  note: `final, lag ${finalEpochs - nextEpoch}`,
                }),
            },
            ending,
          ),
          followQueues({ ...shared, beacon }, ending),
          followStates({ ...shared, beacon }, ending),
          followLateEvidence({ ...shared, execution: nodes.execution, evidence, waiting }, ending),
        ]
  await allOrNone(followers, stop)
}

/** Waits for all; the first failure stops the others and is what is thrown. */
export async function allOrNone(tasks: readonly Promise<void>[], stop: AbortController): Promise<void> {
  const failures: unknown[] = []
  await Promise.all(
    tasks.map((task) =>
      task.catch((error: unknown) => {
        failures.push(error)
        stop.abort()
      }),
    ),
  )
  if (failures.length > 0) throw failures[0]
}
