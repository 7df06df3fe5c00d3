import { Type } from 'typebox'

const ANY = 'any'
/** So did the first callers say all, and none. */
const FLAGS = { all: 'true', none: 'false' } as const

/** Which rows are left out for what is odd about them. `consequence` is what becomes of pages, as a sentence. */
export function withoutReasons(codes: readonly string[], consequence: string) {
  const words = [...codes, ANY, FLAGS.all, FLAGS.none]
  return Type.Optional(
    Type.Array(Type.Enum(words, { 'x-form': 'text' }), {
      maxItems: words.length,
      description: `Leaves out rows with any of these \`reasons\`: ${codes.map((code) => `\`${code}\``).join(', ')}; \`${ANY}\` and \`${FLAGS.all}\` are all of them. ${consequence}`,
    }),
  )
}

/** The codes that were asked for. */
export function askedReasons<Code extends string>(
  asked: readonly string[] = [],
  codes: readonly Code[],
): readonly Code[] {
  return asked.includes(ANY) || asked.includes(FLAGS.all) ? codes : codes.filter((code) => asked.includes(code))
}

/** The same for all ways to ask for the same codes; of one that comes to be later, `any` alone asks. */
export function meantReasons(asked: readonly string[]): readonly string[] {
  return asked.includes(ANY) || asked.includes(FLAGS.all) ? [ANY] : asked.filter((word) => word !== FLAGS.none)
}
