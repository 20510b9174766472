import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { changeLimitsSchema, changesSchema, NO_CHANGES } from '#core/domain/changes.ts'
import { defaultProfile } from '#jobs/version-build/parameters.ts'
import type { ActiveVersion } from '#jobs/evaluation/compare/active-version.ts'
import { compareWithActive, type Compared, type ComparedCandidate } from '#jobs/evaluation/compare/pipeline.ts'
import { storeIn, buildTestArtifact, sourcesOf, type TestArtifact } from '#test/support/artifact.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { testRows } from '#test/support/passages.ts'
import { asking, replyWith } from '#test/support/evaluation.ts'
import { folderOfFile } from '#test/support/folder.ts'

const FACETS = { languages: ['en'], jurisdictions: ['XA'], subjects: ['general'], statuses: ['verified' as const] }
const folder = folderOfFile()
const store = storeIn(folder)
const keys = signingKeys()
const { context } = asking(({ text }) => replyWith([text.slice(0, 5)]), { facets: FACETS })

const built = await Promise.all([30, 20, 10].map((rows, at) => artifactOf(rows, `version ${at}`)))
/** Of 30, 20 and 10 passages. */
const versions: readonly ActiveVersion[] = built.map(({ versionId, manifestDigest }) => ({
  versionId,
  manifestDigest,
  facets: FACETS,
  profile: defaultProfile({ embedding: 'none' }),
  embedder: context.embedder,
  questionSet: null,
}))
const candidate: ComparedCandidate = {
  ...comparable(await artifactOf(5, 'candidate')),
  profile: context.profile,
  questionSet: undefined,
  evaluated: { questions: [], outcomes: [] },
  limit: 200,
  context,
}

async function artifactOf(rows: number, name: string): Promise<TestArtifact> {
  const corpus = testRows({ rows, dimensions: 8, seed: 1 })
  return await buildTestArtifact({ store: folder, rows: corpus, privateKeyDer: keys.privateKeyDer, name })
}

function comparable({
  versionId,
  manifestDigest,
}: TestArtifact): Pick<ComparedCandidate, 'versionId' | 'manifestDigest' | 'facets'> {
  return { versionId, manifestDigest, facets: FACETS }
}

/** Compares while each reading of the active version gives the next one of the list. */
async function comparedWhile(
  active: readonly (ActiveVersion | undefined)[],
  change: Partial<ComparedCandidate> = {},
): Promise<Compared | null> {
  const readings = active.values()
  return await compareWithActive(
    { ...candidate, ...change },
    {
      readActive: async () => await Promise.resolve(readings.next().value),
      publicKeysDer: [keys.publicKeyDer],
      sortFile: join(folder, 'comparison.sqlite'),
      changeLimits: changeLimitsSchema.parse({ passages_removed: 25 }),
    },
    store,
  )
}

test('a candidate is compared with the version that became active during the comparison', async () => {
  const [first, second] = versions
  const compared = await comparedWhile([first, second, second])
  expect(compared?.comparison).toMatchObject({
    version_id: second?.versionId,
    changes: { before: { passages: 20 }, counts: { passages_removed: 15 } },
  })
})

test('the comparison is repeated once, so that activations without end do not hold the build', async () => {
  const [first, second, third] = versions
  expect((await comparedWhile([first, second, third]))?.comparison.version_id).toBe(second?.versionId)
})

test('a candidate is compared with the first version if it became active during the comparison with none', async () => {
  const [first] = versions
  expect((await comparedWhile([undefined, first, first]))?.comparison.version_id).toBe(first?.versionId)
})

test('a candidate without a predecessor has no changes file, although an earlier run left one', async () => {
  writeFileSync(store.changesFile(candidate.versionId), '{}\n')
  expect(await comparedWhile([undefined, undefined])).toBeNull()
  expect(existsSync(store.changesFile(candidate.versionId))).toBe(false)
})

test('each kind of change is a gate with the limit of the knowledge base', async () => {
  const [first] = versions
  const gates = (await comparedWhile([first, first]))?.changeGates ?? []
  expect(gates.map(({ label, value, bound, passed }) => [label, value, bound, passed])).toEqual([
    ['histories_rewritten', 0, 0, true],
    ['documents_removed', 2, 0, false],
    ['documents_changed', 0, 0, true],
    ['documents_added', 0, 1, true],
    ['provisions_removed', 25, 0, false],
    ['provisions_changed', 0, 0, true],
    ['passages_removed', 25, 25, true],
    ['passages_changed', 0, 0, true],
    ['passages_repeated', 0, 0, true],
    ['passages_added', 0, 3, true],
    ['facet_values_removed', 0, 0, true],
    ['references_changed', 0, 0, true],
    ['aliases_changed', 0, 0, true],
    ['vectors_changed', 0, 0, true],
    ['profile_changed', 0, 0, true],
    ['questions_changed', 0, 0, true],
    ['search_questions_changed', 0, 0, true],
    ['answers_lost', 0, 0, true],
    ['answers_wrong', 0, 0, true],
  ])
})

test('a candidate is refused whose import does not say whether a commit is gone that it no longer names', async () => {
  const rows = testRows({ rows: 5, dimensions: 8, seed: 1 })
  const [first, second] = await Promise.all(
    ['a1', 'b2'].map(async (commit) => {
      const all = sourcesOf(rows.map(({ record }) => record.citation.source_snapshot_id))
      const sources = all.map((source, at) => ({ ...source, source_name: `law/${at}.md?commit=${commit}&blob=0` }))
      const input = { store: folder, rows, sources, privateKeyDer: keys.privateKeyDer, name: commit }
      return comparable(await buildTestArtifact(input))
    }),
  )
  const active = versions.slice(0, 1).map((version) => ({ ...version, ...first }))
  await expect(comparedWhile([...active, ...active], second)).rejects.toThrow('which commits are gone')
  await expect(comparedWhile([...active, ...active], first)).resolves.not.toBeNull()
})

test('the counts of an earlier release, which counted fewer kinds, are read', () => {
  const { histories_rewritten: _, ...counts } = NO_CHANGES
  expect(changesSchema.shape.counts.parse(counts)).toEqual(NO_CHANGES)
})

test('a candidate is not compared as its predecessor, whose file somebody put in the place of its own', async () => {
  const [first] = versions
  const path = join(store.artifactFolder(candidate.versionId), 'passages.jsonl')
  const own = readFileSync(path)
  writeFileSync(path, readFileSync(join(store.artifactFolder(first?.versionId ?? ''), 'passages.jsonl')))
  using ending = new DisposableStack()
  ending.defer(() => writeFileSync(path, own))
  await expect(comparedWhile([first, first])).rejects.toThrow(
    /^The artifact .* of the candidate was altered after it was built \(.*\): find out who wrote/,
  )
})

test.each(['before', 'after'])('a comparison checks the signature of the version %s', async (side) => {
  const [first] = versions
  const path = join(store.artifactFolder((side === 'before' ? first : candidate)?.versionId ?? ''), 'manifest.sig')
  const own = readFileSync(path)
  writeFileSync(path, Buffer.alloc(own.length))
  using ending = new DisposableStack()
  ending.defer(() => writeFileSync(path, own))
  await expect(comparedWhile([first, first])).rejects.toThrow(/The signature of the manifest holds under no key/)
})
