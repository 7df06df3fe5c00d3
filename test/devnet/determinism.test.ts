import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ssz } from '@lodestar/types'
import { expect, test } from 'vitest'
import { createDevnetConfig } from '../../infra/devnet/consensus/chain-config.ts'
import { createSigner } from '../../infra/devnet/consensus/signer.ts'
import { devnetGenesisTime } from '../../infra/devnet/genesis-time.ts'
import type { Devnet } from '../../infra/devnet/open.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { dayOfSlot, firstSlotOfDay, formatDay, formatLocalTime, slotTimeSec } from '../../schemas/eth/time.ts'
import { GENESIS_TIME_SEC, openShortDevnet } from './short-history.ts'

const SLOTS = 200

function roots(devnet: Devnet): readonly string[] {
  return Array.from({ length: devnet.headSlot + 1 }, (_, slot) => {
    const record = devnet.history.slot(slot)
    return `${record?.block?.root ?? 'missed'} ${record?.stateRoot}`
  })
}

async function rootsOf(seed: string): Promise<readonly string[]> {
  await using devnet = await openShortDevnet({ seed })
  await devnet.advanceTo(SLOTS)
  return roots(devnet)
}

test('the same seed and genesis time give the same chain, another seed another one', async () => {
  const first = await rootsOf('a')
  expect(await rootsOf('a')).toEqual(first)
  expect((await rootsOf('b')).filter((root, slot) => root === first[slot])).toEqual([])
})

test('a restarted devnet repeats the chain with the exit that came from outside, and goes on', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'devnet-'))
  try {
    const validator = 60
    const recorded = await (async () => {
      await using devnet = await openShortDevnet({ directory })
      await devnet.advanceTo(130)
      const exit = await signedExit(devnet, validator, 4)
      const response = await fetch(`${devnet.beaconUrl}/eth/v1/beacon/pool/voluntary_exits`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(exit),
      })
      expect(response.status).toBe(200)
      await devnet.advanceTo(SLOTS)
      expect(devnet.history.head.registry[validator]?.exitEpoch).toBeLessThan(20)
      return roots(devnet)
    })()
    await using again = await openShortDevnet({ directory })
    await again.advanceTo(SLOTS + 10)
    expect(roots(again).slice(0, SLOTS + 1)).toEqual(recorded)
  } finally {
    await rm(directory, { recursive: true })
  }
})

test('a directory of another chain is refused with what differs', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'devnet-'))
  try {
    await (await openShortDevnet({ directory }))[Symbol.asyncDispose]()
    await expect(openShortDevnet({ directory, seed: 'other' })).rejects.toThrow(
      'its seed is short, asked for by DEVNET_SEED is other',
    )
  } finally {
    await rm(directory, { recursive: true })
  }
})

test('a directory that a devnet is in is refused to another one, until the first has left it', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'devnet-'))
  try {
    await (async () => {
      await using _ = await openShortDevnet({ directory })
      const refusal = { code: 'usage', message: expect.stringContaining(`in use by process ${process.pid}`) }
      await expect(openShortDevnet({ directory })).rejects.toMatchObject(refusal)
    })()
    await using again = await openShortDevnet({ directory })
    expect(again.headSlot).toBe(0)
  } finally {
    await rm(directory, { recursive: true })
  }
})

async function signedExit(devnet: Devnet, validatorIndex: number, epoch: number) {
  const { chainId, depositContractAddress, clock } = devnet
  const facts = { genesisTimeSec: clock.genesisTimeSec, chainId, depositContractAddress, validators: 128 }
  const state = ssz.fulu.BeaconState.deserialize(devnet.stateBytes(0))
  const signer = createSigner('any', createDevnetConfig(facts, state.genesisValidatorsRoot))
  const message = { validatorIndex, epoch }
  return ssz.phase0.SignedVoluntaryExit.toJson({ message, signature: signer.voluntaryExit(message) })
}

test('the state as of any slot comes back from blocks with the root that the chain had', async () => {
  await using devnet = await openShortDevnet()
  await devnet.advanceTo(110)
  for (const slot of [0, 1, 31, 32, 50, 51, 64, 95, 104, 110]) {
    const root = hexOf(ssz.fulu.BeaconState.deserializeToViewDU(devnet.stateBytes(slot)).hashTreeRoot())
    expect(root, `slot ${slot}`).toBe(devnet.history.slot(slot)?.stateRoot)
  }
})

const INSTANTS = ['2026-11-20T00:30:00Z', '2026-11-20T15:59:59Z', '2026-11-20T16:00:00Z', '2027-01-01T12:00:00Z']
test.each(INSTANTS.flatMap((instant) => [4, 12, 48].map((secondsPerSlot) => [instant, secondsPerSlot] as const)))(
  'at %s two complete days of slots of %i s lie between genesis and today',
  (instant, secondsPerSlot) => {
    const nowSec = Date.parse(instant) / 1000
    const clock = { genesisTimeSec: devnetGenesisTime(nowSec, secondsPerSlot), secondsPerSlot, slotsPerEpoch: 32 }
    const today = formatLocalTime(nowSec).slice(0, 10)
    const genesisDay = dayOfSlot(clock, 0)
    expect(formatDay(genesisDay + 3)).toBe(today)
    const first = firstSlotOfDay(clock, genesisDay + 1)
    expect([first, first % 32, slotTimeSec(clock, first) % secondsPerSlot]).toEqual([
      303,
      15,
      Math.min(11, secondsPerSlot - 1),
    ])
  },
)

test('follow mode catches up with the clock, then plays the next slot when it begins', async () => {
  const startedMs = performance.now()
  const startSec = GENESIS_TIME_SEC + 41 * 12 - 0.3 // the last moments of slot 40
  const heads: number[] = []
  const reached = Promise.withResolvers<void>()
  await using devnet = await openShortDevnet({
    clock: 'follow',
    now: () => startSec + (performance.now() - startedMs) / 1000,
    onProgress: ({ slot, targetSlot }) => {
      if (slot === targetSlot) heads.push(slot)
      if (slot === 41) reached.resolve()
    },
  })
  await reached.promise
  expect(heads.at(-1)).toBe(41)
  expect(devnet.headSlot).toBe(41)
  expect(performance.now() - startedMs).toBeGreaterThan(300)
})
