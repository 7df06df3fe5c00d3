// Child process of kept-states.test.ts: keeps large states one after the other, and is killed at a moment of the second one or later.

import { watch } from 'node:fs'
import { KeptStates } from '../../infra/beacon/kept-states.ts'
import { largeStateOf } from './given-state.ts'
import { silentLog } from './silent-log.ts'

const [folder = '', moment = ''] = process.argv.slice(2)
const kept = new KeptStates({ folder, log: silentLog })
await kept.put(largeStateOf(31))
let left = Number(moment)
watch(folder, (_, name) => {
  // What happens to a file before it has its name: it is made, and grows piece by piece.
  if (name?.endsWith('.unfinished') && left-- === 0) process.kill(process.pid, 'SIGKILL')
})
for (let slot = 63; ; slot += 32) {
  await kept.put(largeStateOf(slot))
  await kept.dropBefore(largeStateOf(slot - 64))
}
