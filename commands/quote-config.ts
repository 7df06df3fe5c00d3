import type { Config, QuoteConfig } from '../infra/config/types.ts'
import { DEMO_ACCOUNT } from '../infra/devnet/demo-account.ts'

/** What quotes are made for; the devnet's are its account's. Undefined where there are none. */
export function quoteConfigOf({
  quote,
  devnet,
  chains,
}: Pick<Config, 'quote' | 'devnet' | 'chains'>): QuoteConfig | undefined {
  if (quote !== undefined || devnet === undefined) return quote
  const chain = chains.find(({ source }) => source.kind === 'devnet' && source.layer === 'ethereum')
  return chain === undefined ? undefined : { chain: chain.names.name, account: DEMO_ACCOUNT }
}
