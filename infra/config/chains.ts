import { Check } from 'typebox/schema'
import { CHAIN_NAME_PATTERN, type ChainNames, chainNames } from '../../schemas/chains.ts'
import { hasRightChecksum } from '../../schemas/eth/address.ts'
import type { StakingContract } from '../../schemas/eth/staking-transaction.ts'
import type { RewardsBy } from '../beacon/options.ts'
import { given } from './environment.ts'
import type { Path } from './mistakes.ts'
import { NODE_URL } from './references.ts'
import {
  ContractAddress,
  type FileChain,
  type FileSettings,
  Network,
  Port,
  Seed,
  SlotSeconds,
  StartNumber,
} from './rules.ts'
import type { SettingReader } from './setting-reader.ts'
import type { BlockConfig, ChainConfig, ChainSource, DevnetConfig } from './types.ts'
import { readValidatorClient } from './validator-client.ts'

const ETHEREUM = 'ethereum'
const BEACON_EXAMPLE = 'http://127.0.0.1:5052'
const EXECUTION_EXAMPLE = 'http://127.0.0.1:8545'
const RELAY_EXAMPLE = 'https://relay.example'
const BEACON_NODE_URL = { ...NODE_URL, example: BEACON_EXAMPLE }

/** What the environment says of its one chain. */
interface ShortForm {
  readonly names: ChainNames
  /** Undefined when BEACON_URL and EXECUTION_URL are not set. */
  readonly source: Extract<ChainSource, { kind: 'beacon' }> | undefined
  readonly start: number | undefined
}

/**
 * All chains: those of the file, of which BEACON_URL and EXECUTION_URL replace the nodes of ethereum/<EPOCHLINE_NETWORK> or
 * add it, as the first. Without any, those of the devnet.
 */
export function readChains(
  reader: SettingReader,
  file: FileSettings,
): { readonly chains: readonly ChainConfig[]; readonly devnet: DevnetConfig | undefined } {
  const short = readShortForm(reader)
  const chains: ChainConfig[] = []
  const names = Object.entries(file.chains ?? {})
  for (const [name, chain] of names) {
    const read = readFileChain(reader, name, chain, short.names.name === name ? short : undefined)
    if (read === undefined) continue
    const twin = chains.find((other) => other.names.nftName === read.names.nftName)
    if (twin !== undefined) {
      reader.refuseAt(['chains', name], `goes by ${read.names.nftName} in the NFT API, as ${twin.names.name} does`)
    }
    chains.push(read)
  }
  const isInFile = names.some(([name]) => name === short.names.name)
  if (short.source !== undefined && !isInFile) chains.unshift(chainOfShortForm(reader, short, short.source))
  if (names.length === 0 && chains.length === 0) return readDevnet(reader, file, short)
  const isMissing = short.source === undefined && !isInFile && !reader.isMistaken(['chains', short.names.name])
  if (short.start !== undefined && isMissing) {
    reader.refuse(
      `START_EPOCH is set for the chain ${ETHEREUM}/${short.names.network}, which is not configured: name another by EPOCHLINE_NETWORK, or write start into the file; e.g. EPOCHLINE_NETWORK=${chains[0]?.names.network ?? Network.example}.`,
    )
  }
  return { chains, devnet: undefined }
}

function readShortForm(reader: SettingReader): ShortForm {
  const network = reader.variable(Network, 'EPOCHLINE_NETWORK') ?? 'mainnet'
  return {
    names: chainNames(ETHEREUM, network),
    source: readShortSource(reader),
    start: reader.variable(StartNumber, 'START_EPOCH'),
  }
}

function readShortSource(reader: SettingReader): ShortForm['source'] {
  const isSet = (name: string): boolean => given(reader.env, name) !== undefined
  if (!isSet('BEACON_URL') && !isSet('EXECUTION_URL')) {
    for (const name of ['BEACON_FALLBACK_URLS', 'EXECUTION_FALLBACK_URLS'].filter(isSet)) {
      reader.refuse(`${name} is set but BEACON_URL is not: name the first node, e.g. BEACON_URL=${BEACON_EXAMPLE}.`)
    }
    return undefined
  }
  for (const [missing, other, example] of [
    ['EXECUTION_URL', 'BEACON_URL', EXECUTION_EXAMPLE],
    ['BEACON_URL', 'EXECUTION_URL', BEACON_EXAMPLE],
  ] as const) {
    if (isSet(missing)) continue
    reader.refuse(
      `${missing} is not set although ${other} is: both halves of the chain are needed, e.g. ${missing}=${example}.`,
    )
  }
  const urls = (names: readonly string[], rule: typeof NODE_URL) =>
    names.flatMap((name) => reader.variableUrls(name, rule) ?? [])
  return {
    kind: 'beacon',
    beaconUrls: urls(['BEACON_URL', 'BEACON_FALLBACK_URLS'], BEACON_NODE_URL),
    executionUrls: urls(['EXECUTION_URL', 'EXECUTION_FALLBACK_URLS'], NODE_URL),
  }
}

