import { availableParallelism } from 'node:os'
import { hexOf } from '../../schemas/eth/hex.ts'
import type { ExportedKey } from '../ports/key-keeping.ts'
import { writeKeystore } from './keystore.ts'
import type { OpenedKey } from './secret-keys.ts'

/** Node has four threads for this; some stay for who creates validators meanwhile. */
const KDF_AT_ONCE = Math.max(1, Math.min(availableParallelism(), 2))

/** A keystore for each key, in their order. `password` is normalized. */
export async function toKeystores(keys: readonly OpenedKey[], password: Uint8Array): Promise<readonly ExportedKey[]> {
  const exported: ExportedKey[] = []
  for (let at = 0; at < keys.length; at += KDF_AT_ONCE) {
    exported.push(...(await Promise.all(keys.slice(at, at + KDF_AT_ONCE).map((key) => toExported(key, password)))))
  }
  return exported
}

async function toExported({ pubkey, key, path, place }: OpenedKey, password: Uint8Array): Promise<ExportedKey> {
  const keystore = await writeKeystore({ key, path }, password)
  const { chain, account, created } = place
  return { pubkey: hexOf(pubkey), keystore, path, chain, account, created }
}
