import { createRegistry, createTally, registerDisks } from '#core/platform/metrics.ts'

/** @param folder of the trace. */
export function createTraceMetrics(folder: string) {
  const registry = createRegistry()
  const requests = createTally('evidence_trace_requests_total', 'Requests of the trace by status.', ['status'])
  requests.register(registry)
  registerDisks(registry, { trace: folder })
  return { registry, answered: (status: number) => requests.add(String(status)) }
}