function chainOfShortForm(
  reader: SettingReader,
  { names, start }: ShortForm,
  source: Extract<ChainSource, { kind: 'beacon' }>,
): ChainConfig {
  const path = ['chains', names.name]
  showShortSource(reader, path, source)
  if (start !== undefined) reader.show([...path, 'start', 'epoch'], start, 'START_EPOCH')
  return { names, source, ...(start === undefined ? {} : { start }), paused: false }
}

function showShortSource(reader: SettingReader, path: Path, source: Extract<ChainSource, { kind: 'beacon' }>): void {
  for (const [index, url] of source.beaconUrls.entries())
    reader.showUrl([...path, 'beacon', 'urls', index], url, index === 0 ? 'BEACON_URL' : 'BEACON_FALLBACK_URLS')
  for (const [index, url] of source.executionUrls.entries())
    reader.showUrl(
      [...path, 'execution', 'urls', index],
      url,
      index === 0 ? 'EXECUTION_URL' : 'EXECUTION_FALLBACK_URLS',
    )
}

/** One chain of the file; undefined when its name is none. What the short form replaces is not looked up. */
function readFileChain(
  reader: SettingReader,
  name: string,
  chain: FileChain,
  short: ShortForm | undefined,
): ChainConfig | undefined {
  const path = ['chains', name]
  const names = namesOf(name)
  if (names === undefined) {
    reader.refuseAt(
      path,
      `is not the name of a chain: write the network of an Ethereum, e.g. hoodi, or protocol_network of another chain, e.g. scroll_mainnet`,
    )
    return undefined
  }
  const source = short?.source ?? readSource(reader, path, chain)
  if (short?.source !== undefined) showShortSource(reader, path, short.source)
  const inFile = readStart(reader, path, chain, source)
  const start = short?.start ?? inFile
  if (start !== undefined) {
    const origin = short?.start === undefined ? undefined : 'START_EPOCH'
    reader.show([...path, 'start', source.kind === 'beacon' ? 'epoch' : 'block'], start, origin)
  }
  if (short?.start !== undefined && source.kind !== 'beacon') {
    reader.refuse(`START_EPOCH is set for ${name}, which has no beacon chain: write start: { block: … } into the file.`)
  }
  const rewardsBy = readRewardsBy(reader, [...path, 'rewards'], chain, source)
  const blocks = readBlocks(reader, [...path, 'blocks'], chain, source)
  const relayUrls = readRelays(reader, [...path, 'relays'], chain, source)
  const stakingContract = readStakingContract(reader, [...path, 'staking'], chain, source)
  const exitContract = readExitContract(reader, [...path, 'exit_contract'], chain, source)
  const validatorClient = readValidatorClient(reader, [...path, 'validator_client'], {
    client: chain.validator_client,
    source,
  })
  if (chain.paused !== undefined) reader.show([...path, 'paused'], chain.paused)
  return {
    names,
    source,
    ...(start === undefined ? {} : { start }),
    ...(rewardsBy === undefined ? {} : { rewardsBy }),
    ...(blocks === undefined ? {} : { blocks }),
    ...(relayUrls === undefined ? {} : { relayUrls }),
    ...(stakingContract === undefined ? {} : { stakingContract }),
    ...(exitContract === undefined ? {} : { exitContract }),
    ...(validatorClient === undefined ? {} : { validatorClient }),
    paused: chain.paused ?? false,
  }
}

/** Whole states or what the node's reward endpoints tell. */
function readRewardsBy(
  reader: SettingReader,
  path: Path,
  { rewards }: FileChain,
  source: ChainSource,
): RewardsBy | undefined {
  if (rewards === undefined) return undefined
  if (source.kind === 'execution' || (source.kind === 'devnet' && source.layer !== 'ethereum'))
    reader.refuseAt(path, 'is for chains with validators, which this one has not')
  else reader.show(path, rewards)
  return rewards
}

