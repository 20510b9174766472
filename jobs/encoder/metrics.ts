import { Counter, Histogram } from 'prom-client'
import { createRegistry, createTally, gauge } from '#core/platform/metrics.ts'
import { LANES, type Encoded, type Lane } from './encoder.ts'

const SECONDS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 240]

export type EncoderMetrics = ReturnType<typeof createEncoderMetrics>

export function createEncoderMetrics(waiting: (lane: Lane) => number) {
  const registry = createRegistry()
  const registers = [registry]
  const requests = createTally('evidence_encoder_requests_total', 'Requests for embeddings by status.', ['status'])
  requests.register(registry)
  const duration = new Histogram({
    name: 'evidence_encoder_seconds',
    help: 'From a valid request to its vectors, with the time in the queue.',
    labelNames: ['lane'],
    buckets: SECONDS,
    registers,
  })
  const tokens = new Counter({
    name: 'evidence_encoder_tokens_total',
    help: 'Tokens of the texts that were embedded.',
    labelNames: ['lane'],
    registers,
  })
  const windowed = new Counter({
    name: 'evidence_encoder_windowed_texts_total',
    help: 'Texts longer than the model takes, which were embedded in several windows.',
    registers,
  })
  gauge(registry, 'evidence_encoder_waiting', 'Requests that wait for a session.', ['lane'], () =>
    LANES.map((lane) => [{ lane }, waiting(lane)]),
  )
  const peak = 'The most memory that was resident since the process started.'
  gauge(registry, 'evidence_encoder_peak_memory_bytes', peak, [], () => [[{}, process.resourceUsage().maxRSS * 1024]])
  return {
    finished: (status: number) => requests.add(String(status)),
    encoded: ({ lane, tokens: count, windowed: long }: Encoded, seconds: number) => {
      duration.observe({ lane }, seconds)
      tokens.inc({ lane }, count)
      windowed.inc(long)
    },
    registry,
  }
}
