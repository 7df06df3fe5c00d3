#!/usr/bin/env node
// Recomputes what a validator earned, from the raw states and blocks of a beacon node, and compares it with the proof document of
// `GET …/api/v1/validator/rewards/proof`. It needs Node 20 or later and nothing else: it is written from the consensus specification
// (ethereum/consensus-specs, altair to fulu), and shares no code with the program whose figures it checks.
//
//   node recompute-a-day.mjs --node http://localhost:5052 --proof 'http://…/api/v1/validator/rewards/proof?pubkey=0x…&date=2026-11-20'
//   node recompute-a-day.mjs --node http://localhost:5052 --proof proof.json --epoch 12345     one epoch of a saved document
//   node recompute-a-day.mjs --node http://localhost:5052 --validator 7 --epoch 12345          without a document: prints what it finds
//
// One line per epoch; exit code 0 only if everything is equal, 1 if something differs, 2 if it could not be found out.
//
// Recomputed: attestation source, target and head, inactivity, sync committee, proposals (attestations, sync aggregate, slashings),
// both penalties of a slashing, withdrawals, bridge deposits before Electra to a known key.
// Not recomputed: what the chain's queues and requests do (deposits from Electra on, consolidations, balances moved to the queue and
// back), and a validator's first deposit. It is the difference that remains between the balances of the two states and all of the above,
// and has to be the sum of these flows in the document.
// Where a balance reaches 0 within an epoch in which a queue adds to it, the order of both is not followed: that may show as a difference.
// Compared with the document besides: the date with the slots, by the chain's clock; the public key with the registry's; that every sum is
// the sum of what it is said to be, down to what is published.
// Not compared: `level`, `is_withheld` and `formulas`, which tell how the program that wrote the document came to know its figures.
// Trusted: that the node's states and blocks are those of the chain. Checked of them: slots, that each state names the root of the state
// before it (`state_roots`) and the roots of its blocks (`block_roots`) as the document does, and that blocks replayed for a proposal
// set the participation of the state after them. Roots are not computed of the bytes: compare those in the document with a node you trust.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

const INCREMENT = 1_000_000_000n
const WEIGHTS = { source: 14n, target: 26n, head: 14n }
const FLAGS = { source: 1, target: 2, head: 4 }
const [SYNC_WEIGHT, PROPOSER_WEIGHT, WEIGHT_DENOMINATOR] = [2n, 8n, 64n]
const FORKS = ['altair', 'bellatrix', 'capella', 'deneb', 'electra', 'fulu']
const ANSWER_MS_MAX = 600_000
const LIMIT_MAX = 1_000

// biome-ignore lint/complexity/useMathMinMax: of bigint
const min = (a, b) => (a < b ? a : b)
const hex = (bytes) => `0x${Buffer.from(bytes).toString('hex')}`
const sum = (amounts) => amounts.reduce((one, other) => one + BigInt(other), 0n)

function isqrt(n) {
  let root = BigInt(Math.floor(Math.sqrt(Number(n))))
  while (root * root > n) root--
  while ((root + 1n) * (root + 1n) <= n) root++
  return root
}

// --- who is asked ----------------------------------------------------------------------------------------------------------------

/** Does what reads of an address; says whose it is and why nothing can be read. Of an address it tells its origin: the rest may be secret. */
async function readOf(whose, { origin }, read) {
  try {
    return await read()
  } catch ({ name, cause }) {
    throw new Error(`${whose} at ${origin} cannot be read: ${cause?.code ?? cause?.message ?? name}`)
  }
}

/** An address may have a user of its own. */
function fetchOf(whose, address, headers) {
  const url = new URL(address)
  const user = Buffer.from(decodeURIComponent(`${url.username}:${url.password}`)).toString('base64')
  const authorization = url.username === '' ? {} : { authorization: `Basic ${user}` }
  url.username = url.password = ''
  const signal = AbortSignal.timeout(ANSWER_MS_MAX)
  return readOf(whose, url, () => fetch(url, { headers: { ...headers, ...authorization }, signal }))
}

/** What `read` makes of the node's answer; undefined where it has none. The node's address may have a path and a query of its own. */
async function ask(path, accept, read) {
  const url = new URL(options.node)
  url.pathname = url.pathname.replace(/\/$/, '') + path
  const response = await fetchOf('the node', url, { accept })
  if (response.status === 404) return undefined
  if (!response.ok) throw new Error(`the node answered ${path} with HTTP ${response.status}`)
  return { headers: response.headers, body: await readOf('the node', url, () => read(response)) }
}

async function askSsz(path) {
  const answer = await ask(path, 'application/octet-stream', (response) => response.arrayBuffer())
  if (answer === undefined) return undefined
  const { headers, body } = answer
  if (!String(headers.get('content-type')).includes('octet-stream')) throw new Error(`${path} is no SSZ`)
  const fork = String(headers.get('eth-consensus-version')).toLowerCase()
  if (!FORKS.includes(fork)) throw new Error(`${path} is of the fork ${fork}, which is not known here`)
  return { fork, bytes: Buffer.from(body) }
}

