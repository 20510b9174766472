import { setTimeout as delay } from 'node:timers/promises'
import { startOwnEncoder } from '#operator/command-line/own-encoder.ts'
import type { Steps } from '#operator/demo/steps.ts'
import type { Section } from '#operator/command-line/sections.ts'
import { embedded } from './embeddings.ts'
import type { BenchFlags } from './flags.ts'
import { percentile } from './load.ts'
import { readRealQuestions, readRealTexts, whatIsMissing } from './real/texts.ts'
import { streamAt } from './stream.ts'
import { inventedQuestion, inventedText } from './text.ts'

/** Measures are taken by turns, so that what else the machine does meets all of them. */
const ROUNDS = 5
const PAUSE_MS = 20
const BUILD = { texts: 16, requests: 2 } as const
const PASSAGES = 2_000
const MEGABYTE = 1024 * 1024

type EncoderBench = Pick<BenchFlags, 'seconds' | 'seed'> & { readonly model: string }

/** What `npm run bench -- --model` measures of an encoder. */
export type EncoderResult = Awaited<ReturnType<typeof measureEncoder>>

export async function measureEncoder(options: EncoderBench, steps: Steps) {
  const began = performance.now()
  const own = await startOwnEncoder({ model: options.model })
  steps.onStop(own.stop)
  const startSeconds = (performance.now() - began) / 1_000
  const { texts, ...asked } = benchTexts(options.seed)
  const encoder = createSubject(own.baseUrl, own.model, asked)
  const before = await gaugesOf(own.baseUrl)
  const ms = (options.seconds * 1_000) / ROUNDS
  let [builtTokens, cpuSeconds] = [0, 0]
  for (let round = 0; round < ROUNDS; round++) {
    steps.note(`round ${round + 1} of ${ROUNDS}`)
    await encoder.askAlone(ms)
    const from = await gaugesOf(own.baseUrl)
    builtTokens += await encoder.build(ms)
    cpuSeconds += (await gaugesOf(own.baseUrl)).cpu_seconds - from.cpu_seconds
    await encoder.askBesideBuild(ms)
  }
  const after = await gaugesOf(own.baseUrl)
  await own.stop()
  return {
    model: own.model,
    texts,
    start_seconds: startSeconds,
    encoder: {
      ...encoder.measured(),
      tokens_per_cpu_second: builtTokens / cpuSeconds,
      megabytes_after_start: before.resident / MEGABYTE,
      megabytes_peak: after.peak / MEGABYTE,
    },
  }
}

interface Texts {
  /** With the prefix of their role, and no white space at their ends: not every tokenizer drops it. */
  readonly passages: readonly string[]
  readonly questions: readonly string[]
}

/** Real ones where they are there; else texts that are invented. */
function benchTexts(seed: number): Texts & { readonly texts: 'real' | 'invented' } {
  const prefixed = (prefix: string, texts: readonly string[]): string[] => texts.map((text) => prefix + text.trim())
  const texts = whatIsMissing() === undefined ? 'real' : 'invented'
  const passages =
    texts === 'real'
      ? readRealTexts(PASSAGES).map(({ title, text }) => `${title}\n${text}`)
      : Array.from({ length: PASSAGES }, (_, at) => inventedText('en', at % 50, streamAt(seed, 'texts', at)))
  const questions =
    texts === 'real'
      ? readRealQuestions()
      : passages.map((text, at) => inventedQuestion('en', text, streamAt(seed, 'queries', at)))
  return { passages: prefixed('passage: ', passages), questions: prefixed('query: ', questions), texts }
}

/** An endpoint, and what was measured of it so far. */
function createSubject(baseUrl: string, model: string, { passages, questions }: Texts) {
  const [alone, beside]: [number[], number[]] = [[], []]
  const rates: { readonly tokens: number; readonly texts: number }[] = []
  let [nextQuestion, nextPassage] = [0, 0]
  const embed = (texts: readonly string[]): ReturnType<typeof embedded> => embedded(baseUrl, model, texts)
  const ask = async (ms: number, latencies: number[]): Promise<void> => {
    for (const until = performance.now() + ms; performance.now() < until;) {
      const began = performance.now()
      await embed([questions[nextQuestion++ % questions.length] ?? ''])
      latencies.push(performance.now() - began)
      await delay(PAUSE_MS)
    }
  }
  const buildUntil = async (isOver: () => boolean): Promise<(typeof rates)[number]> => {
    let [tokens, texts] = [0, 0]
    const requests = Array.from({ length: BUILD.requests }, async () => {
      do {
        const from = nextPassage % passages.length
        nextPassage += BUILD.texts
        const batch = passages.slice(from, from + BUILD.texts)
        tokens += (await embed(batch)).tokens
        texts += batch.length
      } while (!isOver())
    })
    await Promise.all(requests)
    return { tokens, texts }
  }
  const median = (of: (rate: (typeof rates)[number]) => number): number => percentile(rates.map(of), 0.5)
  return {
    askAlone: (ms: number) => ask(ms, alone),
    /** @returns tokens embedded. */
    async build(ms: number) {
      const began = performance.now()
      const { tokens, texts } = await buildUntil(() => performance.now() >= began + ms)
      const seconds = (performance.now() - began) / 1_000
      rates.push({ tokens: tokens / seconds, texts: texts / seconds })
      return tokens
    },
    async askBesideBuild(ms: number) {
      let isOver = false
      const building = buildUntil(() => isOver)
      await ask(ms, beside)
      isOver = true
      await building
    },
    measured: () => ({
      alone: questionsOf(alone),
      beside_a_build: questionsOf(beside),
      /** Of a build without questions: medians of the rounds. */
      tokens_per_second: median(({ tokens }) => tokens),
      passages_per_second: median(({ texts }) => texts),
    }),
  }
}

function questionsOf(latencies: readonly number[]) {
  return { asked: latencies.length, p50_ms: percentile(latencies, 0.5), p95_ms: percentile(latencies, 0.95) }
}

/** Memory in bytes, CPU time in seconds, as the encoder itself tells them. */
async function gaugesOf(baseUrl: string): Promise<Readonly<Record<'resident' | 'peak' | 'cpu_seconds', number>>> {
  const text = await (await fetch(new URL('/metrics', baseUrl))).text()
  const valueOf = (name: string): number => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1])
  return {
    resident: valueOf('process_resident_memory_bytes'),
    peak: valueOf('evidence_encoder_peak_memory_bytes'),
    cpu_seconds: valueOf('process_cpu_seconds_total'),
  }
}

export function encoderSection({ model, texts, start_seconds: start, encoder }: EncoderResult): Section {
  const { alone, beside_a_build: beside, passages_per_second: passages, tokens_per_second: tokens } = encoder
  return {
    title: `Encoder, on ${texts} texts`,
    head: ['endpoint', 'question p50 / p95', 'beside a build', 'questions/s', 'passages/s', 'tokens/s'],
    rows: [
      [
        model,
        ...[alone, beside].map(({ p50_ms, p95_ms }) => `${p50_ms.toFixed(1)} / ${p95_ms.toFixed(1)} ms`),
        (1_000 / alone.p50_ms).toFixed(0),
        passages.toFixed(1),
        tokens.toFixed(0),
      ],
    ],
    lines: [
      `The encoder starts in ${start.toFixed(1)} s, embeds ${encoder.tokens_per_cpu_second.toFixed(0)} tokens of a ` +
        `build in a second of CPU, and takes ${encoder.megabytes_after_start.toFixed(0)} MB after its start, ` +
        `${encoder.megabytes_peak.toFixed(0)} MB at most.`,
    ],
  }
}
