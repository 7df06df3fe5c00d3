import { type CallReader, readCall } from './decode-call.ts'
import { depositDataRoot } from './deposit-data.ts'
import { type Hex, hexOf } from './hex.ts'
import {
  BATCH_AMOUNT_GWEI,
  BATCH_DEPOSIT,
  BIG_BATCH_DEPOSIT,
  type CalledDeposit,
  DEPOSIT,
  DEPOSIT_MANY,
  type StakingContract,
  type StakingContractKind,
  stakingCall,
} from './staking-transaction.ts'
import type { Wei } from './units.ts'

export type StakingCallFault =
  | 'not_a_deposit'
  | 'malformed_call'
  | 'repeated_pubkey'
  | 'wrong_value'
  | 'altered_deposit_data'

/** The deposits of a call, in its order; or why it is not one that makes deposits, all of them, and nothing else. */
export type DecodedStakingCall =
  | { readonly status: 'ok'; readonly deposits: readonly CalledDeposit[] }
  | { readonly status: 'refused'; readonly reason: StakingCallFault; readonly sentence: string }

/** Kiln's contract takes the most (BIG_BATCH); what another contract takes at most, writing the call again finds out. */
const DEPOSITS_MAX = 512
const PUBKEY_BYTES = 48
const CREDENTIALS_BYTES = 32
const SIGNATURE_BYTES = 96

interface Columns {
  readonly pubkeys: readonly Uint8Array[]
  readonly credentials: readonly Uint8Array[]
  readonly signatures: readonly Uint8Array[]
  readonly dataRoots: readonly Uint8Array[]
}

interface Layout {
  readonly selectors: readonly Hex[]
  read(call: CallReader): Columns | undefined
}

const LAYOUTS: Readonly<Record<StakingContractKind, Layout>> = {
  deposit: { selectors: [DEPOSIT], read: readDeposit },
  abyss: { selectors: [DEPOSIT_MANY], read: readArrays },
  kiln: { selectors: [BATCH_DEPOSIT, BIG_BATCH_DEPOSIT], read: (call) => readPacked(call, false) },
  stakefish: { selectors: [BATCH_DEPOSIT], read: (call) => readPacked(call, true) },
}

/**
 * Reads a call of a contract as what its kind means by it. What was read is written again and has to be the same, byte by byte, with
 * the same value: so no offset overlaps, nothing is padded with anything, and nothing stands behind the arguments. Each deposit is of
 * 32 ETH, through the deposit contract too.
 */
export function decodeStakingCall(
  contract: StakingContract,
  { data, valueWei }: { readonly data: Hex; readonly valueWei: Wei },
): DecodedStakingCall {
  const layout = LAYOUTS[contract.kind]
  const call = readCall(data, DEPOSITS_MAX)
  if (!layout.selectors.includes(call.selector))
    return refused('not_a_deposit', 'the transaction calls another function of the staking contract than its deposit')
  const columns = layout.read(call)
  const deposits = columns === undefined ? undefined : depositsOf(columns)
  if (deposits === undefined) return refused('malformed_call', 'the arguments of the call are no deposits')
  return checked(contract, deposits, { data, valueWei })
}

function checked(
  contract: StakingContract,
  deposits: readonly CalledDeposit[],
  { data, valueWei }: { readonly data: Hex; readonly valueWei: Wei },
): DecodedStakingCall {
  const written = stakingCall(contract, deposits)
  if (written.status === 'refused') return refused('malformed_call', written.reason)
  if (written.data !== data)
    return refused(
      'malformed_call',
      'the arguments of the call are not in the form that the staking contract is called with',
    )
  if (written.valueWei !== valueWei)
    return refused('wrong_value', `the transaction carries ${valueWei} wei, and its deposits take ${written.valueWei}`)
  if (new Set(deposits.map(({ pubkey }) => hexOf(pubkey))).size !== deposits.length)
    return refused('repeated_pubkey', 'the transaction deposits for one public key twice')
  const altered = deposits.find(
    (deposit) => hexOf(depositDataRoot(deposit, deposit.signature)) !== hexOf(deposit.dataRoot),
  )
  if (altered !== undefined)
    return refused(
      'altered_deposit_data',
      `the deposit data root of ${hexOf(altered.pubkey)} is not that of its deposit data`,
    )
  return { status: 'ok', deposits }
}

/** Undefined where the columns are of different lengths, or a field is. */
function depositsOf({ pubkeys, credentials, signatures, dataRoots }: Columns) {
  const deposits = pubkeys.map((pubkey, i) => {
    const [withdrawalCredentials, signature, dataRoot] = [credentials[i], signatures[i], dataRoots[i]]
    if (pubkey.length !== PUBKEY_BYTES || withdrawalCredentials?.length !== CREDENTIALS_BYTES) return undefined
    if (signature?.length !== SIGNATURE_BYTES || dataRoot === undefined) return undefined
    return { pubkey, withdrawalCredentials, amountGwei: BATCH_AMOUNT_GWEI, signature, dataRoot }
  })
  const isWhole = [credentials, signatures, dataRoots].every(({ length }) => length === pubkeys.length)
  const found = deposits.filter((deposit) => deposit !== undefined)
  return isWhole && found.length === deposits.length ? found : undefined
}

function readDeposit(call: CallReader): Columns | undefined {
  return columnsOf([call.bytes(0)], [call.bytes(1)], [call.bytes(2)], [call.bytes32(3)])
}

function readArrays(call: CallReader): Columns | undefined {
  return columnsOf(call.bytesArray(0), call.bytesArray(1), call.bytesArray(2), call.bytes32Array(3))
}

/** Fields of one length, one after the other; `sharesCredentials`: one for all. */
function readPacked(call: CallReader, sharesCredentials: boolean): Columns | undefined {
  const pubkeys = split(call.bytes(0), PUBKEY_BYTES)
  const credentials = split(call.bytes(1), CREDENTIALS_BYTES)
  const owners =
    sharesCredentials && credentials?.length === 1 ? pubkeys?.map(() => credentials[0] as Uint8Array) : credentials
  return columnsOf(pubkeys, owners, split(call.bytes(2), SIGNATURE_BYTES), call.bytes32Array(3))
}

function split(packed: Uint8Array | undefined, bytes: number): readonly Uint8Array[] | undefined {
  if (packed === undefined || packed.length % bytes !== 0) return undefined
  return Array.from({ length: packed.length / bytes }, (_, i) => packed.subarray(i * bytes, (i + 1) * bytes))
}

type Column = readonly (Uint8Array | undefined)[] | undefined

function columnsOf(...[pubkeys, credentials, signatures, dataRoots]: readonly [Column, Column, Column, Column]) {
  const columns = { pubkeys, credentials, signatures, dataRoots }
  return Object.values(columns).every((column) => column?.every((item) => item !== undefined))
    ? (columns as Columns)
    : undefined
}

function refused(reason: StakingCallFault, sentence: string): DecodedStakingCall {
  return { status: 'refused', reason, sentence }
}
