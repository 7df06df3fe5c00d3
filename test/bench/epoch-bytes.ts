import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'

/** Bytes of the events of `beacon.epochs`. */
export async function bytesOfLog(eventLog: EventLog): Promise<number> {
  let bytes = 0
  const { signal } = new AbortController()
  for await (const { event } of eventLog.read({ topic: 'beacon.epochs', signal })) bytes += event.data.byteLength
  return bytes
}

/** Bytes on disk of a row of `validator_epochs`, all parts merged. */
export async function bytesInClickhouse(warehouse: Warehouse): Promise<number> {
  await warehouse.command('OPTIMIZE TABLE validator_epochs FINAL')
  const [parts] = await warehouse.query<{ bytes: string; rows: string }>(
    `SELECT sum(bytes_on_disk) AS bytes, sum(rows) AS rows FROM system.parts
     WHERE active AND database = currentDatabase() AND table = 'validator_epochs'`,
  )
  return Number(parts?.bytes) / Number(parts?.rows)
}
