import { existsSync, readFileSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import { MetricKind, exactSearch } from 'usearch'
import { writeDurably } from '#core/platform/durable-file.ts'
import type { Filters } from '#core/domain/search.ts'
import { openVectors, vectorBlocks, type BenchArtifact } from './artifact.ts'
import { allows } from './corpus.ts'
import type { BenchCorpus, Query } from './source.ts'

/** Questions under one filter, of which the right answers are wanted. */
export interface Task {
  readonly name: string
  readonly filters: Filters
  readonly queries: readonly Query[]
}

const exactSchema = z.object({
  /** Rows that the filter allows. */
  allowed: z.number(),
  /** For each question its nearest allowed passages with their cosines, nearest first. */
  nearest: z.array(z.array(z.object({ row: z.number(), score: z.number() }))),
})
/** The right answers to the questions of one task. */
export type Exact = z.infer<typeof exactSchema>
const fileSchema = z.record(z.string(), exactSchema)

/** Passages with the same text have the same cosine, but for rounding: either of them is right. */
const EQUAL = 1e-6
/** Nearest by single precision of which the right ones are chosen in double precision. */
const CANDIDATES = 30

/**
 * The definition of a right answer: every allowed row scored from its float32 vector, without any index. Computed once
 * an artifact and task; kept beside it.
 * @returns answers by the tasks' names.
 */
export async function exactAnswers(
  corpus: BenchCorpus,
  artifact: BenchArtifact,
  asked: readonly Task[],
): Promise<Readonly<Record<string, Exact>>> {
  const file = `${artifact.folder}.exact.json`
  const known = existsSync(file) ? fileSchema.parse(JSON.parse(readFileSync(file, 'utf8'))) : {}
  const scans = asked.filter(({ name }) => known[name] === undefined).map((task) => openScan(task, corpus.dimensions))
  if (scans.length === 0) return known
  const passages = corpus.rows()[Symbol.iterator]()
  for (const { firstRow, vectors } of vectorBlocks(artifact)) {
    const allowed = scans.map((): number[] => [])
    for (let row = firstRow; row < firstRow + vectors.length / corpus.dimensions; row++) {
      const next = passages.next()
      if (next.done === true) throw new Error('the artifact holds more rows than the corpus')
      for (const [at, { task }] of scans.entries()) if (allows(task.filters, next.value)) allowed[at]?.push(row)
    }
    for (const [at, scan] of scans.entries()) scanBlock(scan, allowed[at] ?? [], firstRow, vectors)
    await nextTurn()
  }
  const rows = openVectors(artifact)
  const found = scans.map(({ task, allowed, best }): [string, Exact] => {
    const nearest = best.map((candidates, at) => {
      const query = task.queries[at]?.vector ?? new Float32Array()
      return candidates.map(({ row }) => ({ row, score: dot(rows.at(row), query) })).sort((a, b) => b.score - a.score)
    })
    return [task.name, { allowed, nearest }]
  })
  rows.close()
  const exact = { ...known, ...Object.fromEntries(found) }
  await writeDurably(file, JSON.stringify(exact))
  return exact
}

type Scan = ReturnType<typeof openScan>

function openScan(task: Task, dimensions: number) {
  const queries = new Float32Array(task.queries.length * dimensions)
  for (const [at, { vector }] of task.queries.entries()) queries.set(vector, at * dimensions)
  const best = task.queries.map((): { readonly row: number; readonly distance: number }[] => [])
  return { task, dimensions, allowed: 0, queries, best }
}

/** @param rows of the block that the filter allows. */
function scanBlock(scan: Scan, rows: readonly number[], firstRow: number, vectors: Float32Array): void {
  const { queries, best, dimensions } = scan
  scan.allowed += rows.length
  if (rows.length === 0 || best.length === 0) return
  const block = new Float32Array(rows.length * dimensions)
  for (const [at, row] of rows.entries())
    block.set(vectors.subarray((row - firstRow) * dimensions, (row - firstRow + 1) * dimensions), at * dimensions)
  const wanted = Math.min(CANDIDATES, rows.length)
  const { keys, distances } = exactSearch(block, queries, dimensions, wanted, MetricKind.IP, 0)
  for (const [number, nearest] of best.entries()) {
    const from = number * wanted
    for (let at = from; at < from + wanted; at++)
      nearest.push({ row: rows[Number(keys[at])] ?? 0, distance: distances[at] ?? 0 })
    best[number] = nearest.sort((a, b) => a.distance - b.distance).slice(0, CANDIDATES)
  }
}

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0)
}

/**
 * Share of the exact k that are among the first k found, over all questions; 1 where nothing is allowed. A passage as
 * near as the k-th is as right as that one.
 */
export function recallAt(k: number, found: readonly (readonly number[])[], { nearest }: Exact): number {
  let right = 0
  let wanted = 0
  for (const [at, best] of nearest.entries()) {
    const least = (best.slice(0, k).at(-1)?.score ?? 0) - EQUAL
    const rows = new Set(best.filter(({ score }) => score >= least).map(({ row }) => row))
    right += found[at]?.slice(0, k).filter((row) => rows.has(row)).length ?? 0
    wanted += Math.min(k, best.length)
  }
  return wanted === 0 ? 1 : right / wanted
}