async function askSpec() {
  const answer = await ask('/eth/v1/config/spec', 'application/json', (response) => response.json())
  if (answer === undefined) throw new Error('the node does not have /eth/v1/config/spec')
  return answer.body.data
}

const isFrom = (fork, first) => FORKS.indexOf(fork) >= FORKS.indexOf(first)

/** Numbers of a fork have its name behind them, where it changed them. */
function ruleOf(fork, name) {
  for (const one of FORKS.slice(0, FORKS.indexOf(fork) + 1).toReversed()) {
    const value = spec[`${name}_${one.toUpperCase()}`]
    if (value !== undefined) return BigInt(value)
  }
  return BigInt(spec[name])
}

// --- SSZ -------------------------------------------------------------------------------------------------------------------------

const u64 = (bytes, at) => bytes.readBigUInt64LE(at)
const u32 = (bytes, at) => bytes.readUInt32LE(at)

/** Elements of variable size: offsets first. */
function listOf(bytes) {
  if (bytes.length === 0) return []
  const count = u32(bytes, 0) / 4
  const starts = Array.from({ length: count }, (_, i) => u32(bytes, 4 * i))
  return starts.map((start, i) => bytes.subarray(start, starts[i + 1] ?? bytes.length))
}

const chunksOf = (bytes, size) =>
  Array.from({ length: bytes.length / size }, (_, i) => bytes.subarray(i * size, (i + 1) * size))

/** A container's fields by name; `sizes` are in bytes, null for one of variable size. */
function container(bytes, sizes) {
  const fields = {}
  const variable = []
  let at = 0
  for (const [name, size] of sizes) {
    if (size === null) variable.push([name, u32(bytes, at)])
    else fields[name] = bytes.subarray(at, at + size)
    at += size ?? 4
  }
  variable.forEach(([name, start], i) => {
    fields[name] = bytes.subarray(start, variable[i + 1]?.[1] ?? bytes.length)
  })
  return fields
}

function stateSizes(fork) {
  const [roots, mixes] = [32 * Number(spec.SLOTS_PER_HISTORICAL_ROOT), 32 * Number(spec.EPOCHS_PER_HISTORICAL_VECTOR)]
  const committee = 48 * (Number(spec.SYNC_COMMITTEE_SIZE) + 1)
  const lookahead = 8 * (Number(spec.MIN_SEED_LOOKAHEAD) + 1) * slotsPerEpoch
  return [
    ...[
      ['genesis_time', 8],
      ['genesis_validators_root', 32],
      ['slot', 8],
      ['fork', 16],
    ],
    ...[
      ['latest_block_header', 112],
      ['block_roots', roots],
      ['state_roots', roots],
      ['historical_roots', null],
    ],
    ...[
      ['eth1_data', 72],
      ['eth1_data_votes', null],
      ['eth1_deposit_index', 8],
      ['validators', null],
      ['balances', null],
    ],
    ...[
      ['randao_mixes', mixes],
      ['slashings', 8 * Number(spec.EPOCHS_PER_SLASHINGS_VECTOR)],
    ],
    ...[
      ['previous_participation', null],
      ['current_participation', null],
      ['justification_bits', 1],
    ],
    ...[
      ['previous_justified', 40],
      ['current_justified', 40],
      ['finalized', 40],
      ['inactivity_scores', null],
    ],
    ...[
      ['current_sync_committee', committee],
      ['next_sync_committee', committee],
    ],
    ...(isFrom(fork, 'bellatrix') ? [['latest_execution_payload_header', null]] : []),
    ...(isFrom(fork, 'capella')
      ? [
          ['withdrawal_positions', 16],
          ['historical_summaries', null],
        ]
      : []),
    ...(isFrom(fork, 'electra')
      ? [
          ['churn', 48],
          ['pending_deposits', null],
          ['pending_partial_withdrawals', null],
        ]
      : []),
    ...(isFrom(fork, 'electra') ? [['pending_consolidations', null]] : []),
    ...(isFrom(fork, 'fulu') ? [['proposer_lookahead', lookahead]] : []),
  ]
}

async function readState(slot) {
  const found = await askSsz(`/eth/v2/debug/beacon/states/${slot}`)
  if (found === undefined) throw new Error(`the node does not have the state of slot ${slot}`)
  const { fork, bytes } = found
  const state = { ...container(bytes, stateSizes(fork)), version: fork }
  if (Number(u64(state.slot, 0)) !== slot) throw new Error(`the state of slot ${slot} is that of another slot`)
  return { ...state, slot, count: state.validators.length / 121 }
}

/** As a number: of epochs, of which the one that is not set is beyond all others, and of effective balances. */
const number = (bytes, at) => u32(bytes, at) + u32(bytes, at + 4) * 2 ** 32

