import { expect, it } from 'vitest'
import { answerReorg } from '../../commands/devnet-reorg.ts'

const never = new AbortController().signal

it('says which blocks of the second chain will not last', async () => {
  const lines: string[] = []
  const answer = answerReorg({ orphanSecond: (depth) => 100 + depth })
  await answer(
    { command: 'devnet reorg', depth: 60 },
    async (line) => {
      lines.push(line)
    },
    never,
  )
  expect(lines).toEqual([
    'the blocks 101 to 160 of the second chain will not last: with block 161 come others in their place',
  ])
})

it('refuses what another release asks', async () => {
  const answer = answerReorg({ orphanSecond: () => 0 })
  await expect(answer({ command: 'devnet sink' }, async () => {}, never)).rejects.toThrow('of another release')
})
