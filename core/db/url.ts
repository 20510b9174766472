import { url, type Variable } from '#core/platform/config.ts'

export const DATABASE_URL = {
  schema: url('postgres:', 'postgresql:'),
  help: 'the URL of Postgres 18, e.g. postgres://user:password@host:5432/evidence',
  secret: true,
} as const satisfies Variable<string>

export const BACKUP_DATABASE_URL = {
  ...DATABASE_URL,
  help: 'the URL of the same Postgres for the role of backups, which reads every table',
} as const satisfies Variable<string>
