import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import { writeDurably } from '#core/artifact/store.ts'
import { vectorBlocks } from './artifact.ts'
import type { BenchArtifact } from './artifact.ts'
import { SELECTIVITIES, allows, inventedPassages } from './corpus.ts'
import type { CorpusShape, Selectivity } from './corpus.ts'
import { COMPARED_QUERIES } from './queries.ts'
import type { Query } from './queries.ts'

/** The definition of a right answer: every allowed row scored from its float32 vector, in double precision, without any index. */
export interface Exact {
  /** Rows that a selectivity allows. */
  readonly allowed: Readonly<Record<Selectivity['name'], number>>
  /** For each compared query the chunk ids of its five nearest allowed passages. */
  readonly nearest: Readonly<Record<Selectivity['name'], readonly (readonly string[])[]>>
}

export const K = 5

const names = z.enum(['unfiltered', '22 %', '1.8 %'])
const exactSchema = z.strictObject({ allowed: z.record(names, z.number()), nearest: z.record(names, z.array(z.array(z.string()))) })

/** Computed once an artifact; kept beside it. */
export async function exactAnswers(shape: CorpusShape, artifact: BenchArtifact, queries: readonly Query[], dataDir: string): Promise<Exact> {
  const file = join(dataDir, `exact-${artifact.projectionId}.json`)
  if (existsSync(file)) return exactSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
  const exact = await scoreEverything(shape, artifact, queries.slice(0, COMPARED_QUERIES))
  await writeDurably(file, JSON.stringify(exact))
  return exact
}

interface Near {
  readonly row: number
  readonly score: number
}

async function scoreEverything(shape: CorpusShape, artifact: BenchArtifact, queries: readonly Query[]): Promise<Exact> {
  const chunkIds: string[] = []
  const allowedBy = SELECTIVITIES.map(() => new Uint8Array(shape.passages))
  for (const { record } of inventedPassages(shape)) {
    SELECTIVITIES.forEach((selectivity, at) => allowedBy[at]?.fill(allows(selectivity, record) ? 1 : 0, chunkIds.length, chunkIds.length + 1))
    chunkIds.push(record.chunk_id)
  }
  const best = SELECTIVITIES.map(() => queries.map((): Near[] => []))
  const groups = Array.from({ length: queries.length / GROUP }, (_, at) => queries.slice(at * GROUP, (at + 1) * GROUP))
  const scores = new Float64Array(GROUP)
  const { dimensions } = artifact.manifest.embedding
  function scoreRow(vectors: Float32Array, at: number, row: number): void {
    for (const [number, group] of groups.entries()) {
      scoreGroup(vectors, at, group, scores)
      for (const [s, allowed] of allowedBy.entries()) {
        for (let q = 0; q < GROUP && allowed[row] === 1; q++) keep(best[s]?.[number * GROUP + q] ?? [], row, scores[q] ?? 0)
      }
    }
  }
  for (const { firstRow, vectors } of vectorBlocks(artifact)) {
    for (let at = 0; at < vectors.length; at += dimensions) scoreRow(vectors, at, firstRow + at / dimensions)
    await nextTurn()
  }
  const byName = <T>(value: (at: number) => T): Record<Selectivity['name'], T> => ({ unfiltered: value(0), '22 %': value(1), '1.8 %': value(2) })
  return {
    allowed: byName((at) => allowedBy[at]?.reduce((sum, allowed) => sum + allowed, 0) ?? 0),
    nearest: byName((at) => (best[at] ?? []).map((nearest) => nearest.map(({ row }) => chunkIds[row] ?? ''))),
  }
}

function keep(nearest: Near[], row: number, score: number): void {
  if (nearest.length === K && score <= (nearest[K - 1]?.score ?? 0)) return
  const at = nearest.findIndex((other) => score > other.score)
  nearest.splice(at === -1 ? nearest.length : at, 0, { row, score })
  if (nearest.length > K) nearest.pop()
}

/** Several queries share the reading of a row: half the time of one by one. */
const GROUP = 4

function scoreGroup(vectors: Float32Array, at: number, queries: readonly Query[], scores: Float64Array): void {
  const [first, second, third, fourth] = queries.map((query) => query.vector)
  if (first === undefined || second === undefined || third === undefined || fourth === undefined) throw new Error(`queries are scored in groups of ${GROUP}`)
  let [a, b, c, e] = [0, 0, 0, 0]
  for (let d = 0; d < first.length; d++) {
    const value = vectors[at + d] ?? 0
    a += value * (first[d] ?? 0)
    b += value * (second[d] ?? 0)
    c += value * (third[d] ?? 0)
    e += value * (fourth[d] ?? 0)
  }
  scores.set([a, b, c, e])
}

/** Share of the exact five that were found, over all compared queries. */
export function recallAt5(answers: readonly (readonly string[])[], nearest: readonly (readonly string[])[]): number {
  let found = 0
  let wanted = 0
  for (const [at, right] of nearest.entries()) {
    const given = new Set(answers[at]?.slice(0, K))
    found += right.filter((id) => given.has(id)).length
    wanted += right.length
  }
  return wanted === 0 ? 1 : found / wanted
}
