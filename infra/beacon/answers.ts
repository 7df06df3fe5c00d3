import { type Static, type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { AppError } from '../../schemas/errors.ts'

// The small answers of the Beacon API (ethereum/beacon-APIs), as far as they are read.

// Hex digits of either case are valid; we write lower-case.
const Hash = Type.String({ pattern: '^0x[0-9a-fA-F]{64}$' })
const Address = Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' })
const Bytes = Type.String({ pattern: '^0x([0-9a-fA-F]{2})*$' })
const Uint = Type.String({ pattern: '^[0-9]{1,20}$' })
const Int = Type.String({ pattern: '^-?[0-9]{1,20}$' })
const data = <Schema extends TSchema>(schema: Schema) => Type.Object({ data: schema })

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Makes a reader of JSON answers of one shape; it throws AppError `node_malformed`. */
function readerOf<Schema extends TSchema>(what: string, schema: Schema): (bytes: Uint8Array) => Static<Schema> {
  const shape = Compile(schema)
  return (bytes) => {
    const value = parseJson(what, bytes)
    if (!shape.Check(value)) throw malformed(`${what} is not of the documented shape`)
    return value as Static<Schema>
  }
}

export function parseJson(what: string, bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes))
  } catch {
    throw malformed(`${what} is not whole JSON (${bytes.length} bytes)`)
  }
}

export function malformed(what: string): AppError {
  return new AppError('node_malformed', what, { retryable: true })
}

export const readGenesis = readerOf(
  'the genesis answer',
  data(Type.Object({ genesis_time: Uint, genesis_validators_root: Hash })),
)

export const readSpec = readerOf('the config/spec answer', data(Type.Record(Type.String(), Type.Unknown())))

export const readHeader = readerOf(
  'the header answer',
  data(Type.Object({ root: Hash, header: Type.Object({ message: Type.Object({ slot: Uint, parent_root: Hash }) }) })),
)

export const readRoot = readerOf('the block root answer', data(Type.Object({ root: Hash })))

export const readFinality = readerOf(
  'the finality answer',
  data(Type.Object({ finalized: Type.Object({ epoch: Uint, root: Hash }) })),
)

export const readSyncing = readerOf(
  'the syncing answer',
  data(Type.Object({ head_slot: Uint, is_syncing: Type.Boolean() })),
)

export const readBlockRewards = readerOf(
  'the block rewards answer',
  data(Type.Object({ attestations: Int, sync_aggregate: Int, proposer_slashings: Int, attester_slashings: Int })),
)

export const readSyncCommittee = readerOf(
  'the sync committee answer',
  data(Type.Object({ validators: Type.Array(Uint) })),
)

export const readIdentities = readerOf(
  'the validators answer',
  data(
    Type.Array(
      Type.Object({
        index: Uint,
        validator: Type.Object({
          pubkey: Type.String({ pattern: '^0x[0-9a-fA-F]{96}$' }),
          withdrawal_credentials: Type.String({ pattern: '^0x[0-9a-fA-F]{64}$' }),
        }),
      }),
    ),
  ),
)

export const readPendingDeposits = readerOf(
  'the pending deposits answer',
  data(
    Type.Array(
      Type.Object({ pubkey: Bytes, withdrawal_credentials: Bytes, amount: Uint, signature: Bytes, slot: Uint }),
    ),
  ),
)

const AttestingIndices = Type.Object({ attesting_indices: Type.Array(Uint) })

export const readBlock = readerOf(
  'the block answer',
  Type.Object({
    version: Type.Optional(Type.String()),
    data: Type.Object({
      message: Type.Object({
        slot: Uint,
        proposer_index: Uint,
        parent_root: Hash,
        body: Type.Object({
          proposer_slashings: Type.Array(
            Type.Object({ signed_header_1: Type.Object({ message: Type.Object({ proposer_index: Uint }) }) }),
          ),
          attester_slashings: Type.Array(
            Type.Object({ attestation_1: AttestingIndices, attestation_2: AttestingIndices }),
          ),
          execution_payload: Type.Optional(
            Type.Object({
              block_hash: Hash,
              block_number: Uint,
              fee_recipient: Address,
              withdrawals: Type.Optional(
                Type.Array(Type.Object({ index: Uint, validator_index: Uint, address: Address, amount: Uint })),
              ),
            }),
          ),
        }),
      }),
    }),
  }),
)
export type BlockAnswer = ReturnType<typeof readBlock>

/** A count or index of the chain; the answer's pattern has made sure of the digits. */
export function toNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw malformed('the answer has a number beyond 2^53')
  return value
}