/** Record of the registry (phase0 `Validator`, 121 bytes). */
const pubkeyOf = (state, index) => state.validators.subarray(121 * index, 121 * index + 48)
const incrementsOf = (state, index) => number(state.validators, 121 * index + 80) / Number(INCREMENT)
const effectiveOf = (state, index) => u64(state.validators, 121 * index + 80)
const isSlashed = (state, index) => state.validators[121 * index + 88] === 1
const activationOf = (state, index) => number(state.validators, 121 * index + 97)
const exitOf = (state, index) => number(state.validators, 121 * index + 105)
const withdrawableOf = (state, index) => number(state.validators, 121 * index + 113)
const isActive = (state, index, epoch) => activationOf(state, index) <= epoch && epoch < exitOf(state, index)
const balanceOf = (state, index) => (index < state.count ? u64(state.balances, 8 * index) : 0n)
const rootAt = (roots, slot) =>
  roots.subarray(32 * (slot % (roots.length / 32)), 32 * (slot % (roots.length / 32)) + 32)

async function readBlock(slot) {
  const found = await askSsz(`/eth/v2/beacon/blocks/${slot}`)
  if (found === undefined) return undefined
  const { fork, bytes } = found
  const message = bytes.subarray(u32(bytes, 0))
  if (Number(u64(message, 0)) !== slot) throw new Error(`the block of slot ${slot} is that of another slot`)
  const body = container(message.subarray(u32(message, 80)), [
    ...[
      ['randao_reveal', 96],
      ['eth1_data', 72],
      ['graffiti', 32],
      ['proposer_slashings', null],
    ],
    ...[
      ['attester_slashings', null],
      ['attestations', null],
      ['deposits', null],
      ['voluntary_exits', null],
    ],
    ...[
      ['sync_bits', Number(spec.SYNC_COMMITTEE_SIZE) / 8],
      ['sync_signature', 96],
    ],
    ...(isFrom(fork, 'bellatrix') ? [['execution_payload', null]] : []),
    ...(isFrom(fork, 'capella') ? [['bls_to_execution_changes', null]] : []),
    ...(isFrom(fork, 'deneb') ? [['blob_kzg_commitments', null]] : []),
    ...(isFrom(fork, 'electra') ? [['execution_requests', null]] : []),
  ])
  return { slot, fork, proposer: Number(u64(message, 8)), body }
}

/** `ExecutionPayload`, from Capella on: withdrawals are its last list. */
function withdrawalsOf({ fork, body }) {
  if (!isFrom(fork, 'capella')) return []
  const payload = body.execution_payload
  const records = chunksOf(payload.subarray(u32(payload, 508)), 44)
  return records.map((record) => ({ validator: Number(u64(record, 8)), amount: u64(record, 36) }))
}

function attestationsOf({ fork, body }) {
  return listOf(body.attestations).map((bytes) => ({
    slot: Number(u64(bytes, 4)),
    index: Number(u64(bytes, 12)),
    head: bytes.subarray(20, 52),
    targetEpoch: Number(u64(bytes, 92)),
    target: bytes.subarray(100, 132),
    bits: bytes.subarray(u32(bytes, 0)),
    committeeBits: isFrom(fork, 'electra') ? bytes.subarray(228, u32(bytes, 0)) : undefined,
  }))
}

/** Whom a block's slashings accuse, in their order: proposers, then attesters in both of two contradicting attestations. */
function accusedBy({ body }) {
  const proposers = chunksOf(body.proposer_slashings, 416).map((one) => Number(u64(one, 8)))
  const indices = (bytes) => chunksOf(bytes.subarray(u32(bytes, 0)), 8).map((one) => Number(u64(one, 0)))
  const attesters = listOf(body.attester_slashings).flatMap((bytes) => {
    const [one, other] = listOf(bytes).map(indices)
    return one.filter((index) => other.includes(index)).sort((a, b) => a - b)
  })
  return [...proposers, ...attesters]
}

/** Bridge deposits to a key, gwei. */
function depositsTo({ body }, pubkey) {
  const records = chunksOf(body.deposits, 1_240).map((record) => record.subarray(1_056))
  return records.filter((record) => record.subarray(0, 48).equals(pubkey)).map((record) => u64(record, 80))
}

// --- the transition into an epoch: justification, inactivity, attestations, correlation ----------------------------------------------

/** `get_total_active_balance`, in increments. */
function activeIncrements(state, epoch) {
  let increments = 0
  for (let i = 0; i < state.count; i++) if (isActive(state, i, epoch)) increments += incrementsOf(state, i)
  return BigInt(Math.max(increments, 1))
}

/** Effective balance of unslashed validators that were active in the epoch and have the flag, in increments. */
function participating(state, participation, flag, epoch) {
  let increments = 0
  for (let i = 0; i < state.count; i++)
    if ((participation[i] & flag) !== 0 && !isSlashed(state, i) && isActive(state, i, epoch))
      increments += incrementsOf(state, i)
  return BigInt(Math.max(increments, 1))
}

