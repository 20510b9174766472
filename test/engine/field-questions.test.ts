import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { evaluateFieldQuestions } from '#operator/evaluate/field-questions/evaluation.ts'
import type { FieldQuestionOutcome } from '#operator/evaluate/field-questions/judge.ts'
import { startTestCluster } from './version.ts'
import { folderOfFile } from '#test/support/folder.ts'

const DATA = fileURLToPath(new URL('../../../shared/data', import.meta.url))
const CORPORA = existsSync(DATA) ? ['fr'] : []
if (CORPORA.length === 0) console.warn(`${DATA} is absent: field questions are NOT compared in this run`)

const dataDir = folderOfFile()
const output = { progress: () => undefined, note: () => undefined }

async function outcomesOf(corpus: string, opensearch?: string): Promise<readonly FieldQuestionOutcome[]> {
  const questions = ['', 'second'].map((folder) => join(DATA, 'questions', folder, `${corpus}.jsonl`))
  const set = {
    corpus: join(DATA, corpus),
    questions,
    tuning: [],
    rewritings: undefined,
    mapping: undefined,
    searchQuestions: undefined,
  }
  const asked = await evaluateFieldQuestions({ sets: [set], dataDir, opensearch }, output, new AbortController().signal)
  return asked.outcomes
}

test('field questions of a real corpus are decided alike, and none is answered that names a missing provision', async () => {
  const { cluster } = await startTestCluster()
  for (const corpus of CORPORA) {
    const own = await outcomesOf(corpus)
    const other = await outcomesOf(corpus, cluster.urls[0])
    const alike = other.filter(({ decision }, at) => decision === own[at]?.decision)
    expect(other).toHaveLength(own.length)
    expect(alike.length / own.length).toBeGreaterThanOrEqual(0.99)
    const wrong = other.filter(({ decision }, at) => decision === 'answer' && (own[at]?.unsupported.length ?? 0) > 0)
    expect(wrong).toEqual([])
  }
})
