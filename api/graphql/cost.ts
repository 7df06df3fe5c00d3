import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  getArgumentValues,
  getNamedType,
  getOperationAST,
  getVariableValues,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from 'graphql/index.js'
import { DAY_OFFSET_SEC, dayOfInstant } from '../../schemas/eth/time.ts'
import { parseUtcOffset } from '../../schemas/eth/utc-offset.ts'
import { HISTORY_STEPS } from '../../schemas/routes/validators/validator-history.ts'
import { dayWindow, nowBy } from '../rewards/day-window.ts'
import { FIRST_DEFAULT, monthsIn, monthWindow, WINDOW_DAYS_MAX_GRAPHQL } from './analyst-windows.ts'
import { INTROSPECTION_MAX, IntrospectionCount } from './introspection-cost.ts'
import { LOOKUPS_MAX, NFT_COSTS } from './nft-cost.ts'

/** Fields that an answer may hold: about a second of work. */
export const COST_MAX = 500_000
export const DEPTH_MAX = 8
/** Statements that a query may take: equal fields with equal arguments share theirs. */
export const STATEMENTS_MAX = 24
/** Mainnet: 7,200 slots of 12 seconds, 32 to an epoch. */
const EPOCHS_PER_DAY = 225
/** Above what a mainnet validator proposes in a day (7,200 blocks among a million), for small networks. */
const BLOCKS_PER_DAY_ESTIMATE = 10
/** A seat of the sync committee changes the balance in each of an epoch's slots; hardly anything else does. */
const EFFECTS_PER_EPOCH_ESTIMATE = 32

export interface Cost {
  readonly cost: number
  readonly depth: number
  readonly statements: number
  /** Fields that the answer holds of the schema; exact up to `INTROSPECTION_MAX`. */
  readonly introspected: number
  /** Values of `pageKey`, which say which block an answer about tokens is of. */
  readonly pageKeys: readonly string[]
}

interface Part {
  readonly cost: number
  readonly depth: number
  /** Statements of lists that are asked for below: for each value that they are below of. */
  readonly each: number
  /** Statements of lookups, which the items of a list share. */
  readonly shared: number
}

interface Measurement {
  readonly schema: GraphQLSchema
  readonly variables: Readonly<Record<string, unknown>>
  readonly nowMs: number
  readonly validators: number
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>
  /** A fragment is measured once, however often it is spread. */
  readonly measured: Map<string, Part>
  /** Statements that fields take, by name and arguments: equal ones share theirs. */
  readonly asked: Map<string, number>
  readonly introspection: IntrospectionCount
  readonly pageKeys: Set<string>
}

export interface CostInput {
  readonly schema: GraphQLSchema
  /** Validated: without cycles of fragments and unknown fields. */
  readonly document: DocumentNode
  readonly operationName: string | undefined
  readonly variables: Readonly<Record<string, unknown>>
  readonly nowMs: number
  /** That the account has on the chain: lists of them are no longer. */
  readonly validators: number
}

/**
 * Fields that the answer of an operation may hold, how deep they are nested, and the statements that they take: lists count as
 * long as their arguments and the account allow.
 * Fields of the schema are counted by themselves, and how deep they are is for the validation rules. Undefined when the operation or its variables are wrong, which
 * the execution will report.
 */
export function measureCost(input: CostInput): Cost | undefined {
  const { schema, document, operationName, variables, nowMs, validators } = input
  const operation = getOperationAST(document, operationName)
  const root = operation == null ? undefined : schema.getRootType(operation.operation)
  if (operation == null || root == null) return undefined
  const values = getVariableValues(schema, operation.variableDefinitions ?? [], variables)
  if (values.coerced === undefined) return undefined
  const fragments = new Map(
    document.definitions.flatMap((definition) =>
      definition.kind === Kind.FRAGMENT_DEFINITION ? [[definition.name.value, definition]] : [],
    ),
  )
  const asked = new Map<string, number>()
  const measured = new Map<string, Part>()
  const pageKeys = new Set<string>()
  const introspection = new IntrospectionCount({ schema, variables: values.coerced, fragments })
  const measurement = {
    ...{ schema, variables: values.coerced, nowMs, validators, fragments },
    ...{ measured, asked, introspection, pageKeys },
  }
  const { cost, depth, each, shared } = measureSelection(measurement, root, operation.selectionSet)
  const statements = asked.values().reduce((sum, some) => sum + some, each + shared)
  return { cost, depth, statements, introspected: introspection.fields, pageKeys: [...pageKeys] }
}

