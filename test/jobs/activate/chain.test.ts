import { verify } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { readActivation } from '#core/db/activations.ts'
import { insertLink, readChain, type ChainLink } from '#core/db/version-chain.ts'
import { chainEntrySchema, chainText } from '#core/domain/version-chain.ts'
import { createSignedStore } from '#core/index/format/store.ts'
import { sha256 } from '#core/platform/digest.ts'
import { activate } from '#jobs/activate/pipeline.ts'
import { requestActivation } from '#test/support/activations.ts'
import { folderOfFile } from '#test/support/folder.ts'
import { silent } from '#test/support/jobs.ts'
import { openTestPools } from '#test/support/postgres.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { createHistoryBase } from '#test/support/version-rows.ts'
import { activateSigned } from '#test/support/version-chain.ts'

const { owner, jobs } = await openTestPools()
const keys = signingKeys()
const base = await createHistoryBase(owner)
const versions = [await base.createVersion(), await base.createVersion()]
for (const at of [0, 1, 0]) await activateSigned({ owner, jobs, base, keys }, versions[at] ?? '')
const links: ChainLink[] = []
for await (const link of readChain(jobs, base.id)) links.push(link)

test('every activation is an entry with the hash of the one before, signed with the key of the manifests', () => {
  const key = { key: keys.publicKeyDer, format: 'der', type: 'spki' } as const
  expect(links).toHaveLength(3)
  for (const [at, { sequence, entry, record, signature }] of links.entries()) {
    expect(verify(null, Buffer.from(entry), key, signature)).toBe(true)
    const before = links[at - 1]?.entry
    expect(chainEntrySchema.parse(JSON.parse(entry))).toMatchObject({
      sequence,
      knowledge_base: { id: base.id, slug: base.slug },
      record_sha256: sha256(record).toString('hex'),
      previous_sha256: before === undefined ? null : sha256(before).toString('hex'),
    })
  }
})

test('an entry that does not continue the chain is refused, and none is changed or removed', async () => {
  const [first, , last] = links
  if (first === undefined || last === undefined) throw new Error('three entries were written')
  const refused = 'continues the version chain'
  const knowledgeBaseId = base.id
  await expect(insertLink(jobs, { knowledgeBaseId, ...first })).rejects.toThrow(refused)
  const stated = chainEntrySchema.parse(JSON.parse(last.entry))
  const other = chainText({ ...stated, sequence: 4 })
  await expect(insertLink(jobs, { knowledgeBaseId, ...last, sequence: 4, entry: other })).rejects.toThrow(refused)
  const follows = chainText({ ...stated, sequence: 4, previous_sha256: sha256(last.entry).toString('hex') })
  const altered = { ...last, sequence: 4, entry: follows, record: `${last.record} ` }
  await expect(insertLink(jobs, { knowledgeBaseId, ...altered })).rejects.toThrow(refused)
  await expect(owner.query("update version_chain set record = '{}'")).rejects.toThrow('never changed or removed')
  await expect(owner.query('delete from version_chain')).rejects.toThrow('never changed or removed')
})

test.each([
  ['which the database continues', 0, 'The version was active before'],
  ['which the database lacks', 99, 'ends with entry 99, which the database lacks'],
])('beside a published history %s', async (_, later, refusal) => {
  const [store, [versionId = '', expectedVersionId = '']] = [folderOfFile(), versions.toReversed()]
  const head = links.at(-1)
  mkdirSync(join(store, base.slug))
  const published = { sequence: later || head?.sequence, entry: head?.entry }
  writeFileSync(join(store, base.slug, 'head.json'), JSON.stringify(published))
  const id = await requestActivation(owner, { knowledgeBaseId: base.id, versionId, expectedVersionId })
  const settings = { ARTIFACT_STORE: pathToFileURL(store).href, MANIFEST_PUBLIC_KEY: [keys.publicKeyDer] }
  const deps = { database: jobs, nodes: [], store: createSignedStore(settings), traceDir: store, log: silent }
  expect(await activate({ ...deps, privateKeyDer: keys.privateKeyDer }, id)).toBe('refused')
  expect((await readActivation(owner, id))?.message).toContain(refusal)
})
