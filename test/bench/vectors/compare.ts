import type { Steps } from '#jobs/demo/steps.ts'
import { askSets } from '../queries.ts'
import { REAL_DIMENSIONS } from '../real/encoder.ts'
import { prepareRealVectors, realVectors } from '../real/corpus.ts'
import type { RealSpec } from '../real/corpus.ts'
import { inventedCorpus } from '../source.ts'
import { aligned } from '../table.ts'
import { figuresOf } from './figures.ts'
import type { VectorSet } from './figures.ts'

/** Measures real vectors and as many generated ones in the same way. @returns a table of both. */
export async function compareVectors(spec: RealSpec, steps: Steps): Promise<string> {
  await steps.run('real vectors', () => prepareRealVectors(spec, steps))
  const real = realVectors(spec)
  const count = real.passages.length / REAL_DIMENSIONS
  const questions = real.questions.length / REAL_DIMENSIONS
  const drawn = await steps.run('generated vectors', async () => generatedSet(count, questions, spec.seed))
  const ofReal = await steps.run('figures of real vectors', async () =>
    figuresOf({ ...real, dimensions: REAL_DIMENSIONS }),
  )
  const ofDrawn = await steps.run('figures of generated vectors', async () => figuresOf(drawn))
  const rows = [...ofReal].map(([name, value]) => [name, value.toFixed(3), ofDrawn.get(name)?.toFixed(3) ?? ''])
  return aligned([[`${count} passages, ${questions} questions`, 'real', 'generated'], ...rows])
}

function generatedSet(passages: number, count: number, seed: number): VectorSet {
  const corpus = inventedCorpus({ passages, seed }, REAL_DIMENSIONS)
  const rows = new Float32Array(passages * REAL_DIMENSIONS)
  for (const passage of corpus.rows()) rows.set(passage.vector(), passage.row * REAL_DIMENSIONS)
  const questions = new Float32Array(count * REAL_DIMENSIONS)
  const [asked] = askSets(corpus, seed, [{ count, set: 0 }])
  for (const [at, { vector }] of (asked?.queries ?? []).entries()) questions.set(vector, at * REAL_DIMENSIONS)
  return { dimensions: REAL_DIMENSIONS, passages: rows, questions }
}
