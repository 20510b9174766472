import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DEFAULT_CALIBRATION } from '#core/domain/default-calibration.ts'
import { profileParametersSchema } from '#core/domain/retrieval-profile.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { versionIdOf } from '#jobs/build/ids.ts'
import { SELF_SHIFT_MAX } from '#jobs/evaluate/self-calibration/calibrate.ts'
import { startJobsHarness, demoCorpus } from '#test/support/jobs/harness.ts'
import type { JobsHarness } from '#test/support/jobs/harness.ts'
import { evaluationOf } from '#test/support/jobs/rulebook.ts'

/** A passage of the demo corpus. */
const RELEVANT = 'hsfa-conduct-harbour#cob-f-1-1'

let harness: JobsHarness
let knowledgeBaseId: string
let importId: string
/** A build without a question set. */
let unasked: string
beforeAll(async () => {
  harness = await startJobsHarness()
  knowledgeBaseId = await harness.createKnowledgeBase()
  importId = await harness.importFolder(knowledgeBaseId, join(demoCorpus, 'rulebook'))
  unasked = await built()
})
afterAll(async () => {
  await harness.stop()
})

async function built(parameters: object = {}): Promise<string> {
  const buildId = await harness.requestBuild(knowledgeBaseId, importId, { ...parameters })
  expect(await harness.runBuild(buildId)).toMatchObject({ outcome: 'succeeded' })
  return buildId
}

/** The profile's parameters as text, so that every bit of every number counts. */
async function profileOf(buildId: string): Promise<string> {
  const { rows } = await harness.owner.query<{ parameters: string }>(
    `select f.parameters::text as parameters from retrieval_profiles f join projections p on p.id = f.projection_id
     where p.version_id = $1`,
    [versionIdOf(buildId)],
  )
  return rows[0]?.parameters ?? ''
}

async function questionSet(name: string, lines: readonly object[]): Promise<{ readonly questions_sha256: string }> {
  const folder = harness.store.workFolder('question-sets')
  mkdirSync(folder, { recursive: true })
  const path = join(folder, name)
  writeFileSync(path, lines.map((line) => JSON.stringify(line)).join('\n'))
  return { questions_sha256: await harness.storeQuestions(path) }
}

describe('a build without a question set', () => {
  test('calibrates the default with questions from its own passages, and says so in its report', async () => {
    const { calibrated_on: on } = await evaluationOf(harness, unasked)
    if (on?.source !== 'own passages') throw new Error('the decision was calibrated on something else')
    expect(on.questions).toBeGreaterThan(3 * BOUNDS.selfCalibrationPassages)
    expect(Math.abs(on.shift)).toBeLessThanOrEqual(SELF_SHIFT_MAX)
    expect(Object.keys(on.answered).toSorted()).toEqual(['beyond', 'few words', 'middle', 'named', 'off topic'])
    expect(Object.keys(on.masked).toSorted()).toEqual(['few words', 'middle'])
    expect(on.answered['middle']).toBeGreaterThan(on.masked['middle'] ?? 1)
    expect(on.answered['off topic']).toBeLessThan(0.1)
    const { calibration } = profileParametersSchema.parse(JSON.parse(await profileOf(unasked)))
    expect(calibration).toEqual({ ...DEFAULT_CALIBRATION, intercept: DEFAULT_CALIBRATION.intercept + on.shift })
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
      { id: `u${at}`, text: `Which orchestra plays sonata ${at} tonight?`, relevant: [] },
    ]).flat()

  test('with enough labels calibrates the decision on it', async () => {
    const buildId = await built(await questionSet('labelled.jsonl', labelled(20)))
    const report = await evaluationOf(harness, buildId)
    expect(report).toMatchObject({ kind: 'question set', calibrated_on: { source: 'question set', questions: 40 } })
  })

  test('without enough labels calibrates the decision on its own passages', async () => {
    const buildId = await built(await questionSet('few.jsonl', labelled(19)))
    const { kind, calibrated_on: on, abstention } = await evaluationOf(harness, buildId)
    expect([kind, on?.source, abstention?.folds]).toEqual(['question set', 'own passages', 0])
  })
})