function measureSelection(measurement: Measurement, type: GraphQLObjectType, selection: SelectionSetNode): Part {
  let { cost, depth, each, shared } = NOTHING
  for (const node of selection.selections) {
    let part: Part
    if (node.kind === Kind.FIELD) part = measureField(measurement, type, node)
    else if (node.kind === Kind.INLINE_FRAGMENT) part = measureSelection(measurement, type, node.selectionSet)
    else part = measureFragment(measurement, node.name.value)
    cost += part.cost
    depth = Math.max(depth, part.depth)
    each += part.each
    shared += part.shared
  }
  return { cost, depth, each, shared }
}

function measureFragment(measurement: Measurement, name: string): Part {
  const known = measurement.measured.get(name)
  if (known !== undefined) return known
  const fragment = measurement.fragments.get(name)
  const type = fragment === undefined ? undefined : measurement.schema.getType(fragment.typeCondition.name.value)
  const cost =
    fragment !== undefined && isObjectType(type) ? measureSelection(measurement, type, fragment.selectionSet) : NOTHING
  measurement.measured.set(name, cost)
  return cost
}

function measureField(measurement: Measurement, parent: GraphQLObjectType, node: FieldNode): Part {
  const field = parent.getFields()[node.name.value]
  // The others are of every type, or of the root and ask for the schema.
  if (field === undefined) return measurement.introspection.counts(node) ? NOTHING : { ...NOTHING, cost: 1, depth: 1 }
  const type = getNamedType(field.type)
  const name = `${parent.name}.${field.name}`
  const args = getArgumentValues(field, node, measurement.variables)
  const statements = STATEMENTS_OF[name]
  if (statements !== undefined) measurement.asked.set(`${name} ${JSON.stringify(args)}`, statements)
  if (typeof args.pageKey === 'string') measurement.pageKeys.add(args.pageKey)
  const nft = NFT_COSTS[name]
  const own = typeof nft?.statements === 'function' ? nft.statements(args) : (nft?.statements ?? 0)
  const ownEach = nft?.per === 'value' ? own : 0
  const ownShared = nft?.per === 'batch' ? own : 0
  if (!isObjectType(type) || node.selectionSet === undefined)
    return { cost: 1, depth: 1, each: ownEach, shared: ownShared }
  const inner = measureSelection(measurement, type, node.selectionSet)
  const length = nft?.length?.(args) ?? listLength(name, args, measurement)
  const size = { cost: 1 + length * inner.cost, depth: 1 + inner.depth }
  if (nft?.length === undefined) return { ...size, each: ownEach + inner.each, shared: ownShared + inner.shared }
  // Items of a list share the lookups of each of them, and nothing else.
  const ofItems = length * inner.each + Math.ceil(length / LOOKUPS_MAX) * inner.shared
  return { ...size, each: ownEach + ofItems, shared: ownShared }
}

const NOTHING: Part = { cost: 0, depth: 0, each: 0, shared: 0 }

