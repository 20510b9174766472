import type { RetentionRules } from '#core/db/retention.ts'
import { openArtifactStore } from '#core/index/format/store.ts'
import { STORE_SETTINGS } from '#core/index/settings.ts'
import { planRetention, removePlanned, type RetentionPlan } from '#jobs/worker/maintenance/retention.ts'
import { withAudit } from '#operator/actions/operator.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { isGiven, option, wholeOr } from '#operator/command-line/inputs.ts'
import { table } from '#operator/command-line/table.ts'
import { change } from '#operator/command-line/verbs.ts'

const DAYS_MAX = 36_500
const DEFAULTS: RetentionRules = { versionDays: 30, ledgerDays: 400, snapshotDays: 30 }

function days(rule: keyof RetentionRules, since: string): ReturnType<typeof wholeOr> {
  return option('<n>', `since ${since}; default ${DEFAULTS[rule]}`, wholeOr(DEFAULTS[rule], 1, DAYS_MAX))
}

export const commands: Commands = [
  change('gc', 'remove the files of versions and sources that nothing needs any more', {
    notes:
      'Never removed: what is active, on the way back of rollbacks, approved, named by an entitlement, or in a public ' +
      'trace; sources of versions that stay.\nThe rows stay: a version without files is never served again, and a build ' +
      'from a source without its file says so.\nLeftovers of failed builds are removed by the job worker, a day after ' +
      'they failed.',
    input: {
      dryRun: option('', 'show what would go, and remove nothing', isGiven),
      versionDays: days('versionDays', 'a version was retired or rejected, or built and never approved'),
      ledgerDays: days('ledgerDays', 'the last request of the ledger that a version served'),
      snapshotDays: days('snapshotDays', 'a source was captured'),
    },
    variables: STORE_SETTINGS,
    async run({ dryRun, ...rules }, { operator, database, config }) {
      const store = openArtifactStore(config)
      const plan = await planRetention(database, store, rules)
      if (dryRun || plan.versions.length + plan.snapshots.length === 0)
        return [{ ...plan, removed: false }, inWords(plan, 'would go')]
      const removed = await withAudit(operator, 'store.gc', async (client) => {
        const went = await removePlanned(client, store, rules, plan)
        const { versions, snapshots, bytes } = went
        const detail = { rules, versions: versions.map(({ id }) => id), snapshots: snapshots.length, bytes }
        return [went, 'artifact-store', detail]
      })
      return [{ ...removed, removed: true }, inWords(removed, 'went')]
    },
  }),
]

function inWords({ versions, snapshots, bytes }: RetentionPlan, what: string): string {
  if (versions.length + snapshots.length === 0) return 'Nothing is to be removed.'
  const listed = versions.length === 0 ? '' : `${table(versions, 'id=version knowledge_base state bytes')}\n\n`
  return `${listed}${versions.length} versions and ${snapshots.length} captured files ${what}, ${bytes} bytes.`
}
