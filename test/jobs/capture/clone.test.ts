import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { captureSource } from '#jobs/capture/pipeline.ts'
import type { Captured } from '#jobs/capture/run-child.ts'
import { importCorpus } from '#operator/actions/import-corpus.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { addSource, sourceNamed } from '#operator/actions/sources.ts'
import { corpusAt, corpusDigest } from '#operator/demo/corpus.ts'
import { act, commit, FIRST, git, LATER, message, PATH, repositoryOf, TWO } from '#test/law/sources/git/repository.ts'
import { storeIn } from '#test/support/artifact.ts'
import { folderOfFile } from '#test/support/folder.ts'
import { openTestPools } from '#test/support/postgres.ts'

const { operator: pool } = await openTestPools()
const operator = { database: pool, actor: 'tester' }
const root = folderOfFile()
const store = storeIn(join(root, 'store'))
const sourceYaml = join(root, 'peru.yaml')
writeFileSync(sourceYaml, 'authorities:\n  pe: Congreso\n')

async function captured(): Promise<Captured> {
  const source = await sourceNamed(pool, 'peru', null)
  return await captureSource({ ...operator, store, roots: 'own rights' }, source)
}

test('a clone is captured with its history, again after a pull, and a rewritten history is an alarm', async () => {
  await createKnowledgeBase(operator, { slug: 'peru', title: 'Peru' })
  const clone = repositoryOf(root, [FIRST])
  const source = { name: 'peru', knowledgeBase: 'peru', git: clone, sourceYaml }
  await expect(addSource(operator, { ...source, from: clone })).rejects.toThrow('one of them')
  await expect(addSource(operator, { ...source, everyMinutes: 60 })).rejects.toThrow('never pulls')
  await expect(addSource(operator, { ...source, git: root })).rejects.toThrow('no clone')
  await addSource(operator, { ...source, since: '1990-01-01', only: 'pe/*' })
  expect(await captured()).toMatchObject({ outcome: 'changed', files: 1 })
  expect(await captured()).toMatchObject({ outcome: 'unchanged', import_id: null })
  commit(clone, message('reform'), { [PATH]: act(TWO, LATER) })
  const after = await captured()
  expect(after).toMatchObject({ outcome: 'changed', files: 2 })
  expect(after.import_id).not.toBeNull()
  git(clone, 'commit', '-q', '--amend', '-m', 'Rewritten')
  const { outcome, message: why, import_id: id } = await captured()
  expect([outcome, why, id]).toEqual(['failed', expect.stringMatching('was rewritten'), expect.any(String)])
})

test('the demo takes a clone as its corpus, and begins anew once it was pulled', async () => {
  const clone = repositoryOf(root, [FIRST])
  writeFileSync(join(clone, 'source.yaml'), 'authorities:\n  ley: Congreso\n')
  const corpus = corpusAt(clone)
  const before = await corpusDigest(corpus)
  await createKnowledgeBase(operator, { slug: 'demo', title: 'Demo' })
  const { report } = await importCorpus(operator, { knowledgeBase: 'demo', source: corpus.source, store })
  expect(report).toMatchObject({ documents: 1, revisions: 1, losses: [] })
  expect(await corpusDigest(corpusAt(clone))).toBe(before)
  commit(clone, message('reform'), { [PATH]: act(TWO, LATER) })
  expect(await corpusDigest(corpusAt(clone))).not.toBe(before)
})
