import type { TLocalizedValidationError } from 'typebox/error'

/**
 * What is wrong with a value, as words behind its name: of several errors the first one; where only some values would have done,
 * these.
 */
export function faultWords(errors: readonly TLocalizedValidationError[]): string {
  const [first] = errors
  const values = errors.flatMap((error) => (error.instancePath === first?.instancePath ? allowedBy(error) : []))
  if (values.length === 0) return first?.message ?? 'is not valid'
  return `must be ${values.length === 1 ? '' : 'one of '}${values.join(', ')}`
}

function allowedBy(error: TLocalizedValidationError): readonly string[] {
  if (error.keyword === 'enum') return error.params.allowedValues.map(String)
  return error.keyword === 'const' ? [String(error.params.allowedValue)] : []
}
