import { Counter, Gauge, Histogram } from 'prom-client'
import { createRegistry } from '#core/platform/metrics.ts'
import { LANES, type Encoded, type Lane } from './encoder.ts'

const SECONDS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 240]

export type EncoderMetrics = ReturnType<typeof createEncoderMetrics>

export function createEncoderMetrics(waiting: (lane: Lane) => number) {
  const registry = createRegistry()
  const registers = [registry]
  const requests = new Counter({
    name: 'evidence_encoder_requests_total',
    help: 'Requests for embeddings by status.',
    labelNames: ['status'],
    registers,
  })
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
  new Gauge({
    name: 'evidence_encoder_waiting',
    help: 'Requests that wait for a session.',
    labelNames: ['lane'],
    registers,
    collect() {
      for (const lane of LANES) this.set({ lane }, waiting(lane))
    },
  })
  new Gauge({
    name: 'evidence_encoder_peak_memory_bytes',
    help: 'The most memory that was resident since the process started.',
    registers,
    collect() {
      this.set(process.resourceUsage().maxRSS * 1024)
    },
  })
  return {
    finished: (status: number) => requests.inc({ status: String(status) }),
    encoded: ({ lane, tokens: count, windowed: long }: Encoded, seconds: number) => {
      duration.observe({ lane }, seconds)
      tokens.inc({ lane }, count)
      windowed.inc(long)
    },
    registry,
  }
}