/** How blocks are checked, and by what they come. A proposer's revenue is made of receipts. */
function readBlocks(
  reader: SettingReader,
  path: Path,
  { blocks }: FileChain,
  source: ChainSource,
): BlockConfig | undefined {
  if (blocks === undefined) return undefined
  const { check = 'receipts', logs_only: logsOnly = false } = blocks
  if (logsOnly && source.kind === 'beacon') {
    reader.refuseAt([...path, 'logs_only'], 'is for chains without a beacon chain: what proposers earn is in receipts')
  } else if (logsOnly && check === 'receipts' && !reader.isMistaken([...path, 'check'])) {
    reader.refuseAt(
      [...path, 'logs_only'],
      'needs check: bloom or check: none, because logs alone have no receipts root',
    )
  } else {
    reader.show([...path, 'check'], check, blocks.check === undefined ? 'default' : undefined)
    reader.show([...path, 'logs_only'], logsOnly, blocks.logs_only === undefined ? 'default' : undefined)
    return { check, logsOnly }
  }
  return undefined
}

/** Data APIs of relays, which are asked what they say of tracked proposers' blocks. */
function readRelays(
  reader: SettingReader,
  path: Path,
  { relays }: FileChain,
  source: ChainSource,
): readonly string[] | undefined {
  if (relays === undefined) return undefined
  if (source.kind === 'beacon') return readUrls(reader, path, relays, RELAY_EXAMPLE)
  reader.refuseAt(path, 'is for chains with validators, which this one has not')
  return undefined
}

/** The contract that takes several deposits at once; its kind is never guessed from an address. */
function readStakingContract(
  reader: SettingReader,
  path: Path,
  { staking }: FileChain,
  source: ChainSource,
): StakingContract | undefined {
  if (staking === undefined) return undefined
  const { contract, kind = 'abyss', fee_wei: fee = '0' } = staking
  if (source.kind !== 'beacon') {
    reader.refuseAt(path, 'is for chains with validators, which this one has not')
  } else if (contract === undefined) {
    if (!reader.isMistaken([...path, 'contract'])) {
      reader.refuseAt([...path, 'contract'], `is missing; e.g. contract: ${ContractAddress.example}`)
    }
  } else if (!hasRightChecksum(contract)) {
    reader.refuseAt([...path, 'contract'], 'does not have the checksum of its letters (EIP-55)')
  } else if (kind !== 'stakefish' && fee !== '0') {
    reader.refuseAt([...path, 'fee_wei'], `is for contracts of kind stakefish, and this one is of kind ${kind}`)
  } else {
    reader.show([...path, 'contract'], contract)
    reader.show([...path, 'kind'], kind, staking.kind === undefined ? 'default' : undefined)
    if (staking.fee_wei !== undefined) reader.show([...path, 'fee_wei'], fee)
    return { kind, address: contract.toLowerCase(), feeWei: BigInt(fee) }
  }
  return undefined
}

/** The contract that withdrawal addresses ask for exits by: calls to it are done by who has the keys. */
function readExitContract(
  reader: SettingReader,
  path: Path,
  { exit_contract: contract }: FileChain,
  source: ChainSource,
): string | undefined {
  if (contract === undefined) return undefined
  if (source.kind !== 'beacon') reader.refuseAt(path, 'is for chains with validators, which this one has not')
  else if (!hasRightChecksum(contract)) reader.refuseAt(path, 'does not have the checksum of its letters (EIP-55)')
  else {
    reader.show(path, contract)
    return contract.toLowerCase()
  }
  return undefined
}

/** The names of a chain by the one in the file: a network has no underscore, so each name is read in one way only. */
function namesOf(name: string): ChainNames | undefined {
  const parts = name.split('_')
  const [protocol = '', network = ''] = parts.length === 1 ? [ETHEREUM, name] : parts
  if (parts.length > 2 || !Check(Network, protocol) || !Check(Network, network)) return undefined
  const names = chainNames(protocol, network)
  return names.name === name && new RegExp(CHAIN_NAME_PATTERN).test(name) ? names : undefined
}

