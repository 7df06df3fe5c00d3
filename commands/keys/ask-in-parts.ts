import type { Setting } from '../setting.ts'
import { askKeys } from './ask-keys.ts'
import { ASKED_KEYS_MAX, type KeyAnswer, type KeyQuestion } from './key-question.ts'

type QuestionOf = (pubkeys: string[]) => KeyQuestion

/**
 * Asks for more keys than one question names. Whether any part would be refused is asked for all of them first, so that a refusal is of
 * the whole: one question does all that it names or nothing.
 */
export async function askInParts(
  setting: Setting,
  {
    pubkeys,
    check,
    ask,
  }: { readonly pubkeys: readonly string[]; readonly check: QuestionOf; readonly ask: QuestionOf },
  print: (answer: KeyAnswer) => Promise<void>,
): Promise<void> {
  const count = Math.ceil(pubkeys.length / ASKED_KEYS_MAX)
  const parts = Array.from({ length: count }, (_, at) => pubkeys.slice(at * ASKED_KEYS_MAX, (at + 1) * ASKED_KEYS_MAX))
  if (parts.length > 1) for (const part of parts) await askKeys(setting, check(part), print)
  for (const part of parts) await askKeys(setting, ask(part), print)
}
