import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/schema'
import { Pubkey, UInt } from '../../schemas/events/fields.ts'
import { RecipientKey } from '../../schemas/recipient-key.ts'

// What a command asks of whoever has the vault: over a socket, so it holds no secret, but where one is.

/** Of one question, which is a line of 64 KiB at most. */
export const ASKED_KEYS_MAX = 500

const Path = Type.String({ minLength: 1, maxLength: 4_096 })
const Password = Type.Union([
  Type.Object({ kind: Type.Literal('file'), file: Path }),
  Type.Object({ kind: Type.Literal('environment'), variable: Type.String() }),
])

const ExportQuestion = Type.Object({
  command: Type.Literal('keys-export'),
  pubkeys: Type.Array(Pubkey, { minItems: 1, maxItems: ASKED_KEYS_MAX }),
  again: Type.Boolean(),
  password: Password,
})
/** Whether an export of them would be refused: nothing is exported. */
const ExportCheck = Type.Object({
  command: Type.Literal('keys-export-check'),
  pubkeys: Type.Array(Pubkey, { minItems: 1, maxItems: ASKED_KEYS_MAX }),
  again: Type.Boolean(),
})
const ImportQuestion = Type.Object({
  command: Type.Literal('keys-import'),
  folder: Path,
  chain: Type.String(),
  account: Type.String(),
  password: Password,
})
const PresignQuestion = Type.Object({
  command: Type.Literal('keys-presign'),
  pubkeys: Type.Array(Pubkey, { minItems: 1, maxItems: ASKED_KEYS_MAX }),
  account: Type.String(),
  chain: Type.String(),
  recipient: RecipientKey,
})
/** Whether it would be refused to sign these exits: nothing is signed. */
const PresignCheck = Type.Object({
  command: Type.Literal('keys-presign-check'),
  pubkeys: Type.Array(Pubkey, { minItems: 1, maxItems: ASKED_KEYS_MAX }),
  account: Type.String(),
  chain: Type.String(),
})
const BackupQuestion = Type.Object({ command: Type.Literal('keys-backup'), file: Path })

/** Paths are from the root: who is asked may have another working folder. */
const KeyQuestion = Type.Union([
  ExportQuestion,
  ExportCheck,
  ImportQuestion,
  PresignQuestion,
  PresignCheck,
  BackupQuestion,
])
export type KeyQuestion = Static<typeof KeyQuestion>
export type ExportQuestion = Static<typeof ExportQuestion>
export type ExportCheck = Static<typeof ExportCheck>
export type ImportQuestion = Static<typeof ImportQuestion>
export type PresignQuestion = Static<typeof PresignQuestion>
export type PresignCheck = Static<typeof PresignCheck>

export const isKeyQuestion = Compile(KeyQuestion)

const Text = Type.String()
const KeyAnswer = Type.Union([
  /** EIP-2335 as text; the path is that of EIP-2334. */
  Type.Object({ keystore: Text, path: Text }),
  /** An entry of deposit_data.json. */
  Type.Object({ deposit: Type.Record(Text, Type.Unknown()) }),
  /** A signed exit for its recipient alone, in compact serialization, and what it says. */
  Type.Object({ jwe: Text, pubkey: Pubkey, validatorIndex: UInt, epoch: UInt }),
  /** Something that the operator has to know; the work goes on. */
  Type.Object({ warning: Text }),
  /** How it ended, as a sentence. */
  Type.Object({ said: Text }),
])
export type KeyAnswer = Static<typeof KeyAnswer>

export const isKeyAnswer = Compile(KeyAnswer)