const STATEMENTS_OF: Readonly<Record<string, number>> = {
  'Query.validators': 1,
  'Query.days': 1,
  'Query.localDays': 4,
  'Query.histories': 6,
  'Query.proof': 5,
  'Validator.days': 1,
  'Validator.localDays': 4,
  'Validator.history': 4,
  'ValidatorDay.epochs': 1,
  'ValidatorDay.blocks': 1,
  'ValidatorEpoch.blocks': 1,
  'Block.evidence': 1,
  'Query.months': 2,
  'Query.epochs': 1,
  'Query.blocks': 1,
  'Query.settlements': 1,
  'Query.network': 1,
  'Query.networkPerformance': 1,
  'NetworkPerformance.execution': 2,
  'Account.totals': 2,
  'AccountMonth.completeness': 1,
  'SettlementConnection.completeness': 3,
  'Account.performance': 2,
  'LabelGroup.performance': 2,
  'Validator.totals': 2,
  'Validator.performance': 2,
  'Validator.months': 2,
  'Validator.proposals': 4,
  'AccountDay.performance': 1,
  'Epoch.differences': 1,
  'NetworkDay.average': 1,
  'ValidatorDay.attestations': 2,
  'ValidatorEpoch.attestations': 2,
}

/** How many objects stand below one value of the field. */
function listLength(
  field: string,
  args: Readonly<Record<string, unknown>>,
  { nowMs, validators }: Pick<Measurement, 'nowMs' | 'validators'>,
): number {
  switch (field) {
    case 'Query.validators':
      return Math.max(1, Math.min(typeof args.first === 'number' ? args.first : FIRST_DEFAULT, validators))
    case 'Query.days':
    case 'Query.localDays':
    case 'Query.network':
    case 'Validator.localDays':
    case 'Validator.days': {
      const window = dayWindow(
        nowBy(nowMs, parseUtcOffset(toText(args.utcOffset) ?? '') ?? DAY_OFFSET_SEC),
        { start_date: toText(args.from), end_date: toText(args.to) },
        'yesterday',
        WINDOW_DAYS_MAX_GRAPHQL,
      )
      return window.status === 'window' ? window.to - window.from : 1
    }
    case 'Query.months':
    case 'Validator.months': {
      const window = monthWindow({ from: toText(args.from), to: toText(args.to) }, dayOfInstant(nowMs / 1_000))
      return window.status === 'window' ? monthsIn(window) : 1
    }
    case 'Query.labels':
      return Math.max(1, validators)
    case 'Query.epochs':
    case 'Query.blocks':
    case 'Query.settlements':
      return typeof args.first === 'number' ? Math.max(1, args.first) : FIRST_DEFAULT
    case 'Query.histories':
      return Math.max(1, Math.min(Array.isArray(args.pubkeys) ? args.pubkeys.length : 1, validators))
    case 'Validator.history':
    case 'ValidatorHistory.steps':
      return HISTORY_STEPS.length
    case 'ValidatorDay.epochs':
      return EPOCHS_PER_DAY
    case 'DayProof.epochs':
      return typeof args.first === 'number' ? Math.max(1, args.first) : EPOCHS_PER_DAY
    case 'ProofEpoch.effects':
      return EFFECTS_PER_EPOCH_ESTIMATE
    case 'ValidatorDay.blocks':
      return BLOCKS_PER_DAY_ESTIMATE
    default:
      return 1
  }
}

function toText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The sentence for a query that is too large, with what was computed, or undefined when it may run. */
export function costRefusal({ cost, depth, statements, introspected }: Omit<Cost, 'pageKeys'>): string | undefined {
  if (introspected > INTROSPECTION_MAX)
    return `the query asks for more than ${INTROSPECTION_MAX} fields of the schema: ask for a list of it once, or for single types by __type(name:)`
  if (statements > STATEMENTS_MAX) {
    return `the query takes ${statements} statements, the limit is ${STATEMENTS_MAX}: equal fields with equal arguments share one, and a list within a list is one for each item; ask the rest in another query`
  }
  if (depth > DEPTH_MAX)
    return `the query is ${depth} levels deep, the limit is ${DEPTH_MAX}: ask for what lies deeper in a query of its own`
  if (cost > COST_MAX)
    return `the query costs ${cost} fields, the limit is ${COST_MAX}: ask for shorter windows, fewer nodes (first, and after for the next page) or fewer fields`
  return undefined
}
