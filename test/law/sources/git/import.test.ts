import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { createArtifactStore } from '#core/index/format/store.ts'
import { statedMapping } from '#law/import/corpus/corpus-mapping.ts'
import { parseSourceYaml } from '#law/import/corpus/source-yaml.ts'
import type { Passage } from '#law/import/passage/passage.ts'
import { captureClone } from '#law/sources/git/clone.ts'
import { folderOfFile } from '#test/support/folder.ts'
import { importSnapshots } from '#test/support/import.ts'
import { act, commit, createRepository, message, ONE, TWO } from './repository.ts'

const root = folderOfFile()
const store = createArtifactStore(pathToFileURL(join(root, 'store')).href)

async function imported(path: string, yaml = 'authorities:\n  ley: Congreso\n') {
  const captured = await captureClone(store, { path })
  const snapshots = captured.map(({ sourceName, mediaType, sha256 }, index) => {
    const id = `0b0f2c52-5a3a-4d0e-8f3c-${String(index).padStart(12, '0')}`
    return { id, sourceName, mediaType, path: store.snapshotFile(sha256) }
  })
  return await importSnapshots({ snapshots, mapping: statedMapping(parseSourceYaml(yaml)) })
}

function onDay(passages: readonly Passage[], day: string): readonly string[] {
  const inForce = passages.filter(
    ({ document, effective_to: end }) =>
      document.effective_at.slice(0, 10) <= day && (end ?? '9999').slice(0, 10) > day,
  )
  return inForce.map(({ text }) => text).filter((text) => text.startsWith('Cada casa'))
}

test('each version of a clone is law from its day until the next, and nothing of it is lost', async () => {
  const folder = join(root, 'history')
  createRepository(folder)
  commit(folder, message('new', '1999-12-01'), {
    'pe/LEY-12.md': act(ONE, { status: 'repealed', effective_until: '2010-04-30' }),
  })
  commit(folder, message('reform', '2010-04-01'), { 'pe/LEY-12.md': act(TWO, { last_updated: '2010-05-01' }) })
  commit(folder, message('repeal', '2020-06-01'), {
    'pe/LEY-12.md': act(TWO, { last_updated: '2010-05-01', status: 'repealed' }),
  })
  const { passages, report } = await imported(folder)
  expect([report.losses, report.reasons, report.revisions, report.documents]).toEqual([[], {}, 2, 1])
  const days = ['1999-12-31', '2000-01-01', '2010-04-30', '2010-05-01', '2020-05-31', '2020-06-01']
  expect(days.map((day) => onDay(passages, day))).toEqual([[], [ONE], [ONE], [TWO], [TWO], []])
  const [first] = passages
  expect(first).toMatchObject({
    metadata: { language: 'es', jurisdiction: 'PE', verification_status: 'verified' },
    document: { authority: 'Congreso', title: 'Ley de lámparas' },
  })
})

test.each([
  ['as_enacted', '1999-12-01'],
  ['current', '2000-01-01'],
])('a text that is %s is a loss, and once it is accepted it is source-declared', async (state, day) => {
  const folder = join(root, state)
  createRepository(folder)
  commit(folder, message('new'), { 'pe/LEY-12.md': act(ONE, { text_state: state }) })
  const { passages, report } = await imported(folder)
  expect(report.losses.map(({ name }) => name)).toEqual([`markdown text_state: ${state} (1)`])
  expect(report.losses_unnamed).toBe(1)
  expect([...new Set(passages.map((each) => each.metadata.verification_status))]).toEqual(['source-declared'])
  expect(passages[0]?.document.effective_at.slice(0, 10)).toBe(day)
})

test('a key of the country that contradicts the status is a loss, and its text is not served', async () => {
  const folder = join(root, 'contradiction')
  createRepository(folder)
  const stated = { references_html: '**Derogada por:** Ley 13' }
  const other = act(TWO, { identifier: 'LEY-13' })
  commit(folder, message('new'), { 'pe/LEY-12.md': act(ONE, { version_type: 'MINULE' }), 'pe/LEY-13.md': other })
  commit(folder, message('new'), { 'pe/LEY-14.md': act(ONE, { ...stated, identifier: 'LEY-14' }) })
  const { passages, report } = await imported(folder)
  expect(onDay(passages, '2020-01-01')).toEqual([TWO])
  expect(report.losses.map(({ name }) => name)).toEqual([
    'markdown version_type says ended, and status says in_force (1)',
    'markdown references_html says repealed, and status says in_force (1)',
  ])
})
