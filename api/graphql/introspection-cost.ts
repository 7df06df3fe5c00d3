import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLSchema,
  getArgumentValues,
  getNamedType,
  isObjectType,
  Kind,
  SchemaMetaFieldDef,
  type SelectionSetNode,
  TypeMetaFieldDef,
} from 'graphql/index.js'

/** Fields of the schema that an answer may hold: about six times what the usual question for everything has. */
export const INTROSPECTION_MAX = 50_000

const META_FIELDS: ReadonlyMap<string, GraphQLField<unknown, unknown>> = new Map(
  [SchemaMetaFieldDef, TypeMetaFieldDef].map((field) => [field.name, field]),
)

export interface IntrospectedDocument {
  readonly schema: GraphQLSchema
  readonly variables: Readonly<Record<string, unknown>>
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>
}

/**
 * Counts what an answer holds of the schema itself, by walking through the schema as the answer would. It stops above
 * `INTROSPECTION_MAX`, so that counting costs no more than what is allowed.
 */
export class IntrospectionCount {
  readonly #document: IntrospectedDocument
  fields = 0

  constructor(document: IntrospectedDocument) {
    this.#document = document
  }

  /** Whether a field of the query's root asks for the schema; it is counted then. */
  counts(node: FieldNode): boolean {
    const field = META_FIELDS.get(node.name.value)
    if (field === undefined) return false
    this.#addField(field, node, [undefined])
    return true
  }

  #addField(field: GraphQLField<unknown, unknown>, node: FieldNode, parents: readonly unknown[]): void {
    this.fields += parents.length
    const type = getNamedType(field.type)
    if (this.fields > INTROSPECTION_MAX || !isObjectType(type) || node.selectionSet === undefined) return
    const { schema, variables } = this.#document
    const args = getArgumentValues(field, node, variables)
    // All that resolvers of the schema read of it.
    const info = { schema } as Parameters<NonNullable<typeof field.resolve>>[3]
    const values = parents.flatMap((parent) => field.resolve?.(parent, args, undefined, info) ?? [])
    this.#addSelection(type.getFields(), node.selectionSet, values, new Set())
  }

  /** `spread`: an answer has a fragment's fields once, however often it is spread beside itself. */
  #addSelection(
    fields: Readonly<Record<string, GraphQLField<unknown, unknown>>>,
    selection: SelectionSetNode,
    values: readonly unknown[],
    spread: Set<string>,
  ): void {
    if (values.length === 0) return
    for (const node of selection.selections) {
      if (this.fields > INTROSPECTION_MAX) return
      if (node.kind === Kind.FIELD) {
        const field = fields[node.name.value]
        // __typename.
        if (field === undefined) this.fields += values.length
        else this.#addField(field, node, values)
        continue
      }
      if (node.kind === Kind.FRAGMENT_SPREAD) {
        if (spread.has(node.name.value)) continue
        spread.add(node.name.value)
      }
      const inner = node.kind === Kind.INLINE_FRAGMENT ? node : this.#document.fragments.get(node.name.value)
      if (inner !== undefined) this.#addSelection(fields, inner.selectionSet, values, spread)
    }
  }
}
