import type { Progress } from '#operator/command-line/progress.ts'
import type { Evidence } from './checks/check.ts'
import { CHECKS } from './checks/list.ts'
import type { Generator } from './generator/generator.ts'
import type { CheckResult, LoadReport, ScenarioResult } from './report/load-report.ts'
import { seriesOf } from './report/series.ts'
import type { LoadSettings, Scenario } from './scenarios/scenario.ts'
import { createStage } from './stage.ts'
import type { Target } from './target.ts'

/** Of each check; the report counts the others. */
const EXAMPLES_MAX = 5
/** Requests of one run. */
const RUN_REQUESTS_MAX = 500_000

export interface RunDeps {
  readonly target: Target
  readonly generator: Generator
  readonly settings: LoadSettings
  readonly scenarios: readonly Scenario[]
  readonly signal: AbortSignal
  readonly progress: Progress
  readonly onScenario?: (result: ScenarioResult) => void
  /** Called once everything of a scenario is settled, before it is read again and checked. */
  readonly beforeJudgement?: (scenario: string) => Promise<void>
}

const USUAL_BEHAVIOUR = { latencyMs: 20, failing: false } as const

/** Plays the scenarios one after the other. An interrupted one is checked by what it had until then. */
export async function runLoad(deps: RunDeps): Promise<LoadReport> {
  const began = performance.now()
  const at = new Date().toISOString()
  const scenarios: ScenarioResult[] = []
  const state: RunState = { numbers: 0, saturation: 0 }
  const stop = (): void => deps.generator.stop()
  deps.signal.addEventListener('abort', stop)
  try {
    for (const scenario of deps.scenarios) {
      if (deps.signal.aborted) break
      const result = await play(deps, scenario, state)
      state.saturation = result.figures['saturation_per_second'] ?? state.saturation
      scenarios.push(result)
      deps.onScenario?.(result)
    }
  } finally {
    deps.signal.removeEventListener('abort', stop)
  }
  return {
    at,
    mode: deps.target.mode,
    ...deps.settings,
    took_seconds: (performance.now() - began) / 1_000,
    interrupted: deps.signal.aborted,
    scenarios,
    left_out: [],
  }
}

interface RunState {
  numbers: number
  saturation: number
}

async function play(deps: RunDeps, scenario: Scenario, state: RunState): Promise<ScenarioResult> {
  const { target, settings, signal, generator, progress } = deps
  const began = performance.now()
  const tenants = await target.tenantsOf(scenario.name, scenario.tenants(settings))
  const takeNumber = (): number => {
    if (state.numbers >= RUN_REQUESTS_MAX) throw new Error(`a run has at most ${RUN_REQUESTS_MAX} requests`)
    return state.numbers++
  }
  const { saturation } = state
  const recorded = createStage({
    target,
    generator,
    scenario,
    settings,
    tenants,
    saturation,
    signal,
    progress,
    takeNumber,
  })
  await recorded.stage.embedded?.provider(USUAL_BEHAVIOUR)
  await scenario.play(recorded.stage)
  const { records, kills } = recorded
  const lastEndMs = records.reduce((last, { endedMs }) => Math.max(last, endedMs), 0)
  progress.update(`${scenario.name}: waiting until everything is settled`)
  let truth = await target.readTruth(tenants, lastEndMs)
  progress.end()
  if (deps.beforeJudgement !== undefined) {
    await deps.beforeJudgement(scenario.name)
    truth = await target.readTruth(tenants, lastEndMs)
  }
  const evidence = { records, tenants, truth, kills }
  return {
    name: scenario.name,
    title: scenario.title,
    seconds: (performance.now() - began) / 1_000,
    settled_after_ms: truth?.settledAfterMs ?? null,
    phases: recorded.phases,
    checks: judge(evidence),
    figures: recorded.figures,
    series: seriesOf(evidence),
  }
}

function judge(evidence: Evidence): readonly CheckResult[] {
  return CHECKS.map(({ name, guarantee, outside, find }) => {
    const { checked, violations } = find(evidence)
    return {
      name,
      guarantee,
      outside,
      checked,
      violations: violations.length,
      examples: violations.slice(0, EXAMPLES_MAX).map((violation) => ({ check: name, ...violation })),
    }
  })
}
