import { expect, it } from 'vitest'
import { neededPorts } from '../../commands/needed-ports.ts'
import type { Ports } from '../../commands/role.ts'
import { noCounters } from './no-counters.ts'
import { noJobs } from './no-jobs.ts'

const closed = { eventLog: undefined, warehouse: undefined, counters: undefined, clientCounters: undefined }

it('the ports of a role that does not need all of them may be handed on together', () => {
  const ports: Ports = neededPorts({ ...closed, jobQueue: noJobs as Ports['jobQueue'] })
  expect({ ...ports }).toEqual({ jobQueue: noJobs })
})

it('a port that a role does not need is not there', () => {
  const ports = neededPorts({ ...closed, jobQueue: undefined, counters: noCounters })
  expect(ports.counters).toBe(noCounters)
  expect(() => ports.clientCounters).toThrow('a role uses clientCounters and does not say that it needs it')
})
