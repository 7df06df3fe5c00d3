import { Type } from 'typebox'
import { Compile } from 'typebox/schema'
import type { Config } from '../infra/config/types.ts'
import { type Answerer, askControl, serveControl } from '../infra/control.ts'
import { AppError } from '../schemas/errors.ts'
import type { Watched } from './health.ts'
import type { Ports, Running } from './role.ts'
import { askTables, SettlementQuestion } from './settled-tables.ts'
import { readStatus } from './status.ts'
import { summedUsage, UsageQuestion } from './summed-usage.ts'
import { verdictOf } from './verify.ts'

const VerifyQuestion = Type.Object({
  command: Type.Literal('verify'),
  quiet: Type.Boolean(),
  chain: Type.Optional(Type.String()),
})
const StatusQuestion = Type.Object({ command: Type.Literal('status') })
const isVerify = Compile(VerifyQuestion)
const isStatus = Compile(StatusQuestion)
const isUsage = Compile(UsageQuestion)

/** Answered with a JSON line for each row; refused where that is not known. */
const isOfSettlements = Compile(SettlementQuestion)

/** What commands ask the program that holds the data folder: one process has the embedded engine. */
export type Question =
  | Type.Static<typeof VerifyQuestion>
  | Type.Static<typeof StatusQuestion>
  | SettlementQuestion
  | UsageQuestion

/** Asks the program that holds the data folder of the configuration, if one does: false when none does, or needs not to. */
export async function askRunning(
  config: Config,
  question: Question,
  options: { readonly print: (line: string) => void; readonly signal: AbortSignal },
): Promise<boolean> {
  return config.mode.kind === 'embedded' && (await askControl(config.dataDirectory, question, options))
}

/** Answers what commands ask, until disposed. */
export function answerCommands(
  ports: Ports,
  running: Watched & Pick<Running, 'config' | 'log'>,
): Promise<AsyncDisposable> {
  const answer: Answerer = async (question, print, signal) => {
    if (isVerify.Check(question)) return await verdictOf(ports, { ...question, mayBeProcessed: true, print, signal })
    if (isOfSettlements.Check(question)) {
      const rows = await askTables(ports, question, { waits: true, signal })
      for (const row of rows) await print(JSON.stringify(row))
      return
    }
    if (isUsage.Check(question)) {
      for (const row of await summedUsage(ports.warehouse, question)) await print(JSON.stringify(row))
      return
    }
    if (isStatus.Check(question)) return await print(JSON.stringify(await readStatus(ports, running, 'running')))
    throw new AppError('usage', 'The program that holds this data folder is of another release: stop it first.')
  }
  return serveControl(running.config.dataDirectory, answer, running.log)
}
