import { refusalOf, type Attack } from './attack.ts'

/** What decides which law is served and who approved it. */
const TABLES = [
  'corpus_versions',
  'active_versions',
  'imports',
  'source_snapshots',
  'revisions',
  'documents',
  'builds',
  'activations',
  'reviews',
  'reviewers',
  'review_policies',
  'audit',
] as const

const STATEMENTS: readonly ((table: string, column: string) => string)[] = [
  (table, column) => `update ${table} set ${column} = ${column}`,
  (table) => `delete from ${table}`,
  (table) => `truncate ${table} cascade`,
  (table) => `alter table ${table} disable trigger all`,
  (table) => `drop table ${table} cascade`,
  (table, column) => `alter table ${table} drop column ${column}`,
  (table) => `create trigger mine before insert on ${table} for each row execute function guard_reviewer()`,
  (table, column) => `copy ${table} (${column}) from program 'true'`,
  () => 'set session_replication_role = replica',
  () => 'set role evidence_jobs',
  () => 'set role evidence_migration',
  () => `create or replace function required_reviewers(base uuid) returns integer language sql as 'select 0'`,
  (table) => `alter table ${table} owner to evidence_operator`,
]

/** Columns that the operator may set, each with a guard. */
const MAY_SET: ReadonlySet<string> = new Set(['corpus_versions.state', 'reviewers.retired_at'])

/** Statements with the rights of the command line. */
export const SQL: Attack = {
  name: 'alters rows with the rights of the operator',
  row: 'rows',
  async run({ operator }, _law, draw) {
    const table = draw.pick(TABLES)
    const { rows } = await operator.database.query<{ name: string }>(
      'select attname as name from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped',
      [table],
    )
    const columns = rows.map(({ name }) => name).filter((name) => !MAY_SET.has(`${table}.${name}`))
    const statement = draw.pick(STATEMENTS)(table, draw.pick(columns))
    const refused = await refusalOf(() => operator.database.query(statement))
    return {
      what: statement,
      refused,
      violations: refused === undefined ? [{ rule: 'the operator alters no row', what: statement }] : [],
    }
  },
}
