import type { Static, TSchema } from 'typebox'
import { Compile } from 'typebox/schema'
import { AppError } from '../errors.ts'

/** A kind of work in the job queue: its name, and the shape of what it is told. */
export interface Job<Input> {
  readonly name: string
  /** One id is one piece of work: asked for twice, it is done once. Ids hold no colon, which the queue uses itself. */
  idOf(input: Input): string
  /** Checks what the queue hands out: throws AppError `job_queue` for an input of another shape. */
  parse(input: unknown): Input
}

/** A kind of work whose end somebody waits for. */
export interface AnsweringJob<Input, Output> extends Job<Input> {
  /** Checks what the queue hands back: throws AppError `job_queue` for an output of another shape. */
  parseOutput(output: unknown): Output
}

export function job<Schema extends TSchema>(
  name: string,
  schema: Schema,
  idOf: (input: Static<Schema>) => string,
): Job<Static<Schema>> {
  return { name, idOf, parse: parser(schema, `the input of a job ${name}`) }
}

/** An expected end, a refusal too, is an output: a job that fails is tried again. */
export function answeringJob<Input extends TSchema, Output extends TSchema>(
  name: string,
  schemas: { readonly input: Input; readonly output: Output },
  idOf: (input: Static<Input>) => string,
): AnsweringJob<Static<Input>, Static<Output>> {
  return {
    ...job(name, schemas.input, idOf),
    parseOutput: parser(schemas.output, `the output of a job ${name}`),
  }
}

function parser<Schema extends TSchema>(schema: Schema, what: string): (value: unknown) => Static<Schema> {
  const shape = Compile(schema)
  return (value) => {
    if (!shape.Check(value)) throw new AppError('job_queue', `${what} does not have its shape`)
    return value as Static<Schema>
  }
}
