import { readFileSync, statSync } from 'node:fs'
import { hexOf } from '../../schemas/eth/hex.ts'
import type { ImportOutcome, ImportTerms } from '../ports/key-keeping.ts'
import { KEYSTORE_BYTES_MAX, openKeystore } from './keystore.ts'
import { readPassword } from './password.ts'
import type { SecretKeys } from './secret-keys.ts'
import type { VaultStore } from './vault-store.ts'

/** Where imported keys are sealed and kept. */
interface Importing {
  readonly store: VaultStore
  readonly secrets: SecretKeys
}

/** One file after the other: scrypt takes 256 MiB for one. Each key is on the disk before the next file is read. */
export async function importKeystores(
  into: Importing,
  files: readonly string[],
  terms: ImportTerms,
): Promise<readonly ImportOutcome[]> {
  const password = readPassword(terms.password)
  try {
    const outcomes: ImportOutcome[] = []
    for (const file of files) outcomes.push(await importOne(into, file, { ...terms, bytes: password }))
    return outcomes
  } finally {
    password.fill(0)
  }
}

async function importOne(
  { store, secrets }: Importing,
  file: string,
  { chain, account, bytes }: ImportTerms & { readonly bytes: Uint8Array },
): Promise<ImportOutcome> {
  const read = readKeystore(file)
  if ('reason' in read) return { status: 'refused', file, reason: read.reason }
  const opened = await openKeystore(read.text, bytes)
  if (opened.status === 'refused') return { status: 'refused', file, reason: opened.reason }
  const pubkey = opened.key.toPublicKey().toBytes()
  const place = store.placeOf(pubkey)
  if (place !== undefined) {
    const keptFor = { chain: place.chain, account: place.account }
    return { status: 'present', file, pubkey: hexOf(pubkey), keptFor, isImported: place.kind === 'imported' }
  }
  const secret = opened.key.toBytes()
  try {
    const sealed = secrets.withSealingKey((sealingKey) => store.sealImported(pubkey, secret, sealingKey))
    store.addImported({ pubkey, sealed, path: opened.path, chain, account })
  } finally {
    secret.fill(0)
  }
  return { status: 'imported', file, pubkey: hexOf(pubkey) }
}

function readKeystore(file: string): { readonly text: string } | { readonly reason: string } {
  try {
    if (statSync(file).size > KEYSTORE_BYTES_MAX) return { reason: 'it is too long for a keystore' }
    return { text: readFileSync(file, 'utf8') }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    return { reason: `it cannot be read (${error.code})` }
  }
}
