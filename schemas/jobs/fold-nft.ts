import { type Static, Type } from 'typebox'
import { Chain } from '../events/fields.ts'
import { job } from './job.ts'

const FoldNftInput = Type.Object({ chain: Chain })
export type FoldNftInput = Static<typeof FoldNftInput>

/** Folds the blocks of a chain that are there into who holds which token. */
export const foldNft = job('fold-nft', FoldNftInput, ({ chain }) => chain)
