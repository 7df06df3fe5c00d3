import type { ChainNames } from '../../schemas/chains.ts'
import type { StakingContract } from '../../schemas/eth/staking-transaction.ts'
import type { LogsCheck } from '../../schemas/events/execution-block.ts'
import type { Gateways } from '../../schemas/nft/token-uri.ts'
import type { Plan } from '../../schemas/plans.ts'
import type { UnfundedRules } from '../../schemas/validator-lifecycle.ts'
import type { RewardsBy } from '../beacon/options.ts'
import type { KeySource } from '../key-vault/key-source.ts'

export interface EmbeddedMode {
  readonly kind: 'embedded'
  readonly eventLogFile: string
  readonly warehouseDirectory: string
  readonly jobsFile: string
  readonly countersFile: string
}

export interface ServersMode {
  readonly kind: 'servers'
  readonly kafkaBrokers: readonly string[]
  readonly kafkaTopicPrefix: string
  readonly kafkaReplicationFactor: number
  /** Of topics that are made; a topic that exists keeps its number. */
  readonly kafkaPartitions: number
  readonly redisUrl: string
  readonly clickhouse: {
    readonly url: string
    readonly user: string
    readonly password: string
    readonly database: string
  }
}

/** What a chain is read from. URLs may hold secrets: they go to the sources and nowhere else. */
export type ChainSource =
  | { readonly kind: 'beacon'; readonly beaconUrls: readonly string[]; readonly executionUrls: readonly string[] }
  | {
      readonly kind: 'execution'
      readonly executionUrls: readonly string[]
      /** Blocks behind the head that count as final, for nodes without the tag `finalized`. */
      readonly finalityDepth?: number
    }
  /** A layer of the built-in devnet, of which there is one: `Config.devnet`. */
  | { readonly kind: 'devnet'; readonly layer: 'ethereum' | 'second' }

/** How a chain's execution blocks are read. */
export interface BlockConfig {
  /** What their logs are checked against. */
  readonly check: LogsCheck
  /** Logs are asked for without receipts: lighter, and nothing is known of what became of transactions. */
  readonly logsOnly: boolean
}

/** What runs the validators of a chain. Both may be, or hold, a secret. */
export interface ValidatorClientConfig {
  readonly url: string
  readonly token: string
}

export interface ChainConfig {
  readonly names: ChainNames
  readonly source: ChainSource
  /** Where a fresh log begins: an epoch, or a block of a chain without a beacon chain; absent = what is final now. */
  readonly start?: number
  /** What rewards are made of; absent = states, where the node gives them. */
  readonly rewardsBy?: RewardsBy
  /** Absent = receipts, checked by their root. */
  readonly blocks?: BlockConfig
  /** Data APIs of relays, in the order of their names in messages; each may hold a secret. */
  readonly relayUrls?: readonly string[]
  /** Takes the deposits of several validators at once; undefined = one at a time, by the deposit contract. */
  readonly stakingContract?: StakingContract
  /** Takes requests of withdrawal addresses for exits, lower-case hex; undefined = they ask the chain, for one at a time. */
  readonly exitContract?: string
  /** Is given the keys of validators that are deposited; undefined = the operator exports them. The devnet has its own. */
  readonly validatorClient?: ValidatorClientConfig
  /** Its tables are served, its nodes are not read. */
  readonly paused: boolean
}

export interface DevnetConfig {
  readonly beaconPort: number
  readonly executionPort: number
  /** Of the second chain; undefined = the devnet has none. */
  readonly secondPort: number | undefined
  /** Where documents of tokens are served, on 127.0.0.1. */
  readonly metadataPort: number
  /** Of its validator client, which has the Keymanager API. */
  readonly validatorPort: number
  readonly seed: string
  readonly secondsPerSlot: number
}

export interface VaultConfig {
  readonly directory: string
  /** Where the key that seals it is: never the key itself. */
  readonly keySource: KeySource
  /** Gets new keys and signs exits, where one is configured. May hold a secret. */
  readonly web3signerUrl?: string
}

export interface StatementsConfig {
  /** Where the 32 bytes are that the signing key is made of. */
  readonly keySource: KeySource
}

export interface AccountsConfig {
  /** Where the key is that addresses and passwords of people are hashed with: never the key itself. */
  readonly keySource: KeySource
}

export interface WebhookConfig {
  /** Where the key is that signatures follow from: never the key itself. */
  readonly keySource: KeySource
  /** `host:port` of a server that is told although it is not public, over http too: for tests and the devnet. */
  readonly allowedServer?: string
}

