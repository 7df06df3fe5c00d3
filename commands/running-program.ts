import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Config } from '../infra/config/types.ts'
import { askControl, serveControl } from '../infra/control.ts'
import { AppError } from '../schemas/errors.ts'
import type { Ports, Running } from './role.ts'
import { verdictOf } from './verify.ts'

const VerifyQuestion = Type.Object({
  command: Type.Literal('verify'),
  quiet: Type.Boolean(),
  chain: Type.Optional(Type.String()),
})
const isVerify = Compile(VerifyQuestion)

/** What commands ask the program that holds the data folder: one process has the embedded engine. */
export type Question = Type.Static<typeof VerifyQuestion>

/** Asks the program that holds the data folder of the configuration, if one does: false when none does, or needs not to. */
export async function askRunning(
  config: Config,
  question: Question,
  options: { readonly print: (line: string) => void; readonly signal: AbortSignal },
): Promise<boolean> {
  return config.mode.kind === 'embedded' && (await askControl(config.dataDirectory, question, options))
}

/** Answers what commands ask, until disposed. */
export function answerCommands(ports: Ports, running: Running): Promise<AsyncDisposable> {
  return serveControl(running.config.dataDirectory, async (question, print, signal) => {
    if (isVerify.Check(question)) return await verdictOf(ports, { ...question, mayBeProcessed: true, print, signal })
    throw new AppError('usage', 'The program that holds this data folder is of another release: stop it first.')
  })
}
