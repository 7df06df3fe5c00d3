import { text } from 'node:stream/consumers'
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { selectChain } from '../../infra/config/select-chain.ts'
import { AppError } from '../../schemas/errors.ts'
import type { Setting } from '../setting.ts'
import type { KeysOfChain } from './ownership-rules.ts'

/** 48 bytes, as the API takes them: with 0x or without, in either case. */
const PUBKEY = /^(?:0x)?([0-9a-f]{96})$/i
/** Columns of a line, quoted or not. */
const BETWEEN_COLUMNS = /[\s,;"']+/
const COMMENT = /#.*$/
const SHOWN_CHARACTERS = 20

/** The chain that is meant, and the public keys of the arguments or of standard input, each once. Throws AppError `usage`. */
export async function readKeys(
  setting: Setting,
  chainName: string | undefined,
  args: readonly string[],
): Promise<KeysOfChain> {
  const chain = selectChain(setting.config, chainName, 'beacon').names.name
  const pubkeys =
    args.length > 0 ? parseKeys(args, 'argument') : parseKeys((await text(process.stdin)).split('\n'), 'line')
  if (pubkeys.length === 0)
    throw new AppError('usage', 'No public keys: name them as arguments or one per line on standard input.')
  return { chain, pubkeys }
}

/**
 * The keys of lines, lower-case with 0x, each once: one a line, in whatever column; comments (`#`), blank lines and a first line of
 * headings are passed over. Throws AppError `usage` for a line without a key, or whose key is none of the signature scheme.
 */
export function parseKeys(lines: readonly string[], what: 'argument' | 'line'): readonly string[] {
  const keys = new Set<string>()
  for (const [index, line] of lines.entries()) {
    const columns = line
      .replace(COMMENT, '')
      .split(BETWEEN_COLUMNS)
      .filter((column) => column !== '')
    const found = columns.flatMap((column) => PUBKEY.exec(column)?.[1]?.toLowerCase() ?? [])
    if (found.length === 0 && (columns.length === 0 || (what === 'line' && index === 0 && isHeading(columns)))) continue
    const place = `${what} ${index + 1}`
    const [wrong = ''] = columns
    if (found.length === 0) throw noKey(place, wrong, 'is not a BLS public key: 96 hex digits, with 0x or without')
    for (const key of found) {
      if (!isPoint(key))
        throw noKey(place, `0x${key}`, 'has the form of a public key and is none: no point of BLS12-381')
      keys.add(`0x${key}`)
    }
  }
  return [...keys]
}

/** `pubkey,label`: words, not a key that is too short. */
function isHeading(columns: readonly string[]): boolean {
  return columns.every(
    (column) => /^[a-z][\w-]*$/i.test(column) && !/^(0x)?[0-9a-f]{16,}$/i.test(column) && !/^0x/i.test(column),
  )
}

function noKey(place: string, text: string, why: string): AppError {
  const shown = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text
  return new AppError('usage', `${place}: ${JSON.stringify(shown)} ${why}; nothing was changed.`)
}

/** On the curve, in the subgroup of its signatures, and not the point at infinity: what a validator's key has to be. */
function isPoint(hex: string): boolean {
  try {
    const point = bls12_381.G1.Point.fromHex(hex)
    point.assertValidity()
    return !point.is0()
  } catch {
    return false
  }
}
