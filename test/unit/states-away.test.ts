import { expect, test } from 'vitest'
import { AbsentState } from '../../infra/beacon/state-reader.ts'
import { STATES_AWAY_MS, StatesAway } from '../../infra/beacon/states-away.ts'
import type { Ask } from '../../infra/beacon/wide-tables.ts'
import type { ChainNode } from '../../infra/nodes/nodes.ts'
import { AppError } from '../../schemas/errors.ts'
import { silentLog } from './silent-log.ts'

type Answer = 'state' | 'absent' | 'away'

/** Two nodes that answer as it is said, the last one's fault being the group's, and a clock that the test moves. */
function twoNodes() {
  const clock = { ms: 0 }
  const answers: Answer[] = ['state', 'state']
  const away = new StatesAway({ log: silentLog, nodes: 2, now: () => clock.ms })
  let asked = 0
  const ask: Ask = async (_, question) => {
    let last: unknown
    for (const name of ['first', 'second']) {
      try {
        return await question({ name } as ChainNode)
      } catch (error) {
        last = error
      }
    }
    throw last
  }
  const read = () =>
    away.unlessAbsent(ask, (noting) =>
      noting('whole states', async ({ name }) => {
        asked++
        const answer = answers[name === 'first' ? 0 : 1]
        if (answer === 'absent') throw new AbsentState(`${name} does not have it`)
        if (answer === 'away') throw new AppError('node_unreachable', `${name} does not answer`, { retryable: true })
        return `of ${name}`
      }),
    )
  return { clock, answers, read, away, asked: () => asked }
}

test('where all nodes have no states, there are none, and for ten minutes none is asked for', async () => {
  const { clock, answers, read, away, asked } = twoNodes()
  answers.fill('absent')
  expect([await read(), await read(), asked(), away.isAbsent]).toEqual([undefined, undefined, 2, true])
  answers[1] = 'state'
  clock.ms += 599_999
  expect([await read(), asked()]).toEqual([undefined, 2])
  clock.ms += 1
  expect(await read()).toBe('of second')
})

test.each<[Answer, Answer]>([
  ['absent', 'away'],
  ['away', 'absent'],
])(
  'one node says %s and the other %s: the one that is away is waited for, half an hour and no longer',
  async (...said) => {
    const { clock, answers, read } = twoNodes()
    const say = (now: readonly Answer[]) => void answers.splice(0, 2, ...now)
    say(said)
    await expect(read()).rejects.toMatchObject({ code: 'node_unreachable', retryable: true })
    clock.ms += STATES_AWAY_MS - 1
    await expect(read()).rejects.toThrow(/is waited for 30 minutes/)
    say(['state', 'state'])
    expect(await read()).toBe('of first')
    // The time runs from the last state that was given.
    say(said)
    await expect(read()).rejects.toThrow(/is waited for/)
    clock.ms += STATES_AWAY_MS
    expect(await read()).toBeUndefined()
  },
)

test('while no node says that it has none, nodes that are away are waited for without end', async () => {
  const { clock, answers, read } = twoNodes()
  answers.fill('away')
  await expect(read()).rejects.toThrow(/second does not answer/)
  clock.ms += 10 * STATES_AWAY_MS
  await expect(read()).rejects.toThrow(/second does not answer/)
})
