import type { NftAsset, NftContract } from '../../schemas/routes/nft/fields.ts'
import {
  type Arrival,
  CONTRACT_REASONS,
  type ContractReason,
  OWNED_REASONS,
  type OwnedReason,
} from '../../schemas/routes/nft/owned-reasons.ts'

// Signs of spam that follow from what is stored: whoever asks decides what they mean to him.

/** Ends of names that hosts on the web have; those of naming systems for accounts (`.eth`) are not among them. */
const ENDINGS =
  'com|net|org|info|io|co|me|xyz|app|site|online|website|club|live|fun|top|vip|pro|link|click|gift|gifts|claims|finance|fi|gg|cc'
// Names of hosts have no longer parts; without a bound a long text of hyphens would be read again for each of them.
const LINK = new RegExp(`https?://|\\bwww\\.|\\b[a-z0-9][a-z0-9-]{0,62}\\.(?:${ENDINGS})\\b`, 'i')
const CLAIM =
  /\b(?:claim|claims|claimable|airdrop|airdrops|giveaway|giveaways|voucher|vouchers|reward|rewards|redeem|bonus|free mint)\b/i

/** Of a text: whoever writes a longer one than people read does not write it for them. */
const LOOKED_AT_CHARACTERS = 4_096

/** Whether each reason is so; undefined where nobody can tell. */
type Findings<Code extends string> = Readonly<Record<Code, boolean | undefined>>

export interface Reasons<Code extends string> {
  readonly reasons: Code[] | null
  readonly unknown_reasons: Code[]
}

function toReasons<Code extends string>(codes: readonly Code[], findings: Findings<Code>): Reasons<Code> {
  const found = codes.filter((code) => findings[code] === true)
  const unknown = codes.filter((code) => findings[code] === undefined)
  return { reasons: found.length === 0 && unknown.length > 0 ? null : found, unknown_reasons: unknown }
}

export function reasonsOfContract(contract: NftContract): Reasons<ContractReason> {
  return toReasons(CONTRACT_REASONS, findingsOfContract(contract))
}

interface Owned {
  readonly owner: string
  readonly asset: Pick<NftAsset, 'metadata' | 'metadata_json' | 'metadata_state' | 'shortened'>
  readonly contract: NftContract
  readonly arrival: Arrival
  /** Undefined where nobody has looked, or can tell. */
  readonly hasManyNewHolders: boolean | undefined
  readonly isInconsistent: boolean
}

export function reasonsOfOwned({
  owner,
  asset,
  contract,
  arrival,
  hasManyNewHolders,
  isInconsistent,
}: Owned): Reasons<OwnedReason> {
  const { metadata, metadata_state, metadata_json, shortened } = asset
  const ofContract = findingsOfContract(contract)
  // What was read once is told, whatever has become of the last attempt: that of a burned token fails.
  const isTold = metadata_json !== null || shortened.includes('metadata_json')
  const isRead = isTold || metadata_state.status === 'fetched'
  const [title, description] = [textOf(metadata.title), textOf(metadata.description)]
  const asks = CLAIM.test(title) || (CLAIM.test(description) && LINK.test(description))
  return toReasons(OWNED_REASONS, {
    unsolicited: arrival === null || arrival.sender === null ? undefined : arrival.sender !== owner,
    many_new_holders: hasManyNewHolders,
    link_in_name: either(ofContract.link_in_name, isRead ? LINK.test(title) : undefined),
    asks_to_claim: either(ofContract.asks_to_claim, isRead ? asks : undefined),
    unknown_type: ofContract.unknown_type,
    no_metadata: isRead ? false : metadata_state.status === 'failed' ? true : undefined,
    inconsistent: isInconsistent,
  })
}

function findingsOfContract({ name, symbol, token_type, metadata_state }: NftContract): Findings<ContractReason> {
  if (metadata_state.status !== 'fetched')
    return { link_in_name: undefined, asks_to_claim: undefined, unknown_type: undefined }
  const texts = [textOf(name), textOf(symbol)]
  return {
    link_in_name: texts.some((text) => LINK.test(text)),
    asks_to_claim: texts.some((text) => CLAIM.test(text)),
    unknown_type: token_type === 'UNKNOWN',
  }
}

/** Whether a row has none of these reasons, as far as anybody knows. */
export function isWithout<Code extends string>(codes: readonly Code[]) {
  return ({ reasons }: Pick<Reasons<Code>, 'reasons'>): boolean => !reasons?.some((code) => codes.includes(code))
}

/** Letters that look alike in other widths are the same. */
const textOf = (text: string | null): string => (text ?? '').slice(0, LOOKED_AT_CHARACTERS).normalize('NFKC')

function either(one: boolean | undefined, other: boolean | undefined): boolean | undefined {
  if (one === true || other === true) return true
  return one === undefined || other === undefined ? undefined : false
}
