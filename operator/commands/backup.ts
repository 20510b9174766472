import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { generateX25519Identity, identityToRecipient } from 'age-encryption'
import { BACKUP_DATABASE_URL } from '#core/db/url.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { backUp } from '#operator/actions/backup/backup.ts'
import { OPERATOR_BOUNDS } from '#operator/actions/operator.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { option, text, whole } from '#operator/command-line/inputs.ts'
import { change, offline } from '#operator/command-line/verbs.ts'

const { ARTIFACT_STORE, MANIFEST_PUBLIC_KEY, KEY_PEPPERS, SERVICE_SECRET } = OPERATOR_VARIABLES
/** @throws OperatorError for an object store, which has copies of its own. */
export function localFolder(url: string): string {
  if (url.startsWith('file:')) return fileURLToPath(url)
  throw new OperatorError(
    'Backups and restores know no object store: keep versions of the bucket or replicate it, and back Postgres up with ' +
      'pg_dump; with ARTIFACT_STORE=file:///FOLDER a copy of the bucket is backed up.',
  )
}

/** What backups and restores read of the environment. */
export const BACKUP_VARIABLES = { ARTIFACT_STORE, MANIFEST_PUBLIC_KEY, KEY_PEPPERS, SERVICE_SECRET } as const

const key = offline('key', 'write a new pair of age, and print its public half; needs no database', {
  notes: 'Keep the file away from this machine: it opens every backup, and none is opened without it.',
  examples: ['backup key --out backup.key'],
  input: { out: option('<file>', 'the private half, which only its owner may read; never overwritten', text) },
  async run({ out }) {
    const secret = await generateX25519Identity()
    const recipient = await identityToRecipient(secret)
    await writeFile(out, `# public key: ${recipient}\n${secret}\n`, { flag: 'wx', mode: 0o600 })
    return [{ identity_file: out, recipient }, recipient]
  },
})

export const commands: Commands = [
  change('backup <to>', 'write a backup into a folder; what earlier ones hold is not written again', {
    notes:
      'It holds every table as of one moment, artifacts, reports and captured sources; workers write the trace again.\n' +
      'It does not hold KEY_PEPPERS, SERVICE_SECRET and the signing key: a restore refuses without them.',
    examples: ['backup /backups --recipient age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p --keep 30'],
    input: {
      to: text,
      recipient: option(
        '<key>',
        'public half of a pair of age, as "operator backup key" prints it',
        text.regex(/^age1[0-9a-z]{58}$/, 'must be a public key of age, which begins with age1'),
      ),
      keep: option(
        '<n>',
        'remove all backups but so many newest ones; default: keep all',
        whole(1, OPERATOR_BOUNDS.operatorRowsMax).optional(),
      ),
    },
    below: [key],
    variables: { ...BACKUP_VARIABLES, BACKUP_DATABASE_URL },
    async run({ to, recipient, keep }, { operator, config, progress }) {
      progress.update('copying')
      const places = { url: config.BACKUP_DATABASE_URL, store: localFolder(config.ARTIFACT_STORE), to }
      const written = await backUp(operator, { ...places, recipient, keep, secrets: config })
      const { name, tables, files, bytes } = written
      return [written, `Backup ${name} holds ${tables} tables and ${files} files, ${bytes} bytes.`]
    },
  }),
]
