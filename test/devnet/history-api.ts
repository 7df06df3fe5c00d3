import { pino } from 'pino'
import { type Api, openApi } from '../../api/http/server.ts'
import { openStatementSigner } from '../../api/http/statement-signer.ts'
import { openBeaconSource } from '../../infra/beacon/source.ts'
import type { Devnet } from '../../infra/devnet/open.ts'
import { openExecutionSource } from '../../infra/execution/source.ts'
import { backfill } from '../../ingest/backfill/backfill.ts'
import { chainNames } from '../../schemas/chains.ts'
import { slotTimeSec } from '../../schemas/eth/time.ts'
import { appendAccount } from '../faults/account.ts'
import { openHistory } from '../faults/history.ts'
import { noJobs } from '../unit/no-jobs.ts'
import { rebuildFrom } from '../unit/projecting.ts'
import { silentLog } from '../unit/silent-log.ts'
import type { storesOfFile } from '../unit/warehouse-of-file.ts'

export const CHAIN = 'mainnet'
const never = new AbortController().signal

export interface HistoryApi extends AsyncDisposable {
  readonly devnet: Devnet
  readonly api: Api
  /** Of the account's paths. */
  readonly base: string
}

/** The history of the faults up to a slot, read from its states into tables as far as it is final, and an API that answers of it. */
export async function openHistoryApi(stores: ReturnType<typeof storesOfFile>, headSlot: number): Promise<HistoryApi> {
  await using opening = new AsyncDisposableStack()
  const devnet = opening.use(await openHistory())
  await devnet.advanceTo(headSlot)
  const eventLog = opening.use(await stores().openLog())
  await appendAccount(eventLog, [CHAIN])
  {
    await using beacon = await openBeaconSource({ urls: [devnet.beaconUrl], log: silentLog })
    await using execution = await openExecutionSource({
      ...{ urls: [devnet.executionUrl], log: silentLog, binding: 'ethereum' },
    })
    const ingester = {
      chain: CHAIN,
      writer: eventLog,
      eventLog,
      unnamedChain: CHAIN,
      log: silentLog,
      beacon,
      execution,
    }
    await backfill(ingester, { fromEpoch: 0, toEpoch: devnet.history.head.finality.finalized.epoch - 1 }, never)
  }
  const { warehouse } = stores()
  await rebuildFrom(eventLog, warehouse)
  const nowMs = slotTimeSec(devnet.clock, headSlot) * 1_000
  const api = opening.use(
    await openApi({
      ...{
        warehouse,
        jobs: noJobs,
        unfundedRules: { expiryEpochs: 100, unfundedMax: 5 },
        log: pino({ level: 'silent' }),
      },
      chains: () => [{ names: chainNames('ethereum', CHAIN), hasBeacon: true }],
      statementSigner: openStatementSigner(() => Buffer.alloc(32, 7)),
      ...{ now: () => nowMs, wallNow: () => nowMs, standingAgeMsMax: 0 },
      health: () => Promise.reject(new Error('nobody asks')),
      ...{ accountsKnown: async () => true, tablesWhole: async () => true, host: '127.0.0.1', port: 0 },
    }),
  )
  const open = opening.move()
  const base = `${api.url}/ethereum/${CHAIN}/faults`
  return { devnet, api, base, [Symbol.asyncDispose]: () => open.disposeAsync() }
}
