import { createInterface } from 'node:readline'
import { openLocalKeyVault } from '../../infra/key-vault/open-local.ts'
import type { DepositTerms } from '../../infra/ports/key-vault.ts'
import { AppError } from '../../schemas/errors.ts'

/** A program with a vault, to be killed. `prepare` says the keys in hex, `commit` puts them under this request; one line each. */
const TERMS: DepositTerms = {
  chain: 'ethereum',
  genesisForkVersion: new Uint8Array(4),
  withdrawalCredentials: new Uint8Array(32).fill(1),
  amountGwei: 32_000_000_000n,
}
process.on('SIGINT', () => {}) // as the program, which ends in its own time
const vault = await openLocalKeyVault(JSON.parse(process.argv[2] ?? ''))
process.stdout.write('open\n')
let preparedId = ''
for await (const line of createInterface({ input: process.stdin })) {
  const [order, argument = ''] = line.split(' ')
  process.stdout.write(`${await (order === 'prepare' ? prepare(Number(argument)) : commit(argument))}\n`)
}

async function prepare(count: number): Promise<string> {
  const { id, deposits } = await vault.prepare(count, TERMS)
  preparedId = id
  return deposits.map(({ pubkey }) => Buffer.from(pubkey).toString('hex')).join(' ')
}

async function commit(requestId: string): Promise<string> {
  try {
    const { answer } = await vault.commit(preparedId, requestId, { account: 'acme', bodyHash: '00', answer: requestId })
    return `committed ${answer}`
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return `failed ${error.code} ${error.retryable}`
  }
}
