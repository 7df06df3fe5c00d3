import type { Path } from './mistakes.ts'
import { NODE_URL } from './references.ts'
import type { FileChain } from './rules.ts'
import type { SettingReader } from './setting-reader.ts'
import type { ChainSource, ValidatorClientConfig } from './types.ts'

const EXAMPLES = { url: 'http://127.0.0.1:5062', token: 'file:/run/secrets/validator-client-token' }
/** What a header can hold. */
const TOKEN = /^[\x21-\x7e]{1,4096}$/

/** The validator client that runs a chain's validators: both its address and its token, or none. */
export function readValidatorClient(
  reader: SettingReader,
  path: Path,
  { client, source }: { readonly client: FileChain['validator_client']; readonly source: ChainSource },
): ValidatorClientConfig | undefined {
  if (client === undefined) return undefined
  if (source.kind !== 'beacon') {
    reader.refuseAt(path, 'is for chains with validators, which this one has not')
    return undefined
  }
  for (const name of ['url', 'token'] as const) {
    const isMissing = client[name] === undefined && !reader.isMistaken([...path, name])
    if (isMissing) reader.refuseAt([...path, name], `is missing; e.g. ${name}: ${EXAMPLES[name]}`)
  }
  if (client.url === undefined || client.token === undefined) return undefined
  const url = reader.fileUrl([...path, 'url'], client.url, { ...NODE_URL, example: EXAMPLES.url })
  const token = reader.fileSecret([...path, 'token'], client.token)
  if (token !== undefined && TOKEN.test(token)) return { url, token }
  if (token !== undefined) reader.refuseAt([...path, 'token'], 'refers to something that is not a token of one line')
  return undefined
}
