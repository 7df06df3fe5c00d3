import type { AccountBook } from '../../schemas/account-book.ts'
import { AppError } from '../../schemas/errors.ts'
import { formatDay } from '../../schemas/eth/time.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { feeRecipientsTold } from '../../schemas/events/fee-recipients.ts'
import type { Setting } from '../setting.ts'
import { addAccountFacts } from './account-facts.ts'
import { readKeys } from './public-keys.ts'
import { inParts } from './validators.ts'

const ADDRESS = /^0x[0-9a-f]{40}$/

/**
 * Says that validators are paid at an address, or takes it back: what their blocks paid is read again, of all history. Works while
 * the program runs.
 */
export async function tellFeeRecipient(
  setting: Setting,
  options: { readonly recipient: string; readonly chain?: string; readonly takeBack?: boolean },
  args: readonly string[],
): Promise<void> {
  const address = options.recipient.toLowerCase()
  if (!ADDRESS.test(address)) {
    throw new AppError(
      'usage',
      `--recipient is not an address, 0x and 40 hex digits: ${JSON.stringify(options.recipient.slice(0, 50))}.`,
    )
  }
  const { chain, pubkeys } = await readKeys(setting, options.chain, args)
  const isOwn = options.takeBack !== true
  const verb = isOwn ? 'is a fee recipient' : 'is no longer a fee recipient'
  await addAccountFacts(setting, (book, envelope) => ({
    facts: inParts(notLocked(book, chain, pubkeys), (part) =>
      encodeEvent(feeRecipientsTold, {
        ...envelope,
        id: `validator.fee-recipients-told:${chain}:${part[0]}:${address}:${part.length}:${envelope.time}`,
        data: { chain, recipients: part.map((pubkey) => ({ pubkey, address })), isOwn },
      }),
    ),
    said: `${address} ${verb} of ${pubkeys.length} validators of ${chain}; their blocks are read again.\n`,
  }))
}

/** Where a validator is paid holds for all of history: settlements that nothing may change must not follow from it anew. */
function notLocked(book: AccountBook, chain: string, pubkeys: readonly string[]): readonly string[] {
  for (const pubkey of pubkeys) {
    for (const { account, fromDay } of book.ownership.ownersOf(chain, pubkey)) {
      const through = book.lockedThrough(account)
      if (through === undefined || fromDay > through) continue
      throw new AppError(
        'usage',
        `The settlements of ${account} are locked through ${formatDay(through)}, and this might change those of ${pubkey}: ` +
          'correct them by a record of today (admin settlements correct); nothing was told.',
      )
    }
  }
  return pubkeys
}
