import { concurrencyCap, dayAllowance, minuteRate, monthAllowance } from './checks/caps.ts'
import * as charges from './checks/charges.ts'
import type { Check } from './checks/check.ts'
import { exposureMarks } from './checks/exposure.ts'
import { answered, catalogue, idempotency, unknownKeys } from './checks/replies.ts'
import { refusedWithRoom, retryAfter } from './checks/room.ts'
import type { Evidence } from './evidence.ts'
import type { CheckResult, LoadReport, ScenarioResult } from './report.ts'
import type { Scenario } from './scenarios/scenario.ts'
import { createTenant, type RunDeps } from './services/services.ts'
import { readTruth } from './services/truth-reader.ts'
import { createStage } from './stage.ts'

/** Every check judges every scenario. */
export const CHECKS: readonly Check[] = [
  concurrencyCap,
  minuteRate,
  dayAllowance,
  monthAllowance,
  refusedWithRoom,
  retryAfter,
  charges.leasesEnd,
  charges.chargedOnce,
  charges.refusedFree,
  charges.unavailableRefunded,
  charges.ledgerRow,
  charges.askedFor,
  charges.countersAgree,
  catalogue,
  answered,
  idempotency,
  exposureMarks,
  unknownKeys,
]

/** Of each check; the report counts the others. */
const EXAMPLES_MAX = 5
/** Requests of one run. */
const RUN_REQUESTS_MAX = 500_000
const USUAL_LATENCY_MS = 20

export interface LoadRun extends RunDeps {
  readonly scenarios: readonly Scenario[]
  readonly onScenario?: (result: ScenarioResult) => void
  /** Called once everything of a scenario is settled, before it is read again and checked. */
  readonly beforeJudgement?: () => Promise<void>
}

/** Plays the scenarios one after the other. An interrupted one is checked by what it had until then. */
export async function runLoad(run: LoadRun): Promise<LoadReport> {
  const began = performance.now()
  const at = new Date().toISOString()
  const scenarios: ScenarioResult[] = []
  let [numbers, saturation] = [0, 0]
  const takeNumber = (): number => {
    if (numbers >= RUN_REQUESTS_MAX) throw new Error(`a run has at most ${RUN_REQUESTS_MAX} requests`)
    return numbers++
  }
  for (const scenario of run.scenarios) {
    if (run.signal.aborted) break
    const result = await play(run, scenario, { takeNumber, saturation })
    saturation = result.figures['saturation_per_second'] ?? saturation
    scenarios.push(result)
    run.onScenario?.(result)
  }
  const tookSeconds = (performance.now() - began) / 1_000
  return { at, ...run.settings, took_seconds: tookSeconds, interrupted: run.signal.aborted, scenarios }
}

async function play(
  run: LoadRun,
  scenario: Scenario,
  state: { readonly takeNumber: () => number; readonly saturation: number },
): Promise<ScenarioResult> {
  const { services, progress, beforeJudgement } = run
  const { installation } = services
  const began = performance.now()
  const tenants = []
  for (const wanted of scenario.tenants) tenants.push(await createTenant(installation, scenario.name, wanted))
  const servers = await services.gateways(scenario.clock ?? 'real')
  const { stage, records, phases, kills, figures } = createStage({ ...run, ...state, scenario, tenants, servers })
  stage.provider(USUAL_LATENCY_MS)
  await scenario.play(stage)
  const lastEndMs = records.reduce((last, { endedMs }) => Math.max(last, endedMs), 0)
  progress.update(`${scenario.name}: waiting until everything is settled`)
  let truth = await readTruth(installation, tenants, lastEndMs)
  progress.end()
  if (beforeJudgement !== undefined) {
    await beforeJudgement()
    truth = await readTruth(installation, tenants, lastEndMs)
  }
  return {
    name: scenario.name,
    title: scenario.title,
    seconds: (performance.now() - began) / 1_000,
    settled_after_ms: truth.settledAfterMs,
    phases,
    checks: judge({ records, tenants, kills, ...truth }),
    figures,
  }
}

function judge(evidence: Evidence): readonly CheckResult[] {
  return CHECKS.map(({ name, guarantee, find }) => {
    const { checked, violations } = find(evidence)
    return { name, guarantee, checked, violations: violations.length, examples: violations.slice(0, EXAMPLES_MAX) }
  })
}
