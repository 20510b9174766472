import { join } from 'node:path'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import { evaluationReportSchema, type EvaluationReport } from '#jobs/evaluation/page/evaluation-report.ts'
import type { JobsHarness } from '#test/support/jobs.ts'
import { markdownSource } from '#test/support/markdown-source.ts'
import { withoutGuards } from '#test/support/postgres.ts'

const SYLLABLES = ['bra', 'cor', 'dul', 'fen', 'gim', 'hap', 'jor', 'kel', 'lim', 'mot', 'nar', 'pol', 'qua'] as const

/** Sixty words that stand in no list and no other text. */
export const TRADES = Array.from(
  { length: 60 },
  (_, n) => `${SYLLABLES[n % 8] ?? ''}${SYLLABLES[Math.floor(n / 8)] ?? ''}wright`,
)

/** How the Markdown source of a code on trades begins. @param url its canonical URL. */
function frontMatter(document: string, title: string, url: string): string {
  const fields = {
    document,
    title,
    authority: 'Test Authority',
    canonical_url: url,
    language: 'en',
    jurisdiction: 'XA',
    subject: 'trades',
    published_at: '2020-01-01',
    effective_at: '2020-02-01',
    verification_status: 'source-declared',
  }
  return markdownSource(fields, '\n# Trades Code\n')
}

/** The Markdown source of a code with two or more provisions on every trade. */
export function tradesCode(provisionsOn: (trade: string) => readonly string[]): string {
  const front = frontMatter('trades', 'Trades Code', 'https://trades.example/code')
  return [front, ...TRADES.flatMap(provisionsOn)].join('\n')
}

/** Source files by name. */
export type Rulebook = ReadonlyMap<string, string>

/** At most thirteen documents of as many provisions each, and each provision is about a trade of its own. */
export function rulebook(documents: number): Rulebook {
  return new Map(
    Array.from({ length: documents }, (_, chapter) => [
      `chapter-${String(chapter).padStart(2, '0')}.md`,
      [chapterFront(chapter), ...Array.from({ length: documents }, (__, rule) => provision(chapter, rule))].join('\n'),
    ]),
  )
}

function chapterFront(chapter: number): string {
  return frontMatter(`chapter-${chapter}`, `Trades Code, chapter ${chapter}`, `https://trades.example/code/${chapter}`)
}

function provision(chapter: number, rule: number): string {
  const trade = `${SYLLABLES[chapter] ?? ''}${SYLLABLES[rule] ?? ''}wright`
  return `### ${chapter}.${rule} Register of the ${trade} {#rule-${chapter}-${rule}}

A ${trade} must keep a register of every contract and must show it to the inspector of the guild on request.
`
}

/** The rulebook with one file as `change` gives it. */
export function withChapter(book: Rulebook, chapter: number, change: (text: string) => string): Rulebook {
  const name = `chapter-${String(chapter).padStart(2, '0')}.md`
  return new Map([...book].map(([each, text]) => [each, each === name ? change(text) : text]))
}

/** The first rules of a chapter. */
export function firstRules(chapter: string, rules: number): string {
  return chapter
    .split(/(?=^### )/m)
    .slice(0, rules + 1)
    .join('')
}

/** Imports a rulebook. @returns the id of the import. */
export async function importRulebook(harness: JobsHarness, knowledgeBaseId: string, book: Rulebook): Promise<string> {
  const folder = join(harness.store.workFolder('sources'), 'rulebook')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of book) writeFileSync(join(folder, name), text)
  return await harness.importFolder(knowledgeBaseId, folder)
}

/** Makes the version of a build the active one, without review and activation. */
export async function serve(harness: JobsHarness, buildId: string): Promise<string> {
  const versionId = versionIdOf(buildId)
  await withoutGuards(
    harness.owner,
    `insert into active_versions (knowledge_base_id, version_id)
     select knowledge_base_id, id from corpus_versions where id = $1
     on conflict (knowledge_base_id) do update set version_id = excluded.version_id`,
    [versionId],
  )
  await withoutGuards(harness.owner, "update corpus_versions set state = 'active' where id = $1", [versionId])
  return versionId
}

/** The evaluation of a build's candidate, as it is stored. */
export async function evaluationOf(harness: JobsHarness, buildId: string): Promise<EvaluationReport> {
  const { rows } = await harness.owner.query<{ evaluation: unknown }>(
    'select evaluation from corpus_versions where build_id = $1',
    [buildId],
  )
  return evaluationReportSchema.parse(rows[0]?.evaluation)
}
