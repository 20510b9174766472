import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Steps } from '#operator/demo/steps.ts'
import { startTestProvider } from '#test/support/embedding-endpoint.ts'
import { KNOWLEDGE_BASE, startTestService } from '#test/support/service.ts'
import type { Fault } from './faults/fault.ts'
import { scenariosNamed } from './flags.ts'
import type { LoadReport } from './report.ts'
import { runLoad, type LoadRun } from './run.ts'
import { openServices } from './services/services.ts'

export type FaultyService = Awaited<ReturnType<typeof startFaultyService>>

interface RunOptions extends Pick<LoadRun, 'beforeJudgement'>, Partial<Pick<LoadRun, 'signal' | 'progress'>> {
  readonly fault?: Fault
  readonly seconds?: number
}

const GATEWAYS = 2
const UNHEARD = { update: () => undefined, end: () => undefined }

/** A service whose gateways can be given one fault after the other. */
export async function startFaultyService() {
  const folder = mkdtempSync(join(tmpdir(), 'evidence-load-'))
  const faultFile = join(folder, 'fault')
  writeFileSync(faultFile, 'none')
  const provider = await startTestProvider()
  const { environment } = provider
  const service = await startTestService({ gateways: 0, environment, embedding: 'openai' })
  service.add(provider)
  const undos: (() => Promise<unknown>)[] = []
  const { settings, owner, operator } = service
  const searchNodes = service.searchNodes.map(({ address }) => address)
  const installation = { settings, owner, operator, searchNodes, provider, knowledgeBase: KNOWLEDGE_BASE }
  const preload = new URL(`./faults/preload.ts?file=${faultFile}`, import.meta.url)
  const services = await openServices(installation, { count: GATEWAYS, preload }, stepsOf(undos))
  let runs = 0
  return {
    service,
    /** Plays one scenario. */
    async run(scenario: string, { fault = 'none', seconds = 2, ...options }: RunOptions = {}) {
      writeFileSync(faultFile, fault)
      // Names of organizations are unique in a run.
      const named = (name: string): string => `${name}-${runs}`
      runs++
      return await runLoad({
        services,
        settings: { seconds, seed: 7, gateways: GATEWAYS },
        scenarios: scenariosNamed([scenario]).map((one) => ({ ...one, name: named(one.name) })),
        signal: new AbortController().signal,
        progress: UNHEARD,
        ...options,
      })
    },
    stop: async () => {
      for (const undo of undos.reverse()) await undo()
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
