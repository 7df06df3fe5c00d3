import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmod, lstat, mkdir, rm, rmdir } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Type } from 'typebox'
import { Compile } from 'typebox/schema'
import { AppError, ERROR_CODES } from '../schemas/errors.ts'
import { settledOrAborted } from '../schemas/wait.ts'
import { OWNER_ONLY, OWNER_ONLY_FOLDER } from './owner-only.ts'
import type { Log } from './ports/log.ts'

// How a command asks the program that holds the data folder: a Unix-domain socket that only its owner can open. One question, a JSON
// line; then lines of the answer, and a last one that says how it ended.

/** Of a socket's address: 108 bytes on Linux, 104 elsewhere, with the zero at its end. */
const PATH_BYTES_MAX = 103
const QUESTION_BYTES_MAX = 64 * 1024
/** So long the last lines of an answer may take to be read when the program ends. */
const LAST_LINES_MS_MAX = 1_000

const isReply = Compile(
  Type.Union([
    Type.Object({ line: Type.String() }),
    Type.Object({
      end: Type.Object({
        error: Type.Optional(Type.Object({ code: Type.Enum([...ERROR_CODES]), message: Type.String() })),
      }),
    }),
  ]),
)

/** Answers one question, line by line; throws AppError for what cannot be answered, which reaches who has asked. */
export type Answerer = (question: unknown, print: (line: string) => Promise<void>, signal: AbortSignal) => Promise<void>

interface Place {
  readonly folder: string
  readonly socket: string
  /** Whether others can make files beside it. */
  readonly isShared: boolean
}

/** Where the program of a data folder listens. A folder with a very long name has its socket among the temporary files. */
function placeOf(dataDirectory: string): Place {
  const folder = join(resolve(dataDirectory), 'control')
  const socket = join(folder, 'socket')
  if (Buffer.byteLength(socket) <= PATH_BYTES_MAX) return { folder, socket, isShared: false }
  const name = createHash('sha256').update(resolve(dataDirectory)).digest('hex').slice(0, 16)
  const shared = join(tmpdir(), `epochline-${name}`)
  return { folder: shared, socket: join(shared, 'socket'), isShared: true }
}

/**
 * Listens for questions until disposed, which ends those that are being answered. To be called by the process that holds the data
 * folder: a socket that a dead one has left is replaced.
 */
export async function serveControl(dataDirectory: string, answer: Answerer, log: Log): Promise<AsyncDisposable> {
  const place = placeOf(dataDirectory)
  await makeOwnFolder(place)
  await rm(place.socket, { force: true })
  const ending = new AbortController()
  const running = new Set<Promise<void>>()
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    const run = serve(socket, { answer, log, ending: ending.signal }).finally(() => running.delete(run))
    running.add(run)
  })
  await listen(server, place.socket)
  await chmod(place.socket, OWNER_ONLY)
  return {
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve))
      ending.abort()
      await Promise.all(running)
      await settledOrAborted(closed, AbortSignal.timeout(LAST_LINES_MS_MAX))
      // Who does not read them, a stopped command say, must not keep the program from ending.
      for (const socket of sockets) socket.destroy()
      await rm(place.socket, { force: true })
      if (place.isShared) await rmdir(place.folder)
    },
  }
}

