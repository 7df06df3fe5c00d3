import { expect, test } from 'vitest'
import { LiveSetting } from '../../commands/live-setting.ts'
import { exitContractOf, type OpenedChain, StakingChains } from '../../commands/validators/staking-chains.ts'
import type { ChainConfig } from '../../infra/config/types.ts'
import { EXIT_REQUEST_ADDRESS } from '../../infra/devnet/execution/genesis.ts'
import { AppError } from '../../schemas/errors.ts'
import { silentLog } from './silent-log.ts'

function configOf(name: string, url: string): ChainConfig {
  return {
    names: { name, network: name, protocol: 'ethereum' } as unknown as ChainConfig['names'],
    source: { kind: 'beacon', beaconUrls: [url], executionUrls: [url] },
    paused: false,
  }
}

/** Chains whose nodes say what becomes of them. */
function openChains(configs: readonly ChainConfig[], fault?: () => Error | undefined) {
  const set = new LiveSetting(configs)
  const happened: string[] = []
  const chains = new StakingChains({ chains: set, log: silentLog }, async ({ names, source }, open) => {
    const [url] = source.kind === 'beacon' ? source.beaconUrls : []
    open.defer(() => void happened.push(`closed ${names.name} ${url}`))
    happened.push(`opened ${names.name} ${url}`)
    const error = fault?.()
    if (error !== undefined) throw error
    return { name: names.name } as OpenedChain
  })
  return { chains, set, happened }
}

test('a change of another chain leaves a chain’s nodes open, and one of its own opens others and closes them', async () => {
  const { chains, set, happened } = openChains([configOf('a', '1'), configOf('b', '1')])
  const [first, other] = [await chains.of('a'), await chains.of('b')]
  set.replace([configOf('a', '1'), configOf('b', '2')])
  expect(await chains.of('a')).toBe(first)
  expect(await chains.of('b')).not.toBe(other)
  expect(await chains.of('b')).toBe(await chains.of('b'))
  expect(happened).toEqual(['opened a 1', 'opened b 1', 'opened b 2', 'closed b 1'])
  await chains[Symbol.asyncDispose]()
  expect(happened.slice(4).sort()).toEqual(['closed a 1', 'closed b 2'])
})

test('a chain that could not be opened is opened again by the next who asks, and nothing of it stays open', async () => {
  const faults = [new AppError('config', 'no address')]
  const { chains, happened } = openChains([configOf('a', '1')], () => faults.pop())
  await expect(chains.of('a')).rejects.toThrow('no address')
  expect(await chains.of('a')).toEqual({ name: 'a' })
  expect(happened).toEqual(['opened a 1', 'closed a 1', 'opened a 1'])
  await chains[Symbol.asyncDispose]()
  expect(happened.at(-1)).toBe('closed a 1')
})

test('a chain that is paused or not there is not opened', async () => {
  const { chains, happened } = openChains([{ ...configOf('a', '1'), paused: true }])
  expect([chains.of('a'), chains.of('b')]).toEqual([undefined, undefined])
  expect(happened).toEqual([])
})

test('exits are asked for by the contract that is configured, and on the devnet by its own', () => {
  const exitContract = `0x${'e4'.repeat(20)}`
  expect(exitContractOf(configOf('a', '1'))).toBeUndefined()
  expect(exitContractOf({ ...configOf('a', '1'), exitContract })).toBe(exitContract)
  const devnet = (layer: 'ethereum' | 'second') =>
    exitContractOf({ ...configOf('a', '1'), source: { kind: 'devnet', layer } })
  expect([devnet('ethereum'), devnet('second')]).toEqual([EXIT_REQUEST_ADDRESS, undefined])
})
