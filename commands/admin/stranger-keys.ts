import { chainByName } from '../../infra/config/select-chain.ts'
import { AppError } from '../../schemas/errors.ts'
import { firstSlotOfEpoch } from '../../schemas/eth/time.ts'
import { devnetUrls, openChainNodes } from '../chain-nodes.ts'
import type { Setting } from '../setting.ts'
import type { KeysOfChain } from './ownership-rules.ts'

/** An operator waits for it; whoever has a slow node hears it from the program's log. */
const ASKING_MAX_MS = 8_000
const NAMED_MAX = 3

/** Says of keys that the chain's final registry does not have: a validator to be, or a slip. Nodes may be away: that is said, too. */
export async function tellStrangers(
  { config, screen, signal }: Setting,
  { chain, pubkeys }: KeysOfChain,
): Promise<void> {
  const known = await knownKeys(
    config,
    { chain, pubkeys },
    AbortSignal.any([signal, AbortSignal.timeout(ASKING_MAX_MS)]),
  )
  if (known === undefined) {
    screen.print(
      `note: no node of ${chain} has said within ${ASKING_MAX_MS / 1_000} s whether it knows them: look at the keys.\n`,
    )
    return
  }
  const strangers = pubkeys.filter((pubkey) => !known.has(pubkey))
  if (strangers.length === 0) return
  const named = strangers.slice(0, NAMED_MAX).join(', ')
  const rest = strangers.length > NAMED_MAX ? `, and ${strangers.length - NAMED_MAX} more` : ''
  screen.print(
    `note: ${chain} knows no validator of ${named}${rest}: it is followed from the epoch in which it joins; if its deposit was made long ago, look at the key.\n`,
  )
}

async function knownKeys(
  config: Setting['config'],
  { chain, pubkeys }: KeysOfChain,
  signal: AbortSignal,
): Promise<ReadonlySet<string> | undefined> {
  const configured = chainByName(config, chain)
  if (configured === undefined) return undefined
  const quiet = { debug() {}, info() {}, warn() {}, error() {} } // what is wrong with a node is not this command's to say
  try {
    await using nodes = await openChainNodes(configured, { devnet: devnetUrls(config), log: quiet }, signal)
    const { beacon } = nodes
    if (beacon === undefined) return undefined
    const { clock } = await beacon.chain()
    const checkpoint = await beacon.finalized()
    const found = await beacon.finalChain(checkpoint).identify(firstSlotOfEpoch(clock, checkpoint.epoch), pubkeys)
    return new Set(found.map(({ pubkey }) => pubkey))
  } catch (error) {
    if (error instanceof AppError || signal.aborted) return undefined
    throw error
  }
}
