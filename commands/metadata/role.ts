import { openGuardedFetch } from '../../infra/guarded-fetch/guarded-fetch.ts'
import { mayBePublic } from '../../infra/guarded-fetch/named-server.ts'
import type { Lease } from '../../infra/ports/event-log.ts'
import { UnreadNoticer } from '../../ingest/metadata/notice-unread.ts'
import { type Done, type ReadingSome, type Run, readAsked, readSome } from '../../ingest/metadata/read-some.ts'
import { Recently } from '../../ingest/metadata/recently.ts'
import { CHANGED_AT_ONCE, CONTRACTS_AT_ONCE, takeTurn } from '../../ingest/metadata/take-turn.ts'
import type { Hex } from '../../schemas/eth/hex.ts'
import { readNftContract, refreshNft, rereadNftContract } from '../../schemas/jobs/read-nft.ts'
import { retryWithBackoff } from '../../schemas/retry.ts'
import { pause } from '../../schemas/wait.ts'
import { allOrNone } from '../ingest-role.ts'
import type { Ports, Role, Running } from '../role.ts'
import { whileLeased } from '../while-leased.ts'
import { ContractNodes } from './contract-nodes.ts'
import { marksWritten, untilMarked } from './until-marked.ts'

const METADATA_LEASE = 'nft-metadata'
/** Where a run has read nothing and there is more, the tables have to follow first. */
const FOLLOW_MS = 1_000
const ASKED_AT_ONCE = 4

/** Reads what tokens are called and look like: the one role that asks contracts, and servers that contracts name. */
export const metadataRole: Role = {
  name: 'metadata',
  needs: ['eventLog', 'warehouse', 'jobQueue'],
  run(ports, running, signal) {
    const { log } = running
    const onLost = (reason: string) =>
      log.warn({ reason }, 'the right to read the metadata of tokens is lost: asking for it again')
    return whileLeased(
      { eventLog: ports.eventLog, log, lease: METADATA_LEASE, what: 'the reading of metadata', onLost },
      (lease, ending) => readMetadata({ ports, running, lease }, ending),
      signal,
    )
  },
}

interface Held {
  readonly ports: Ports
  readonly running: Running
  readonly lease: Lease
}

async function readMetadata(held: Held, signal: AbortSignal): Promise<void> {
  const stop = new AbortController()
  const ending = AbortSignal.any([signal, stop.signal])
  const { config } = held.running
  // Of the devnet's tokens the documents lie in its own server.
  const own = config.devnet === undefined ? undefined : `127.0.0.1:${config.devnet.metadataPort}`
  const allowed = config.metadata.allowedServer ?? own
  await using nodes = new ContractNodes(held.running, ending)
  const reading = {
    fetch: openGuardedFetch(allowed === undefined ? {} : { allowed }),
    mayBePublic: (url: string) => mayBePublic(url, allowed),
    gateways: config.metadata.gateways,
    now: nowSec,
    warehouse: held.ports.warehouse,
    writer: held.lease,
    recently: new Recently(() => performance.now()),
    cursors: new Map<string, Hex>(),
  }
  const readingOf = (chain: string): ReadingSome | undefined => {
    const node = nodes.of(chain)
    return node === undefined ? undefined : { ...reading, node }
  }
  await allOrNone(
    [
      noticing(held, ending),
      working({ ...held, readingOf, job: readNftContract, which: 'unread' }, CONTRACTS_AT_ONCE, ending),
      working({ ...held, readingOf, job: rereadNftContract, which: 'changed' }, CHANGED_AT_ONCE, ending),
      answering(held, readingOf, ending),
    ],
    stop,
  )
}

function nowSec(): number {
  return Math.floor(Date.now() / 1_000)
}

/** Looks for what is new on each chain, and asks the queue for it. */
async function noticing({ ports, running }: Held, signal: AbortSignal): Promise<void> {
  const { log, chains } = running
  const noticers = new Map<string, UnreadNoticer>()
  const look = async (): Promise<void> => {
    for (const { names, paused } of chains.current) {
      if (paused) continue
      const noticer =
        noticers.get(names.name) ?? new UnreadNoticer({ ...ports, nowSec, nowMs: () => performance.now() }, names.name)
      noticers.set(names.name, noticer)
      const contracts = await noticer.look()
      if (contracts > 0) log.debug({ chain: names.name, contracts }, 'contracts have tokens to be read')
    }
  }
  while (!signal.aborted) {
    const seen = marksWritten(ports.warehouse)
    await retryWithBackoff({ log, signal, what: 'the look for unread tokens' }, look)
    await untilMarked(ports.warehouse, seen, signal)
  }
}

interface Working extends Held {
  readonly readingOf: (chain: string) => ReadingSome | undefined
  readonly job: typeof readNftContract
  readonly which: Run['which']
}

async function working({ ports, running, readingOf, job, which }: Working, atOnce: number, signal: AbortSignal) {
  const { jobQueue } = ports
  await jobQueue.work({
    name: job.name,
    concurrency: atOnce,
    signal,
    async handle({ input }) {
      const place = job.parse(input)
      const reading = readingOf(place.chain)
      // Of a chain that is not read any more nothing is asked; when it is again, the search finds what is missing.
      if (reading === undefined) return null
      const read = async (run: Run): Promise<Done> => {
        const done = await readSome(reading, run, signal)
        if (done.read > 0)
          running.log.debug({ ...place, which, tokens: done.read }, 'documents of tokens were asked for')
        return signal.aborted ? { ...done, isMore: false } : done
      }
      await takeTurn({ jobQueue, job, which, read, follow: () => pause(FOLLOW_MS, signal) }, place)
      return null
    },
  })
}

async function answering(
  { ports: { jobQueue } }: Held,
  readingOf: Working['readingOf'],
  signal: AbortSignal,
): Promise<void> {
  await jobQueue.work({
    name: refreshNft.name,
    concurrency: ASKED_AT_ONCE,
    signal,
    async handle({ input }) {
      const asked = refreshNft.parse(input)
      const reading = readingOf(asked.chain)
      if (reading !== undefined) await readAsked(reading, asked)
      return null
    },
  })
}
