import { GraphQLError } from 'graphql/index.js'
import { formatMessage, type RefusalCode } from '../../schemas/routes/envelope.ts'
import { NO_VALIDATORS } from '../http/chain-path.ts'
import type { GraphqlContext } from './context.ts'

/** An expected refusal, with the code and text that the REST API has for it. */
export function refusalError(code: RefusalCode, detail?: string): GraphQLError {
  return new GraphQLError(formatMessage(code, detail), { extensions: { code } })
}

/** Refused on a chain without validators, which has nothing to tell of them. */
export function ofValidators<Args, Result>(resolve: (args: Args, context: GraphqlContext) => Result) {
  return (_: unknown, args: Args, context: GraphqlContext): Result => {
    if (!context.hasBeacon) throw refusalError('404', NO_VALIDATORS)
    return resolve(args, context)
  }
}