function readSource(
  reader: SettingReader,
  path: Path,
  { beacon, execution, finality }: FileChain,
): Exclude<ChainSource, { kind: 'devnet' }> {
  const readUrlsOf = (layer: string, urls: readonly string[] | undefined, example: string) =>
    readUrls(reader, [...path, layer, 'urls'], urls, example)
  const beaconUrls = beacon === undefined ? undefined : readUrlsOf('beacon', beacon.urls, BEACON_EXAMPLE)
  const executionUrls = readUrlsOf('execution', execution?.urls, EXECUTION_EXAMPLE)
  if (beaconUrls === undefined) {
    const depth = finality?.depth
    if (depth === undefined) return { kind: 'execution', executionUrls }
    reader.show([...path, 'finality', 'depth'], depth)
    return { kind: 'execution', executionUrls, finalityDepth: depth }
  }
  if (finality !== undefined) {
    reader.refuseAt([...path, 'finality'], 'is for chains without a beacon chain, which has a finality of its own')
  }
  return { kind: 'beacon', beaconUrls, executionUrls }
}

function readUrls(
  reader: SettingReader,
  path: Path,
  urls: readonly string[] | undefined,
  example: string,
): readonly string[] {
  if (urls === undefined) reader.refuseAt(path, `is missing; e.g. urls: [${example}]`)
  return (urls ?? []).map((text, index) => reader.fileUrl([...path, index], text, { ...NODE_URL, example }))
}

/** An epoch where there is a beacon chain, a block where there is none. */
function readStart(reader: SettingReader, path: Path, { start }: FileChain, source: ChainSource): number | undefined {
  if (start === undefined) return undefined
  const [unit, other] = source.kind === 'beacon' ? (['epoch', 'block'] as const) : (['block', 'epoch'] as const)
  if (start[other] !== undefined) {
    const kind = source.kind === 'beacon' ? 'a beacon chain' : 'no beacon chain'
    reader.refuseAt([...path, 'start', other], `is not where this chain starts: it has ${kind}, write ${unit}`)
  } else if (start[unit] === undefined && !reader.isMistaken([...path, 'start', unit])) {
    reader.refuseAt([...path, 'start'], `is empty; e.g. start: { ${unit}: 0 }`)
  }
  return start[unit]
}

const BEACON_PORT_DEFAULT = 5052
const EXECUTION_PORT_DEFAULT = 8545
const SECOND_PORT_DEFAULT = 8546
const METADATA_PORT_DEFAULT = 8547
const VALIDATOR_PORT_DEFAULT = 5062
const SLOT_SECONDS_DEFAULT = 48

/** The devnet's chains begin with it, so that every figure of theirs is there. */
function readDevnet(reader: SettingReader, { devnet = {} }: FileSettings, short: ShortForm) {
  const port = (name: string, variable: string, inFile: number | undefined, fallback: number): number =>
    reader.setting(Port, { path: ['devnet', name], variable, inFile }, fallback)
  const hasSecond = devnet.second ?? true
  reader.show(['devnet', 'second'], hasSecond, devnet.second === undefined ? 'default' : undefined)
  const config: DevnetConfig = {
    beaconPort: port('beacon_port', 'DEVNET_BEACON_PORT', devnet.beacon_port, BEACON_PORT_DEFAULT),
    executionPort: port('execution_port', 'DEVNET_EXECUTION_PORT', devnet.execution_port, EXECUTION_PORT_DEFAULT),
    secondPort: hasSecond
      ? port('second_port', 'DEVNET_SECOND_PORT', devnet.second_port, SECOND_PORT_DEFAULT)
      : undefined,
    metadataPort: port('metadata_port', 'DEVNET_METADATA_PORT', devnet.metadata_port, METADATA_PORT_DEFAULT),
    validatorPort: port('validator_port', 'DEVNET_VALIDATOR_PORT', devnet.validator_port, VALIDATOR_PORT_DEFAULT),
    seed: reader.setting(Seed, { path: ['devnet', 'seed'], variable: 'DEVNET_SEED', inFile: devnet.seed }, 'epochline'),
    secondsPerSlot: reader.setting(
      SlotSeconds,
      { path: ['devnet', 'slot_seconds'], variable: 'DEVNET_SLOT_SECONDS', inFile: devnet.slot_seconds },
      SLOT_SECONDS_DEFAULT,
    ),
  }
  if (short.start !== undefined) {
    reader.refuse(
      `START_EPOCH is set but BEACON_URL is not: the devnet's log begins with epoch 0; name the node that it is for, e.g. BEACON_URL=${BEACON_EXAMPLE}.`,
    )
  }
  const layers: ChainConfig[] = [
    { names: short.names, source: { kind: 'devnet', layer: 'ethereum' }, start: 0, paused: false },
  ]
  if (hasSecond) {
    const names = chainNames('scroll', 'mainnet')
    layers.push({ names, source: { kind: 'devnet', layer: 'second' }, start: 0, paused: false })
  }
  return { chains: layers, devnet: config }
}
