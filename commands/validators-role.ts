import { hasBeacon } from '../infra/config/select-chain.ts'
import type { ChainConfig } from '../infra/config/types.ts'
import { BATCH_DEPOSIT_ADDRESS } from '../infra/devnet/execution/genesis.ts'
import { openStakingNode } from '../infra/execution/staking-node.ts'
import { openLocalKeyVault } from '../infra/key-vault/open-local.ts'
import type { EventLog, Lease } from '../infra/ports/event-log.ts'
import type { KeyVault } from '../infra/ports/key-vault.ts'
import type { Log } from '../infra/ports/log.ts'
import { createForAccount, nameOf, type StakingChain } from '../processors/validators/create-validators.ts'
import { AppError } from '../schemas/errors.ts'
import type { StakingContract } from '../schemas/eth/staking-transaction.ts'
import { decodeEvent, unlessUndecodable } from '../schemas/events/codec.ts'
import { validatorsCreated } from '../schemas/events/created-validators.ts'
import { type CreateValidatorsInput, type CreateValidatorsOutput, createValidators } from '../schemas/jobs.ts'
import { pause } from '../schemas/wait.ts'
import { openChainNodes, urlsOf } from './chain-nodes.ts'
import type { Ports, Role, Running } from './role.ts'

/** Who has it has the vault: one process at a time. */
export const VALIDATORS_LEASE = 'validators'
/** Requests that are worked on at once: the vault makes keys one request after the other, the nodes answer beside it. */
const CREATED_AT_ONCE = 4
const RELEASE_PAUSE_MS = 1_000

/** Makes validators for accounts: the one role that has their keys. It talks to the nodes, to the log, and to the API by jobs. */
export const validatorsRole: Role = {
  name: 'validators',
  needs: ['eventLog', 'jobQueue'],
  async run(ports, running, signal) {
    while (!signal.aborted) {
      const lease = await ports.eventLog.lease(VALIDATORS_LEASE, signal).catch((error: unknown) => {
        if (signal.aborted) return undefined
        throw error
      })
      if (lease === undefined) return
      try {
        await using held = lease
        await using vault = await openLocalKeyVault(running.config.vault)
        await work(ports, running, { vault, lease: held }, AbortSignal.any([signal, held.lost]))
      } catch (error) {
        if (!(error instanceof AppError && error.code === 'lease_lost')) throw error
      }
      if (signal.aborted) return
      running.log.warn({}, 'another process has the vault now: waiting for it')
      await pause(RELEASE_PAUSE_MS, signal)
    }
  },
}

/** The devnet has one of its own. */
function contractOf({ source, stakingContract }: ChainConfig): StakingContract | undefined {
  return source.kind === 'devnet' ? { kind: 'abyss', address: BATCH_DEPOSIT_ADDRESS, feeWei: 0n } : stakingContract
}

interface Held {
  readonly vault: KeyVault
  readonly lease: Lease
}

async function work(ports: Ports, running: Running, { vault, lease }: Held, signal: AbortSignal): Promise<void> {
  await using chains = new StakingChains(running, signal)
  const { log } = running
  const told = await createdInLog(ports.eventLog, signal)
  await tellOfLostKeys(vault, told.pubkeys, log)
  const creating = { vault, writer: lease, log, announced: told.requests, now: Date.now }
  const handle = async (input: CreateValidatorsInput): Promise<CreateValidatorsOutput> => {
    const chain = await chains.of(input.chain)
    if (chain === undefined) return { status: 'unavailable' }
    return await createForAccount(creating, chain, input).catch((error: unknown) => {
      if (error instanceof AppError)
        log.warn({ chain: input.chain, reason: error.message }, 'validators could not be created')
      throw error
    })
  }
  await ports.jobQueue.work({
    name: createValidators.name,
    concurrency: CREATED_AT_ONCE,
    signal,
    handle: ({ input }) => handle(createValidators.parse(input)),
  })
}

/** What the log knows to have been created. */
async function createdInLog(eventLog: EventLog, signal: AbortSignal) {
  const requests = new Set<string>()
  const pubkeys: string[] = []
  for await (const { event } of eventLog.read({ topic: 'accounts', signal })) {
    if (event.type !== validatorsCreated.name) continue
    const created = unlessUndecodable(() => decodeEvent(validatorsCreated, event))
    if (created === undefined) continue
    requests.add(nameOf(created))
    pubkeys.push(...created.pubkeys)
  }
  return { requests, pubkeys }
}

/** An older copy of the vault, or none, was put in its place: nobody can sign for them, so nobody must fund them. */
async function tellOfLostKeys(vault: KeyVault, pubkeys: readonly string[], log: Log): Promise<void> {
  const lost = await vault.lacking(pubkeys)
  if (lost.length === 0) return
  log.error(
    { lost: lost.length, pubkeys: lost.slice(0, NAMED_MAX) },
    `the key vault lacks the keys of ${lost.length} validators that were created here: put its newest copy back, and let nobody fund them`,
  )
}

/** Keys that a line of the log names. */
const NAMED_MAX = 100

/** The configured chains that validators can be created on, with their nodes: opened when they are first asked for. */
class StakingChains implements AsyncDisposable {
  readonly #running: Running
  readonly #signal: AbortSignal
  readonly #open = new AsyncDisposableStack()
  readonly #opened = new Map<ChainConfig, Promise<StakingChain>>()

  constructor(running: Running, signal: AbortSignal) {
    this.#running = running
    this.#signal = signal
  }

  /** Undefined for a chain that is not configured, is paused, or has no beacon chain. */
  of(name: string): Promise<StakingChain> | undefined {
    const chain = this.#running.chains.current.find(({ names }) => names.name === name)
    if (chain === undefined || chain.paused || !hasBeacon(chain)) return undefined
    const opened = this.#opened.get(chain) ?? this.#openChain(chain)
    this.#opened.set(chain, opened)
    return opened
  }

  async #openChain(chain: ChainConfig): Promise<StakingChain> {
    const { log, devnet } = this.#running
    const { beacon } = this.#open.use(await openChainNodes(chain, this.#running, this.#signal))
    if (beacon === undefined) throw new Error('a chain with validators has a beacon chain')
    const { executionUrls } = urlsOf(chain, devnet)
    const node = this.#open.use(await openStakingNode({ beacon, executionUrls, log }))
    return { name: chain.names.name, network: chain.names.network, node, contract: contractOf(chain) }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#open.disposeAsync()
  }
}
