import { type Static, type TSchema, Type } from 'typebox'
import { ACCOUNT_PATTERN } from '../../schemas/events/accounts.ts'
import { LOGS_CHECKS } from '../../schemas/events/execution-block.ts'
import { MAIL_ADDRESS_PATTERN } from '../../schemas/mail-address.ts'
import { DEFAULT_UNFUNDED_RULES } from '../../schemas/validator-lifecycle.ts'
import { REWARD_SOURCES } from '../beacon/options.ts'

// What a setting may be, said once: for its variable, for its place in the file, and in the words of its mistakes.

/** Goes on as "PORT is not …; e.g. PORT=8080." */
interface Words {
  readonly expected: string
  readonly example: string | number | boolean
}

export type Rule<Schema extends TSchema = TSchema> = Schema & Words

function rule<Schema extends TSchema, Example extends Words['example']>(
  schema: Schema,
  expected: string,
  example: Example,
): Schema & { readonly expected: string; readonly example: Example } {
  return Object.assign(schema, { expected, example })
}

function integer(minimum: number, maximum: number, example: number) {
  return rule(Type.Integer({ minimum, maximum }), `a whole number from ${minimum} to ${maximum}`, example)
}

function matching(pattern: string, expected: string, example: string) {
  return rule(Type.String({ pattern }), expected, example)
}

const TEXT_CHARACTERS_MAX = 4_096 // a path's limit on Linux

