import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { ssz } from '@lodestar/types'

// A beacon node with a registry of any size, for measurements: answers are made once and sent again and again.

const SLOTS_PER_EPOCH = 32
const COMMITTEE_SEATS = 512
/** States and rewards differ from epoch to epoch; so many different answers are kept. */
const VARIANTS = 3
/** About the size of a block of mainnet. */
const ATTESTATIONS_PER_BLOCK = 8
const TRANSACTIONS_PER_BLOCK = 150
const TRANSACTION_BYTES = 300
/** Noon of UTC+8: no day boundary within the measured epochs. */
const GENESIS_TIME_SEC = 1_704_081_600
const FAR = '18446744073709551615'

const PUBKEY_PREFIX = `0x${'b0'.repeat(44)}`

/** Public keys of the synthetic registry: the last four bytes are the index. */
export function pubkeyOf(index: number): string {
  return PUBKEY_PREFIX + index.toString(16).padStart(8, '0')
}

interface Block {
  readonly bytes: Uint8Array
  readonly root: string
}

function makeChain(slots: number): readonly (Block | undefined)[] {
  const chain: (Block | undefined)[] = []
  let parentRoot: Uint8Array = new Uint8Array(32)
  for (let slot = 0; slot < slots; slot++) {
    const block = ssz.fulu.SignedBeaconBlock.defaultValue()
    const { message } = block
    message.slot = slot
    message.proposerIndex = slot % 997
    message.parentRoot = parentRoot
    message.body.executionPayload.blockNumber = slot
    message.body.executionPayload.blockHash = new Uint8Array(32).fill(1 + (slot % 200))
    message.body.attestations = Array.from({ length: ATTESTATIONS_PER_BLOCK }, () =>
      ssz.electra.Attestation.defaultValue(),
    )
    message.body.executionPayload.transactions = Array.from({ length: TRANSACTIONS_PER_BLOCK }, (_, i) =>
      new Uint8Array(TRANSACTION_BYTES).fill(i),
    )
    parentRoot = ssz.fulu.BeaconBlock.hashTreeRoot(message)
    const root = `0x${Buffer.from(parentRoot).toString('hex')}`
    chain.push({ bytes: ssz.fulu.SignedBeaconBlock.serialize(block), root })
  }
  return chain
}

/** A repeatable number in [0, 1) for a validator and a variant, without a pattern that would compress (murmur3's finalizer). */
function noise(index: number, variant: number): number {
  let mixed = Math.imul(index + 1, 0x9e3779b1) ^ Math.imul(variant + 1, 0x85ebca77)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32
}

function validatorsBody(validators: number, variant: number): Buffer {
  const rows = Array.from({ length: validators }, (_, index) => {
    const balance = 32_000_000_000 + Math.floor(noise(index, variant) * 20_000_000)
    return `{"index":"${index}","balance":"${balance}","status":"active_ongoing","validator":{"pubkey":"${pubkeyOf(index)}","withdrawal_credentials":"0x010000000000000000000000${index.toString(16).padStart(40, '0')}","effective_balance":"32000000000","slashed":false,"activation_eligibility_epoch":"0","activation_epoch":"${index >> 4}","exit_epoch":"${FAR}","withdrawable_epoch":"${FAR}"}}`
  })
  // Everybody is active, also in the first epoch.
  const text = rows.join(',').replaceAll(/"activation_epoch":"\d+"/g, '"activation_epoch":"0"')
  return Buffer.from(`{"execution_optimistic":false,"finalized":true,"data":[${text}]}`)
}

