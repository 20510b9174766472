import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { DEFAULT_CALIBRATION } from '#core/domain/default-calibration.ts'
import { profileParametersSchema } from '#core/domain/retrieval-profile.ts'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import { demoCorpus, openJobsHarness } from '#test/support/jobs.ts'
import { evaluationOf } from './rulebook.ts'

/** A passage of the demo corpus. */
const RELEVANT = 'hsfa-conduct-harbour#cob-f-1-1'

const harness = await openJobsHarness()
const knowledgeBaseId = await harness.createKnowledgeBase()
const importId = await harness.importFolder(knowledgeBaseId, join(demoCorpus, 'rulebook'))
/** A build without a question set. */
const unasked = await built()

function built(parameters: object = {}): Promise<string> {
  return harness.candidate(knowledgeBaseId, importId, { ...parameters })
}

/** The profile's parameters as text, so that every bit of every number counts. */
async function profileOf(buildId: string): Promise<string> {
  const { rows } = await harness.owner.query<{ profile: string }>(
    'select profile::text as profile from corpus_versions where id = $1',
    [versionIdOf(buildId)],
  )
  return rows[0]?.profile ?? ''
}

describe('a build without a question set', () => {
  test('has the default decision, and says so in its report', async () => {
    expect((await evaluationOf(harness, unasked)).calibrated_on).toEqual({ source: 'default' })
    const { calibration } = profileParametersSchema.parse(JSON.parse(await profileOf(unasked)))
    expect(calibration).toEqual(DEFAULT_CALIBRATION)
  })

  test('gives the same profile to the byte and reports the same calibration as another of its import', async () => {
    const other = await built()
    expect(await profileOf(unasked)).toContain('"calibration"')
    expect(await profileOf(other)).toBe(await profileOf(unasked))
    const [first, second] = [await evaluationOf(harness, unasked), await evaluationOf(harness, other)]
    expect(second.calibrated_on).toEqual(first.calibrated_on)
  })
})

describe('a build with a question set', () => {
  /** As many answerable questions as unanswerable ones, which have no relevant passage. */
  const labelled = (count: number): readonly object[] =>
    Array.from({ length: count }, (_, at) => [
      { id: `a${at}`, text: `How long is charge card ${at} valid?`, relevant: [RELEVANT] },
      {
        id: `u${at}`,
        text: at % 2 === 0 ? `Which orchestra plays sonata ${at} tonight?` : wordsOfRulebook(at),
        relevant: [],
      },
    ]).flat()
  const rulebook = readFileSync(join(demoCorpus, 'rulebook', 'hsfa-conduct-mainland.2024-07-01.md'), 'utf8')
  const words = [...new Set(rulebook.match(/[a-z]{3,}/g))]
  /** Words that do not belong together. */
  const wordsOfRulebook = (at: number): string =>
    [0, 1, 2, 3, 4, 5].map((nth) => words[(at * 7 + nth * 61) % words.length]).join(' ')

  test('with enough labels calibrates the decision on it', async () => {
    const buildId = await built({ questions_sha256: await harness.storeQuestions(labelled(20)) })
    const report = await evaluationOf(harness, buildId)
    expect(report).toMatchObject({ kind: 'question set', calibrated_on: { source: 'question set', questions: 40 } })
  })

  test('whose decision answers random texts has the default one, and the report says why', async () => {
    const meaningless = Array.from({ length: 120 }, (_, at) => [
      { id: `a${at}`, text: wordsOfRulebook(at), relevant: [RELEVANT] },
      { id: `u${at}`, text: `zyzzyva qwertz ${'x'.repeat(at + 3)}`, relevant: [] },
    ])
    const questions = await harness.storeQuestions(meaningless.flat())
    const buildId = await built({ questions_sha256: questions, target_risk: 0.001 })
    const { calibrated_on: on, abstention } = await evaluationOf(harness, buildId)
    expect(on).toMatchObject({ source: 'default', refused: { answered: expect.any(Number) } })
    expect(abstention?.folds).toBe(0)
    const { calibration } = profileParametersSchema.parse(JSON.parse(await profileOf(buildId)))
    expect(calibration).toEqual(DEFAULT_CALIBRATION)
    const page = readFileSync(harness.store.reportFile(versionIdOf(buildId)), 'utf8')
    expect(page).toMatch(/A decision fitted on the questions answered \d+ of \d+ texts/)
  })
})
