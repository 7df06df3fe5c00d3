import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { eventually, freePort } from '../e2e/processes.ts'

const START_MS = 60_000

export interface ServerChild extends AsyncDisposable {
  readonly url: string
  /** What the process says of itself. */
  ask<Answer>(): Promise<Answer>
}

/** A program of this folder that serves the API in a process of its own, once it answers. It ends when it is told to stop. */
export async function startServerChild(file: string, env: Readonly<Record<string, string>>): Promise<ServerChild> {
  const port = await freePort()
  const child = fork(join(import.meta.dirname, file), {
    env: { PATH: process.env.PATH, ...env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const url = `http://127.0.0.1:${port}`
  const answers = () =>
    fetch(`${url}/health`).then(
      ({ ok }) => (ok ? true : undefined),
      () => undefined,
    )
  await eventually('the answer of the server', answers, START_MS)
  return {
    url,
    async ask<Answer>() {
      child.send('ask')
      const [answer] = await once(child, 'message')
      return answer as Answer
    },
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit')
      child.send('stop')
      await exited
    },
  }
}
