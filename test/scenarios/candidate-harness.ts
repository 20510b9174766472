import { randomUUID } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { openDatabase } from '#core/db/pool.ts'
import { insertActivation, readActivation } from '#core/db/activations.ts'
import { activePointer } from '#core/db/corpus-lists.ts'
import { activate } from '#jobs/activate/pipeline.ts'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import { activateDeps } from '#test/support/activations.ts'
import { silent, smallSource, startJobsHarness } from '#test/support/jobs.ts'
import { commandLine } from '#test/support/operator-cli.ts'
import { withId } from '#test/support/operator-corpus.ts'
import { PLAINTEXT, openSearchNodeClients } from '#test/support/search-node.ts'
import { openTestRedis } from '#test/support/redis.ts'

export type CandidateHarness = Awaited<ReturnType<typeof openCandidateHarness>>

/** Real builds, the real command line and the activation of the job worker, on one knowledge base. */
export async function openCandidateHarness() {
  const harness = await startJobsHarness()
  const redis = await openTestRedis()
  const folder = mkdtempSync(join(tmpdir(), 'evidence-candidates-'))
  const operator = openDatabase(harness.operatorUrl, silent, 2)
  const nodes = openSearchNodeClients([harness.searchNode], PLAINTEXT)
  const cli = commandLine({
    DATABASE_URL: harness.operatorUrl,
    REDIS_URL: redis.url,
    ARTIFACT_STORE: harness.environment['ARTIFACT_STORE'] ?? '',
    MANIFEST_PUBLIC_KEY: harness.environment['MANIFEST_PUBLIC_KEY'] ?? '',
  })
  const id = await harness.createKnowledgeBase()
  const { rows } = await harness.owner.query<{ slug: string }>('select slug from knowledge_bases where id = $1', [id])
  const base = { id, slug: rows[0]?.slug ?? '' }
  const file = (name: string): string => join(folder, name)
  /** Runs an activation as the job worker does. @returns `done`, or why it was refused. */
  const runActivation = async (activationId: string): Promise<string> => {
    await activate(activateDeps({ harness, nodes }), activationId)
    const row = await readActivation(harness.owner, activationId)
    return row?.state === 'done' ? 'done' : (row?.message ?? '')
  }
  return {
    ...harness,
    base,
    cli,
    /** The role of the command line. */
    operator,
    /** A file of the test. */
    file,
    runActivation,
    /** Writes `NAME.pem` and `NAME.pub`. */
    async keygen(name: string) {
      writeFileSync(file(`${name}.pub`), (await cli.run('reviewers', 'keygen', '--out', file(`${name}.pem`))).stdout)
    },
    jsonWithId: async (...args: readonly string[]) => withId.parse(await cli.json(...args)),
    /** Expects exit code 1. @returns standard error. */
    async refusal(...args: readonly string[]) {
      const { code, stderr } = await cli.run(...args)
      expect(code).toBe(1)
      return stderr
    },
    /** Builds the small rulebook with one change of its text. @returns the candidate. */
    async build(
      [from, to]: readonly [from: string, to: string] = ['', ''],
      parameters: Readonly<Record<string, unknown>> = {},
    ) {
      const source = file(`source-${randomUUID()}`)
      cpSync(smallSource, join(source, 'rulebook.md'))
      const before = readFileSync(smallSource, 'utf8')
      if (!before.includes(from)) throw new Error(`the rulebook holds no "${from}"`)
      writeFileSync(join(source, 'rulebook.md'), before.replace(from, to))
      const importId = await harness.importFolder(id, source)
      return versionIdOf(await harness.candidate(id, importId, parameters))
    },
    /** Asks with the rights of the operator, past the command line's own check, and runs the activation. */
    async activated(version: string, kind: 'activate' | 'rollback' = 'activate') {
      const activationId = randomUUID()
      const expectedVersionId = (await activePointer(operator, id))?.version_id ?? null
      const asked = { knowledgeBaseId: id, versionId: version, expectedVersionId, kind }
      await insertActivation(operator, { ...asked, id: activationId, actor: 'another' })
      return runActivation(activationId)
    },
    async close() {
      for (const node of nodes) node.close()
      await operator.end()
      await redis.release()
      await harness.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
