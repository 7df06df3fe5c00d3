import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { KeyVault } from '../../infra/ports/key-vault.ts'
import type { Log } from '../../infra/ports/log.ts'
import { RESUBMIT_EPOCHS } from '../../processors/validators/exit/decide-exit.ts'
import { type ExitChain, type ExitCustody, toExitCustody } from '../../processors/validators/exit/exit-custody.ts'
import { ExitMemory } from '../../processors/validators/exit/exit-look.ts'
import { lookAtExits, OVERDUE_EPOCHS } from '../../processors/validators/exit/look-at-exits.ts'
import { OwnersOnLog } from '../../processors/validators/exit/owners-on-log.ts'
import { takeExitRequest } from '../../processors/validators/exit/request-exits.ts'
import { StakingBook } from '../../processors/validators/staking-book.ts'
import { ACCOUNTS_KEY, validatorsTracked } from '../../schemas/events/accounts.ts'
import { decodeEvent, type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { exitEnded, exitSigned } from '../../schemas/events/exits.ts'
import { EXIT_MS_MAX, type ExitValidatorsInput } from '../../schemas/jobs/exit-validators.ts'
import { EXIT_FACTS, TestExitChain, TestExitVault } from './exit-chain.ts'
import { logOfEvents, writerOfEvents } from './log-of-events.ts'

const CHAIN = 'mainnet'
const NOW_MS = Date.UTC(2026, 10, 22)
/** The machine's clock, where the chain's was led days ahead of it. */
const WALL_MS = NOW_MS - 5 * 86_400_000
const NEVER = new AbortController().signal
const PERIOD = EXIT_FACTS.shardCommitteePeriodEpochs

class Killed extends Error {}

/** All that lasts: the log, the chain, the vault. Processes come and go. */
class World {
  readonly node: TestExitChain
  readonly chain: ExitChain
  readonly vault = new TestExitVault()
  readonly events: EncodedEvent[] = []
  readonly errors: string[] = []
  /** Beside each of them. */
  readonly errorFields: object[] = []
  /** Called before and after each append: throws where the process dies. */
  onAppend: (moment: 'before' | 'after') => void = () => {}
  custody: ExitCustody
  memory = new ExitMemory()

  constructor(nodes = 1) {
    this.node = new TestExitChain(nodes)
    this.chain = { name: CHAIN, exitNode: this.node }
    this.custody = this.#custody()
  }

  /** A process that knows what the log tells, and nothing else. */
  startAgain(): void {
    this.memory = new ExitMemory()
    this.custody = this.#custody()
  }

  #custody(): ExitCustody {
    const book = new StakingBook()
    for (const event of this.events) book.add(event)
    const error: Log['error'] = (fields, message) => {
      this.errors.push(message)
      this.errorFields.push(fields)
    }
    const log: Log = { debug() {}, info() {}, warn() {}, error }
    return toExitCustody({
      vault: this.vault as unknown as KeyVault,
      writer: writerOfEvents(this.events, (moment) => this.onAppend(moment)),
      book,
      owners: new OwnersOnLog(logOfEvents(this.events), NEVER),
      log,
      now: () => NOW_MS,
      wallNow: () => WALL_MS,
    })
  }

  /** Validators of an account, active from an epoch on. */
  validators(account: string, count: number, activationEpoch = 0): readonly string[] {
    const pubkeys = Array.from({ length: count }, () => this.vault.add(this.events.length * 20 + ++this.#made))
    for (const pubkey of pubkeys) this.node.add(pubkey, activationEpoch)
    this.owns(account, pubkeys)
    return pubkeys
  }
  #made = 0

  owns(account: string, pubkeys: readonly string[], from?: string): void {
    const data = { chain: CHAIN, account, pubkeys: [...pubkeys], ...(from === undefined ? {} : { from }) }
    const id = `account.validators-tracked:${CHAIN}:${account}:${pubkeys[0]}:${from}`
    this.events.push(encodeEvent(validatorsTracked, { id, key: ACCOUNTS_KEY, time: '2026-11-01T00:00:00.000Z', data }))
  }

  ask(pubkeys: readonly string[], more: Partial<ExitValidatorsInput> = {}) {
    return takeExitRequest(this.custody, this.chain, {
      kind: 'request',
      chain: CHAIN,
      account: 'acme',
      actor: 'abcdef012345',
      requestId: crypto.randomUUID(),
      pubkeys: [...pubkeys],
      deposited: [],
      notAfterMs: WALL_MS,
      ...more,
    })
  }

  cancel(pubkeys: readonly string[], more: Partial<ExitValidatorsInput> = {}) {
    return this.ask(pubkeys, { kind: 'cancel', ...more })
  }

  look(): Promise<void> {
    return lookAtExits(this.custody, this.chain, this.memory)
  }

  /** Goes on to an epoch, looking at every one. */
  async liveTo(epoch: number): Promise<void> {
    for (; this.node.epoch < epoch; this.node.advance()) await this.look()
    await this.look()
  }

  /** Types of the events of exits, without `account.exit-`. */
  steps(): readonly string[] {
    return this.events.filter(({ type }) => type.startsWith('account.exit-')).map(({ type }) => type.slice(13))
  }
}

const DONE = { status: 'done' }

describe('an exit', () => {
  test('waits for its epoch, is handed to all nodes, and ends when it is final', async () => {
    const world = new World(2)
    const pubkeys = world.validators('acme', 3, 10)
    expect(await world.ask(pubkeys)).toEqual(DONE)
    await world.liveTo(10 + PERIOD - 1)
    expect(world.steps()).toEqual(['requested'])
    await world.liveTo(10 + PERIOD + 10)
    const three = (step: string) => [step, step, step]
    expect(world.steps()).toEqual(['requested', ...three('signed'), ...three('submitted'), ...three('ended')])
    expect(new Set(world.node.handed).size).toBe(3)
    expect(world.node.handed).toHaveLength(6)
    const signed = world.events.filter(({ type }) => type === exitSigned.name).map((e) => decodeEvent(exitSigned, e))
    for (const { epoch, headEpoch } of signed) expect([epoch, headEpoch]).toEqual([10 + PERIOD, 10 + PERIOD])
    expect(world.errors).toEqual([])
  })

  test('comes on chain after pools have forgotten it for 50 epochs, and somebody is told of it', async () => {
    const world = new World()
    const [pubkey = ''] = world.validators('acme', 1)
    await world.ask([pubkey])
    world.node.isForgetful = true
    await world.liveTo(PERIOD + 50)
    expect(world.steps()).toEqual(['requested', 'signed', 'submitted'])
    expect(world.node.handed.length).toBeGreaterThan(10)
    expect(world.errors).toHaveLength(Math.floor(50 / OVERDUE_EPOCHS))
    world.node.isForgetful = false
    await world.liveTo(PERIOD + 60)
    expect(world.steps()).toEqual(['requested', 'signed', 'submitted', 'ended'])
    expect(new Set(world.node.handed).size).toBe(1)
  })

  test('is the same message after any kills, told once, and on chain in the end', async () => {
    const kills = fc.array(
      fc.record({ at: fc.integer({ min: 1, max: 6 }), moment: fc.constantFrom('before', 'after') }),
      {
        maxLength: 6,
      },
    )
    await fc.assert(
      fc.asyncProperty(kills, fc.integer({ min: 0, max: 20 }), async (deaths, forgetfulEpochs) => {
        const world = new World(2)
        const pubkeys = world.validators('acme', 2)
        const left = [...deaths]
        let appends = 0
        world.onAppend = (moment) => {
          if (moment === 'before') appends++
          if (left[0]?.at !== appends || left[0].moment !== moment) return
          left.shift()
          appends = 0
          throw new Killed()
        }
        const surviving = async (work: () => Promise<unknown>): Promise<void> => {
          for (;;) {
            try {
              return void (await work())
            } catch (error) {
              if (!(error instanceof Killed)) throw error
              world.startAgain()
            }
          }
        }
        const requestId = crypto.randomUUID()
        await surviving(() => world.ask(pubkeys, { requestId }))
        for (; world.node.epoch < PERIOD + forgetfulEpochs + 12; world.node.advance()) {
          world.node.isForgetful = world.node.epoch < PERIOD + forgetfulEpochs
          await surviving(() => world.look())
        }
        const counts = Object.fromEntries(
          Map.groupBy(world.steps(), (step) => step)
            .entries()
            .map(([k, v]) => [k, v.length]),
        )
        expect(counts).toEqual({ requested: 1, signed: 2, submitted: 2, ended: 2 })
        expect(new Set(world.node.handed).size).toBe(2)
      }),
      { numRuns: 200 },
    )
  })

  test('fails where all nodes call its signature wrong, and can be asked for again', async () => {
    const world = new World(2)
    const [pubkey = ''] = world.validators('acme', 1)
    await world.ask([pubkey])
    const wrong = { status: 'refused', reason: 'invalid_signature' } as const
    world.node.faults = [wrong, { status: 'unanswered' }]
    await world.liveTo(PERIOD + 8)
    expect(world.steps()).toEqual(['requested', 'signed'])
    world.node.faults = [wrong, wrong]
    await world.liveTo(PERIOD + 16)
    expect(world.steps()).toEqual(['requested', 'signed', 'ended'])
    expect(decodeEvent(exitEnded, world.events.at(-1) as EncodedEvent).end).toEqual({
      status: 'failed',
      reason: 'invalid_signature',
    })
    expect(world.errors.at(-1)).toMatch(/has failed/)
    world.node.faults = [undefined, undefined]
    expect(await world.ask([pubkey])).toEqual(DONE)
    await world.liveTo(PERIOD + 30)
    expect(world.steps().slice(3)).toEqual(['requested', 'signed', 'submitted', 'ended'])
    expect(new Set(world.node.handed).size).toBe(1)
  })

  test('waits where the vault has lost its key, keeps no other from going, and goes on when it is back', async () => {
    const world = new World()
    const [lost = '', other = ''] = world.validators('acme', 2)
    await world.ask([lost, other])
    const putBack = world.vault.lose(lost)
    await world.liveTo(PERIOD + 10)
    expect(world.steps()).toEqual(['requested', 'signed', 'submitted', 'ended'])
    expect(world.errors[0]).toMatch(/the key vault lacks their keys/)
    putBack()
    await world.liveTo(PERIOD + 20)
    expect(world.steps().slice(4)).toEqual(['signed', 'submitted', 'ended'])
  })

  test('that is signed goes on being handed out while the vault signs nothing', async () => {
    const world = new World()
    const [sent = '', young = ''] = [...world.validators('acme', 1), ...world.validators('acme', 1, 4)]
    await world.ask([sent, young])
    world.node.isForgetful = true
    await world.liveTo(PERIOD)
    expect(world.node.handed).toHaveLength(1)
    world.vault.refuses = () => true
    await world.liveTo(PERIOD + 4 * RESUBMIT_EPOCHS)
    expect(world.steps()).toEqual(['requested', 'signed', 'submitted'])
    expect(world.node.handed).toHaveLength(1 + 4)
    expect(world.errors.some((message) => /could not be signed/.test(message))).toBe(true)
    expect(world.errors.filter((message) => /is not final/.test(message))).toHaveLength(1)
    world.vault.refuses = () => false
    world.node.isForgetful = false
    await world.liveTo(PERIOD + 8 * RESUBMIT_EPOCHS)
    expect(world.steps().filter((step) => step === 'ended')).toHaveLength(2)
  })

  test('is not kept from being signed by others that cannot be, however many they are', async () => {
    const world = new World()
    const wrong = world.validators('acme', 30)
    const [right = ''] = world.validators('acme', 1)
    await world.ask([...wrong, right])
    world.vault.refuses = (pubkey) => wrong.includes(pubkey)
    await world.liveTo(PERIOD + 12)
    expect(world.steps()).toEqual(['requested', 'signed', 'submitted', 'ended'])
    const named = new Set(world.errorFields.flatMap((fields) => (fields as { pubkeys: readonly string[] }).pubkeys))
    expect(named).toEqual(new Set(wrong))
    world.vault.refuses = () => false
    await world.liveTo(PERIOD + 24)
    expect(world.steps().filter((step) => step === 'ended')).toHaveLength(31)
  })

  test('of a batch with one that cannot be signed is signed and ends', async () => {
    const world = new World()
    const [wrong = '', right = ''] = world.validators('acme', 2)
    await world.ask([wrong, right])
    world.vault.refuses = (pubkey) => pubkey === wrong
    await world.liveTo(PERIOD + 10)
    expect(world.steps()).toEqual(['requested', 'signed', 'submitted', 'ended'])
    expect(decodeEvent(exitEnded, world.events.at(-1) as EncodedEvent).pubkey).toBe(right)
    expect(world.errorFields[0]).toMatchObject({ exits: 1, pubkeys: [wrong] })
  })

  test('is not signed for an account that no longer has the validator, which the next one may let exit', async () => {
    const world = new World()
    const [moved = '', kept = ''] = world.validators('acme', 2)
    await world.ask([moved, kept])
    world.owns('globex', [moved], '2026-11-22')
    await world.liveTo(PERIOD + 10)
    const { pubkey, end } = decodeEvent(exitEnded, ended(world)[0] as EncodedEvent)
    expect({ pubkey, end }).toEqual({ pubkey: moved, end: { status: 'failed', reason: 'another_account' } })
    expect(world.vault.signed).toBe(1)
    expect(world.errors).toEqual([expect.stringMatching(/has failed/)])
    expect(await world.ask([moved], { account: 'globex' })).toEqual(DONE)
    await world.liveTo(PERIOD + 20)
    expect(ended(world)).toHaveLength(3)
    expect(world.vault.signed).toBe(2)
  })

  test('is of the account that asked last, where the validator was moved in between', async () => {
    const world = new World()
    const [moved = ''] = world.validators('acme', 1)
    await world.ask([moved])
    world.owns('globex', [moved], '2026-11-22')
    expect(await world.ask([moved], { account: 'globex' })).toEqual(DONE)
    await world.liveTo(PERIOD + 10)
    expect(world.steps()).toEqual(['requested', 'requested', 'signed', 'submitted', 'ended'])
    expect(world.errors).toEqual([])
  })
})

function ended(world: World): readonly EncodedEvent[] {
  return world.events.filter(({ type }) => type === exitEnded.name)
}

describe('a request', () => {
  test.each<[string, (world: World, own: readonly string[]) => readonly string[], string]>([
    ['a key that nobody knows', (_, own) => [...own, `0x${'ab'.repeat(48)}`], 'unknown_validator'],
    ["another account's", (world, own) => [...own, ...world.validators('globex', 1)], 'unknown_validator'],
    [
      'one that another has from today on',
      (world, own) => {
        world.owns('globex', own.slice(1), '2026-11-22')
        return own
      },
      'unknown_validator',
    ],
    [
      'one whose key is not in the vault',
      (world, own) => {
        world.vault.lose(own[1] as string)
        return own
      },
      'key_not_in_vault',
    ],
    [
      'one without a deposit',
      (world, own) => {
        const created = world.vault.add(200)
        world.owns('acme', [created])
        return [...own, created]
      },
      'not_deposited',
    ],
  ])('with %s is refused as a whole, and leaves nothing', async (_, make, fault) => {
    const world = new World()
    const pubkeys = make(world, world.validators('acme', 2))
    expect(await world.ask(pubkeys)).toMatchObject({ status: 'refused', fault })
    expect(world.steps()).toEqual([])
    expect(world.vault.signed).toBe(0)
    expect(world.custody.book.exits.chains()).toEqual([])
  })

  test('is taken for what has a deposit that the registry does not know, and leaves it scheduled', async () => {
    const world = new World()
    const pubkey = world.vault.add(7)
    world.owns('acme', [pubkey])
    expect(await world.ask([pubkey], { deposited: [pubkey] })).toEqual(DONE)
    await world.liveTo(5)
    world.node.add(pubkey, 12)
    await world.liveTo(12 + PERIOD + 10)
    expect(world.steps()).toEqual(['requested', 'signed', 'submitted', 'ended'])
  })

  test('for what exits or has exited already is success, and says nothing twice', async () => {
    const world = new World()
    const [one = '', other = ''] = world.validators('acme', 2)
    expect(await world.ask([one])).toEqual(DONE)
    expect(await world.ask([one, other])).toEqual(DONE)
    await world.liveTo(PERIOD + 10)
    const told = world.steps().length
    expect(await world.ask([one, other])).toEqual(DONE)
    expect(world.steps()).toHaveLength(told)
    expect(told).toBe(2 + 2 * 3)
  })

  test('that is done again after a kill is done once, whatever was cancelled since', async () => {
    const world = new World()
    const pubkeys = world.validators('acme', 1)
    const requestId = crypto.randomUUID()
    await world.ask(pubkeys, { requestId })
    await world.cancel(pubkeys)
    world.startAgain()
    expect(await world.ask(pubkeys, { requestId })).toEqual(DONE)
    expect(world.steps()).toEqual(['requested', 'cancelled'])
  })

  test('that is done at last after it was asked for again and cancelled does nothing', async () => {
    const world = new World()
    const pubkeys = world.validators('acme', 1)
    const asked = (ms: number) => ({ notAfterMs: WALL_MS + EXIT_MS_MAX + ms })
    await world.ask(pubkeys, asked(-2))
    await world.cancel(pubkeys, asked(-1))
    expect(await world.ask(pubkeys, asked(-3))).toEqual({ status: 'unavailable' })
    world.startAgain()
    expect(await world.ask(pubkeys, asked(-3))).toEqual({ status: 'unavailable' })
    expect(world.steps()).toEqual(['requested', 'cancelled'])
    expect(await world.ask(pubkeys, asked(0))).toEqual(DONE)
  })

  test('that nobody waits for any more does nothing', async () => {
    const world = new World()
    expect(await world.ask(world.validators('acme', 1), { notAfterMs: WALL_MS - 1 })).toEqual({ status: 'unavailable' })
    expect(world.steps()).toEqual([])
  })

  test('that was limited by a chain led ahead, in a queue of an earlier release, does nothing and stands in no way', async () => {
    const world = new World()
    const pubkeys = world.validators('acme', 1)
    expect(await world.ask(pubkeys, { notAfterMs: NOW_MS + EXIT_MS_MAX })).toEqual({ status: 'unavailable' })
    expect(world.steps()).toEqual([])
    expect(await world.ask(pubkeys)).toEqual(DONE)
    expect(world.events.at(-1)?.time).toBe(new Date(NOW_MS).toISOString())
  })
})

describe('cancelling', () => {
  test('takes back what is not signed, again and again, and it may be asked for anew', async () => {
    const world = new World()
    const pubkeys = world.validators('acme', 2)
    await world.ask(pubkeys)
    expect(await world.cancel(pubkeys)).toEqual(DONE)
    expect(await world.cancel(pubkeys)).toEqual(DONE)
    await world.liveTo(PERIOD + 5)
    expect(world.steps()).toEqual(['requested', 'cancelled'])
    await world.ask(pubkeys)
    await world.liveTo(PERIOD + 15)
    expect(world.steps().filter((step) => step === 'ended')).toHaveLength(2)
  })

  test('that is done at last after the exit was asked for again does nothing', async () => {
    const world = new World()
    const pubkeys = world.validators('acme', 1)
    const asked = (ms: number) => ({ notAfterMs: WALL_MS + EXIT_MS_MAX + ms })
    await world.ask(pubkeys, asked(-2))
    expect(await world.cancel(pubkeys, asked(-3))).toEqual({ status: 'unavailable' })
    world.startAgain()
    expect(await world.cancel(pubkeys, asked(-3))).toEqual({ status: 'unavailable' })
    expect(world.steps()).toEqual(['requested'])
    expect(await world.cancel(pubkeys, asked(0))).toEqual(DONE)
  })

  test('is refused as a whole for what was never asked for, is signed, or is a stranger', async () => {
    const world = new World()
    const [young = '', asked = '', quiet = ''] = [...world.validators('acme', 1, 20), ...world.validators('acme', 2)]
    const [foreign = ''] = world.validators('globex', 1)
    await world.ask([young, asked])
    await world.liveTo(PERIOD)
    const told = world.steps().length
    expect(await world.cancel([young, quiet])).toMatchObject({ fault: 'exit_not_requested', pubkey: quiet })
    expect(await world.cancel([young, asked])).toMatchObject({ fault: 'exit_already_signed', pubkey: asked })
    expect(await world.cancel([young, foreign])).toMatchObject({ fault: 'unknown_validator', pubkey: foreign })
    expect(world.steps()).toHaveLength(told)
    expect(await world.cancel([young])).toEqual(DONE)
  })

  test('is refused for what leaves otherwise, whatever was asked of it before', async () => {
    const world = new World()
    const [cancelled = '', open = '', quiet = ''] = world.validators('acme', 3)
    await world.ask([cancelled, open])
    await world.cancel([cancelled])
    for (const pubkey of [cancelled, open, quiet]) world.node.leave(pubkey)
    const refused = async () => {
      for (const pubkey of [cancelled, open, quiet])
        expect(await world.cancel([pubkey])).toEqual({ status: 'refused', fault: 'already_exiting', pubkey })
    }
    await refused()
    await world.liveTo(10) // to the end of what was open
    await refused()
    expect(world.steps()).toEqual(['requested', 'cancelled', 'ended'])
  })

  test('of an exit that has ended because the validator was moved finds none', async () => {
    const world = new World()
    const [moved = ''] = world.validators('acme', 1)
    await world.ask([moved])
    world.owns('globex', [moved], '2026-11-22')
    await world.liveTo(PERIOD + 2)
    expect(await world.cancel([moved], { account: 'globex' })).toMatchObject({ fault: 'exit_not_requested' })
  })

  test('takes back what is open while no node answers, and says of nothing else that it stays', async () => {
    const world = new World()
    const [open = '', quiet = ''] = world.validators('acme', 2)
    await world.ask([open])
    world.node.isThere = false
    expect(await world.cancel([quiet])).toMatchObject({ fault: 'exit_not_requested' })
    expect(await world.cancel([open])).toEqual(DONE)
    expect(await world.cancel([open])).toEqual({ status: 'unavailable' })
    world.node.isThere = true
    expect(await world.cancel([open])).toEqual(DONE)
    expect(world.steps()).toEqual(['requested', 'cancelled'])
  })

  test('either comes before signing or is refused, never both', async () => {
    for (let i = 0; i < 20; i++) {
      const world = new World()
      const pubkeys = world.validators('acme', 1)
      await world.ask(pubkeys)
      await world.liveTo(PERIOD - 1)
      world.node.advance()
      const looking = world.look()
      for (let turn = 0; turn < i; turn++) await Promise.resolve()
      const [output] = await Promise.all([world.cancel(pubkeys), looking])
      await world.liveTo(PERIOD + 10)
      expect(world.steps()).toEqual(
        output.status === 'done' ? ['requested', 'cancelled'] : ['requested', 'signed', 'submitted', 'ended'],
      )
    }
  })
})
