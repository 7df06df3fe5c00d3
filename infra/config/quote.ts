import { isIP } from 'node:net'
import { Check } from 'typebox/schema'
import { given } from './environment.ts'
import { type FileSettings, QuoteAccount, TrustedProxy } from './rules.ts'
import { hasBeacon } from './select-chain.ts'
import type { SettingReader } from './setting-reader.ts'
import type { ChainConfig, QuoteConfig } from './types.ts'

const PATH = ['quote']

/** What staking quotes are made for; undefined where nothing is said of them: there are none then, but on the devnet. */
export function readQuote(
  reader: SettingReader,
  { quote }: FileSettings,
  chains: readonly ChainConfig[],
): QuoteConfig | undefined {
  if (quote === undefined) return undefined
  const { chain, account } = quote
  const known = chains.find(({ names }) => names.name === chain)
  if (chain === undefined) refuseMissing(reader, 'chain', 'mainnet')
  else if (known === undefined) reader.refuseAt([...PATH, 'chain'], 'is not the name of a configured chain')
  else if (!hasBeacon(known))
    reader.refuseAt([...PATH, 'chain'], 'is a chain without validators: nothing is staked on it')
  if (account === undefined) refuseMissing(reader, 'account', QuoteAccount.example)
  if (chain === undefined || account === undefined) return undefined
  reader.show([...PATH, 'chain'], chain)
  reader.show([...PATH, 'account'], account)
  return { chain, account }
}

function refuseMissing(reader: SettingReader, name: string, example: string): void {
  const path = [...PATH, name]
  if (!reader.isMistaken(path)) reader.refuseAt(path, `is missing; e.g. ${name}: ${example}`)
}

/** Proxies whose word on a client's address counts. */
export function readTrustedProxies(reader: SettingReader, { http }: FileSettings): readonly string[] {
  const path = ['http', 'trusted_proxies']
  const proxies = reader.list(TrustedProxy, { path, variable: 'TRUSTED_PROXIES', inFile: http?.trusted_proxies }) ?? []
  for (const proxy of proxies) {
    if (!Check(TrustedProxy, proxy) || isNetwork(proxy)) continue // what is no text of this form is told already
    const sentence = `has an entry that is not ${TrustedProxy.expected}; e.g. ${TrustedProxy.example}`
    if (given(reader.env, 'TRUSTED_PROXIES') === undefined) reader.refuseAt(path, sentence)
    else reader.refuse(`TRUSTED_PROXIES ${sentence}.`)
  }
  return proxies
}

const BITS = { 4: 32, 6: 128 } as const

function isNetwork(text: string): boolean {
  const [address = '', prefix] = text.split('/')
  const version = isIP(address)
  return version !== 0 && Number(prefix ?? 0) <= BITS[version as keyof typeof BITS]
}
