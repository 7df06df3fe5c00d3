import { nearestName } from '../../infra/config/mistakes.ts'
import { AppError } from '../../schemas/errors.ts'

interface NamingOption {
  /** As it is written: `--scope`. */
  readonly option: string
  /** For the end of the sentence: `no token was created`. */
  readonly nothingDone: string
}

/** Those of the names that are named, each once. Throws AppError `usage` for another one. */
export function checkedNames<Name extends string>(
  { option, nothingDone }: NamingOption,
  named: readonly string[],
  names: readonly Name[],
): Name[] {
  const wrong = named.find((one) => !(names as readonly string[]).includes(one))
  if (wrong === undefined) return names.filter((name) => named.includes(name))
  const meant = nearestName(wrong, names)
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`
  throw new AppError(
    'usage',
    `${option} is a list of ${names.join(', ')}, and ${JSON.stringify(wrong)} is none of them: ${nothingDone}.${hint}`,
  )
}
