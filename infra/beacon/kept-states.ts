import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolders, syncFolder } from '../durable-folder.ts'
import { OWNER_ONLY } from '../owner-only.ts'
import type { Log } from '../ports/log.ts'
import { decodeKeptState, encodeKeptState } from './kept-state-file.ts'
import type { ReadState, StatePlace } from './state-reader.ts'

/** Of one branch: mainnet has never been without finality for as many epochs. */
export const KEPT_STATES_MAX = 64
/** What all kept states of a chain take on the disk: those of the longest time without finality, of mainnet with twice its validators. */
export const KEPT_BYTES_MAX = 4 * 2 ** 30

export interface KeptStatesOptions {
  /** Of one chain, and of nobody else. */
  readonly folder: string
  readonly log: Log
  readonly statesMax?: number
  readonly bytesMax?: number
}

interface KeptFile extends StatePlace {
  readonly name: string
}

/** Files of other versions of the format have other names: who asks whether a state is kept is not told of one that cannot be read. */
const SUFFIX = '.state2'
const NAME = /^(\d+)-([0-9a-f]{64})-([0-9a-f]{64})\.state2$/
const OF_OTHER_VERSION = /\.state\d*$/
const UNFINISHED = '.unfinished'

/**
 * States that are not final yet, as files of their columns: one each, named by its slot, the last block of its branch, and its root. A
 * file is whole when it has its name. Beyond a limit no more are taken, because the oldest ones are needed first, and nodes drop all of them
 * at the same time. What the disk does is no reason to stop: whatever is not here is asked of a node.
 */
export class KeptStates {
  readonly #options: Required<KeptStatesOptions>
  #isFullTold = false

  constructor(options: KeptStatesOptions) {
    this.#options = { statesMax: KEPT_STATES_MAX, bytesMax: KEPT_BYTES_MAX, ...options }
  }

  async has(place: StatePlace): Promise<boolean> {
    return (await this.#find(place)) !== undefined
  }

  /** Undefined where it is not kept, or its file is damaged: then it is told and forgotten. */
  async get(place: StatePlace): Promise<ReadState | undefined> {
    const found = await this.#find(place)
    if (found === undefined) return undefined
    try {
      const state = await decodeKeptState(await readFile(this.#pathOf(found)))
      if (state.slot === place.slot && state.blockRoot === place.blockRoot) return state
      throw new Error('it is of another state')
    } catch (error) {
      const { slot } = place
      this.#options.log.warn(
        { slot, reason: reasonOf(error) },
        `the kept state of slot ${slot} cannot be read and is dropped`,
      )
      await this.#remove(found)
      return undefined
    }
  }

  /** Whether there is room for another one as large as the largest; told once when there is none any more. */
  async hasRoom(): Promise<boolean> {
    return this.#hasRoomFor((await this.#sizes()).reduce((most, size) => Math.max(most, size), 0))
  }

  /** Resolves when the file is on the disk; false where there is no room for it, or the disk refuses it. */
  async put(state: ReadState): Promise<boolean> {
    const pieces = await encodeKeptState(state)
    const bytes = pieces.reduce((sum, { length }) => sum + length, 0)
    if (!(await this.#hasRoomFor(bytes))) return false
    const { folder, log } = this.#options
    const { slot } = state
    const path = join(folder, nameOf(state))
    try {
      makeFolders(folder)
      await this.#sweep()
      const file = await open(`${path}${UNFINISHED}`, 'w', OWNER_ONLY)
      try {
        for (const piece of pieces) await file.appendFile(piece)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(`${path}${UNFINISHED}`, path)
      syncFolder(folder)
    } catch (error) {
      log.warn(
        { slot, reason: reasonOf(error) },
        `the state of slot ${slot} cannot be kept: it is asked for again when it is final`,
      )
      return false
    }
    log.debug({ slot, bytes, ...(await this.figures()) }, `the state of slot ${slot} is kept until it is final`)
    return true
  }

  /** Forgets all before a place, and what another branch has in its slot. */
  async dropBefore({ slot, blockRoot }: StatePlace): Promise<void> {
    const isPast = (file: KeptFile) => file.slot < slot || (file.slot === slot && file.blockRoot !== blockRoot)
    const past = (await this.#files()).filter(isPast)
    for (const file of past) await this.#remove(file)
    if (past.length > 0) this.#isFullTold = false
  }

  async forget(place: StatePlace): Promise<void> {
    const found = await this.#find(place)
    if (found !== undefined) await this.#remove(found)
  }

  /** How many are kept, and what they take. */
  async figures(): Promise<{ readonly kept: number; readonly keptBytes: number }> {
    const sizes = await this.#sizes()
    return { kept: sizes.length, keptBytes: sizes.reduce((sum, size) => sum + size, 0) }
  }

  async #sizes(): Promise<readonly number[]> {
    const files = await this.#files()
    return Promise.all(files.map((file) => sizeOf(this.#pathOf(file))))
  }

  async #hasRoomFor(bytes: number): Promise<boolean> {
    const { statesMax, bytesMax, log } = this.#options
    const figures = await this.figures()
    if (figures.kept < statesMax && figures.keptBytes + bytes <= bytesMax) return true
    if (!this.#isFullTold)
      log.warn(
        { ...figures, statesMax, bytesMax },
        `${figures.kept} states that are not final are kept, and no more: later ones are asked for when they are final`,
      )
    this.#isFullTold = true
    return false
  }

  async #find(place: StatePlace): Promise<KeptFile | undefined> {
    return (await this.#files()).find(({ slot, blockRoot }) => slot === place.slot && blockRoot === place.blockRoot)
  }

  /** What a kill has left, as one state is written at a time, and what another version has. */
  async #sweep(): Promise<void> {
    const { folder } = this.#options
    const isLeft = (name: string) => name.endsWith(UNFINISHED) || (OF_OTHER_VERSION.test(name) && !NAME.test(name))
    const left = (await readdir(folder)).filter(isLeft)
    await Promise.all(left.map((name) => rm(join(folder, name), { force: true })))
  }

  async #files(): Promise<readonly KeptFile[]> {
    const names = await readdir(this.#options.folder).catch(() => []) // `put` tells what is wrong with the folder
    return names.flatMap((name) => {
      const [, slot, blockRoot] = NAME.exec(name) ?? []
      return slot === undefined ? [] : [{ name, slot: Number(slot), blockRoot: `0x${blockRoot}` }]
    })
  }

  #pathOf({ name }: KeptFile): string {
    return join(this.#options.folder, name)
  }

  async #remove(file: KeptFile): Promise<void> {
    await rm(this.#pathOf(file), { force: true }).catch((error: unknown) => {
      this.#options.log.warn({ reason: reasonOf(error) }, `the kept state ${file.name} cannot be removed`)
    })
  }
}

function nameOf({ slot, blockRoot, stateRoot }: ReadState): string {
  return `${slot}-${blockRoot.slice(2)}-${stateRoot.slice(2)}${SUFFIX}`
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0, // it was removed meanwhile
  )
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