/** `weigh_justification_and_finalization`: which epoch is final then. */
function finalizedAfter(state, epoch, total) {
  const [before, current] = [number(state.previous_justified, 0), number(state.current_justified, 0)]
  let finalized = number(state.finalized, 0)
  if (epoch <= 1) return finalized
  const isJustified = (list, of) => participating(state, list, FLAGS.target, of) * 3n >= total * 2n
  const bits = [isJustified(state.current_participation, epoch), isJustified(state.previous_participation, epoch - 1)]
  bits[1] ||= (state.justification_bits[0] & 1) !== 0
  bits[2] = (state.justification_bits[0] & 2) !== 0
  bits[3] = (state.justification_bits[0] & 4) !== 0
  if (bits[1] && bits[2] && bits[3] && before + 3 === epoch) finalized = before
  if (bits[1] && bits[2] && before + 2 === epoch) finalized = before
  if (bits[0] && bits[1] && bits[2] && current + 2 === epoch) finalized = current
  if (bits[0] && bits[1] && current + 1 === epoch) finalized = current
  return finalized
}

/** What the transition out of a state applies to a validator's balance, part after part. */
function transitionParts(state, index, apply) {
  const epoch = Math.floor(state.slot / slotsPerEpoch)
  const parts = { source: 0n, target: 0n, head: 0n, inactivity: 0n, correlation: 0n }
  if (index >= state.count || epoch === 0) return parts
  const total = activeIncrements(state, epoch)
  const previous = epoch - 1
  const isLeaking = previous - finalizedAfter(state, epoch, total) > Number(spec.MIN_EPOCHS_TO_INACTIVITY_PENALTY)
  const effective = effectiveOf(state, index)
  const slashed = isSlashed(state, index)
  if (isActive(state, index, previous) || (slashed && previous + 1 < withdrawableOf(state, index))) {
    const base = (effective / INCREMENT) * baseRewardPerIncrement(total)
    const flags = slashed ? 0 : state.previous_participation[index]
    for (const [name, weight] of Object.entries(WEIGHTS)) {
      if ((flags & FLAGS[name]) !== 0) {
        const increments = participating(state, state.previous_participation, FLAGS[name], previous)
        if (!isLeaking) parts[name] = apply((base * weight * increments) / (total * WEIGHT_DENOMINATOR))
      } else if (name !== 'head') parts[name] = apply(-((base * weight) / WEIGHT_DENOMINATOR))
    }
    if ((flags & FLAGS.target) === 0) {
      const bias = BigInt(spec.INACTIVITY_SCORE_BIAS)
      let score = u64(state.inactivity_scores, 8 * index) + bias
      if (!isLeaking) score -= min(BigInt(spec.INACTIVITY_SCORE_RECOVERY_RATE), score)
      parts.inactivity = apply(-((effective * score) / (bias * ruleOf(state.version, 'INACTIVITY_PENALTY_QUOTIENT'))))
    }
  }
  const half = Number(spec.EPOCHS_PER_SLASHINGS_VECTOR) / 2
  if (slashed && epoch + half === withdrawableOf(state, index))
    parts.correlation = apply(-correlationOf(state, effective, total))
  return parts
}

const baseRewardPerIncrement = (total) => (INCREMENT * BigInt(spec.BASE_REWARD_FACTOR)) / isqrt(total * INCREMENT)

function correlationOf(state, effective, total) {
  const slashings = chunksOf(state.slashings, 8).reduce((all, one) => all + u64(one, 0), 0n)
  const adjusted = min(slashings * ruleOf(state.version, 'PROPORTIONAL_SLASHING_MULTIPLIER'), total * INCREMENT)
  const increments = effective / INCREMENT
  if (isFrom(state.version, 'electra')) return (adjusted / total) * increments
  return ((increments * adjusted) / (total * INCREMENT)) * INCREMENT
}

// --- blocks -----------------------------------------------------------------------------------------------------------------------

/** Reward of a seat in the sync committee and of the proposer for its vote (altair, process_sync_aggregate). */
function syncRewards(total) {
  const all = baseRewardPerIncrement(total) * total
  const seat = (all * SYNC_WEIGHT) / WEIGHT_DENOMINATOR / BigInt(slotsPerEpoch) / BigInt(spec.SYNC_COMMITTEE_SIZE)
  return { seat, proposer: (seat * PROPOSER_WEIGHT) / (WEIGHT_DENOMINATOR - PROPOSER_WEIGHT) }
}

/** `compute_shuffled_index` of all places at once. */
function shuffled(active, seed) {
  const count = active.length
  const places = Uint32Array.from({ length: count }, (_, i) => i)
  const hash = (...parts) => parts.reduce((one, part) => one.update(part), createHash('sha256')).digest()
  const bits = Buffer.alloc(32 * (Math.floor((count - 1) / 256) + 1))
  for (let round = 0; round < Number(spec.SHUFFLE_ROUND_COUNT); round++) {
    const pivot = Number(u64(hash(seed, Buffer.of(round)), 0) % BigInt(count))
    for (let at = 0; at < bits.length / 32; at++) {
      const place = Buffer.alloc(4)
      place.writeUInt32LE(at)
      bits.set(hash(seed, Buffer.of(round), place), 32 * at)
    }
    for (let i = 0; i < count; i++) {
      const flip = (pivot + count - places[i]) % count
      const position = Math.max(places[i], flip)
      if (((bits[position >> 3] >> (position & 7)) & 1) === 1) places[i] = flip
    }
  }
  return places.map((place) => active[place])
}

