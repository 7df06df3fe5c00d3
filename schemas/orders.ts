/** What an order is for: a node of its own that has the newest states, one that has all, or one that validators are run with. */
export const NODE_TYPES = ['full', 'archive', 'validator'] as const
/** Whose validators this service creates, and with them those that are hosted. */
export const VALIDATOR_PROTOCOLS: readonly string[] = ['ethereum', 'ethereum2']

/** What somebody says of an order, one after the other; `cancelled` is an end. */
export const ORDER_STEPS = ['ordered', 'accepted', 'provisioning', 'running', 'cancelled'] as const
export type OrderStep = (typeof ORDER_STEPS)[number]

/** How an order stands: nobody says `expired`, it follows from when it began to run and for how long. */
export const ORDER_STATES = [...ORDER_STEPS, 'expired'] as const
export type OrderState = (typeof ORDER_STATES)[number]

export const ORDER_ID_BYTES = 8
export const ORDER_ID_PATTERN = `^ord_[0-9a-f]{${2 * ORDER_ID_BYTES}}$`
/** As an operator calls places: `eu-central`. */
export const LOCATION_PATTERN = '^[a-z0-9][a-z0-9-]{0,31}$'
/** Three years: that are ordered, or accepted, at once. */
export const ORDER_DAYS_MAX = 1_096
/** Ten years: with all that an order was extended by. */
export const ORDER_PAID_DAYS_MAX = 3_653
/** An order that expired so long ago goes on where it is paid for: its nodes are let stand for as long. */
export const ORDER_EXTENDED_AFTER_DAYS_MAX = 7

/** Of one account, that are neither expired nor cancelled: an operator looks at each. */
export const ORDERS_OPEN_MAX = 20
/** Of one account within a day, cancelled ones too: the log keeps them all. */
export const ORDERS_PER_DAY_MAX = 50

export const isOver = (state: OrderState): boolean => state === 'expired' || state === 'cancelled'
