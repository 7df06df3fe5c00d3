import { TOKEN_SCOPES } from '../../schemas/access-token.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { formatInstant } from '../../schemas/eth/time.ts'
import {
  ACCOUNTS_KEY,
  feeRateSet,
  hashToken,
  tokenCreated,
  tokenRevoked,
  validatorsTracked,
} from '../../schemas/events/accounts.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { feeRecipientsTold } from '../../schemas/events/fee-recipients.ts'
import { feeRecipientOf, pubkeyOf } from './consensus/keys.ts'

/** The access token of the devnet's account. It exists on the devnet only. */
export const DEMO_TOKEN = 'demo'
export const DEMO_ACCOUNT = 'demo'
export const DEMO_FEE_RATE = '0.1'

/** Genesis validators, some of them with incidents in the default scenario, and the ones that its deposits bring in. */
export const DEMO_VALIDATORS: readonly number[] = [...Array.from({ length: 61 }, (_, number) => number), 256, 257, 258]

/** Facts that give the devnet's account its token, validators, their fee recipients and its fee rate; appending them again changes nothing. */
export function demoAccountFacts(
  chain: string,
  genesisTimeSec: number,
  validatorNumbers: readonly number[],
): readonly EncodedEvent[] {
  const time = formatInstant(genesisTimeSec)
  const pubkeys = validatorNumbers.map((number) => hexOf(pubkeyOf(number)))
  const tokenHash = hashToken(DEMO_TOKEN)
  const fact = { key: ACCOUNTS_KEY, time }
  return [
    encodeEvent(feeRateSet, {
      ...fact,
      id: `account.fee-rate-set:${DEMO_ACCOUNT}:${time}`,
      data: { account: DEMO_ACCOUNT, rate: DEMO_FEE_RATE, effectiveFrom: time },
    }),
    encodeEvent(validatorsTracked, {
      ...fact,
      id: `account.validators-tracked:${chain}:${DEMO_ACCOUNT}:${pubkeys[0]}:${pubkeys.length}`,
      data: { chain, account: DEMO_ACCOUNT, pubkeys },
    }),
    encodeEvent(feeRecipientsTold, {
      ...fact,
      id: `validator.fee-recipients-told:${chain}:${pubkeys[0]}:${pubkeys.length}:${time}`,
      data: {
        chain,
        recipients: validatorNumbers.map((number) => ({
          pubkey: hexOf(pubkeyOf(number)),
          address: feeRecipientOf(number),
        })),
        isOwn: true,
      },
    }),
    encodeEvent(tokenCreated, {
      ...fact,
      // Not the id of releases whose tokens only read: their devnets get this one besides.
      id: `account.token-created:${tokenHash}:${TOKEN_SCOPES.join('-')}`,
      data: { account: DEMO_ACCOUNT, tokenHash, name: 'devnet', scopes: [...TOKEN_SCOPES] },
    }),
  ]
}

/** Those that a log with events of these ids lacks. A token that was revoked there stays so, for good. */
export function missingFacts(facts: readonly EncodedEvent[], known: ReadonlySet<string>): readonly EncodedEvent[] {
  const isRevoked = known.has(`${tokenRevoked.name}:${hashToken(DEMO_TOKEN)}`)
  return facts.filter(({ id, type }) => !known.has(id) && !(isRevoked && type === tokenCreated.name))
}
