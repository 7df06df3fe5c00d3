import type { Asked, NodeFault, Reply, Told } from './faulty-node.ts'

// What faults are about, and what they make of an answer.

type Json = Readonly<Record<string, unknown>>

const at = (method: string, path: RegExp) => (asked: Asked) => asked.method === method && path.test(asked.path)
const isByKey = ({ body }: Asked) => body.includes('"0x')

const isStates = at('POST', /^\/eth\/v1\/beacon\/states\/\d+\/validators$/)
/** Registry rows of validators that are asked for by their indices. */
export const ofStates = (asked: Asked) => isStates(asked) && !isByKey(asked)
export const ofIdentities = (asked: Asked) => isStates(asked) && isByKey(asked)
export const ofBalances = at('POST', /\/validator_balances$/)
export const ofAttestationRewards = at('POST', /\/rewards\/attestations\/\d+$/)
export const ofSyncRewards = at('POST', /\/rewards\/sync_committee\//)
export const ofProposerRewards = at('GET', /\/rewards\/blocks\//)
export const ofSyncCommittees = at('GET', /\/sync_committees/)
export const ofPendingDeposits = at('GET', /\/pending_deposits$/)
export const ofBlocks = at('GET', /^\/eth\/v2\/beacon\/blocks\//)
export const ofBlocksBySlot = at('GET', /^\/eth\/v2\/beacon\/blocks\/\d+$/)
export const ofBlocksByRoot = at('GET', /^\/eth\/v2\/beacon\/blocks\/0x/)
export const ofFinality = at('GET', /\/finality_checkpoints$/)
export const ofHead = at('GET', /\/headers\/head$/)
export const ofSpec = at('GET', /\/config\/spec$/)
/** Which chain the node is on. */
export const ofChain = at('GET', /\/(genesis|config\/spec|node\/syncing)$/)
export const ofAnything = () => true
/** Everything but the event stream. */
export const ofQuestions = (asked: Asked) => !asked.path.startsWith('/eth/v1/events')
export const ofMethod =
  (...methods: readonly string[]) =>
  (asked: Asked) =>
    methods.some((method) => asked.body.includes(`"${method}"`))

const JSON_HEADERS = { 'content-type': 'application/json' }

export function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Told {
  return { status, headers: { ...JSON_HEADERS, ...headers }, body: Buffer.from(JSON.stringify(value)) }
}

/** An HTTP status, with the body that the Beacon API gives it. */
export const status =
  (code: number, message: string, headers: Readonly<Record<string, string>> = {}): NodeFault['reply'] =>
  () =>
    json(code, { code, message }, headers)

export const html: NodeFault['reply'] = () => ({
  status: 200,
  headers: { 'content-type': 'text/html' },
  body: Buffer.from('<html><body>Welcome to nginx!</body></html>'),
})

/** The true answer, changed where it is JSON of a 200. */
export const changed =
  (change: (answer: Json, asked: Asked) => unknown): NodeFault['reply'] =>
  async (asked, truth) => {
    const told = await truth()
    if (told.status !== 200) return told
    return { ...told, body: Buffer.from(JSON.stringify(change(JSON.parse(Buffer.from(told.body).toString()), asked))) }
  }

/** The true rows, changed. */
export const rows = (change: (rows: readonly Json[]) => readonly Json[]): NodeFault['reply'] =>
  changed((answer) => ({ ...answer, data: change(answer.data as readonly Json[]) }))

export const cut: NodeFault['reply'] = async (_, truth): Promise<Reply> => ({ cut: await truth() })
export const trickle: NodeFault['reply'] = async (_, truth): Promise<Reply> => ({ trickle: await truth() })
/** The first half of the true bytes, as if they were all. */
export const half: NodeFault['reply'] = async (_, truth) => {
  const told = await truth()
  return { ...told, body: told.body.subarray(0, told.body.length / 2) }
}

/** JSON-RPC: the true answers, each result changed by what was asked. */
export const results = (change: (result: unknown, method: string) => unknown): NodeFault['reply'] =>
  rpc((answers, questions) =>
    answers.map((answer) => {
      const question = questions.find(({ id }) => id === answer.id)
      return { ...answer, result: change(answer.result, String(question?.method)) }
    }),
  )

/** JSON-RPC: the true answers of a batch, changed together. */
export function rpc(
  change: (answers: readonly Json[], questions: readonly Json[]) => readonly Json[],
): NodeFault['reply'] {
  return async (asked, truth) => {
    const told = await truth()
    const [questions, answers] = [asked.body, Buffer.from(told.body).toString()].map((text) => JSON.parse(text))
    const many = (value: unknown) => (Array.isArray(value) ? value : [value]) as readonly Json[]
    const changedAnswers = change(many(answers), many(questions))
    return { ...told, body: Buffer.from(JSON.stringify(Array.isArray(answers) ? changedAnswers : changedAnswers[0])) }
  }
}
