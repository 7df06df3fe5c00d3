import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { type EventCounts, rareEvents, sumEvents } from '../transition/history-events.ts'

const SCRIPT = join(import.meta.dirname, '../transition/tell-histories.ts')
const OUTPUT_BYTES_MAX = 64 * 1024 ** 2
const SEEDS = ['0', '1', '2', '3', '4', '5']

interface Told {
  readonly seed: string
  readonly digest: string
  readonly forks: readonly string[]
  readonly blocks: number
  readonly unexplained: number
  readonly events: readonly EventCounts[]
}

/** Histories of the minimal preset, which this process was not started with; every root is compared with the reference's own. */
async function tell(seeds: readonly string[]): Promise<Told[]> {
  const env = { ...process.env, LODESTAR_PRESET: 'minimal' }
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, ...seeds], {
    env,
    maxBuffer: OUTPUT_BYTES_MAX,
  })
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Told)
}

describe('random histories of a beacon chain', () => {
  let told: Told[]

  beforeAll(async () => {
    told = await tell([...SEEDS, SEEDS[0] as string])
  })

  it('are the same for the same seed and others for others', () => {
    const digests = told.map(({ digest }) => digest)
    expect(digests.at(-1)).toBe(digests[0])
    expect(new Set(digests).size).toBe(SEEDS.length)
  })

  it('go through every fork', () => {
    for (const { seed, forks } of told) {
      expect(forks, `seed ${seed}`).toEqual(['altair', 'bellatrix', 'capella', 'deneb', 'electra', 'fulu'])
    }
  })

  it('explain every gwei of every balance from one state to the next', () => {
    for (const { seed, blocks, unexplained } of told) {
      expect(blocks, `seed ${seed}`).toBeGreaterThan(100)
      expect(unexplained, `seed ${seed}`).toBe(0)
    }
  })

  it('meet every listed event', () => {
    expect(rareEvents(sumEvents(told.flatMap(({ events }) => events)), 1)).toEqual([])
  })
})
