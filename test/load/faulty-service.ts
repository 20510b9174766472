import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Steps } from '#operator/demo/steps.ts'
import type { LoadReport } from '#test/load/report/load-report.ts'
import { KNOWLEDGE_BASE, startTestService } from '#test/support/service.ts'
import type { TestService } from '#test/support/service.ts'
import { openEmbedded } from '#test/load/embedded/controls.ts'
import type { Installation } from '#test/load/embedded/installation.ts'
import { startProvider } from '#test/load/embedded/provider-process.ts'
import { embeddedTarget } from '#test/load/embedded/target.ts'
import { startGenerator } from '#test/load/generator/generator.ts'
import { planOf } from './plan.ts'
import { runLoad } from './run.ts'

/** The services around gateways, for runs against gateways with one fault each. */
export interface FaultyService {
  readonly service: TestService
  /** Runs one scenario against two new gateways. @param fault undefined: none. */
  run(scenario: string, options?: RunOptions): Promise<LoadReport>
  stop(): Promise<void>
}

export interface RunOptions {
  readonly fault?: string
  readonly seconds?: number
  readonly beforeJudgement?: () => Promise<void>
}

const SEED = 7
const GATEWAYS = 2

export async function startFaultyService(): Promise<FaultyService> {
  const folder = mkdtempSync(join(tmpdir(), 'evidence-load-'))
  const provider = await startProvider(folder)
  const { environment, baseUrl } = provider
  const service = await startTestService({ gateways: 1, environment, embedding: 'openai' })
  service.add(provider)
  let runs = 0
  return {
    service,
    async run(scenario, { fault, seconds = 2, beforeJudgement } = {}) {
      const undos: (() => Promise<unknown>)[] = []
      const steps = stepsOf(undos)
      const { settings, owner, operator, searchNodes } = service
      const installation: Installation = {
        // Names of logs and of tenants are unique in a run.
        settings: { ...settings, folder: join(settings.folder, `run-${runs++}`) },
        owner,
        operator,
        searchNodes: searchNodes.map(({ address }) => address),
        provider: { baseUrl },
        knowledgeBase: KNOWLEDGE_BASE,
      }
      const preload = fault === undefined ? [] : [new URL(`./faults/preload.ts?fault=${fault}`, import.meta.url)]
      try {
        const embedded = await openEmbedded(installation, { count: GATEWAYS, preload }, steps)
        const generator = await startGenerator()
        undos.push(() => generator.close())
        const target = embeddedTarget(embedded)
        return await runLoad({
          target: { ...target, tenantsOf: (name, wanted) => target.tenantsOf(`${name}-${runs}`, wanted) },
          generator,
          settings: { seconds, seed: SEED, gateways: GATEWAYS },
          scenarios: planOf('embedded', [scenario]).scenarios,
          signal: new AbortController().signal,
          progress: { update: () => undefined, end: () => undefined },
          ...(beforeJudgement === undefined ? {} : { beforeJudgement }),
        })
      } finally {
        for (const undo of undos.reverse()) await undo()
      }
    },
    stop: async () => {
      await service.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Steps that a test undoes itself, because they do not end the process. */
function stepsOf(undos: (() => Promise<unknown>)[]): Steps {
  return {
    run: (_, work) => work(),
    note: () => undefined,
    print: () => undefined,
    onStop: (undo) => void undos.push(undo),
    watch: (service) => void undos.push(() => service.stop()),
    stopOnSignals: () => undefined,
    isStopping: () => false,
    stop: (code) => Promise.reject(new Error(`a service ended the run with ${code}`)),
  }
}

/** Names of the checks that a run found violated. */
export function violatedIn({ scenarios }: LoadReport): readonly string[] {
  return scenarios.flatMap(({ checks }) => checks.filter(({ violations }) => violations > 0)).map(({ name }) => name)
}
