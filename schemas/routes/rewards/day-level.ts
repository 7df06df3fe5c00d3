import { Type } from 'typebox'

/** How far a whole day of a validator is proven, as `ProofLevel` of GraphQL. */
export const WholeDayLevel = Type.Enum(['agreed', 'anchored', 'consistent', 'rounding', 'unanchored', 'unexplained'], {
  description:
    'How far the day is proven, by its epochs and its residual. `anchored`: nothing is unexplained, and the chain’s blocks name the roots of ' +
    'all states that it was computed of; `agreed`: and another node names the same; `consistent`: nothing is unexplained, and reward ' +
    'endpoints told what was not computed so; `rounding`: no more is unexplained than nodes round. Not proven, and in no figure unless the operator ' +
    'has it served: `unanchored`, computed of a state that no block names; `unexplained`, capital that nobody knows of may pass for income.',
})
