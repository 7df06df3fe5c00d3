import { AppError } from '../../schemas/errors.ts'
import { PARAMETER_BYTES_MAX } from '../../schemas/tables/statement-parts.ts'
import type { QueryParams } from '../ports/warehouse.ts'
import { toParameterText } from './statement-settings.ts'

/** Parameters with more characters than this are fields of a form (@clickhouse/client, MAX_URL_BIND_PARAM_LENGTH), and so is their statement. */
const ADDRESS_CHARACTERS_MAX = 4_096

/**
 * Throws AppError `warehouse` where a server would refuse a statement because one of its parameters, or its text beside long ones, is too
 * long for a field (http_max_field_value_size). The engine in this process would take it: it is refused there, too, so that no test
 * passes which a server fails.
 */
export function checkParameterSizes(sql: string, params: QueryParams): void {
  const fields = Object.entries(params).map(([name, value]) => [name, toParameterText(value)] as const)
  for (const [name, text] of fields) checkSize(`The parameter ${name} of a statement`, text)
  if (sql.length <= PARAMETER_BYTES_MAX) return
  const inAddress = new URLSearchParams(fields.map(([name, text]) => [`param_${name}`, text])).toString()
  if (inAddress.length > ADDRESS_CHARACTERS_MAX) checkSize('The text of a statement with long parameters', sql)
}

function checkSize(what: string, text: string): void {
  // A character has three bytes at most.
  if (text.length * 3 <= PARAMETER_BYTES_MAX) return
  const bytes = Buffer.byteLength(text)
  if (bytes > PARAMETER_BYTES_MAX)
    throw new AppError('warehouse', `${what} has ${bytes} bytes: a server takes ${PARAMETER_BYTES_MAX}.`)
}
