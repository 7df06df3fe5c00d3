import { join } from 'node:path'
import { openVault } from '../../infra/key-vault/vault.ts'
import type { KeyVault } from '../../infra/ports/key-vault.ts'
import { createForAccount } from '../../processors/validators/create-validators.ts'
import { AppError } from '../../schemas/errors.ts'
import { askedFor, givenCreating, nodeOf } from './given-creating.ts'

/** What became of a request whose keys this process made itself; one line of JSON. */
export interface CreatedInProcess {
  /** The status of what is answered, or the message of the AppError that is the end of it. */
  readonly outcome: string
  readonly told: number
  /** What the vault's file has of it. */
  readonly keys: number
  readonly requests: number
}

const [folder = '', count = ''] = process.argv.slice(2)
const keySource = { kind: 'file', file: join(folder, 'key'), mayCreate: true } as const
const vault = await openVault({ directory: join(folder, 'vault'), keySource, preparedKeysMax: 1_000 })
const { creating, told } = givenCreating(vault as unknown as KeyVault)
const contract = { kind: 'abyss', address: `0x${'ba'.repeat(20)}`, feeWei: 0n } as const
const chain = { name: 'mainnet', network: 'mainnet', node: nodeOf(), contract }
const outcome = await createForAccount(creating, chain, askedFor(Number(count))).then(
  ({ status }) => status,
  (error: unknown) => {
    if (error instanceof AppError) return error.message
    throw error
  },
)
const { keys } = vault.backup(join(folder, 'backup'))
const created: CreatedInProcess = { outcome, told: told.length, keys, requests: vault.requestsAfter(undefined).length }
vault[Symbol.dispose]()
process.stdout.write(`${JSON.stringify(created)}\n`, () => process.exit()) // its threads would go on
