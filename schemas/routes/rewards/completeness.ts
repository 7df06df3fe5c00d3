import { type Static, type TSchema, Type } from 'typebox'
import { listEnvelopeOf } from '../envelope.ts'

const Day = Type.String({ format: 'date', description: 'UTC+8 day.' })
const DayOrNone = (description: string) => Type.Union([Day, Type.Null()], { description })

/** What figures cover: an absent day has no income only where it is neither still to come nor incomplete. */
export const Completeness = Type.Object(
  {
    state: Type.Enum(['complete', 'not_final', 'incomplete'], {
      description:
        '`complete`: everything of the days is in the figures, and a day without an item or with zeros had no income. `not_final`: so far as ' +
        'days are final; the others are still to come. `incomplete`: something of final days is missing, see `incomplete`.',
    }),
    final_through: DayOrNone('Newest day that is closed; null before the first one.'),
    not_final_from: DayOrNone(
      'First of the days that is not final yet, and with it all after it; null when all are. By another offset a day is final with the UTC+8 day that it ends in.',
    ),
    incomplete: Type.Array(
      Type.Object(
        {
          start_date: Day,
          end_date: Type.String({ format: 'date', description: 'The day behind the last one.' }),
          validators_missing: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
            description:
              'Validators of the account that are not in the figures of each of these days, since the whole day is not known, nobody has looked for ' +
              'them in the registry since they were tracked, their ' +
              'balances changed by what nothing explains, or an epoch was computed of a state that no block names; null where epochs or blocks of the days themselves are missing.',
          }),
        },
        { additionalProperties: false },
      ),
      {
        description:
          'Days of which something that is final is missing, ascending. In logs that do not tell the balances that the chain began with, the day in which it ' +
          'did has no daily figures: what it paid is in totals, and it is none of these days where all its epochs are there.',
      },
    ),
  },
  { additionalProperties: false, description: 'What the figures cover.' },
)
export type Completeness = Static<typeof Completeness>

export const COMPLETE_EXAMPLE: Completeness = {
  state: 'complete',
  final_through: '2023-07-01',
  not_final_from: null,
  incomplete: [],
}

/** Shape of a page of figures with what they cover. */
export function figuresEnvelopeOf<Data extends TSchema>(data: Data) {
  return Type.Object(
    { ...listEnvelopeOf(data).properties, completeness: Completeness },
    { additionalProperties: false },
  )
}
