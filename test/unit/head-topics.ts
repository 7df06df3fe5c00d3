import type { EventLog, EventWriter } from '../../infra/ports/event-log.ts'
import type { Topic } from '../../schemas/events/codec.ts'

const never = new AbortController().signal

/** "block b3", "missed 4", "revert b3": a topic that a head follower fills, as a test reads it. */
export async function told(eventLog: EventLog, topic: Topic): Promise<string[]> {
  const lines: string[] = []
  for await (const { event } of eventLog.read({ topic, signal: never })) {
    const [type = '', , rest = ''] = event.id.split(':')
    const name = rest.startsWith('0x') ? Buffer.from(rest.slice(2), 'hex').toString().replaceAll('\0', '') : rest
    const verb = type
      .replace(/^.*\.(block-)?/, '')
      .replace('reverted', 'revert')
      .replace('missed-slot', 'missed')
    lines.push(`${verb} ${name}`)
  }
  return lines
}

/** Blocks that count after all reverts, in the order of the log. */
export async function standing(eventLog: EventLog, topic: Topic): Promise<string[]> {
  const alive = new Set<string>()
  for (const line of await told(eventLog, topic)) {
    const [verb, name = ''] = line.split(' ')
    if (verb === 'block') alive.add(name)
    if (verb === 'revert') alive.delete(name)
  }
  return [...alive]
}

/** A writer that appends so often and then fails each time: what a kill, or a lost lease, leaves behind. */
export function failingAfter(writer: EventWriter, appends: number, error: Error): EventWriter {
  let left = appends
  return {
    append: (topic, events) => (left-- > 0 ? writer.append(topic, events) : Promise.reject(error)),
  }
}