/** One in fifty misses its attestation, one in twenty the head: as on a good day of mainnet. */
function attestationsBody(validators: number, variant: number): Buffer {
  const rows = Array.from({ length: validators }, (_, index) => {
    const luck = noise(index, variant + 100)
    const missed = luck < 0.02
    const head = missed || luck < 0.07 ? 0 : 2_650 + variant
    return `{"validator_index":"${index}","head":"${head}","target":"${missed ? -4_900 : 4_880 + variant}","source":"${missed ? -2_640 : 2_630 + variant}","inclusion_delay":"0","inactivity":"0"}`
  })
  return Buffer.from(
    `{"execution_optimistic":false,"finalized":true,"data":{"ideal_rewards":[],"total_rewards":[${rows.join(',')}]}}`,
  )
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

function serve(validators: number, firstFinalEpoch: number, lastEpoch: number): void {
  let finalEpoch = firstFinalEpoch
  process.once('message', () => {
    finalEpoch = lastEpoch
  })
  const lastSlot = (lastEpoch + 1) * SLOTS_PER_EPOCH
  const chain = makeChain(lastSlot + 1)
  const byRoot = new Map(chain.map((block) => [block?.root, block]))
  const states = Array.from({ length: VARIANTS }, (_, variant) => validatorsBody(validators, variant))
  const attestations = Array.from({ length: VARIANTS }, (_, variant) => attestationsBody(validators, variant))
  const seats = Array.from({ length: COMMITTEE_SEATS }, (_, i) => Math.floor((i * validators) / COMMITTEE_SEATS))
  const syncRows = [...new Set(seats)].map(
    (index) => `{"validator_index":"${index}","reward":"${21_000 + (index % 5)}"}`,
  )
  const root = (slot: number) => chain[slot]?.root
  const json: Readonly<Record<string, unknown>> = {
    '/eth/v1/beacon/genesis': {
      genesis_time: String(GENESIS_TIME_SEC),
      genesis_validators_root: `0x${'5a'.repeat(32)}`,
    },
    '/eth/v1/config/spec': {
      SECONDS_PER_SLOT: '12',
      SLOTS_PER_EPOCH: String(SLOTS_PER_EPOCH),
      DEPOSIT_CHAIN_ID: '1',
      EPOCHS_PER_SYNC_COMMITTEE_PERIOD: '256',
      MIN_SLASHING_PENALTY_QUOTIENT_ELECTRA: '4096',
      ...Object.fromEntries(
        ['ALTAIR', 'BELLATRIX', 'CAPELLA', 'DENEB', 'ELECTRA', 'FULU'].map((f) => [`${f}_FORK_EPOCH`, '0']),
      ),
    },
    '/eth/v1/beacon/headers/head': {
      root: root(lastSlot),
      header: { message: { slot: String(lastSlot), parent_root: root(lastSlot - 1) } },
    },
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').split('?')[0] ?? ''
    const parts = path.split('/')
    const id = parts.at(-1) ?? ''
    const send = (body: string | Uint8Array, type = 'application/json') => {
      response.writeHead(200, {
        'content-type': type,
        'content-length': Buffer.byteLength(body),
        'eth-consensus-version': 'fulu',
      })
      response.end(body)
    }
    const sendData = (value: unknown) => send(JSON.stringify({ data: value }))
    if (path in json) return sendData(json[path])
    if (path.endsWith('/finality_checkpoints')) {
      return sendData({ finalized: { epoch: String(finalEpoch), root: root(finalEpoch * SLOTS_PER_EPOCH) } })
    }
    if (path.startsWith('/eth/v2/beacon/blocks/')) {
      const block = id.startsWith('0x') ? byRoot.get(id) : chain[Number(id)]
      if (block !== undefined) return send(block.bytes, 'application/octet-stream')
    }
    if (path.endsWith('/pending_deposits')) return send(new Uint8Array(0), 'application/octet-stream')
    if (path.endsWith('/sync_committees')) return sendData({ validators: seats.map(String) })
    if (path.includes('/rewards/blocks/')) {
      return sendData({
        attestations: '41000000',
        sync_aggregate: '1540000',
        proposer_slashings: '0',
        attester_slashings: '0',
      })
    }
    if (path.includes('/rewards/sync_committee/')) return send(`{"data":[${syncRows.join(',')}]}`)
    const variant = Number(parts[5] === 'attestations' ? id : Math.floor(Number(parts[5]) / SLOTS_PER_EPOCH)) % VARIANTS
    if (path.includes('/rewards/attestations/')) return send(attestations[variant] as Buffer)
    if (path.endsWith('/validators')) {
      const ids = (JSON.parse(await bodyOf(request)) as { ids?: string[] }).ids ?? []
      if (ids[0]?.startsWith('0x') !== true) return send(states[variant] as Buffer)
      const known = ids.map((pubkey) => ({
        index: String(Number.parseInt(pubkey.slice(-8), 16)),
        validator: { pubkey, withdrawal_credentials: `0x${'01'.repeat(32)}` },
      }))
      return sendData(known)
    }
    if (path.endsWith('/validator_balances')) {
      // Only asked for by who looks for the size of the registry.
      const ids = (JSON.parse(await bodyOf(request)) as string[]).map(Number).filter((index) => index < validators)
      return sendData(ids.map((index) => ({ index: String(index), balance: '32000000000' })))
    }
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"code":404,"message":"not found"}')
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      process.stderr.write(`${error}\n`)
      response.destroy()
    })
  })
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    if (address !== null && typeof address === 'object') process.send?.(`http://127.0.0.1:${address.port}`)
  })
}

if (process.send !== undefined && import.meta.main) {
  const [validators, firstFinalEpoch, lastEpoch] = process.argv.slice(2).map(Number) as [number, number, number]
  process.on('disconnect', () => process.exit())
  serve(validators, firstFinalEpoch, lastEpoch)
}
