import type { QueryResult } from 'pg'
import { z } from 'zod'
import { databaseCall } from '#core/platform/tracing.ts'
import type { Queryable } from './pool.ts'

type Statement<Given extends readonly unknown[], Result> = (database: Queryable, ...given: Given) => Promise<Result>
type Template = readonly [text: TemplateStringsArray, ...fragments: string[]]

/**
 * Tags of a template of SQL, which becomes a function of the database and of the values of $1, $2, …. A value that the
 * text casts to json or jsonb is sent as JSON.
 */
interface Statements<Result> {
  <Values extends readonly unknown[] = []>(...template: Template): Statement<Values, Result>
  /** The same, of one object: the text names its fields, as `:id` or `:reviewer.id`. */
  named<Given extends object>(...template: Template): Statement<[given: Given], Result>
}

/** A name after a colon; two colons are a cast. */
const NAME = /(?<![:\w]):([a-z]\w*(?:\.\w+)*)/gi

function statements<Result>(
  resultOf: (result: Pick<QueryResult, 'rows' | 'rowCount'>) => Result,
  name?: string,
): Statements<Result> {
  function statement<Given extends readonly unknown[]>(
    text: string,
    values: (...given: Given) => readonly unknown[],
  ): Statement<Given, Result> {
    const summary = name ?? /\w+/.exec(text)?.[0] ?? ''
    const asJson = new Set([...text.matchAll(/\$(\d+)::json/g)].map(([, number]) => Number(number) - 1))
    return async (database, ...given) => {
      const sent = values(...given).map((value, at) =>
        asJson.has(at) && value !== null ? JSON.stringify(value) : value,
      )
      const query = { text, values: sent, ...(name !== undefined && { name }) }
      return resultOf(await databaseCall('postgresql', summary, () => database.query(query)))
    }
  }
  return Object.assign(
    <Values extends readonly unknown[]>(...template: Template) =>
      statement(String.raw(...template), (...values: Values) => values),
    {
      named<Given extends object>(...template: Template) {
        const text = String.raw(...template)
        const names = [...new Set([...text.matchAll(NAME)].map(([, found = '']) => found))]
        const numbered = text.replaceAll(NAME, (_, found: string) => `$${names.indexOf(found) + 1}`)
        return statement(numbered, (given: Given) => names.map((each) => fieldOf(given, each)))
      },
    },
  )
}

/** @throws Error for a name that the object lacks: Postgres would take it for null. */
function fieldOf(given: object, name: string): unknown {
  return name.split('.').reduce<unknown>((inner, field) => {
    if (inner === null || typeof inner !== 'object' || !(field in inner)) throw new Error(`no value for :${name}`)
    return Reflect.get(inner, field)
  }, given)
}

const columns = z.record(z.string(), z.unknown()).transform((row) => Object.values(row)[0])

export const rowsOf = <Row>(schema: z.ZodType<Row>): Statements<readonly Row[]> =>
  statements(({ rows }) => z.array(schema).parse(rows))
/** The first row; undefined: there is none. @param name of a statement that Postgres plans once a connection. */
export const rowOf = <Row>(schema: z.ZodType<Row>, name?: string): Statements<Row | undefined> =>
  statements(({ rows }) => schema.optional().parse(rows[0]), name)
/** The row of a statement that always has one. */
export const oneRowOf = <Row>(schema: z.ZodType<Row>): Statements<Row> =>
  statements(({ rows }) => schema.parse(rows[0]))
/** The first column of the first row; where there is no row, the schema is given undefined. */
export const valueOf = <Value>(schema: z.ZodType<Value>, name?: string): Statements<Value> =>
  statements(({ rows }) => schema.parse(columns.optional().parse(rows[0])), name)
/** The first column of the rows. */
export const valuesOf = <Value>(schema: z.ZodType<Value>): Statements<readonly Value[]> =>
  statements(({ rows }) => z.array(schema).parse(z.array(columns).parse(rows)))
export const ids = valuesOf(z.uuid())
/** Whether the statement changed, or found, the one row that it is about. */
export const changesOne = statements(({ rowCount }) => rowCount === 1)
export const changes = statements(({ rowCount }) => rowCount ?? 0)
export const execute = statements((): void => undefined)

/**
 * Reads every row, in batches that each begin after the last row of the one before: memory does not grow with their
 * number.
 */
export async function* batches<Row, Key>(
  max: number,
  keyOf: (last: Row) => Key,
  read: (after: Key | null, max: number) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  for (let after: Key | null = null; ;) {
    const batch: readonly Row[] = await read(after, max)
    yield batch
    const last = batch.at(-1)
    if (last === undefined || batch.length < max) return
    after = keyOf(last)
  }
}
