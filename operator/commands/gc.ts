import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { z } from 'zod'
import type { RetentionRules } from '#core/db/retention.ts'
import { createArtifactStore } from '#core/index/format/store.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { planRetention, removePlanned } from '#jobs/worker/maintenance/retention.ts'
import type { RetentionPlan } from '#jobs/worker/maintenance/retention.ts'
import { withAudit } from '#operator/actions/operator.ts'
import { whole } from '#operator/command-line/inputs.ts'
import { addDatabaseCommand } from '#operator/command-line/session.ts'
import { table } from '#operator/command-line/table.ts'

const { ARTIFACT_STORE } = OPERATOR_VARIABLES
const DAYS_MAX = 36_500
const DEFAULTS: RetentionRules = { versionDays: 30, ledgerDays: 400, snapshotDays: 30 }
const days = (byDefault: number): z.ZodType<number> =>
  whole(1, DAYS_MAX)
    .optional()
    .transform((value) => value ?? byDefault)

export function addGc(program: OperatorCommand): void {
  addDatabaseCommand(program, {
    usage: 'gc',
    summary: 'remove the files of versions and sources that nothing needs any more',
    flags: {
      '--dry-run': 'show what would go, and remove nothing',
      '--version-days <n>': `since a version was retired or rejected, or built and never approved; default ${DEFAULTS.versionDays}`,
      '--ledger-days <n>': `since the last request of the ledger that a version served; default ${DEFAULTS.ledgerDays}`,
      '--snapshot-days <n>': `since a source was captured; default ${DEFAULTS.snapshotDays}`,
    },
    notes:
      'Never removed: what is active, on the way back of rollbacks, approved, named by an entitlement, or in a public ' +
      'trace; sources of versions that stay.\nThe rows stay: a version without files is never served again, and a build ' +
      'from a source without its file says so.\nLeftovers of failed builds are removed by the job worker, a day after ' +
      'they failed.',
    examples: ['gc --dry-run', 'gc --version-days 90'],
    input: {
      dryRun: z.boolean().default(false),
      versionDays: days(DEFAULTS.versionDays),
      ledgerDays: days(DEFAULTS.ledgerDays),
      snapshotDays: days(DEFAULTS.snapshotDays),
    },
    variables: { ARTIFACT_STORE },
    writes: true,
    run: async ({ dryRun, ...rules }, { operator, config, show }) => {
      const store = createArtifactStore(config.ARTIFACT_STORE)
      const plan = await planRetention(operator.database, store, rules)
      const nothing = plan.versions.length + plan.snapshots.length === 0
      if (dryRun || nothing) return show({ ...plan, removed: false }, () => inWords(plan, 'would go'))
      const removed = await withAudit(operator, async (client) => {
        const went = await removePlanned(client, store, rules, plan)
        const { versions, snapshots, bytes } = went
        const detail = { rules, versions: versions.map(({ id }) => id), snapshots: snapshots.length, bytes }
        return { result: went, audit: { action: 'store.gc', subject: 'artifact-store', detail } }
      })
      show({ ...removed, removed: true }, () => inWords(removed, 'went'))
    },
  })
}

function inWords({ versions, snapshots, bytes }: RetentionPlan, what: string): string {
  if (versions.length + snapshots.length === 0) return 'Nothing is to be removed.'
  const columns = { id: 'version', knowledge_base: 'knowledge base', state: 'state', bytes: 'bytes' }
  const listed = versions.length === 0 ? '' : `${table(versions, columns, '')}\n\n`
  return `${listed}${versions.length} versions and ${snapshots.length} captured files ${what}, ${bytes} bytes.`
}
