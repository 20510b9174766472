import type { Registry } from 'prom-client'
import { createRegistry, createTally, registerDisks } from '#core/platform/metrics.ts'

/** Prometheus metrics of the process of the trace. */
export interface TraceMetrics {
  readonly registry: Registry
  answered(status: number): void
}

/** @param folder of the trace. */
export function createTraceMetrics(folder: string): TraceMetrics {
  const registry = createRegistry()
  const requests = createTally('evidence_trace_requests_total', 'Requests of the trace by status.', ['status'])
  requests.register(registry)
  registerDisks(registry, { trace: folder })
  return { registry, answered: (status) => requests.add(String(status)) }
}
