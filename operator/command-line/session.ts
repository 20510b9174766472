import type { OperatorCommand } from './operator-command.ts'
import { z } from 'zod'
import type { ConfigOf, Variables } from '#core/platform/config.ts'
import { assertSchemaCompatible } from '#core/db/schema.ts'
import { openDatabase } from '#core/db/pool.ts'
import { createLog } from '#core/platform/log.ts'
import type { Log } from '#core/platform/log.ts'
import { OPERATOR_VARIABLES, operatorConfig } from '#jobs/platform/config.ts'
import { OPERATOR_BOUNDS } from '../actions/bounds.ts'
import type { Operator } from '../actions/operator.ts'
import { addCommand } from './command.ts'
import type { Definition, Output } from './command.ts'

/** Context of a command that uses the database. */
export interface Session<V extends Variables> extends Output {
  readonly operator: Operator
  readonly config: ConfigOf<V>
}

/** A command that uses the database; `variables` lists those in addition to `DATABASE_URL` and `OPERATOR_ACTOR`. */
export interface DatabaseCommand<S extends z.ZodRawShape, V extends Variables> extends Definition<S> {
  readonly variables: V
  /** The command changes something and takes `--actor`. */
  readonly writes?: true
  readonly run: (input: z.output<z.ZodObject<S>>, session: Session<V>) => Promise<void>
}

const BASE = {
  DATABASE_URL: OPERATOR_VARIABLES.DATABASE_URL,
  OPERATOR_ACTOR: OPERATOR_VARIABLES.OPERATOR_ACTOR,
} as const
const CONNECTIONS_MAX = 2
/** A statement of the operator may take a minute, so an unreachable database is detected with a shorter time-out. */
const CONNECT_TIMEOUT_MS = 5_000

const actorSchema = z.object({ actor: z.string().trim().min(1).max(200).optional() })

/** Adds a command that opens the database, refuses a schema it does not run on, and closes everything afterwards. */
export function addDatabaseCommand<S extends z.ZodRawShape, V extends Variables>(
  parent: OperatorCommand,
  definition: DatabaseCommand<S, V>,
): OperatorCommand {
  const command = addCommand(parent, definition, { ...BASE, ...definition.variables }, async (input, output) => {
    const { environment, stderr } = command.console
    const base = operatorConfig({ ...BASE }, environment)
    const config = operatorConfig(definition.variables, environment)
    const actor = actorSchema.parse(command.opts()).actor ?? base.OPERATOR_ACTOR
    // Standard output belongs to the result, so the log goes to standard error.
    const log = createLog('operator', 'warn', (line) => stderr.write(line))
    await assertDatabaseAnswers(base.DATABASE_URL, log)
    const database = openDatabase(base.DATABASE_URL, log, CONNECTIONS_MAX, OPERATOR_BOUNDS.operatorStatementTimeoutMs)
    try {
      await assertSchemaCompatible(database)
      await definition.run(input, { ...output, operator: { database, actor }, config })
    } finally {
      await database.end()
    }
  })
  if (definition.writes === true)
    command.option('--actor <name>', 'who acts, for the audit trail; default: OPERATOR_ACTOR')
  return command
}

/** @throws within seconds when no database answers. */
export async function assertDatabaseAnswers(url: string, log: Log): Promise<void> {
  const database = openDatabase(url, log, 1, CONNECT_TIMEOUT_MS)
  try {
    const client = await database.connect()
    client.release()
  } finally {
    await database.end()
  }
}
