import { expect, test } from 'vitest'
import { EVALUATION_BOUNDS } from '#jobs/evaluation/bounds.ts'
import { searchQuestionFigures } from '#jobs/evaluation/search-questions.ts'
import { buildTestArtifact, type TestArtifact } from '#test/support/artifact.ts'
import { asking, replyWith } from '#test/support/evaluation.ts'
import { testRows } from '#test/support/passages.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { folderOfFile } from '#test/support/folder.ts'

const folder = folderOfFile()
const { privateKeyDer } = signingKeys()

/** Five passages ended; the others are in force. */
const rows = testRows({ rows: 40, dimensions: 8, seed: 1, traits: (n) => ({ inForceTo: n < 5 ? '2025-01-01' : null }) })
const ended = rows.findIndex(({ record }) => record.in_force_to !== null)
const inForce = rows.flatMap(({ record }, row) => (record.in_force_to === null ? [row] : []))
const [one = 0, two = 0, three = 0] = inForce
const idOf = (row: number): string => rows[row]?.record.source_id ?? ''

async function versionWith(
  name: string,
  questions: readonly (readonly [row: number, q: string])[],
): Promise<TestArtifact['manifest'] & { readonly folder: string }> {
  const queryExpansions = questions
    .map(([row, q]) => ({ row, q, lang: 'en', id: idOf(row) }))
    .toSorted((a, b) => a.row - b.row)
  const built = await buildTestArtifact({ store: folder, rows, privateKeyDer, name, queryExpansions })
  return { ...built.manifest, folder: built.folder }
}

test('search questions are counted, with those of several records and those that find another record first', async () => {
  const version = await versionWith('some', [
    [ended, 'Ended: who?'],
    [one, 'Own'],
    [two, 'Led away'],
    [two, 'Shared'],
    [three, 'Found by none'],
    [three, 'Shared'],
  ])
  const answers: Readonly<Record<string, readonly string[]>> = {
    Own: [idOf(one)],
    'Led away': [idOf(one)],
    Shared: [idOf(two)],
  }
  const { context, asked } = asking(({ text }) => replyWith(answers[text] ?? []))
  const figures = await searchQuestionFigures(version, context)
  expect(figures).toMatchObject({ questions: 6, passages: 4, repeated: [{ q: 'Shared', passages: 2 }], asked: 5 })
  expect(figures?.sample).toHaveLength(6)
  expect(figures?.elsewhere.toSorted((a, b) => (a.q + a.id < b.q + b.id ? -1 : 1))).toEqual([
    { id: idOf(three), q: 'Found by none', first: null },
    { id: idOf(two), q: 'Led away', first: idOf(one) },
    { id: idOf(three), q: 'Shared', first: idOf(two) },
  ])
  expect(asked.map(({ text }) => text)).not.toContain('Ended: who?')
})

test('the sample is bounded, the totals are not, and the same version gives the same figures', async () => {
  const questions = inForce.flatMap((row) =>
    Array.from({ length: 40 }, (_, n) => [row, `Question ${n} of ${row}`] as const),
  )
  const version = await versionWith('many', questions)
  const measure = (): ReturnType<typeof searchQuestionFigures> =>
    searchQuestionFigures(version, asking(() => replyWith(['elsewhere'])).context)
  const figures = await measure()
  expect(figures).toMatchObject({ questions: 1_400, asked: EVALUATION_BOUNDS.searchQuestionsAskedMax })
  expect(figures?.elsewhere_total).toBe(EVALUATION_BOUNDS.searchQuestionsAskedMax)
  expect(figures?.elsewhere).toHaveLength(EVALUATION_BOUNDS.searchQuestionsShownMax)
  expect(figures?.sample).toHaveLength(EVALUATION_BOUNDS.searchQuestionsShownMax)
  expect(await measure()).toEqual(figures)
})

test('a version without search questions is asked nothing', async () => {
  const { context, asked } = asking(() => replyWith([]))
  expect(await searchQuestionFigures(await versionWith('none', []), context)).toBeUndefined()
  expect(asked).toEqual([])
})
