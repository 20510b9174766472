import { SELECTIVITIES } from '../corpus.ts'
import { measureModes } from '../in-process.ts'
import type { ModeLatencies } from '../in-process.ts'
import { openRawSearch } from '../paths.ts'
import type { RawSearch } from '../paths.ts'
import { askSets } from '../queries.ts'
import { builtArtifact } from '../run.ts'
import type { BenchFlags } from '../flags.ts'
import type { Task } from '../exact.ts'
import { aligned } from '../table.ts'
import { atMost } from '../thresholds.ts'
import type { Threshold } from '../thresholds.ts'
import type { Steps } from '#jobs/demo/steps.ts'

/** Latencies under one filter, and how the hybrid search of each question found the nearest rows. */
export interface EmbeddedRow extends ModeLatencies {
  readonly filter: string
  readonly allowed: number
  /** Questions by plan. */
  readonly plans: Readonly<Record<string, number>>
}

export interface EmbeddedResult {
  readonly passages: number
  readonly seconds: number
  readonly rows: readonly EmbeddedRow[]
  readonly thresholds: readonly Threshold[]
}

const QUESTIONS = 300
/** Up to a million passages; grows with the corpus past it. */
const HYBRID_P50_MS_MAX = 12
const PASSAGES = 1_000_000

/** Measures searches of hashed words within the node, with the vectors of the local embedder. */
export async function measureEmbedded(passages: number, flags: BenchFlags, steps: Steps): Promise<EmbeddedResult> {
  const { seed, seconds } = flags
  const { artifact, settings } = await builtArtifact({ kind: 'embedded', passages, seed }, flags, steps)
  const [asked] = await steps.run('questions', async () =>
    askSets(settings.corpus, seed, [{ count: QUESTIONS, set: 0 }]),
  )
  const raw = await openRawSearch(artifact, flags.codesMb)
  steps.onStop(() => raw.close())
  const rows: EmbeddedRow[] = []
  for (const { name, pinned } of SELECTIVITIES) {
    const task = { name, filters: pinned, queries: asked?.queries ?? [] }
    rows.push(await steps.run(`within the node, ${name}`, () => measureRow(raw, task, seconds)))
  }
  const p50 = rows[0]?.hybrid.p50_ms ?? 0
  const most = HYBRID_P50_MS_MAX * Math.max(1, passages / PASSAGES)
  const thresholds = [atMost('hybrid with hashed words at p50, two at a time', most, p50, 'ms', 2)]
  return { passages, seconds, rows, thresholds }
}

async function measureRow(raw: RawSearch, task: Task, seconds: number): Promise<EmbeddedRow> {
  const plans: Record<string, number> = {}
  let allowed = 0
  for (const query of task.queries) {
    const reply = (await raw.search(query, { mode: 'hybrid', filters: task.filters, limit: 10 }))()
    plans[reply.plan] = (plans[reply.plan] ?? 0) + 1
    allowed = reply.allowed
  }
  return { filter: task.name, allowed, plans, ...(await measureModes(raw, task, seconds)) }
}

export function renderEmbedded({ passages, rows }: EmbeddedResult): string {
  const lines = rows.flatMap(({ filter, allowed, lexical, dense, hybrid, plans }) =>
    Object.entries({ lexical, dense, hybrid }).map(([mode, { p50_ms, p99_ms, cpu_ms, searches }]) => [
      filter,
      String(allowed),
      mode,
      ...[p50_ms, p99_ms, cpu_ms].map((ms) => `${ms.toFixed(2)} ms`),
      String(searches),
      mode === 'hybrid' ? plansInWords(plans) : '',
    ]),
  )
  const head = ['filter', 'allowed', 'mode', 'p50', 'p99', 'CPU', 'searches', 'nearest rows of the questions']
  return `${passages} passages, vectors of the local embedder, two searches at a time\n${aligned([head, ...lines])}`
}

function plansInWords(plans: EmbeddedRow['plans']): string {
  return Object.entries(plans)
    .map(([plan, count]) => `${plan} ${count}`)
    .join(', ')
}
