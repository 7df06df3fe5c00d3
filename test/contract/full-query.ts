import { type GraphQLField, type GraphQLOutputType, type GraphQLSchema, getNamedType, isObjectType } from 'graphql'

/** A value for an argument of a field, as GraphQL writes it; undefined where it is left out. */
export type ArgumentOf = (field: string, argument: string) => string | undefined

/** A query for every field of the schema, below each of its types, which a schema without cycles has finitely many of. */
export function fullQuery(schema: GraphQLSchema, argumentOf: ArgumentOf): string {
  return `query ${selectionOf(schema.getQueryType() ?? undefined, argumentOf)}`
}

/** The same below one field of the query. */
export function fullQueryOf(schema: GraphQLSchema, name: string, argumentOf: ArgumentOf): string {
  const field = schema.getQueryType()?.getFields()[name]
  if (field === undefined) throw new Error(`the schema has no ${name}`)
  return `query { ${callOf(field, argumentOf)} ${selectionOf(field.type, argumentOf)} }`
}

/** Every field of every type, as `Type.field`. */
export function objectFields(schema: GraphQLSchema): readonly string[] {
  const types = Object.values(schema.getTypeMap()).filter(isObjectType)
  return types
    .filter(({ name }) => !name.startsWith('__'))
    .flatMap((type) => Object.keys(type.getFields()).map((field) => `${type.name}.${field}`))
}

function selectionOf(type: GraphQLOutputType | undefined, argumentOf: ArgumentOf): string {
  const named = type === undefined ? undefined : getNamedType(type)
  if (!isObjectType(named)) return ''
  return `{ __typename ${Object.values(named.getFields())
    .map((field) => `${callOf(field, argumentOf)} ${selectionOf(field.type, argumentOf)}`)
    .join(' ')} }`
}

function callOf({ name, args }: GraphQLField<unknown, unknown>, argumentOf: ArgumentOf): string {
  const given = args.flatMap((argument) => {
    const value = argumentOf(name, argument.name)
    return value === undefined ? [] : [`${argument.name}: ${value}`]
  })
  return given.length === 0 ? name : `${name}(${given.join(', ')})`
}
