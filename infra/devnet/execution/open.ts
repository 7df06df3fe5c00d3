import { AppError } from '../../../schemas/errors.ts'
import type { Hex } from '../../../schemas/eth/hex.ts'
import { type Archive, restoring } from '../archive/archive.ts'
import type { ExecutionEngine } from '../engine.ts'
import { METADATA_URL } from '../metadata/documents.ts'
import { type Anvil, openAnvil } from './anvil-process.ts'
import { type ArchivedBlocks, openArchivedBlocks } from './archived-blocks.ts'
import type { Finality } from './block-lookup.ts'
import { openBlockStore } from './block-store.ts'
import { ExecutionChain, type ExecutionCheckpoint, type Head } from './chain.ts'
import { createChainFeed } from './chain-feed.ts'
import { openFront } from './front.ts'
import {
  BASE_FEE_WEI_MIN,
  DEPOSIT_CONTRACT_ADDRESS,
  DEVNET_CHAIN_ID,
  GAS_LIMIT,
  SCENARIO_BALANCE_ETH,
  SCENARIO_MNEMONIC,
  writeGenesisFile,
} from './genesis.ts'
import { openJournal } from './journal.ts'
import type { JsonRpc } from './json-rpc.ts'
import { type MinedBlock, toNewBlock } from './mined-block.ts'
import { createPool } from './pool.ts'
import { requestsHashOf } from './requests.ts'
import { defaultDeposits } from './scenario.ts'
import {
  ACCOUNTS,
  type DepositsFor,
  INITIAL_STATE,
  type PlannedDeposit,
  type Profile,
  type ScenarioSetup,
} from './scenario-state.ts'
import { type SealedBlock, sealBlock } from './sealed-block.ts'
import { createSenderSignatures } from './sender-signatures.ts'
import { loadState } from './state-dump.ts'

export interface ExecutionOptions {
  /** The same seed, genesis time and sequence of calls give the same block hashes. */
  readonly seed: string
  /** Unix seconds; the timestamp of block 0. */
  readonly genesisTimeSec: number
  /** Complete deposit data for a validator number, amount and withdrawal address. */
  readonly depositsFor: DepositsFor
  /** Deposits in the order of their slots; `defaultDeposits(256)` unless given. */
  readonly deposits?: readonly PlannedDeposit[]
  /** Fee recipients that are contracts and refuse plain transfers: builders' payments to them fail. */
  readonly contractRecipients?: readonly Hex[]
  readonly host?: string
  /** 0 (the default) takes a free one. */
  readonly port?: number
  readonly chainId?: number
  /** `ethereum` unless given. */
  readonly profile?: Profile
  /** Where tokens say that their documents are; `METADATA_URL` unless given. Part of the chain: contracts are created with it. */
  readonly metadataUrl?: string
  /** How far the tags `safe` and `finalized` are behind the head; Ethereum's unless given. */
  readonly finality?: Finality
  /** The setting that a taken port is blamed on; DEVNET_EXECUTION_PORT unless given. */
  readonly portSetting?: string
  /** JSONL of the transactions that others sent, so that a restart makes the same chain again. */
  readonly journalFile?: string
  /** With BLOCKS_SCHEMA: what the chain goes on from, and where old blocks are. Throws ArchiveUnusable for one that does not fit. */
  readonly archive?: Archive | undefined
  /** Aborting it closes the engine. */
  readonly signal?: AbortSignal
}

export interface DevnetExecution extends ExecutionEngine {
  /** The JSON-RPC endpoint for readers; the same port speaks WebSocket. */
  readonly url: string
}

/** As long as consensus may take to finalize; a block is called safe an epoch after its own. */
const ETHEREUM_FINALITY: Finality = { kind: 'tags', finalizedBlocks: 96, safeBlocks: 32 }
const MAINNET_CHAIN_ID = 1
const CHAIN_ID_MAX = 2 ** 31 - 1
/** Of the archive's checkpoint. */
const CHECKPOINT_PART = 'execution'
const ZERO_HASH: Hex = `0x${'00'.repeat(32)}`
const ZERO_ADDRESS: Hex = `0x${'00'.repeat(20)}`

/**
 * Starts anvil and the JSON-RPC front and resolves at the sealed genesis block (number 0). anvil executes; every header
 * that anyone sees is sealed here, with the beacon block's withdrawals, randomness, parent root and requests. Contracts
 * see anvil's own values of these (PREVRANDAO, BLOCKHASH), block 0's state root is that of an empty state, and a block's
 * withdrawals are in the state root of the next one. Throws AppError `config` for a chain id that is not a devnet's, a taken port or a missing binary.
 */
