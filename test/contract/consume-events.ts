import { openLogAt } from './event-log-place.ts'

/** Says that it is ready, consumes a group and prints the id of each event that it has been given, until it is told to end. */
const [place = '', group = ''] = process.argv.slice(2)
const controller = new AbortController()
process.on('SIGTERM', () => controller.abort())
await using log = await openLogAt(JSON.parse(place))
process.stdout.write('ready\n')
await log.consume({
  topic: 'beacon.blocks',
  group,
  maxBatch: 7,
  signal: controller.signal,
  async handle(batch) {
    for (const { event } of batch) process.stdout.write(`${event.id}\n`)
  },
})
