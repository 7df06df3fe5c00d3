import { Type } from 'typebox'
import { Compile } from 'typebox/schema'
import { type Answerer, askControl } from '../infra/control.ts'
import type { Devnet } from '../infra/devnet/open.ts'
import { AppError } from '../schemas/errors.ts'
import { devnetDirectory } from './devnet-directory.ts'
import type { Setting } from './setting.ts'

const Question = Type.Object({ command: Type.Literal('devnet reorg'), depth: Type.Integer() })
const isQuestion = Compile(Question)

export interface ReorgOptions {
  /** Decimal text. */
  readonly depth: string
}

/** `epochline devnet reorg`: has the running devnet's second chain take back its newest blocks. */
export async function reorgDevnet({ config, screen, signal }: Setting, { depth }: ReorgOptions): Promise<void> {
  const question = { command: 'devnet reorg' as const, depth: Number(depth) }
  if (!isQuestion.Check(question)) throw new AppError('usage', '--depth is a number of blocks.')
  const print = (line: string): void => screen.print(`${line}\n`)
  if (await askControl(devnetDirectory(config.dataDirectory), question, { print, signal })) return
  throw new AppError(
    'usage',
    'No devnet runs in this data folder: start one with `npm start` or `npm run devnet`, or name its folder.',
  )
}

export function isReorg(question: unknown): question is Type.Static<typeof Question> {
  return isQuestion.Check(question)
}

/** Answers what `reorgDevnet` asks. */
export function answerReorg(devnet: Pick<Devnet, 'orphanSecond'>): Answerer {
  return async (question, print) => {
    if (!isReorg(question)) throw new AppError('usage', 'The devnet is of another release: stop it first.')
    const { depth } = question
    const after = devnet.orphanSecond(depth)
    await print(
      `the blocks ${after - depth + 1} to ${after} of the second chain will not last: with block ${after + 1} come others in their place`,
    )
  }
}
