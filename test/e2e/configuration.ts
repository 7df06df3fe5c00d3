import { renameSync, writeFileSync } from 'node:fs'

/** A chain as the configuration file has it. */
export interface WrittenChain {
  readonly beacon?: { readonly urls: readonly string[] }
  readonly execution: { readonly urls: readonly string[] }
  readonly rewards?: 'states' | 'endpoints'
  readonly start?: { readonly epoch: number } | { readonly block: number }
  readonly staking?: { readonly contract: string }
  readonly exit_contract?: string
  readonly validator_client?: { readonly url: string; readonly token: string }
  readonly paused?: boolean
}

export function ethereumChain({ beaconUrl, executionUrl }: { beaconUrl: string; executionUrl: string }): WrittenChain {
  return { beacon: { urls: [beaconUrl] }, execution: { urls: [executionUrl] }, start: { epoch: 0 } }
}

interface RunBy {
  readonly beaconUrl: string
  readonly executionUrl: string
  readonly keymanager: { readonly url: string; readonly token: string }
}

/** As `ethereumChain`, with the devnet's validator client; its token is written beside the file of the configuration. */
export function runChain(file: string, { keymanager, ...urls }: RunBy): WrittenChain {
  writeFileSync(`${file}.token`, keymanager.token)
  return { ...ethereumChain(urls), validator_client: { url: keymanager.url, token: `file:${file}.token` } }
}

export function executionChain(url: string): WrittenChain {
  return { execution: { urls: [url] }, start: { block: 0 } }
}

/** Suites ask as fast as the machine lets them; what plans refuse has tests of its own. */
export const PLANS = { default: { requests_per_day: 'unlimited', requests_per_second: 'unlimited' } }

/** Puts a configuration with these chains and other sections in the file's place; JSON is YAML. */
export function writeChains(
  file: string,
  chains: Readonly<Record<string, WrittenChain>>,
  others: Readonly<Record<string, object>> = {},
): void {
  writeFileSync(`${file}.next`, JSON.stringify({ chains, plans: PLANS, ...others }, undefined, 2))
  renameSync(`${file}.next`, file)
}
