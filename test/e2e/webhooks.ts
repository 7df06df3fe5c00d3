import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { exitRequested } from '../../schemas/events/exits.ts'
import { GIVEN_CHAIN, givenChain, givenKey } from '../unit/given-chain.ts'
import { type Environment, eventually, type Running, runCommand, startProgram } from './processes.ts'
import { eventsOf, openLog } from './stores.ts'

const VALIDATORS = 5
/** A day is closed by what is told before it, another by what is told behind it. */
const CHAIN = givenChain(18)
const [FIRST_DAY = '', SECOND_DAY = ''] = CHAIN.wholeDays

export interface WebhooksOptions {
  readonly mode: string
  readonly modeOf: (name: string) => Environment
  /** Loses the queue's jobs while nobody has them: without it, those of a process that was killed are another's after half a minute. */
  readonly forgetJobs?: (dataDirectory: string) => Promise<void>
}

/** A receiver is told by a program that is killed, started anew and rebuilt. */
export function webhooksSuite({ mode, modeOf, forgetJobs }: WebhooksOptions): void {
  describe(`webhooks in ${mode} mode`, () => {
    const directory = mkdtempSync(join(tmpdir(), 'epochline-webhooks-'))
    const told: { readonly id: string; readonly body: string }[] = []
    /** Is asked before a message is answered. */
    let onMessage: () => Promise<void> = async () => {}
    let server: Server
    let env: Environment
    let program: Running

    beforeAll(async () => {
      server = createServer(async (request, response) => {
        const body = (await Array.fromAsync(request as AsyncIterable<Buffer>)).join('')
        told.push({ id: String(request.headers['webhook-id']), body })
        await onMessage()
        response.writeHead(204).end()
      })
      await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
      const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
      const noNode = 'http://127.0.0.1:9'
      env = {
        ...modeOf('webhooks'),
        ...{ EPOCHLINE_DATA: join(directory, 'data'), BEACON_URL: noNode, EXECUTION_URL: noNode },
        WEBHOOK_ALLOWED_SERVER: host,
      }
      const isEarly = ({ time }: EncodedEvent) => time < `${SECOND_DAY}T12:00:00.000Z`
      await append([...CHAIN.events].map(([topic, events]) => [topic, events.filter(isEarly)] as const))
      const made = await runCommand(
        ['admin', 'webhook', 'create', '--account', 'a', '--url', `http://${host}/hook`],
        env,
      )
      expect(made.code, made.stderr).toBe(0)
    })

    afterAll(async () => {
      await program?.kill()
      server.closeAllConnections()
      server.close()
      rmSync(directory, { recursive: true, force: true })
    })

    async function append(events: readonly (readonly [Parameters<typeof eventsOf>[1], readonly EncodedEvent[]])[]) {
      await using log = await openLog(env)
      for (const [topic, some] of events) if (some.length > 0) await log.append(topic, some)
    }

    async function hasBegun(): Promise<true | undefined> {
      await using log = await openLog(env)
      return (await eventsOf(log, 'webhooks')).some(({ event }) => event.type === 'webhook.began') ? true : undefined
    }

    function requested(index: number): EncodedEvent {
      const asked = { chain: GIVEN_CHAIN, account: 'a', requestId: crypto.randomUUID(), actor: 'ab' }
      return encodeEvent(exitRequested, {
        ...{ id: `account.exit-requested:${index}`, key: 'accounts', time: `${SECOND_DAY}T00:00:00.000Z` },
        data: { ...asked, pubkeys: [givenKey(index)] },
      })
    }

    const subjects = () => {
      const bodies = new Map(told.map(({ id, body }) => [id, body]))
      return [...bodies.values()].map((body) => {
        const { data } = JSON.parse(body) as { data: { pubkey?: string; day?: string } }
        return data.pubkey ?? data.day
      })
    }

    it('tells everything once to who is there, and again only what a kill left open', async () => {
      program = await startProgram(['all'], env)
      await eventually('the beginning', hasBegun)
      expect(told).toEqual([])
      let killed: Promise<void> | undefined
      onMessage = async () => {
        if (told.length !== 2) return
        killed = program.kill() // the receiver has it, and nobody hears that
        await killed
      }
      const exits = Array.from({ length: VALIDATORS - 1 }, (_, index) => requested(index))
      const late = [...CHAIN.events].filter(([topic]) => topic !== 'accounts' && topic !== 'validators')
      await append([
        ['accounts', exits],
        ...late.map(
          ([topic, events]) => [topic, events.filter(({ time }) => time >= `${SECOND_DAY}T12:00:00.000Z`)] as const,
        ),
      ])
      await eventually('the kill', async () => (killed === undefined ? undefined : true))
      await killed
      await forgetJobs?.(join(directory, 'data'))
      program = await startProgram(['all'], env)
      const expected = [SECOND_DAY, ...exits.map((_, index) => givenKey(index))].sort()
      await eventually('every message', async () => (subjects().length >= expected.length ? true : undefined))
      expect(subjects().sort()).toEqual(expected)
      expect(FIRST_DAY < SECOND_DAY).toBe(true) // it was closed before, and is not told
      const again = told.filter(({ id }, at) => told.findIndex((one) => one.id === id) !== at)
      expect(again).toEqual([told[1]])

      // Tables anew: what comes is the next message and nothing else.
      expect(await program.stop()).toBe(0)
      const rebuilt = await runCommand(['rebuild'], env)
      expect(rebuilt.code, rebuilt.stderr).toBe(0)
      const before = told.length
      program = await startProgram(['all'], env)
      await append([['accounts', [requested(VALIDATORS - 1)]]])
      await eventually('the next message', async () => (told.length > before ? true : undefined))
      expect(await program.stop()).toBe(0)
      expect(told.slice(before).map(({ body }) => JSON.parse(body).data.pubkey)).toEqual([givenKey(VALIDATORS - 1)])
    })
  })
}
