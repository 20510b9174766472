import { z } from 'zod'
import type { Queryable } from './pool.ts'

/** @returns the rows of a statement, as the schema reads each. */
export async function readRows<Row>(
  database: Queryable,
  schema: z.ZodType<Row>,
  statement: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> {
  return z.array(schema).parse((await database.query(statement, [...values])).rows)
}

/** @returns the first row; undefined: there is none. */
export async function readRow<Row>(
  database: Queryable,
  schema: z.ZodType<Row>,
  statement: string,
  values: readonly unknown[] = [],
): Promise<Row | undefined> {
  return schema.optional().parse((await database.query(statement, [...values])).rows[0])
}

const idRow = z.object({ id: z.uuid() })

/** @returns the column `id` of the rows. */
export async function readIds(
  database: Queryable,
  statement: string,
  values: readonly unknown[],
): Promise<readonly string[]> {
  return (await readRows(database, idRow, statement, values)).map(({ id }) => id)
}

/** @returns whether the statement changed, or found, the one row that it is about. */
export async function affectsRow(database: Queryable, statement: string, values: readonly unknown[]): Promise<boolean> {
  return (await database.query(statement, [...values])).rowCount === 1
}
