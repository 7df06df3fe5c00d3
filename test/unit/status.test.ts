import { expect, it } from 'vitest'
import { formatStatus, type Status } from '../../commands/status.ts'

const days = { closed: 2, first: '2026-11-18', newest: '2026-11-20', gaps: [{ day: '2026-11-19', why: 'not closed' }] }
const status: Status = {
  program: 'running',
  status: 'not_ready',
  head_slot: 15_837,
  last_finalized_epoch: 491,
  chains: {
    mainnet: {
      head_slot: 15_837,
      head_lag_slots: 1,
      head_lag_seconds: 17,
      last_finalized_epoch: 491,
      finality_lag_epochs: 2,
      finality_lag_seconds: 780,
      checks: {},
      days,
    },
    scroll_mainnet: {
      head_block: 1_204,
      head_lag_blocks: null,
      head_lag_seconds: 7_300,
      finalized_block: null,
      checks: {},
      days: { closed: 0, first: null, newest: null, gaps: [] },
    },
  },
  nodes: { 'mainnet beacon node 1': { state: 'away', since: '2026-11-20T09:00:02.150Z', fault: 'node_unreachable' } },
  lag: { finalized: 3, head: 0 },
  paused: ['scroll_mainnet'],
  reasons: ['mainnet beacon node 1 does not answer'],
  checks: { nodes_answer: false },
  jobs: { 'derive-day': 1, 'settle-account': 0 },
  dead_letters: [{ chain: 'mainnet', topic: 'beacon.epochs', event_id: 'e', reason: 'found v99' }],
}

it('says in lines what a person wants to know, and leaves out what is not there', () => {
  expect(formatStatus(status).split('\n')).toEqual([
    'program         running',
    'status          not ready',
    '                mainnet beacon node 1 does not answer',
    'mainnet         head slot 15837, 1 slot, 17 s behind',
    '                final epoch 491, 2 epochs, 13 min behind',
    '                2 days closed, 2026-11-18 to 2026-11-20',
    '                1 gap: 2026-11-19 not closed',
    'scroll_mainnet  paused',
    '                head block 1204, 2 h behind',
    '                final block none',
    'waiting         3 events of finalized',
    '                1 job of derive-day',
    'nodes           mainnet beacon node 1: away since 2026-11-20T09:00:02.150Z (node_unreachable)',
    'dead letters    beacon.epochs e: found v99',
    '',
  ])
})

it('names days that are withheld, and what brings them back, in the place of saying that there are no gaps', () => {
  const { mainnet } = status.chains
  if (mainnet === undefined) throw new Error('the status is of mainnet')
  const linesOf = (ofDays: Status['chains'][string]['days']) =>
    formatStatus({ ...status, chains: { mainnet: { ...mainnet, days: ofDays } } })
      .split('\n')
      .slice(5, 7)
      .map((line) => line.trim())
  const repair = 'gaps --repair reads anew what a node can prove, verify names what is left'
  const one = { day: '2026-11-18', validators: 4, unexplained: 1, unanchored: 2 }
  const closed = '2 days closed, 2026-11-18 to 2026-11-20'
  const whole = { ...days, gaps: [] }
  expect(linesOf(whole)).toEqual([closed, 'no gaps'])
  expect(linesOf({ ...whole, withheld: [one] })).toEqual([
    closed,
    `1 day is withheld from figures: 2026-11-18 1 unexplained, 2 unanchored of 4 validators: ${repair}`,
  ])
  const many = Array.from({ length: 12 }, () => ({ ...one, unexplained: 0 }))
  expect(linesOf({ ...whole, withheld: many })[1]).toBe(
    `12 days are withheld from figures: ${Array(10).fill('2026-11-18 2 unanchored of 4 validators').join('; ')}; and 2 more: ${repair}`,
  )
})

it('names tracked validators of which no epoch tells anything', () => {
  const { mainnet } = status.chains
  if (mainnet === undefined) throw new Error('the status is of mainnet')
  const pubkeys = Array.from({ length: 12 }, (_, nth) => `0x${nth}`)
  const lineOf = (count: number, some: readonly string[]) =>
    formatStatus({ ...status, chains: { mainnet: { ...mainnet, validators_untold: { count, pubkeys: some } } } })
      .split('\n')
      .find((line) => line.includes('no epoch tells of'))
      ?.trim()
  expect(lineOf(1, ['0xab'])).toBe('no epoch tells of 1 tracked validator yet: 0xab')
  expect(lineOf(1_500, pubkeys)).toBe(
    `no epoch tells of 1500 tracked validators yet: ${pubkeys.slice(0, 10).join(', ')}, and 1490 more`,
  )
})

it('says how the key vault is, where there is one, and what it lacks', () => {
  const missing = { count: 1, pubkeys: ['0xab'] }
  const text = formatStatus({ ...status, vault: { state: 'away', fault: 'its process has ended', missing } })
  expect(text.split('\n').slice(-5, -1)).toEqual([
    'key vault       away (its process has ended)',
    '                lacks the keys of 1 validator, which nobody must fund:',
    '                0xab',
    'dead letters    beacon.epochs e: found v99',
  ])
})

it('says how the gateway’s upstreams are, those that somebody has to look at first', () => {
  const upstreams = {
    'sui/mainnet': { well: 1, nodes: { dd: { head: 9 } } },
    'ethereum/mainnet': {
      well: 1,
      nodes: {
        aa: { head: 100, web_socket_fault: 'it does not connect' },
        bb: { head: 50, fault: 'it is behind the others' },
      },
    },
    'ipfs/mainnet': { well: 0, nodes: { cc: { head: null, fault: 'it does not answer' } } },
  }
  expect(
    formatStatus({ ...status, upstreams })
      .split('\n')
      .slice(-5, -2),
  ).toEqual([
    'upstreams       ipfs/mainnet: 0 of 1 well (cc: it does not answer)',
    '                ethereum/mainnet: 1 of 2 well, head 100 (aa: its WebSocket: it does not connect; bb: it is behind the others)',
    '                sui/mainnet: 1 of 1 well, head 9',
  ])
})

it('cuts long lists', () => {
  const letters = Array.from({ length: 12 }, (_, i) => ({ chain: '', topic: 't', event_id: `${i}`, reason: 'r' }))
  const text = formatStatus({ ...status, dead_letters: letters })
  expect(text).toMatch(/ t 9: r\n +and 2 more\n$/)
})

it('says how many exits are open, and names those that somebody has to look at', () => {
  const exits = {
    mainnet: {
      requested: 2,
      under_way: 3,
      overdue: ['0xab'],
      failed: [{ pubkey: '0xcd', reason: 'invalid_signature' }],
    },
  }
  expect(formatStatus({ ...status, exits }).split('\n')).toEqual(
    expect.arrayContaining([
      'exits           mainnet: 2 scheduled, 3 under way',
      '                mainnet: 0xab was signed more than 16 epochs ago and is not final',
      '                mainnet: 0xcd has failed (invalid_signature)',
    ]),
  )
})
