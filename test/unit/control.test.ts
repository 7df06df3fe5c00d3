import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Answerer, askControl, serveControl } from '../../infra/control.ts'
import { AppError } from '../../schemas/errors.ts'
import { untilAborted } from '../../schemas/wait.ts'
import { silentLog } from './silent-log.ts'

const never = new AbortController().signal
let folder = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'epochline-control-'))
})
afterEach(() => {
  rmSync(folder, { recursive: true })
})

async function ask(question: unknown, signal = never, place = folder) {
  const lines: string[] = []
  const isAnswered = await askControl(place, question, { print: (line) => lines.push(line), signal })
  return { isAnswered, lines }
}

const repeat: Answerer = async (question, print) => {
  for (const line of question as string[]) await print(line)
}

it('hands the lines of an answer to who asked, in order, however many', async () => {
  await using _server = await serveControl(folder, repeat, silentLog)
  const lines = Array.from({ length: 2_000 }, (_, i) => `line ${i} ${'é'.repeat(50)}`)
  expect(await ask(lines.slice(0, 300))).toEqual({ isAnswered: true, lines: lines.slice(0, 300) })
  const many: Answerer = async (_, print) => {
    for (const line of lines) await print(line)
  }
  const other = join(folder, 'other')
  await using _other = await serveControl(other, many, silentLog)
  const answers = await Promise.all([ask({}, never, other), ask({}, never, other)])
  for (const answer of answers) expect(answer).toEqual({ isAnswered: true, lines })
})

it('fails who asked with the error of the answer, after its lines', async () => {
  const lines: string[] = []
  await using _server = await serveControl(
    folder,
    async (_, print) => {
      await print('before')
      throw new AppError('warehouse', 'Not every figure holds.')
    },
    silentLog,
  )
  const asked = askControl(folder, {}, { print: (line) => lines.push(line), signal: never })
  await expect(asked).rejects.toMatchObject({ code: 'warehouse', message: 'Not every figure holds.' })
  expect(lines).toEqual(['before'])
})

it('goes on when an answer fails by a mistake of ours, which the log has and who asked is told of', async () => {
  const logged: string[] = []
  const log = { ...silentLog, error: (fields: object) => void logged.push(String(Reflect.get(fields, 'err'))) }
  const failing: Answerer = async (question, print) => {
    if (question === 'fail') throw new TypeError('no such thing')
    await print('well')
  }
  await using _server = await serveControl(folder, failing, log)
  await expect(ask('fail')).rejects.toThrow(/its log says why/)
  expect(logged).toEqual(['TypeError: no such thing'])
  expect(await ask('again')).toEqual({ isAnswered: true, lines: ['well'] })
})

it('is nobody where no program listens, or one has died there', async () => {
  expect(await ask({})).toEqual({ isAnswered: false, lines: [] })
  mkdirSync(join(folder, 'control'))
  const dead = createServer().listen(join(folder, 'control', 'socket'))
  await new Promise((resolve) => dead.on('listening', resolve))
  Object.assign(dead, { _handle: undefined }) // its socket file stays, as after kill -9
  await using _server = await serveControl(folder, repeat, silentLog)
  expect(await ask(['here'])).toEqual({ isAnswered: true, lines: ['here'] })
})

it('lets nobody but its owner in', async () => {
  await using _server = await serveControl(folder, repeat, silentLog)
  const modeOf = (path: string) => statSync(path).mode & 0o777
  expect([modeOf(join(folder, 'control')), modeOf(join(folder, 'control', 'socket'))]).toEqual([0o700, 0o600])
})

it('serves a folder whose name is too long for a socket', async () => {
  const long = join(folder, 'a'.repeat(60), 'b'.repeat(60))
  await using _server = await serveControl(long, repeat, silentLog)
  expect(await ask(['here'], never, long)).toEqual({ isAnswered: true, lines: ['here'] })
  expect((await ask(['here'])).isAnswered).toBe(false)
})

/** Where the socket of a folder with a long name lies. */
function sharedFolderOf(dataDirectory: string): string {
  return join(tmpdir(), `epochline-${createHash('sha256').update(dataDirectory).digest('hex').slice(0, 16)}`)
}

it('leaves nothing among the temporary files when it ends', async () => {
  const long = join(folder, 'a'.repeat(60), 'b'.repeat(60))
  const server = await serveControl(long, repeat, silentLog)
  expect(existsSync(sharedFolderOf(long))).toBe(true)
  await server[Symbol.asyncDispose]()
  expect(existsSync(sharedFolderOf(long))).toBe(false)
})

it.each([
  ['that everybody can read', (place: string) => mkdirSync(place, { mode: 0o755 })],
  ['that is a link to another one', (place: string) => symlinkSync(folder, place)],
  ['that is a file', (place: string) => writeFileSync(place, '')],
])('trusts no folder among the temporary files %s, neither to listen nor to ask', async (_, make) => {
  const long = join(folder, 'c'.repeat(60), 'd'.repeat(60))
  const place = sharedFolderOf(long)
  make(place)
  try {
    const refusal = { code: 'config', message: expect.stringContaining('only this user can use') }
    await expect(serveControl(long, repeat, silentLog)).rejects.toMatchObject(refusal)
    await expect(ask({}, never, long)).rejects.toMatchObject(refusal)
  } finally {
    rmSync(place, { recursive: true })
  }
})

it('ends although who asked reads nothing more', async () => {
  const pipes = () => process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap').length
  const before = pipes()
  const endless: Answerer = async (_, print) => {
    for (;;) await print('x'.repeat(100_000))
  }
  const server = await serveControl(folder, endless, silentLog)
  const stopped = connect(join(folder, 'control', 'socket'))
  stopped.pause()
  stopped.on('error', () => {})
  stopped.write('{}\n')
  await once(stopped, 'connect')
  while (pipes() < before + 2) await new Promise(setImmediate)
  await server[Symbol.asyncDispose]()
  // The connection's end of ours.
  expect(pipes()).toBeLessThanOrEqual(before + 1)
  stopped.destroy()
})

it('stops the answer when who asked has gone, and when the program ends', async () => {
  const stopped: unknown[] = []
  const begun = new Map(['gone', 'left'].map((name) => [name, Promise.withResolvers<void>()]))
  const wait: Answerer = async (question, _print, signal) => {
    begun.get(String(question))?.resolve()
    await untilAborted(signal)
    stopped.push(question)
    signal.throwIfAborted()
  }
  const server = await serveControl(folder, wait, silentLog)
  const stop = new AbortController()
  const gone = ask('gone', stop.signal)
  await begun.get('gone')?.promise
  stop.abort()
  await expect(gone).rejects.toBe(stop.signal.reason)
  while (stopped.length === 0) await new Promise(setImmediate)
  const left = ask('left')
  left.catch(() => {})
  await begun.get('left')?.promise
  await server[Symbol.asyncDispose]()
  await expect(left).rejects.toMatchObject({ code: 'usage' })
  expect(stopped).toEqual(['gone', 'left'])
})

it.each(['no json\n', '{"never": "ends"'])('refuses a question that is none (%j)', async (text) => {
  await using _server = await serveControl(folder, repeat, silentLog)
  const socket = connect(join(folder, 'control', 'socket'))
  socket.write(text.endsWith('\n') ? text : text + 'x'.repeat(70_000))
  let answer = ''
  for await (const piece of socket) answer += String(piece)
  expect(JSON.parse(answer)).toMatchObject({ end: { error: { code: 'usage' } } })
})