/** How people are written to. */
export type MailConfig =
  /** Each message is a file of the folder. */
  | { readonly kind: 'folder'; readonly folder: string }
  | {
      readonly kind: 'smtp'
      readonly host: string
      readonly port: number
      readonly tls: 'starttls' | 'implicit' | 'none'
      /** Absent = the server wants none. The password is a secret. */
      readonly login?: { readonly user: string; readonly password: string }
      readonly from: string
    }

export interface MetadataConfig {
  /** `host:port` of a server that documents of tokens are read from although it is not public: for tests and the devnet. */
  readonly allowedServer?: string
  /** Where content that is named by its hash is asked for, the first one first. */
  readonly gateways: Gateways
}

export interface NftConfig {
  /** Of one access token, by one process; undefined = as many as it likes. */
  readonly requestsPerSecond?: number
}

/** Staking quotes carry no token: the validators that they prepare are this account's. */
export interface QuoteConfig {
  /** Name of the chain that is quoted. */
  readonly chain: string
  readonly account: string
}

/** One node, or a provider's. All three texts may be, or hold, a secret. */
export interface UpstreamConfig {
  /** What stands before the paths that its protocol has. */
  readonly url: string
  /** As `url`, of its WebSocket; undefined = it has none. */
  readonly wsUrl?: string
  /** Go with every call; names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Has the states of all blocks, not of the newest alone. */
  readonly isArchive: boolean
  /** Its share of the calls beside the others' of its network. */
  readonly weight: number
}

/** The upstreams of a network; of a protocol that has several services, of one of them. */
export interface GatewayNetworkConfig {
  readonly protocol: string
  readonly network: string
  /** Empty where the protocol has one service. */
  readonly service: string
  /** Id of the order whose nodes these are alone; undefined = all share them. */
  readonly order?: string
  /** What its nodes have to answer when they are asked which chain they follow; undefined = what the protocol's table says. */
  readonly identity?: string
  /** Reads that are slow are asked of another node, too; undefined = they are not. */
  readonly hedge?: boolean
  /** Equal reads that are in flight at a time are asked of one node, once; undefined = each is asked. */
  readonly coalesce?: boolean
  /** Bytes of answers that change no more, which are kept; undefined = none are. */
  readonly keptBytes?: number
  /** At least one. */
  readonly upstreams: readonly UpstreamConfig[]
}

/** A host name that stands for a network. */
export interface GatewayHostConfig {
  /** Lower case, without a port. */
  readonly name: string
  readonly protocol: string
  readonly network: string
}

export interface GatewayConfig {
  /** Each protocol, network and service once, and once more for each order. */
  readonly networks: readonly GatewayNetworkConfig[]
  /** Each name once. */
  readonly hosts: readonly GatewayHostConfig[]
}

export interface PlansConfig {
  /** The default one among them. */
  readonly plans: readonly Plan[]
  /** Names of plans by account; accounts that are not there have the default one. */
  readonly planOfAccount: Readonly<Record<string, string>>
}

export interface Config {
  readonly host: string
  readonly port: number
  /** Pages that may ask the API from a browser; `*` are all. */
  readonly corsOrigins: readonly string[]
  /** Addresses and networks of proxies whose X-Forwarded-For names the client. */
  readonly trustedProxies: readonly string[]
  readonly dataDirectory: string
  readonly logLevel: string
  readonly mode: EmbeddedMode | ServersMode
  readonly vault: VaultConfig
  readonly webhooks: WebhookConfig
  readonly accounts: AccountsConfig
  readonly statements: StatementsConfig
  /** Undefined: nobody is written to, and people cannot make accounts of their own. */
  readonly mail: MailConfig | undefined
  readonly metadata: MetadataConfig
  readonly validators: UnfundedRules
  /** Undefined: none are configured, and only the devnet has some. */
  readonly quote: QuoteConfig | undefined
  readonly concurrency: number
  /** What becomes of a validator's day whose balances are not explained, in figures of days. */
  readonly unproven: 'withhold' | 'serve'
  readonly nft: NftConfig
  /** As the file has them, without that of the devnet's account. */
  readonly plans: PlansConfig
  /** As the file has it, without the devnet's. */
  readonly gateway: GatewayConfig
  /** At least one; names, paths and NFT names are unique. */
  readonly chains: readonly ChainConfig[]
  /** The devnet that the chains are layers of; undefined = all chains are read from nodes. */
  readonly devnet: DevnetConfig | undefined
  /** The configuration file, which need not be there where nobody asked for it. */
  readonly file: { readonly path: string; readonly isThere: boolean }
}
