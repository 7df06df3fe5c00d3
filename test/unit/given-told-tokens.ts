import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { bytesOf, type Hex } from '../../schemas/eth/hex.ts'
import type { ToldDocument, ToldState } from '../../schemas/nft/told-token.ts'

interface Told {
  readonly contract: string
  readonly id: bigint
  readonly document?: Partial<ToldDocument>
  readonly state?: Partial<ToldState>
}

const SILENT: ToldDocument = {
  ...{ json: null, title: null, description: null, media: null, media_type: null, media_external: null },
  ...{ attributes: null, read_sec: 0 },
}
const READ: ToldState = { token_uri: null, error: null, attempts: 0, read_sec: 0, retry_sec: 0 }

/** Tells answers what was read of tokens. */
export async function tellTokens(warehouse: Warehouse, chain: string, tokens: readonly Told[]): Promise<void> {
  const rows = tokens.flatMap(({ contract, id, document, state }) => {
    const token = bytesOf(`${contract}${id.toString(16).padStart(64, '0')}` as Hex)
    return [
      ...(document === undefined ? [] : [{ token, kind: 'document', told: { ...SILENT, ...document } }]),
      ...(state === undefined ? [] : [{ token, kind: 'state', told: { ...READ, ...state } }]),
    ]
  })
  await warehouse.insert('nft_token_told', {
    chain: rows.map(() => chain),
    token: new Uint8Array(Buffer.concat(rows.map(({ token }) => token))),
    kind: rows.map(({ kind }) => kind),
    told: rows.map(({ told }) => JSON.stringify(told)),
    version: new BigUint64Array(rows.length).fill(1n),
  })
}
