import type { z } from 'zod'
import { openDatabase, type Database } from '#core/db/pool.ts'
import { assertSchemaCompatible } from '#core/db/schema.ts'
import { readConfig, type ConfigOf, type Variables } from '#core/platform/config.ts'
import { createLog, type Log } from '#core/platform/log.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { OPERATOR_BOUNDS, type Operator } from '../actions/operator.ts'
import { parseInput } from './command.ts'
import type { Group, Help, Input, OperatorCommand, Output, Shown, Verb } from './command.ts'
import { text } from './inputs.ts'
import { table, type FieldsOf } from './table.ts'

type Named = readonly [name: string, summary: string]
type None = Record<string, never>

/** What a noun writes of a verb. */
interface Does<S extends z.ZodRawShape, V extends Variables, C> extends Help {
  /** Schema by argument or option, in camel case; an option's has a flag (`option`), and the help marks required ones. */
  readonly input?: S
  /** Of the environment; a verb with a database has `DATABASE_URL` and `OPERATOR_ACTOR` besides. */
  readonly variables?: V
  /** @returns what is shown; undefined: the verb has written it. */
  readonly run: (input: Input<S>, context: C & { readonly config: ConfigOf<V> }) => Promise<Shown | undefined>
}

/** Context of a verb that uses the database. */
export interface Session extends Output {
  readonly operator: Operator
  readonly database: Database
}

export function group(name: string, summary: string, verbs: readonly Verb[]): Group {
  return { name, summary, verbs }
}

export function offline<S extends z.ZodRawShape = None, V extends Variables = None>(
  usage: string,
  summary: string,
  { run, input, variables, ...help }: Does<S, V, Output>,
): Verb {
  return {
    ...help,
    usage,
    summary,
    input: { ...input },
    variables: Object.keys(variables ?? {}),
    run: async (command, output) =>
      await run(parseInput(command, input), { ...output, config: configOf(command, variables) }),
  }
}

const BASE = {
  DATABASE_URL: OPERATOR_VARIABLES.DATABASE_URL,
  OPERATOR_ACTOR: OPERATOR_VARIABLES.OPERATOR_ACTOR,
} as const
const CONNECTIONS_MAX = 2
/** A statement of the operator may take a minute, so an unreachable database is detected with a shorter time-out. */
const CONNECT_TIMEOUT_MS = 5_000
const ACTOR = { actor: text.max(200, 'must have at most 200 characters').optional() }

/** A verb that opens the database, refuses a schema it does not run on, and closes everything afterwards. */
export function verb<S extends z.ZodRawShape = None, V extends Variables = None>(
  usage: string,
  summary: string,
  { run, input, variables, ...help }: Does<S, V, Session>,
): Verb {
  return {
    ...help,
    usage,
    summary,
    input: { ...input },
    variables: Object.keys({ ...BASE, ...variables }),
    async run(command, output) {
      const [given, { actor: named }] = [parseInput(command, input), parseInput(command, ACTOR)]
      const base = configOf(command, BASE)
      const config = configOf(command, variables)
      // Standard output belongs to the result, so the log goes to standard error.
      const log = createLog('operator', 'warn', (line) => command.console.stderr.write(line))
      await assertDatabaseAnswers(base.DATABASE_URL, log)
      await using database = openDatabase(
        base.DATABASE_URL,
        log,
        CONNECTIONS_MAX,
        OPERATOR_BOUNDS.operatorStatementTimeoutMs,
      )
      await assertSchemaCompatible(database)
      const operator = { database, actor: named ?? base.OPERATOR_ACTOR }
      return await run(given, { ...output, operator, database, config })
    },
  }
}

/** A verb that changes something, as the actor of its audit row. */
export function change<S extends z.ZodRawShape = None, V extends Variables = None>(
  usage: string,
  summary: string,
  does: Does<S, V, Session>,
): Verb {
  return { ...verb(usage, summary, does), writes: true }
}

interface Switches {
  readonly notes?: string
  readonly run: (operator: Operator, name: string, on: boolean) => Promise<Shown>
}

/** Two verbs about one thing, which turn it off and on: `suspend <client>` and `resume <client>`. */
export function switches(argument: string, off: Named, on: Named, does: Switches): readonly Verb[] {
  return [off, on].map(([name, summary]) =>
    change(`${name} <${argument}>`, summary, {
      ...does,
      input: { [argument]: text },
      run: async ({ [argument]: thing = '' }, { operator }) => await does.run(operator, thing, name === on[0]),
    }),
  )
}

interface Lists<S extends z.ZodRawShape, R, C extends string> extends Help {
  readonly input?: S
  readonly read: (input: Input<S>, session: Session) => Promise<readonly R[]>
  /** As `table` takes them. */
  readonly columns: C
  /** What is said, with the next step, when there is no row. */
  readonly empty: string
}

export function list<
  C extends string,
  R extends { readonly [F in FieldsOf<C>]: unknown },
  S extends z.ZodRawShape = None,
>(usage: string, summary: string, { read, columns, empty, ...help }: Lists<S, R, C>): Verb {
  return verb<S>(usage, summary, {
    ...help,
    async run(input, session) {
      const found = await read(input, session)
      return [found, () => table(found, columns, empty)]
    },
  })
}

/** @throws within seconds when no database answers. */
export async function assertDatabaseAnswers(url: string, log: Log): Promise<void> {
  await using database = openDatabase(url, log, 1, CONNECT_TIMEOUT_MS)
  const client = await database.connect()
  client.release()
}

function configOf<V extends Variables>({ console }: OperatorCommand, variables: V | undefined): ConfigOf<V> {
  return readConfig<Variables>(variables ?? {}, console.environment) as ConfigOf<V>
}