function text(expected: string, example: string) {
  return rule(Type.String({ minLength: 1, maxLength: TEXT_CHARACTERS_MAX }), expected, example)
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
const PORT_MAX = 65_535
/** From 1 to `PORT_MAX`. */
const PORT_PATTERN = '([1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5])'
const SERVER_PATTERN = `^[^\\s:/]+:${PORT_PATTERN}$`
const CONCURRENCY_MAX = 64
const PLANS_MAX = 64
const PLAN_ACCOUNTS_MAX = 10_000
/** More than a month of one process, asked all the time. */
const REQUESTS_PER_DAY_MAX = 1_000_000_000_000
const REQUESTS_PER_SECOND_MAX = 100_000
const REPLICATION_FACTOR_MAX = 9
/** Each has its own loops, connections and place in memory. */
const CHAINS_MAX = 64
/** A node and those to fall back to. */
const URLS_MAX = 8
/** Each process keeps a buffer per partition, and each topic has that many. */
const PARTITIONS_MAX = 256
/** Whoever waits longer than a day for a block has another problem. */
const SLOT_SECONDS_MAX = 3_600
const FINALITY_DEPTH_MAX = 100_000
/** More than a hundred years of mainnet. */
const EXPIRY_EPOCHS_MAX = 10_000_000
/** A page of details has a thousand. */
const UNFUNDED_VALIDATORS_MAX = 100_000

/** Nodes and providers of one network. */
const UPSTREAMS_MAX = 64
const WEIGHT_MAX = 100
const HEADERS_MAX = 16
const HOSTS_MAX = 64
/** Each has nodes of its own, which are looked at every few seconds. */
const ORDERS_MAX = 1_000
/** Of one network, in memory. */
const CACHE_MEGABYTES_MAX = 16_384

export const Host = text('an address to listen on', '127.0.0.1')
export const Origin = matching(
  `^(\\*|https?://([a-z0-9._-]+|\\[[0-9a-f:.]+\\])(:${PORT_PATTERN})?)$`,
  'the origin of a page as browsers send it (scheme, host and port, in lower case and without a wildcard), or * alone',
  'https://dashboard.example',
)
export const TrustedProxy = matching(
  '^[0-9a-fA-F:.]{2,45}(/[0-9]{1,3})?$',
  'the address of a proxy, or of a network of them',
  '10.0.0.0/8',
)
export const Port = integer(0, PORT_MAX, 8080)
export const Folder = text('the path of a folder', './data')
export const LogLevel = rule(Type.Enum(LOG_LEVELS), `one of ${LOG_LEVELS.join(', ')}`, 'info')
export const UNPROVEN_CHOICES = ['withhold', 'serve'] as const
export const Unproven = rule(Type.Enum([...UNPROVEN_CHOICES]), UNPROVEN_CHOICES.join(' or '), 'withhold')
export const RequestsPerSecond = integer(1, REQUESTS_PER_SECOND_MAX, 50)
export const Concurrency = integer(1, CONCURRENCY_MAX, 4)
const NAME_PATTERN = '^[a-z0-9][a-z0-9-]{0,31}$'
export const Network = matching(NAME_PATTERN, 'at most 32 lower-case letters, digits and dashes', 'hoodi')
export const Broker = matching(SERVER_PATTERN, 'host:port', '127.0.0.1:9092')
export const TopicPrefix = matching(
  '^[A-Za-z0-9._-]{0,64}$',
  'at most 64 letters, digits, dots, dashes and underscores',
  'epochline.',
)
export const ReplicationFactor = integer(1, REPLICATION_FACTOR_MAX, 1)
export const Partitions = integer(1, PARTITIONS_MAX, 12)
export const DatabaseName = matching(
  '^[A-Za-z_][A-Za-z0-9_]{0,63}$',
  'at most 64 letters, digits and underscores',
  'epochline',
)
export const UserName = text('the name of a user', 'default')
export const Seed = text('a text', 'epochline')
export const SlotSeconds = integer(2, SLOT_SECONDS_MAX, 48)
export const StartNumber = integer(0, Number.MAX_SAFE_INTEGER, 0)
export const FinalityDepth = integer(1, FINALITY_DEPTH_MAX, 64)
export const BlockCheck = rule(Type.Enum([...LOGS_CHECKS]), `one of ${LOGS_CHECKS.join(', ')}`, 'bloom')
export const StakingKind = rule(Type.Enum(['abyss', 'kiln', 'stakefish']), 'one of abyss, kiln, stakefish', 'abyss')
export const ContractAddress = matching(
  '^0x[0-9a-fA-F]{40}$',
  'an address of 20 bytes in hex',
  '0x576834cB068e677db4aFF6ca245c7bde16C3867e',
)
export const Wei = matching('^(0|[1-9][0-9]{0,20})$', 'wei as a whole number in quotes', '0')
export const ExpiryEpochs = integer(1, EXPIRY_EPOCHS_MAX, DEFAULT_UNFUNDED_RULES.expiryEpochs)
export const UnfundedMax = integer(0, UNFUNDED_VALIDATORS_MAX, DEFAULT_UNFUNDED_RULES.unfundedMax)
export const QuoteAccount = matching(
  ACCOUNT_PATTERN,
  'the name of an account: lower-case letters, digits, dashes and underscores',
  'acme',
)
const RewardsSource = rule(Type.Enum([...REWARD_SOURCES]), `one of ${REWARD_SOURCES.join(', ')}`, 'endpoints')
const Switch = rule(Type.Boolean(), 'true or false', true)
// References and addresses are looked at one by one: see references.ts.
const KeySetting = (example: string) =>
  matching(
    '^(env:[A-Z_][A-Z0-9_]*|file:(?!(0x)?[0-9a-fA-F]{64}$).+|command:.+)$',
    'env:NAME, file: and a path or command: and a line for the shell',
    `file:/run/secrets/${example}`,
  )
export const VaultKey = KeySetting('vault-key')
export const AccountsKey = KeySetting('accounts-key')
export const StatementKey = KeySetting('statement-key')
export const WebhooksKey = KeySetting('webhook-key')
export const AllowedServer = matching(SERVER_PATTERN, 'host:port', '127.0.0.1:9000')
export const MailHost = matching('^[A-Za-z0-9.:-]{1,253}$', 'the name or address of a mail server', 'smtp.example.org')
export const MailTls = rule(Type.Enum(['starttls', 'implicit', 'none']), 'one of starttls, implicit, none', 'starttls')
export const MailFrom = matching(MAIL_ADDRESS_PATTERN, 'a mail address', 'accounts@example.org')
/** What stands behind it is a stranger's: it holds no secret. */
export const Gateway = matching('^https?://[^\\s@]+/$', 'a URL with a slash at its end', 'https://ipfs.io/ipfs/')
/** Of a request: DNS has no longer ones. */
export const isHostName = (name: string): boolean => /^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(name)
export const Weight = integer(1, WEIGHT_MAX, 2)
export const ChainIdentity = matching(
  '^[!-~]([ -~]{0,126}[!-~])?$',
  'what nodes of the network answer, as a text in quotes',
  '"0x1"',
)
const Secret = text('a reference, env:NAME or file:/path', 'env:CLICKHOUSE_PASSWORD')
const Url = (example: string) => text('a URL or a reference, env:NAME or file:/path', example)
const Urls = (example: string) =>
  rule(Type.Array(Url(example), { minItems: 1, maxItems: URLS_MAX }), `a list of 1 to ${URLS_MAX} URLs`, `[${example}]`)

type Properties = Record<string, TSchema>

/** Everything is optional here: what must be there may also come from the environment, or depends on the rest. */
function section<const Fields extends Properties>(fields: Fields) {
  const names = Object.keys(fields)
  const example = `{ ${names[0]}: … }`
  return rule(
    Type.Partial(Type.Object(fields), { additionalProperties: false }),
    `a section with ${names.join(', ')}`,
    example,
  )
}

const Chain = section({
  rewards: RewardsSource,
  beacon: section({ urls: Urls('http://127.0.0.1:5052') }),
  execution: section({ urls: Urls('http://127.0.0.1:8545') }),
  relays: Urls('https://relay.example'),
  finality: section({ depth: FinalityDepth }),
  blocks: section({ check: BlockCheck, logs_only: Switch }),
  start: section({ epoch: StartNumber, block: StartNumber }),
  staking: section({ contract: ContractAddress, kind: StakingKind, fee_wei: Wei }),
  exit_contract: ContractAddress,
  validator_client: section({ url: Url('http://127.0.0.1:5062'), token: Secret }),
  paused: Switch,
})

/** A word of its own: what is not said is the default, and nothing stands for no limit by accident. */
export const UNLIMITED = 'unlimited'

function limit(maximum: number, example: number) {
  return rule(
    Type.Union([Type.Integer({ minimum: 1, maximum }), Type.Literal(UNLIMITED)]),
    `a whole number from 1 to ${maximum}, or ${UNLIMITED}`,
    example,
  )
}

const Plan = section({
  requests_per_day: limit(REQUESTS_PER_DAY_MAX, 100_000),
  requests_per_second: limit(REQUESTS_PER_SECOND_MAX, 50),
  accounts: rule(Type.Array(QuoteAccount, { maxItems: PLAN_ACCOUNTS_MAX }), 'a list of accounts', '[acme]'),
})

/** As networks are called. */
export const isPlanName = (name: string): boolean => new RegExp(NAME_PATTERN).test(name)

const Upstream = section({
  url: Url('http://127.0.0.1:8545'),
  ws_url: Url('ws://127.0.0.1:8545'),
  headers: rule(
    Type.Record(Type.String(), Secret, { maxProperties: HEADERS_MAX }),
    `a section with at most ${HEADERS_MAX} headers, by name`,
    '{ authorization: env:NODE_KEY }',
  ),
  archive: Switch,
  weight: Weight,
})

const CacheMegabytes = integer(1, CACHE_MEGABYTES_MAX, 64)

const GatewayNetwork = section({
  identity: ChainIdentity,
  hedge: Switch,
  coalesce: Switch,
  cache_mb: CacheMegabytes,
  upstreams: rule(
    Type.Array(Upstream, { minItems: 1, maxItems: UPSTREAMS_MAX }),
    `a list of 1 to ${UPSTREAMS_MAX} upstreams`,
    '[{ url: http://127.0.0.1:8545 }]',
  ),
})

const GatewayNetworks = rule(
  Type.Record(Type.String(), GatewayNetwork),
  'a section with networks, by protocol/network',
  '{ ethereum/mainnet: … }',
)

/** The whole of epochline.yaml. */
export const ConfigFile = section({
  data: Folder,
  log_level: LogLevel,
  http: section({
    host: Host,
    port: Port,
    cors_origins: rule(Type.Array(Origin), 'a list of origins', `[${Origin.example}]`),
    trusted_proxies: rule(Type.Array(TrustedProxy), 'a list of addresses or networks', `[${TrustedProxy.example}]`),
  }),
  servers: section({
    kafka: section({
      brokers: rule(Type.Array(Broker, { minItems: 1 }), 'a list of host:port', '[127.0.0.1:9092]'),
      topic_prefix: TopicPrefix,
      replication_factor: ReplicationFactor,
      partitions: Partitions,
    }),
    redis: section({ url: Url('redis://127.0.0.1:6379') }),
    clickhouse: section({
      url: Url('http://127.0.0.1:8123'),
      user: UserName,
      password: Secret,
      database: DatabaseName,
    }),
  }),
  ingest: section({ concurrency: Concurrency }),
  figures: section({ unproven: Unproven }),
  vault: section({ key: VaultKey, web3signer: Url('http://127.0.0.1:9000') }),
  accounts: section({ key: AccountsKey }),
  statements: section({ key: StatementKey }),
  webhooks: section({ key: WebhooksKey, allowed_server: AllowedServer }),
  mail: section({
    host: MailHost,
    port: Port,
    tls: MailTls,
    user: text('the name of a user', 'epochline'),
    password: Secret,
    from: MailFrom,
    folder: Folder,
  }),
  metadata: section({
    allowed_server: AllowedServer,
    ipfs_gateways: rule(Type.Array(Gateway), 'a list of URLs with a slash at their ends', `[${Gateway.example}]`),
    arweave_gateways: rule(Type.Array(Gateway), 'a list of URLs with a slash at their ends', '[https://arweave.net/]'),
  }),
  nft: section({ requests_per_second: RequestsPerSecond }),
  validators: section({ expiry_epochs: ExpiryEpochs, unfunded_max: UnfundedMax }),
  quote: section({ chain: text('the name of a configured chain', 'mainnet'), account: QuoteAccount }),
  gateway: section({
    networks: GatewayNetworks,
    orders: rule(
      Type.Record(Type.String(), GatewayNetworks, { maxProperties: ORDERS_MAX }),
      `a section with at most ${ORDERS_MAX} orders, by id`,
      '{ ord_0123456789abcdef: … }',
    ),
    hosts: rule(
      Type.Record(Type.String(), text('protocol/network', 'ethereum/mainnet'), { maxProperties: HOSTS_MAX }),
      `a section with at most ${HOSTS_MAX} host names`,
      '{ rpc.example.org: ethereum/mainnet }',
    ),
  }),
  plans: rule(
    Type.Record(Type.String(), Plan, { maxProperties: PLANS_MAX }),
    `a section with at most ${PLANS_MAX} plans, by name`,
    '{ default: … }',
  ),
  devnet: section({
    beacon_port: Port,
    execution_port: Port,
    second_port: Port,
    metadata_port: Port,
    validator_port: Port,
    seed: Seed,
    slot_seconds: SlotSeconds,
    second: Switch,
  }),
  chains: rule(
    Type.Record(Type.String(), Chain, { maxProperties: CHAINS_MAX }),
    `a section with at most ${CHAINS_MAX} chains, by name`,
    '{ mainnet: … }',
  ),
})

/** What the file says, with every mistaken value left out. */
export type FileSettings = Static<typeof ConfigFile>
export type FileChain = NonNullable<FileSettings['chains']>[string]
export type FileGatewayNetwork = NonNullable<NonNullable<FileSettings['gateway']>['networks']>[string]
export type FileUpstream = NonNullable<FileGatewayNetwork['upstreams']>[number]
export type FilePlan = NonNullable<FileSettings['plans']>[string]
