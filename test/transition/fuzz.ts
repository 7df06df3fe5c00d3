import { Command, InvalidArgumentError } from 'commander'
import { HISTORY_EVENTS, rareEvents, sumEvents } from './history-events.ts'
import { explainHistories } from './spawn-histories.ts'

// Random histories through all forks, every component against the reference's own steps: `npm run fuzz:rewards -- --seeds 10000`.

/** A run of at least this many seeds has to have met each event so often. */
const SEEDS_WITH_ALL_EVENTS = 200
const EVENTS_MIN = 50
/** Seeds of one process: what has passed is told between them. */
const SEEDS_PER_PROCESS = 50
const PROCESSES = 2

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It is a whole number.')
  return Number(text)
}

const program = new Command('fuzz:rewards')
  .description(
    'Compute random histories of a beacon chain, and compare every component with the reference state transition.',
  )
  .option('--seeds <number>', 'histories of the minimal preset', wholeNumber, SEEDS_WITH_ALL_EVENTS)
  .option('--mainnet <number>', "histories of mainnet's preset", wholeNumber, 5)
  .option('--from <seed>', 'the first seed', wholeNumber, 0)
  .parse()
const { seeds, mainnet, from } = program.opts<{ seeds: number; mainnet: number; from: number }>()

const batches = [...batchesOf('minimal', seeds), ...batchesOf('mainnet', mainnet)]
function batchesOf(preset: 'minimal' | 'mainnet', count: number) {
  return Array.from({ length: Math.ceil(count / SEEDS_PER_PROCESS) }, (_, place) => {
    const done = place * SEEDS_PER_PROCESS
    return { preset, from: from + done, seeds: Math.min(SEEDS_PER_PROCESS, count - done) }
  })
}

const counts = await Promise.all(
  Array.from({ length: PROCESSES }, async () => {
    const mine = []
    for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
      mine.push(await explainHistories(batch))
      console.log(
        `${batch.preset}: seeds ${batch.from} to ${batch.from + batch.seeds - 1} are as the reference has them`,
      )
    }
    return mine
  }),
)
const events = sumEvents(counts.flat())
for (const event of HISTORY_EVENTS) console.log(`${String(events[event]).padStart(9)}  ${event}`)
const rare = seeds >= SEEDS_WITH_ALL_EVENTS ? rareEvents(events, EVENTS_MIN) : []
if (rare.length > 0) {
  console.error(`met less than ${EVENTS_MIN} times: ${rare.map(([event, count]) => `${event} (${count})`).join(', ')}`)
  process.exitCode = 1
}
