import { MARKED_CHUNKS_BYTES } from './kept-tree.ts'
import { ListMemory } from './list-memory.ts'
import { REGISTRY } from './serialized-state.ts'
import { VALIDATOR_BYTES } from './state-layout.ts'

/** Lists of one entry per validator, which are all but some megabytes of a state. */
const NUMBERS = ['balances', 'previousEpochParticipation', 'currentEpochParticipation', 'inactivityScores']

/** The lists of one entry per validator of one state after the other, each in a memory of its own. */
export class StateMemory {
  /** By the field's name. */
  readonly lists: ReadonlyMap<string, ListMemory> = new Map([
    [REGISTRY, new ListMemory(VALIDATOR_BYTES)],
    ...NUMBERS.map((name) => [name, new ListMemory(MARKED_CHUNKS_BYTES)] as const),
  ])

  /** As they were written last. */
  get bytes(): ReadonlyMap<string, Buffer> {
    return new Map([...this.lists].map(([name, list]) => [name, list.bytes]))
  }

  get registry(): ListMemory {
    return this.lists.get(REGISTRY) as ListMemory
  }
}
