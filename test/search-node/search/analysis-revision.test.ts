import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { artifactRef, openIndex } from '#core/index/format/reader.ts'
import type { ArtifactRef, IndexReader } from '#core/index/format/reader.ts'
import { lexicalSchema } from '#core/index/lexical/layout.ts'
import { createIndexVersion } from '#search-node/search/index-version.ts'
import type { SearchableVersion } from '#search-node/search/index-version.ts'
import { search } from '#search-node/search/pipeline.ts'
import { buildTestArtifact, signingKeys, testRows } from '#test/support/artifact.ts'
import { EVERYTHING, UNLIMITED, inputOf } from '#test/support/search-node/asked.ts'

const ASKED_FOR = 'มาตรา ๑๒ ผู้เช่าซึ่งประสงค์จะบอกเลิกสัญญาต้องแจ้งเป็นหนังสือ'
const TEXTS = [ASKED_FOR, 'มาตรา ๑๓ ห้ามโฆษณาด้วยข้อความอันเป็นเท็จ']
const QUESTION = 'แจ้งบอกเลิกสัญญา'
const FILTERS = { ...EVERYTHING, languages: ['th'] }

let store: string
let ref: ArtifactRef
beforeAll(async () => {
  store = mkdtempSync(join(tmpdir(), 'analysis-'))
  const rows = testRows({
    rows: TEXTS.length,
    dimensions: 8,
    seed: 1,
    traits: (n) => ({ language: 'th', text: TEXTS[n] ?? '', heading: '' }),
  })
  const { folder, manifest } = await buildTestArtifact({ store, rows, privateKeyDer: signingKeys().privateKeyDer })
  ref = artifactRef(folder, manifest)
})
afterAll(() => rmSync(store, { recursive: true, force: true }))

async function opened<T>(use: (version: SearchableVersion, index: IndexReader) => Promise<T> | T): Promise<T> {
  const index = openIndex(ref)
  try {
    return await use(createIndexVersion(index), index)
  } finally {
    index.close()
  }
}

test('a version records the analysis of its terms, and a question to it is analysed alike', async () => {
  await opened(async (version, { lexical }) => {
    expect(lexical.description.analysis).toBe(2)
    expect(version.statistics.question(QUESTION, ['th']).asked.revision).toBe(2)
    const { passages } = await search(version, inputOf({ text: QUESTION, limit: 1, filters: FILTERS }), UNLIMITED)
    expect(passages.map(({ text }) => text)).toEqual([ASKED_FOR])
  })
})

test('a question to a version of an earlier release is analysed by the first revision, as its terms were', async () => {
  const file = join(ref.folder, 'lexical.json')
  const recorded = readFileSync(file, 'utf8')
  const { analysis: _, ...earlier } = lexicalSchema.parse(JSON.parse(recorded))
  writeFileSync(file, JSON.stringify(earlier))
  try {
    await opened((version, { lexical }) => {
      expect(lexical.description.analysis).toBe(1)
      const { revision, terms } = version.statistics.question(QUESTION, ['th']).asked
      expect({ revision, terms: terms.get('th') }).toEqual({ revision: 1, terms: [QUESTION] })
    })
  } finally {
    writeFileSync(file, recorded)
  }
})
