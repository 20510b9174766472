import type { QueryResult } from 'pg'
import { z } from 'zod'
import type { Queryable } from './pool.ts'

type Statement<Given extends readonly unknown[], Result> = (database: Queryable, ...given: Given) => Promise<Result>
type Template<Given extends readonly unknown[], Result> = (
  text: TemplateStringsArray,
  ...fragments: readonly string[]
) => Statement<Given, Result>

/** Tags of a template of SQL, which becomes a function of the database and of the values of $1, $2, …. */
interface Statements<Result> {
  <Values extends readonly unknown[] = []>(...template: Parameters<Template<Values, Result>>): Statement<Values, Result>
  /** The same, where the values follow from what the function is given. */
  from<Given extends readonly unknown[]>(values: (...given: Given) => readonly unknown[]): Template<Given, Result>
}

function statements<Result>(resultOf: (result: Pick<QueryResult, 'rows' | 'rowCount'>) => Result): Statements<Result> {
  const from: Statements<Result>['from'] =
    (values) =>
    (text, ...fragments) => {
      const statement = text.map((part, at) => part + (fragments[at] ?? '')).join('')
      return async (database, ...given) => resultOf(await database.query(statement, [...values(...given)]))
    }
  return Object.assign(
    <Values extends readonly unknown[]>(...template: Parameters<Template<Values, Result>>) =>
      from((...values: Values) => values)(...template),
    { from },
  )
}

const columns = z.record(z.string(), z.unknown()).transform((row) => Object.values(row)[0])

/** The rows, as the schema reads each. */
export const rowsOf = <Row>(schema: z.ZodType<Row>): Statements<readonly Row[]> =>
  statements(({ rows }) => z.array(schema).parse(rows))
/** The first row; undefined: there is none. */
export const rowOf = <Row>(schema: z.ZodType<Row>): Statements<Row | undefined> =>
  statements(({ rows }) => schema.optional().parse(rows[0]))
/** The row of a statement that always has one. */
export const oneRowOf = <Row>(schema: z.ZodType<Row>): Statements<Row> =>
  statements(({ rows }) => schema.parse(rows[0]))
/** The first column of the first row; where there is no row, the schema is given undefined. */
export const valueOf = <Value>(schema: z.ZodType<Value>): Statements<Value> =>
  statements(({ rows }) => schema.parse(columns.optional().parse(rows[0])))
/** The first column of the rows. */
export const valuesOf = <Value>(schema: z.ZodType<Value>): Statements<readonly Value[]> =>
  statements(({ rows }) => z.array(schema).parse(z.array(columns).parse(rows)))
export const ids = valuesOf(z.uuid())
/** Whether the statement changed, or found, the one row that it is about. */
export const changesOne = statements(({ rowCount }) => rowCount === 1)
/** How many rows it changed. */
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

/** As `rowsOf`, of a statement that is chosen when it runs. */
export async function readRows<Row>(
  database: Queryable,
  schema: z.ZodType<Row>,
  statement: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> {
  return z.array(schema).parse((await database.query(statement, [...values])).rows)
}

/** As `rowOf`, likewise. */
export async function readRow<Row>(
  database: Queryable,
  schema: z.ZodType<Row>,
  statement: string,
  values: readonly unknown[] = [],
): Promise<Row | undefined> {
  return schema.optional().parse((await database.query(statement, [...values])).rows[0])
}

/** As `changesOne`, likewise. */
export async function affectsRow(database: Queryable, statement: string, values: readonly unknown[]): Promise<boolean> {
  return (await database.query(statement, [...values])).rowCount === 1
}