/** Committees of an epoch by slot and index, drawn from a state of it or of the next one (get_beacon_committee). */
function committeesOf(state, epoch) {
  const active = []
  for (let i = 0; i < state.count; i++) if (isActive(state, i, epoch)) active.push(i)
  const mixes = Number(spec.EPOCHS_PER_HISTORICAL_VECTOR)
  const head = Buffer.alloc(12)
  head[0] = 1 // DOMAIN_BEACON_ATTESTER
  head.writeBigUInt64LE(BigInt(epoch), 4)
  const mix = rootAt(state.randao_mixes, (epoch + mixes - Number(spec.MIN_SEED_LOOKAHEAD) - 1) % mixes)
  const order = shuffled(Uint32Array.from(active), createHash('sha256').update(head).update(mix).digest())
  const wanted = Math.floor(active.length / slotsPerEpoch / Number(spec.TARGET_COMMITTEE_SIZE))
  const perSlot = Math.max(1, Math.min(Number(spec.MAX_COMMITTEES_PER_SLOT), wanted))
  return (slot, index) => {
    const place = (slot % slotsPerEpoch) * perSlot + index
    const bound = (at) => Math.floor((order.length * at) / (perSlot * slotsPerEpoch))
    return order.subarray(bound(place), bound(place + 1))
  }
}

const hasBit = (bits, at) => ((bits[at >> 3] >> (at & 7)) & 1) === 1

/** Participation as blocks fill it, and what each block's proposer earns by it (altair, process_attestation). */
class Participation {
  constructor(before, after, hasTransition) {
    this.epoch = Math.floor(after.slot / slotsPerEpoch)
    this.after = after
    const grown = (list) => Buffer.concat([list, Buffer.alloc(after.count - before.count)])
    this.previous = grown(hasTransition ? before.current_participation : before.previous_participation)
    this.current = hasTransition ? Buffer.alloc(after.count) : grown(before.current_participation)
    this.base = baseRewardPerIncrement(activeIncrements(after, this.epoch))
    this.committees = new Map()
  }

