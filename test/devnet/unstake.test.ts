import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { WITHDRAWAL_REQUESTS_ADDRESS } from '../../infra/devnet/execution/genesis.ts'
import type { Devnet } from '../../infra/devnet/open.ts'
import { type Hex, hexOf } from '../../schemas/eth/hex.ts'
import { CHECKPOINT_SLOTS, openRestartDevnet } from './restart.ts'
import { shortScenario } from './short-history.ts'
import { depositFromWallet, sendFromWallet } from './wallet.ts'

const SLOTS_PER_EPOCH = 32
const FAR_FUTURE = Number.POSITIVE_INFINITY
const NEW_VALIDATOR = 1_000
/** So many that the queue is not empty and the fee not 1 wei when the next checkpoint comes. */
const BURST = 60
const FEE_WEI = 100n

function openQuietDevnet(directory: string): Promise<Devnet> {
  const scenario = { ...shortScenario, version: 'quiet', incidents: [] }
  return openRestartDevnet({ directory, scenario, validators: 64 })
}

function validatorOf(devnet: Devnet, pubkey: Hex) {
  return devnet.history.head.registry.find((validator) => hexOf(validator.pubkey) === pubkey)
}

async function advanceUntil(devnet: Devnet, epochsMax: number, isThere: () => boolean): Promise<void> {
  for (let epoch = 0; epoch < epochsMax && !isThere(); epoch++)
    await devnet.advanceTo(devnet.headSlot + SLOTS_PER_EPOCH)
  expect(isThere(), `after ${epochsMax} epochs`).toBe(true)
}

/** Two slots before the next one that a restart may go on from. */
function beforeCheckpoint(slot: number): number {
  return (Math.floor((slot + 2) / CHECKPOINT_SLOTS) + 1) * CHECKPOINT_SLOTS - 2
}

function roots(devnet: Devnet): readonly (string | undefined)[] {
  return Array.from({ length: devnet.headSlot + 1 }, (_, slot) => devnet.history.slot(slot)?.block?.root)
}

function request(pubkey: Hex, amountGwei = 0n): Hex {
  return `${pubkey}${amountGwei.toString(16).padStart(16, '0')}`
}

const stranger = (number: number): Hex => `0x${'cd'.repeat(46)}${number.toString(16).padStart(4, '0')}`

test('a withdrawal request of the wallet that deposited makes the validator exit, and a restart amid a burst of requests changes nothing', {
  timeout: 240_000,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'devnet-unstake-'))
  try {
    const directory = join(folder, 'first')
    const recorded = await (async () => {
      await using devnet = await openQuietDevnet(directory)
      await devnet.advanceTo(3)
      const pubkey = await depositFromWallet(devnet.executionUrl, NEW_VALIDATOR)
      const isOld = () => (validatorOf(devnet, pubkey)?.activationEpoch ?? FAR_FUTURE) + 3 <= devnet.headSlot / 32
      await advanceUntil(devnet, 20, isOld)
      expect(validatorOf(devnet, pubkey)?.exitEpoch).toBe(FAR_FUTURE)
      await devnet.advanceTo(beforeCheckpoint(devnet.headSlot))
      // A stranger may ask, and is not listened to; the validator's own request is the last of the burst.
      for (let number = 0; number < BURST; number++) {
        await sendFromWallet(devnet.executionUrl, WITHDRAWAL_REQUESTS_ADDRESS, request(stranger(number)), FEE_WEI)
      }
      await sendFromWallet(devnet.executionUrl, WITHDRAWAL_REQUESTS_ADDRESS, request(pubkey), FEE_WEI)
      await devnet.advanceTo(devnet.headSlot + 2)
      expect(validatorOf(devnet, pubkey)?.exitEpoch, 'while its request waits').toBe(FAR_FUTURE)
      await devnet.advanceTo(devnet.headSlot + 8)
      expect(validatorOf(devnet, pubkey)?.exitEpoch).toBeLessThan(FAR_FUTURE)
      return { roots: roots(devnet), slot: devnet.headSlot }
    })()
    const anew = join(folder, 'anew')
    await cp(directory, anew, { recursive: true })
    const archive = (await readdir(anew)).filter((name) => name.startsWith('devnet.sqlite'))
    expect(archive).not.toEqual([])
    for (const name of archive) await rm(join(anew, name))
    for (const each of [directory, anew]) {
      await using again = await openQuietDevnet(each)
      expect(again.headSlot === 0).toBe(each === anew)
      await again.advanceTo(recorded.slot)
      expect(roots(again)).toEqual(recorded.roots)
    }
  } finally {
    await rm(folder, { recursive: true })
  }
})
