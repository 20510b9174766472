import { pathToFileURL } from 'node:url'
import { readImport } from '#core/db/imports.ts'
import { inTransaction, openDatabase } from '#core/db/pool.ts'
import { createArtifactStore } from '#core/index/format/store.ts'
import { createLog } from '#core/platform/log.ts'
import { insertRows } from '#jobs/version-build/pipeline.ts'
import type { BuildContext } from '#jobs/version-build/context.ts'
import { buildParametersSchema } from '#jobs/version-build/parameters.ts'
import { preparePassages } from '#jobs/version-build/sort.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { QUIET_BUILD } from '#test/jobs/version-build/quiet-build.ts'

/** Runs the stages of a build that read and sort an import: `stages.ts <database> <import> <build> <store>`. */
const [url = '', importId = '', buildId = '', root = ''] = process.argv.slice(2)
const store = createArtifactStore(pathToFileURL(root).href)
const database = openDatabase(url, createLog('bench', 'silent'), 2, 600_000)
const source = await readImport(database, importId)
const { privateKeyDer, publicKeyDer } = signingKeys()
const began = performance.now()
function tell(what: string): void {
  process.stdout.write(`${what} at ${((performance.now() - began) / 1_000).toFixed(0)} s\n`)
}
const context: BuildContext = {
  fence: { buildId, attempt: 1 },
  knowledgeBaseId: source.knowledgeBaseId,
  knowledgeBase: 'bench',
  parameters: buildParametersSchema.parse({ embedding: 'none' }),
  source,
  store,
  workFolder: store.workFolder(buildId),
  privateKeyDer,
  publicKeysDer: [publicKeyDer],
  ...QUIET_BUILD,
  progress: {
    ...QUIET_BUILD.progress,
    begin: (stage) => {
      tell(stage)
      return Promise.resolve()
    },
  },
  signal: new AbortController().signal,
}
await preparePassages(context)
tell('rows')
await inTransaction(database, (client) => insertRows(client, context))
tell('end')
await database.end()
process.disconnect()