  #committee(epoch) {
    if (!this.committees.has(epoch)) this.committees.set(epoch, committeesOf(this.after, epoch))
    return this.committees.get(epoch)
  }

  #flags({ slot, head, target, targetEpoch }, block) {
    const delay = block.slot - slot
    const roots = this.after.block_roots
    const isTarget = target.equals(rootAt(roots, targetEpoch * slotsPerEpoch))
    const isHead = isTarget && head.equals(rootAt(roots, slot))
    const isTargetInTime = isFrom(block.fork, 'deneb') || delay <= slotsPerEpoch
    return (
      (delay <= Math.floor(Math.sqrt(slotsPerEpoch)) ? FLAGS.source : 0) |
      (isTarget && isTargetInTime ? FLAGS.target : 0) |
      (isHead && delay === 1 ? FLAGS.head : 0)
    )
  }

  /** Gwei for the proposer. */
  add(block) {
    let gwei = 0n
    for (const attestation of attestationsOf(block)) {
      const { targetEpoch, committeeBits, bits } = attestation
      const list = targetEpoch === this.epoch ? this.current : this.previous
      const indices = committeeBits === undefined ? [attestation.index] : []
      for (let i = 0; committeeBits !== undefined && i < 8 * committeeBits.length; i++)
        if (hasBit(committeeBits, i)) indices.push(i)
      const members = indices.flatMap((index) => [...this.#committee(targetEpoch)(attestation.slot, index)])
      const flags = this.#flags(attestation, block)
      let numerator = 0n
      members.forEach((member, seat) => {
        if (!hasBit(bits, seat)) return
        for (const [name, weight] of Object.entries(WEIGHTS)) {
          if ((flags & FLAGS[name]) === 0 || (list[member] & FLAGS[name]) !== 0) continue
          list[member] |= FLAGS[name]
          numerator += (effectiveOf(this.after, member) / INCREMENT) * this.base * weight
        }
      })
      gwei += numerator / (((WEIGHT_DENOMINATOR - PROPOSER_WEIGHT) * WEIGHT_DENOMINATOR) / PROPOSER_WEIGHT)
    }
    return gwei
  }

  get isThatOfState() {
    return (
      this.previous.equals(this.after.previous_participation) && this.current.equals(this.after.current_participation)
    )
  }
}

/** Everything recomputed between the states after slots `from` and `to` of one epoch; gwei. */
async function recompute({ before, after, index, hasTransition }) {
  let balance = balanceOf(before, index)
  const apply = (gwei) => {
    // biome-ignore lint/complexity/useMathMinMax: of bigint
    const applied = gwei < -balance ? -balance : gwei // balances stop at 0
    balance += applied
    return applied
  }
  const parts = hasTransition
    ? transitionParts(before, index, apply)
    : { source: 0n, target: 0n, head: 0n, inactivity: 0n, correlation: 0n }
  const found = {
    ...parts,
    sync: new Map(),
    proposer: new Map(),
    slashing: parts.correlation,
    withdrawals: new Map(),
    deposits: 0n,
  }
  const blocks = []
  for (let slot = before.slot + 1; slot <= after.slot; slot++) blocks.push(await readBlock(slot))
  const proposes = blocks.some((block) => block?.proposer === index)
  const participation = proposes ? new Participation(before, after, hasTransition) : undefined
  const rewards = syncRewards(activeIncrements(after, Math.floor(after.slot / slotsPerEpoch)))
  const pubkey = index < after.count ? Buffer.from(pubkeyOf(after, index)) : Buffer.alloc(48)
  const seats = chunksOf(after.current_sync_committee, 48).slice(0, -1)
  const add = (map, slot, gwei) => map.set(slot, (map.get(slot) ?? 0n) + gwei)
  const slashed = new Set()
  for (const block of blocks) {
    if (block === undefined) continue
    const { slot, fork, body } = block
    const isProposer = block.proposer === index
    for (const { validator, amount } of withdrawalsOf(block))
      if (validator === index) add(found.withdrawals, slot, apply(-amount))
    for (const accused of accusedBy(block)) {
      if (isSlashed(before, accused) || slashed.has(accused) || !isSlashed(after, accused)) continue
      slashed.add(accused)
      const effective = effectiveOf(after, accused)
      if (accused === index) found.slashing += apply(-(effective / ruleOf(fork, 'MIN_SLASHING_PENALTY_QUOTIENT')))
      // The reporter is the proposer: both parts of the reward are its own.
      if (isProposer) add(found.proposer, slot, apply(effective / ruleOf(fork, 'WHISTLEBLOWER_REWARD_QUOTIENT')))
    }
    const attested = participation?.add(block) ?? 0n
    if (isProposer) add(found.proposer, slot, apply(attested))
    if (!isFrom(fork, 'electra') && index < before.count)
      for (const amount of depositsTo(block, pubkey)) found.deposits += apply(amount)
    seats.forEach((seat, at) => {
      const isSet = hasBit(body.sync_bits, at)
      if (seat.equals(pubkey)) add(found.sync, slot, apply(isSet ? rewards.seat : -rewards.seat))
      if (isProposer && isSet) add(found.proposer, slot, apply(rewards.proposer))
    })
  }
  const change = balanceOf(after, index) - balanceOf(before, index)
  const isReplayed = participation?.isThatOfState ?? true
  return { ...found, change, isReplayed, remaining: change - (balance - balanceOf(before, index)) }
}

// --- the document ---------------------------------------------------------------------------------------------------------------

function dataOf({ code, msg, data }) {
  if (code !== '200') throw new Error(`the proof was refused: ${msg}`)
  return data
}

/** A document that was saved; one page of several says nothing of the day. */
function readSaved(file) {
  const answer = JSON.parse(readFileSync(file, 'utf8'))
  const data = dataOf(answer)
  const { total } = answer.pagination
  if (total > data.epochs.length && options.epoch === undefined)
    throw new Error(
      `${file} has ${data.epochs.length} of the day's ${total} epochs: ask for it with limit=${LIMIT_MAX}`,
    )
  return data
}

async function readProof(source) {
  if (!/^https?:/.test(source)) return readSaved(source)
  let whole
  for (let cursor = ''; cursor !== null; ) {
    const url = new URL(source)
    url.searchParams.set('limit', LIMIT_MAX)
    if (cursor !== '') url.searchParams.set('cursor', cursor)
    const response = await fetchOf('the proof', url, {})
    const answer = await readOf('the proof', url, () => response.json())
    const data = dataOf(answer)
    whole = whole === undefined ? data : { ...whole, epochs: [...whole.epochs, ...data.epochs] }
    cursor = answer.next_cursor
  }
  return whole
}

const [SLASHING, WITHDRAWAL] = [/^slashing/, /^withdrawal/]
const CREDITED = ['source', 'target', 'head', 'inactivity']
/** Sums of a day that are of effects, by what the kinds of these are. */
const COMPONENTS = { sync: /^sync$/, proposer: /^proposer$/, slashing_penalty: SLASHING }
const FLOWS = {
  deposits: /^deposit$/,
  withdrawals: WITHDRAWAL,
  returned_from_queue: /^returned_from_queue$/,
  moved_to_queue: /^moved_to_queue$/,
  consolidations_in: /^consolidation_in$/,
  consolidations_out: /^consolidation_out$/,
}
const isComponent = (kind) => Object.values(COMPONENTS).some((one) => one.test(kind))
const UTC8_SEC = 28_800
const DAY_SEC = 86_400

/** Collects what is not the same, as sentences. */
function comparison() {
  const wrong = []
  const same = (what, ours, theirs) => {
    if (String(ours) !== String(theirs)) wrong.push(`${what} is ${ours}, the document has ${theirs}`)
  }
  return { wrong, same }
}

/** Components + flows + residual are the change of the balance, where both balances are known. */
function compareIdentity(told, same) {
  const { start, end } = told
  const isKnown = start.balance_gwei !== null && end.balance_gwei !== null
  const change = isKnown ? BigInt(end.balance_gwei) - BigInt(start.balance_gwei) : null
  same('balance_change_gwei', change, told.balance_change_gwei)
  const explained = BigInt(told.components_gwei) + BigInt(told.flows_gwei)
  same('residual_gwei', isKnown ? change - explained : null, told.residual_gwei)
}

/** What differs between an epoch of the document and what was recomputed, as sentences. */
function differences(told, found, { before, after, index }) {
  const { wrong, same } = comparison()
  same('its epoch', Math.floor(after.slot / slotsPerEpoch), told.epoch)
  same('first_slot', before.slot + 1, told.first_slot)
  same('last_slot', after.slot, told.last_slot)
  same('has_transition', told.epoch > 0 && (before.slot + 1) % slotsPerEpoch === 0, told.has_transition)
  for (const part of CREDITED) same(part, found[part], told[`${part}_gwei`])
  const [components, flows] = [true, false].map((are) =>
    sum(told.effects.filter(({ kind }) => isComponent(kind) === are).map((one) => one.amount_gwei)),
  )
  same('components_gwei', sum(CREDITED.map((part) => told[`${part}_gwei`])) + components, told.components_gwei)
  same('flows_gwei', flows, told.flows_gwei)
  compareIdentity(told, same)
  const bySlot = (isKind) => {
    const slots = new Map()
    for (const { kind, slot, amount_gwei: gwei } of told.effects)
      if (isKind(kind)) slots.set(slot, (slots.get(slot) ?? 0n) + BigInt(gwei))
    return [...slots]
  }
  const maps = {
    sync: (kind) => kind === 'sync',
    proposer: (kind) => kind === 'proposer',
    withdrawals: (kind) => WITHDRAWAL.test(kind),
  }
  for (const [name, isKind] of Object.entries(maps)) {
    const [ours, theirs] = [found[name], new Map(bySlot(isKind))]
    for (const slot of new Set([...ours.keys(), ...theirs.keys()]))
      same(`${name} of slot ${slot}`, ours.get(slot) ?? 0n, theirs.get(slot) ?? 0n)
  }
  const total = (isKind) => sum(bySlot(isKind).map(([, gwei]) => gwei))
  same(
    'slashing penalties',
    found.slashing,
    total((kind) => SLASHING.test(kind)),
  )
  const rest = (kind) => !SLASHING.test(kind) && !Object.values(maps).some((isKind) => isKind(kind))
  same('what remains, with bridge deposits,', found.remaining + found.deposits, total(rest))
  same('balance before', balanceOf(before, index), told.start.balance_gwei ?? balanceOf(before, index))
  same('balance after', balanceOf(after, index), told.end.balance_gwei)
  same('residual', 0n, told.residual_gwei ?? 0n)
  if (!found.isReplayed) wrong.push('the blocks do not set the participation that the state after them has')
  if (told.start.state_root !== null)
    same('root of the state before', hex(rootAt(after.state_roots, before.slot)), told.start.state_root)
  for (const { slot, block_root: root } of told.effects)
    if (root !== null && slot < after.slot)
      same(`root of the block of slot ${slot}`, hex(rootAt(after.block_roots, slot)), root)
  const { block_slot: named, block_root: root } = told.start
  if (named !== null) same('root of the block before', hex(rootAt(after.block_roots, named)), root)
  return wrong
}

/** What differs of the day itself: its slots are the date's, its key is the validator's, and its figures are the sums of its epochs'. */
function dayDifferences(proof, state) {
  const { wrong, same } = comparison()
  const { epochs } = proof
  const [genesis, slotSec] = [Number(u64(state.genesis_time, 0)), Number(spec.SECONDS_PER_SLOT)]
  const midnight = Date.parse(`${proof.date}T00:00:00Z`) / 1_000 - UTC8_SEC
  const firstSlotFrom = (time) => Math.ceil((time - genesis) / slotSec)
  same(`the first slot of ${proof.date}`, firstSlotFrom(midnight), proof.start.slot + 1)
  same(`the last slot of ${proof.date}`, firstSlotFrom(midnight + DAY_SEC) - 1, proof.end.slot)
  same(`the key of validator ${proof.validator_index}`, hex(pubkeyOf(state, proof.validator_index)), proof.pubkey)
  same('the first slot of its epochs', proof.start.slot + 1, epochs[0].first_slot)
  same('the last slot of its epochs', proof.end.slot, epochs.at(-1).last_slot)
  epochs.slice(1).forEach((one, i) => {
    if (one.start.slot !== epochs[i].end.slot) wrong.push(`epoch ${one.epoch} does not continue the one before`)
  })
  same('balance before', epochs[0].start.balance_gwei ?? proof.start.balance_gwei, proof.start.balance_gwei)
  same('balance after', epochs.at(-1).end.balance_gwei, proof.end.balance_gwei)
  for (const name of [...CREDITED, 'components', 'flows'].map((part) => `${part}_gwei`))
    same(`${name} of all epochs`, sum(epochs.map((one) => one[name])), proof[name])
  const effects = epochs.flatMap((one) => one.effects)
  for (const [name, isKind] of Object.entries({ ...COMPONENTS, ...FLOWS })) {
    const own = effects.filter(({ kind }) => isKind.test(kind))
    same(`${name}_gwei of all epochs`, sum(own.map((one) => one.amount_gwei)), proof[`${name}_gwei`])
  }
  compareIdentity(proof, same)
  // What a node rounded away of the components, which reward endpoints told, is published with them.
  const rounded = proof.level === 'rounding' ? BigInt(proof.residual_gwei) : 0n
  same('cl_reward_gwei', BigInt(proof.components_gwei) + rounded, proof.cl_reward_gwei)
  return wrong
}

function formatFound(found) {
  const { source, target, head, inactivity, slashing, remaining, deposits } = found
  const [sync, proposer, withdrawals] = [found.sync, found.proposer, found.withdrawals].map((map) =>
    sum([...map.values()]),
  )
  const named = {
    source,
    target,
    head,
    inactivity,
    sync,
    proposer,
    slashing,
    withdrawals,
    deposits,
    'not recomputed': remaining,
  }
  return Object.entries(named)
    .map(([name, gwei]) => `${name} ${gwei}`)
    .join(', ')
}

/** An epoch without a document: from the state before it, which is that of the genesis for the first one, to its last slot. */
function untold(epoch) {
  const [first, hasTransition] = [epoch * slotsPerEpoch, epoch > 0]
  const start = { slot: hasTransition ? first - 1 : 0 }
  return { epoch, start, end: { slot: first + slotsPerEpoch - 1 }, has_transition: hasTransition }
}

/** Beyond the registry everything would be 0. */
function refuseUnknown(index, { slot, count }) {
  if (index < count) return
  throw new Error(`the registry of slot ${slot} has ${count} validators: there is no validator ${index}`)
}

function refuseOther(pattern, name, what) {
  const text = options[name]
  if (text !== undefined && !pattern.test(text)) throw new Error(`--${name} is no ${what}: ${JSON.stringify(text)}`)
}

const { values: options } = parseArgs({
  options: {
    ...{
      node: { type: 'string' },
      proof: { type: 'string' },
      epoch: { type: 'string' },
      validator: { type: 'string' },
    },
  },
})
let spec
let slotsPerEpoch

async function main() {
  if (
    options.node === undefined ||
    (options.proof === undefined && (options.epoch === undefined || options.validator === undefined))
  )
    throw new Error('usage: --node URL, and --proof URL or file, or --validator INDEX --epoch N')
  for (const name of ['epoch', 'validator']) refuseOther(/^\d+$/, name, 'whole number')
  refuseOther(/^https?:\/\/./, 'node', 'http address')
  spec = await askSpec()
  slotsPerEpoch = Number(spec.SLOTS_PER_EPOCH)
  const proof = options.proof === undefined ? undefined : await readProof(options.proof)
  const index = proof?.validator_index ?? Number(options.validator)
  const epochs = proof === undefined ? [untold(Number(options.epoch))] : proof.epochs
  const asked = epochs.filter(({ epoch }) => options.epoch === undefined || epoch === Number(options.epoch))
  if (asked.length === 0) throw new Error(`the document has no epoch ${options.epoch}`)
  let isEqual = true
  let after
  for (const told of asked) {
    const before = after?.slot === told.start.slot ? after : await readState(told.start.slot)
    after = await readState(told.end.slot)
    // It may have come in any epoch of a document but the last one.
    if (told === asked.at(-1)) refuseUnknown(index, after)
    const found = await recompute({ before, after, index, hasTransition: told.has_transition })
    const wrong = proof === undefined ? [] : differences(told, found, { before, after, index })
    if (wrong.length > 0) isEqual = false
    const verdict = proof === undefined ? 'recomputed' : wrong.length === 0 ? 'equal' : `DIFFERS: ${wrong.join('; ')};`
    console.log(`epoch ${told.epoch}: ${verdict} (${formatFound(found)})`)
  }
  if (proof !== undefined && options.epoch === undefined) {
    const wrong = dayDifferences(proof, after)
    if (wrong.length > 0) isEqual = false
    console.log(
      `${proof.date}, validator ${index}: ${wrong.length === 0 ? 'sums are equal' : `DIFFERS: ${wrong.join('; ')}`}`,
    )
  }
  return isEqual ? 0 : 1
}

process.exitCode = await main().catch((error) => {
  console.error(error.message)
  return 2
})
