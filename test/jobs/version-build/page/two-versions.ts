import { readFileSync } from 'node:fs'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import type { JobsHarness } from '#test/support/jobs.ts'
import { importRulebook, rulebook, serve, withChapter, type Rulebook } from '../rulebook.ts'

export const BOOK = rulebook(3)
/** In the second chapter one word is another, the last provision is gone, and one is new. */
const LATER = withChapter(BOOK, 1, (text) =>
  text
    .replace('must keep', 'need not keep')
    .replace(/### 1\.2[\s\S]*$/, '### 1.9 Lanterns {#rule-1-9}\n\nEvery pier has a lantern that burns at night.\n'),
)

/** What a reader of the import left out. */
const OMISSION = { source: 'chapter-00.md', line: 1, rule: 'HTML comment', text: '<!-- drafted by the office -->' }
const STATE_OMISSION = "update imports set report = jsonb_set(report, '{omissions}', $2) where id = $1"

/** The pages of a first version and of a later one, and where the first one's import and artifact are. */
export async function buildPages(harness: JobsHarness) {
  const base = await harness.createKnowledgeBase()
  const build = async (book: Rulebook): Promise<{ readonly buildId: string; readonly importId: string }> => {
    const importId = await importRulebook(harness, base, book)
    await harness.owner.query(STATE_OMISSION, [importId, JSON.stringify([OMISSION])])
    return { buildId: await harness.candidate(base, importId), importId }
  }
  const pageOf = (buildId: string): string => readFileSync(harness.store.reportFile(versionIdOf(buildId)), 'utf8')
  const { buildId, importId } = await build(BOOK)
  const first = pageOf(buildId)
  await serve(harness, buildId)
  const later = pageOf((await build(LATER)).buildId)
  return { first, later, importId, folder: harness.store.artifactFolder(versionIdOf(buildId)) }
}
