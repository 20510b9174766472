import { verify } from 'node:crypto'
import { expect, test } from 'vitest'
import { insertLink, readChain, type ChainLink } from '#core/db/version-chain.ts'
import { chainEntrySchema, chainText } from '#core/domain/version-chain.ts'
import { sha256 } from '#core/platform/digest.ts'
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
  await expect(insertLink(jobs, base.id, first)).rejects.toThrow(refused)
  const stated = chainEntrySchema.parse(JSON.parse(last.entry))
  const other = chainText({ ...stated, sequence: 4 })
  await expect(insertLink(jobs, base.id, { ...last, sequence: 4, entry: other })).rejects.toThrow(refused)
  const follows = chainText({ ...stated, sequence: 4, previous_sha256: sha256(last.entry).toString('hex') })
  const altered = { ...last, sequence: 4, entry: follows, record: `${last.record} ` }
  await expect(insertLink(jobs, base.id, altered)).rejects.toThrow(refused)
  await expect(owner.query("update version_chain set record = '{}'")).rejects.toThrow('never changed or removed')
  await expect(owner.query('delete from version_chain')).rejects.toThrow('never changed or removed')
})
