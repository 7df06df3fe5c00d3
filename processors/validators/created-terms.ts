import type { KeyVault } from '../../infra/ports/key-vault.ts'
import type { CreatedTerms } from '../../schemas/eth/staking-check.ts'
import type { Created } from '../../schemas/routes/validators/create-validators.ts'
import type { StakingBook } from './staking-book.ts'

interface Whose {
  readonly chain: string
  readonly account: string
}

/**
 * What validators of an account were created with. The root of their deposit data is in the log, and for those that were created before
 * it was, with the answer that the vault keeps.
 */
export async function createdTerms(
  { book, vault }: { readonly book: StakingBook; readonly vault: Pick<KeyVault, 'request'> },
  whose: Whose,
  pubkeys: readonly string[],
): Promise<ReadonlyMap<string, CreatedTerms>> {
  const answers = new Map<string, Created['validators']>()
  const keptRoot = async (pubkey: string): Promise<string | undefined> => {
    const { account, requestId } = book.created.of(whose.chain, pubkey) ?? { account: whose.account, requestId: '' }
    const known = answers.get(requestId)
    const kept = known === undefined ? await vault.request(account, requestId) : undefined
    const validators = known ?? (kept === undefined ? [] : (JSON.parse(kept.answer) as Created).validators)
    answers.set(requestId, validators)
    return validators.find((one) => one.pubkey === pubkey)?.deposit_data.deposit_data_root
  }
  const terms = new Map<string, CreatedTerms>()
  for (const pubkey of pubkeys) {
    const known = book.created.termsOf(whose, pubkey)
    if (known === undefined) continue
    const depositDataRoot = known.depositDataRoot ?? (await keptRoot(pubkey))
    terms.set(pubkey, { ...known, depositDataRoot })
  }
  return terms
}
