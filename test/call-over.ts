import { type Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'

/** One call over a connection that the agent keeps: its answer, or the code of what is wrong with the connection where there is none. */
export function callOver(agent: Agent, url: string, body: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const asked = request(url, { method: 'POST', agent }, (response) => resolve(text(response)))
  asked.on('error', (error) => resolve(`${Reflect.get(error, 'code')}`))
  asked.end(body)
  return promise
}
