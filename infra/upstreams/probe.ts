import { probedValue } from '../../schemas/protocols/probe-value.ts'
import type { Probe } from '../../schemas/protocols/protocol.ts'
import type { HttpUpstream } from './http-upstream.ts'

const ANSWER_BYTES_MAX = 256 * 1024
const ANSWER_MS_MAX = 5_000

/**
 * What the upstream answers to each of the probes, as text: numbers in decimal. Undefined: nothing of that form, or nothing in time.
 * What several of them find in one answer is asked for once.
 */
export async function askProbes(
  upstream: HttpUpstream,
  probes: readonly (Probe | undefined)[],
): Promise<readonly (string | undefined)[]> {
  const answers = new Map<string, Promise<unknown>>()
  return await Promise.all(
    probes.map(async (probe) => {
      if (probe === undefined) return undefined
      const question = JSON.stringify([probe.verb, probe.path, probe.body])
      const answer = answers.get(question) ?? ask(upstream, probe)
      answers.set(question, answer)
      return probedValue(await answer, probe)
    }),
  )
}

async function ask(upstream: HttpUpstream, probe: Probe): Promise<unknown> {
  const body = await readAnswer(upstream, probe)
  if (body === undefined) return undefined
  try {
    return JSON.parse(body)
  } catch {
    // What is no JSON is no answer to a probe.
    return undefined
  }
}

function readAnswer(upstream: HttpUpstream, { verb, path, body }: Probe): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const chunks: Buffer[] = []
  let bytes = 0
  const timer = setTimeout(() => end(undefined), ANSWER_MS_MAX)
  const end = (text: string | undefined): void => {
    clearTimeout(timer)
    resolve(text)
    cancel()
  }
  const cancel = upstream.send(
    {
      verb,
      path,
      headers: ['accept', 'application/json', ...(body === undefined ? [] : ['content-type', 'application/json'])],
      body: body === undefined ? null : Buffer.from(JSON.stringify(body)),
      isEndless: false,
    },
    {
      onHeaders: () => {},
      onData(chunk) {
        bytes += chunk.length
        if (bytes > ANSWER_BYTES_MAX) end(undefined)
        else chunks.push(chunk)
      },
      onEnd() {
        end(Buffer.concat(chunks).toString())
        return true
      },
      onFault: () => end(undefined),
    },
  )
  return promise
}