export async function openExecutionEngine(options: ExecutionOptions): Promise<DevnetExecution> {
  const chainId = options.chainId ?? DEVNET_CHAIN_ID
  if (!Number.isInteger(chainId) || chainId <= MAINNET_CHAIN_ID || chainId > CHAIN_ID_MAX) {
    throw new AppError('config', `the devnet's chain id must be 2 to ${CHAIN_ID_MAX}, for example ${DEVNET_CHAIN_ID}`)
  }
  options.signal?.throwIfAborted()
  await using stack = new AsyncDisposableStack()
  const anvil = stack.use(await startAnvil(options, chainId))
  const addresses = (await anvil.rpc.call('eth_accounts', [])) as Hex[]
  const { profile = 'ethereum' } = options
  await anvil.rpc.call('anvil_autoImpersonateAccount', [true]) // see sender-signatures.ts
  const senders = createSenderSignatures(addresses)
  const setup: ScenarioSetup = {
    seed: options.seed,
    profile,
    addresses,
    deposits: options.deposits ?? defaultDeposits(256),
    depositsFor: options.depositsFor,
    metadataUrl: options.metadataUrl ?? METADATA_URL,
  }
  const journal = openJournal(options.journalFile)
  const feed = createChainFeed()
  const onPending = (transactionHash: Hex) => feed.publish({ kind: 'pending', transactionHash })
  const pool = createPool({ anvil: anvil.rpc, setup, chainId, journal, onPending })
  const genesis = await sealGenesis(anvil.rpc, options.genesisTimeSec)
  const { archive } = options
  const archived = archive === undefined ? undefined : openArchivedBlocks(archive)
  const checkpoint = await restoring(() => restore(anvil.rpc, genesis.sealed.hash, archive, archived))
  const genesisBlock = toNewBlock(genesis.sealed, genesis.executed, Promise.resolve([]))
  const store = openBlockStore(genesisBlock, archived, feed.publish)
  const parts = { anvil: anvil.rpc, pool, setup, store, senders }
  const beginning = { head: toGenesisHead(genesis.sealed, options), step: 0, waiting: [] }
  const chain = await ExecutionChain.open(parts, checkpoint ?? beginning)
  const { host = '127.0.0.1', port = 0, finality = ETHEREUM_FINALITY, portSetting = 'DEVNET_EXECUTION_PORT' } = options
  const front = stack.use(
    await openFront({
      host,
      port,
      portSetting,
      chainId,
      finality,
      store,
      feed,
      anvil: anvil.rpc,
      settled: () => chain.settled(),
      submit: (raw) => chain.submit(raw),
      anvilHash: senders.anvilHash,
    }),
  )
  const open = stack.move()
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= chain.idle().finally(() => open.disposeAsync())
    return closing
  }
  options.signal?.addEventListener('abort', () => void close(), { once: true })
  return {
    chainId,
    url: front.url,
    depositContractAddress: DEPOSIT_CONTRACT_ADDRESS,
    genesisHash: genesis.sealed.hash,
    genesisPayload: genesis.sealed.payload,
    get headHash() {
      return store.head.hash
    },
    build: (request) => chain.build(request),
    rollbackTo: (blockHash) => chain.rollbackTo(blockHash),
    async checkpoint() {
      if (archive === undefined) throw new Error('this engine has no archive')
      const state = await chain.checkpoint()
      const writeBlocks = await store.checkpoint()
      return () => {
        archive.setPart(CHECKPOINT_PART, state)
        writeBlocks()
      }
    },
    [Symbol.asyncDispose]: close,
  }
}

/** Puts a new anvil where the archive's checkpoint was; undefined when there is none. */
async function restore(
  anvil: JsonRpc,
  genesisHash: Hex,
  archive: Archive | undefined,
  archived: ArchivedBlocks | undefined,
): Promise<ExecutionCheckpoint | undefined> {
  const checkpoint = archive?.part(CHECKPOINT_PART) as ExecutionCheckpoint | undefined
  if (checkpoint === undefined) return undefined
  if (archived?.byNumber(0)?.hash !== genesisHash) throw new Error('its execution chain has another genesis')
  if (archived.head()?.hash !== checkpoint.head.hash)
    throw new Error('its newest execution block is not the checkpoint')
  await loadState(anvil, checkpoint.state)
  return checkpoint
}

async function startAnvil(options: ExecutionOptions, chainId: number): Promise<Anvil> {
  await using genesisFile = await writeGenesisFile(options.contractRecipients ?? [], options.profile)
  return await openAnvil({
    chainId,
    genesisTimeSec: options.genesisTimeSec,
    mnemonic: SCENARIO_MNEMONIC,
    accounts: ACCOUNTS,
    accountBalanceEth: SCENARIO_BALANCE_ETH,
    gasLimit: GAS_LIMIT,
    baseFeeWei: BASE_FEE_WEI_MIN,
    genesisFile: genesisFile.path,
  })
}

async function sealGenesis(anvil: JsonRpc, timestampSec: number) {
  const executed = (await anvil.call('eth_getBlockByNumber', ['0x0', true])) as MinedBlock
  const sealed = sealBlock(executed, {
    parentHash: ZERO_HASH,
    coinbase: ZERO_ADDRESS,
    timestampSec,
    prevRandao: ZERO_HASH,
    parentBeaconBlockRoot: ZERO_HASH,
    extraData: new Uint8Array(0),
    withdrawals: [],
    requestsHash: requestsHashOf(),
  })
  return { executed, sealed }
}

function toGenesisHead(sealed: SealedBlock, options: ExecutionOptions): Head {
  const { genesisTimeSec: timestampSec } = options
  const { hash } = sealed
  return { hash, number: 0, slot: 0, timestampSec, nextBaseFeeWei: BASE_FEE_WEI_MIN, scenario: INITIAL_STATE, busy: [] }
}
