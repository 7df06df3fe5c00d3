import { AppError } from '../../schemas/errors.ts'
import { slipsBetween } from '../../schemas/slips.ts'

/** Where a setting stands in the file: keys, and positions in lists. */
export type Path = readonly (string | number)[]

/** What is wrong, in words that repeat no value of the file: it may be a secret in the wrong place. */
export interface Mistake {
  /** Absent: the mistake is in a variable, which the sentence names, or in the file as a whole. */
  readonly path?: Path
  readonly line?: number
  readonly sentence: string
}

/** Keys that look like keys, like `ton/mainnet/v2` or host names; another one may be an address that lost its quotes. */
const SHOWN_KEY =
  /^([A-Za-z0-9_-]{1,64}|[a-z0-9]{1,16}(\/[a-z0-9]{1,16}){1,2}|[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63}){1,4})$/

/** `chains.mainnet.beacon.urls[0]` */
export function formatPath(path: Path): string {
  const parts = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${SHOWN_KEY.test(part) ? part : '?'}`))
  return parts.join('').replace(/^\./, '')
}

/** Whether something is already said of this place or of one around it. */
export function isMistaken(mistakes: readonly Mistake[], path: Path): boolean {
  return mistakes.some(
    ({ path: other }) => other !== undefined && other.length > 0 && other.every((part, index) => part === path[index]),
  )
}

/** All mistakes as one AppError `config`: a line each, those of the file by line and path. */
export function toConfigError(fileName: string, mistakes: readonly Mistake[]): AppError {
  const inFile = mistakes.filter(({ path, line }) => path !== undefined || line !== undefined)
  const others = mistakes.filter((mistake) => !inFile.includes(mistake))
  const lines = inFile
    .toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0))
    .map(({ path, line, sentence }) => {
      const place = line === undefined ? fileName : `${fileName}:${line}`
      return path === undefined || path.length === 0
        ? `${place}: ${sentence}`
        : `${place}: ${formatPath(path)}: ${sentence}`
    })
  return new AppError('config', [...lines, ...others.map(({ sentence }) => sentence)].join('\n'))
}

/** One typing error in three letters still means the same word. */
const LETTERS_PER_SLIP = 3

/** The name that was most likely meant, in whatever way its words are joined; with at most so many typing errors if that is said. */
export function nearestName(name: string, names: readonly string[], slipsMax?: number): string | undefined {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  const near = names
    .map((candidate) => ({ candidate, slips: slipsBetween(plain(name), plain(candidate)) }))
    .filter(({ candidate, slips }) => slips <= (slipsMax ?? Math.ceil(candidate.length / LETTERS_PER_SLIP)))
    .toSorted((a, b) => a.slips - b.slips)
  return near[0]?.candidate
}
