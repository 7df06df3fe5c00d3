import { parseUtcOffset } from '../../schemas/eth/utc-offset.ts'
import type { AccountLocalDay } from '../rewards/account-local-days.ts'
import { nowBy, OFFSET_REFUSAL } from '../rewards/day-window.ts'
import type { LocalWindow } from '../rewards/local-days.ts'
import { NO_SUMS } from '../rewards/period-sums.ts'
import type { ShownDay } from '../rewards/shown-days.ts'
import { askedDays, type WindowArguments } from './asked-days.ts'
import type { GraphqlContext } from './context.ts'
import { fieldsOfAccountDay } from './day-fields.ts'
import { ofValidators, refusalError } from './refusals.ts'

export interface LocalDaysArguments extends WindowArguments {
  readonly utcOffset: string
}

export const localDayResolvers = {
  Query: {
    localDays: ofValidators((args: LocalDaysArguments, context) =>
      context.accountLocalDays.load(localWindow(args, context)),
    ),
  },
  AccountLocalDay: {
    ...fieldsOfAccountDay,
    performance: ({ row }: ShownDay<AccountLocalDay>) => row?.sums ?? NO_SUMS,
  },
}

/** The days by an offset that a field asks for; a GraphQLError where they are none. */
export function localWindow(args: LocalDaysArguments, { nowMs }: Pick<GraphqlContext, 'nowMs'>): LocalWindow {
  const offsetSec = parseUtcOffset(args.utcOffset)
  if (offsetSec === undefined) throw refusalError('400', OFFSET_REFUSAL.replace('utc_offset', 'utcOffset'))
  return { days: askedDays(args, nowBy(nowMs, offsetSec)), offsetSec }
}
