import { createHash } from 'node:crypto'
import type { ForkName } from '@lodestar/params'
import { sszTypesFor } from '@lodestar/types'
import { genesisOf, randomHistory } from './random-history.ts'

// One line of JSON for each seed of the command line, for the preset of LODESTAR_PRESET. The state transition library takes its preset
// from the environment when it is loaded, so who wants another one than its own starts this as a process.

function balancesOf(fork: string, state: Uint8Array): bigint[] {
  return sszTypesFor(fork as ForkName)
    .BeaconState.deserialize(state)
    .balances.map((gwei) => BigInt(gwei))
}

for (const seed of process.argv.slice(2)) {
  const options = { seed, isChecked: true }
  const digest = createHash('sha256')
  const events: unknown[] = []
  const forks = new Set<string>()
  let balances = balancesOf('altair', genesisOf(options))
  let unexplained = 0
  let blocks = 0
  for (const epoch of randomHistory(options)) {
    const explained = [...balances]
    for (const { validatorIndex, gwei } of epoch.changes) {
      explained[validatorIndex] = (explained[validatorIndex] ?? 0n) + gwei
    }
    balances = balancesOf(epoch.fork, epoch.state)
    unexplained += balances.filter((gwei, index) => gwei !== (explained[index] ?? 0n)).length
    digest.update(epoch.state)
    for (const { bytes } of epoch.blocks) digest.update(bytes)
    for (const change of epoch.changes) digest.update(Object.values(change).join())
    events.push(epoch.events)
    forks.add(epoch.fork)
    blocks += epoch.blocks.length
  }
  const told = { seed, digest: digest.digest('hex'), forks: [...forks], blocks, unexplained, events }
  process.stdout.write(`${JSON.stringify(told)}\n`)
}