/** The folder is what keeps others out from the first moment: the socket gets its own rights only after it is there. */
async function makeOwnFolder(place: Place): Promise<void> {
  try {
    await mkdir(place.folder, { recursive: true, mode: OWNER_ONLY_FOLDER })
  } catch (error) {
    // Something that is no folder is judged below.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
  await requireOwnFolder(place)
  if (!place.isShared) await chmod(place.folder, OWNER_ONLY_FOLDER)
}

/**
 * Throws AppError `config` for a folder that somebody else may have put there, or put something into: what is found under a name
 * that everybody can use is not ours because it has this name. Rejects with ENOENT where there is none.
 */
async function requireOwnFolder({ folder, isShared }: Place): Promise<void> {
  const found = await lstat(folder)
  const isOwn = found.isDirectory() && found.uid === process.getuid?.()
  if (isOwn && (!isShared || (found.mode & 0o777) === OWNER_ONLY_FOLDER)) return
  throw new AppError(
    'config',
    `The folder for the socket of commands, ${folder}, is not one that only this user can use: remove it, or name another data ` +
      'folder.',
  )
}

async function listen(server: Server, path: string): Promise<void> {
  server.listen(path)
  try {
    await once(server, 'listening')
  } catch (cause) {
    throw new AppError('config', 'The data folder cannot hold a socket, through which commands ask the program.', {
      cause,
    })
  }
}

interface Serving {
  readonly answer: Answerer
  readonly log: Log
  readonly ending: AbortSignal
}

/** Never rejects: nobody waits for it who could do anything about it. */
async function serve(socket: Socket, { answer, log, ending }: Serving): Promise<void> {
  const gone = new AbortController()
  socket.on('close', () => gone.abort())
  socket.on('error', () => gone.abort()) // who asked is gone: nobody is left to be told
  const outcome = await outcomeOf(socket, { answer, log, signal: AbortSignal.any([gone.signal, ending]) })
  if (!socket.destroyed) socket.end(`${JSON.stringify({ end: outcome })}\n`)
}

interface Asked extends Omit<Serving, 'ending'> {
  readonly signal: AbortSignal
}

async function outcomeOf(socket: Socket, { answer, log, signal }: Asked) {
  try {
    const question = await readQuestion(socket, signal)
    await answer(question, (line) => send(socket, { line }, signal), signal)
    return {}
  } catch (error) {
    if (error instanceof AppError) return { error: { code: error.code, message: error.message } }
    if (signal.aborted) return { error: { code: 'usage', message: 'The program is being stopped: ask again.' } }
    log.error({ err: error }, 'a command could not be answered')
    return { error: { code: 'warehouse', message: 'The program could not answer: its log says why.' } }
  }
}

async function readQuestion(socket: Socket, signal: AbortSignal): Promise<unknown> {
  let text = ''
  for await (const [piece] of streamOf(socket, signal)) {
    text += String(piece)
    if (text.includes('\n')) return parseLine(text.slice(0, text.indexOf('\n')))
    if (text.length > QUESTION_BYTES_MAX) break
  }
  throw new AppError('usage', 'The question is not one JSON line.')
}

async function* streamOf(socket: Socket, signal: AbortSignal): AsyncGenerator<unknown[]> {
  for (;;) yield await once(socket, 'data', { signal })
}

function parseLine(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new AppError('usage', 'The question is not one JSON line.', { cause })
  }
}

/** Resolves when there is room for the next one, so that a slow reader does not fill the memory. */
async function send(socket: Socket, reply: object, signal: AbortSignal): Promise<void> {
  if (socket.destroyed || socket.write(`${JSON.stringify(reply)}\n`)) return
  await once(socket, 'drain', { signal })
}

interface Asking {
  readonly print: (line: string) => void
  readonly signal: AbortSignal
  /** What is thrown when the program ends in the middle of its answer. */
  readonly cut?: () => AppError
}

const endedBefore = (): AppError => new AppError('usage', 'The program ended before it had answered: ask again.')

/**
 * Asks the program that holds the data folder, and hands out the lines of its answer. False when none listens. Throws the AppError
 * that it answered with; rejects with the signal's reason when it aborts.
 */
export async function askControl(dataDirectory: string, question: unknown, options: Asking): Promise<boolean> {
  const socket = await connectTo(placeOf(dataDirectory))
  if (socket === undefined) return false
  const stop = (): void => void socket.destroy()
  options.signal.addEventListener('abort', stop)
  try {
    socket.write(`${JSON.stringify(question)}\n`)
    for await (const text of linesOf(socket)) {
      const reply: unknown = JSON.parse(text)
      if (!isReply.Check(reply)) break
      if ('line' in reply) options.print(reply.line)
      else if (reply.end.error === undefined) return true
      else throw new AppError(reply.end.error.code, reply.end.error.message)
    }
    options.signal.throwIfAborted()
    throw (options.cut ?? endedBefore)()
  } finally {
    options.signal.removeEventListener('abort', stop)
    socket.destroy()
  }
}

/** Ends with the connection, however that ends: what is missing then, the reader sees. */
async function* linesOf(socket: Socket): AsyncGenerator<string> {
  socket.setEncoding('utf8')
  let rest = ''
  try {
    for await (const piece of socket) {
      const lines = `${rest}${String(piece)}`.split('\n')
      rest = lines.pop() ?? ''
      yield* lines
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
  }
}

/** Undefined when there is no socket, or nobody behind it. */
async function connectTo(place: Place): Promise<Socket | undefined> {
  try {
    await requireOwnFolder(place)
    const socket = connect(place.socket)
    await once(socket, 'connect')
    return socket
  } catch (error) {
    if (error instanceof AppError) throw error
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ENOTDIR') return undefined
    throw new AppError('usage', `The program that holds this data folder cannot be asked (${String(code)}).`, {
      cause: error,
    })
  }
}
