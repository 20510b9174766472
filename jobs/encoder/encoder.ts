import { fileURLToPath } from 'node:url'
import { setTimeout as delay } from 'node:timers/promises'
import pLimit from 'p-limit'
import { Piscina } from 'piscina'
import { ENCODER_BOUNDS } from './bounds.ts'
import type { ModelFolder } from './model-folder.ts'
import { scaleToUnitLength, type EncodeTask, type Graph } from './session-worker.ts'
import type { TokenWindows, Tokenize } from './tokenizer.ts'

/** Questions have a session of their own, so that none waits for a run of a batch. */
export const LANES = ['questions', 'batches'] as const
export type Lane = (typeof LANES)[number]

/** No vector is given: too many requests wait, it took too long, or the caller hung up. */
export class EncoderBusy extends Error {
  override readonly name = 'EncoderBusy'
  readonly status: 429 | 503

  constructor(status: 429 | 503, message: string) {
    super(message)
    this.status = status
  }
}

export interface Encoded {
  /** Of unit length, one a text, in order. */
  readonly vectors: readonly Float32Array[]
  readonly tokens: number
  readonly lane: Lane
  /** Texts that were embedded in several windows. */
  readonly windowed: number
}

export type Encoder = Awaited<ReturnType<typeof openEncoder>>

/**
 * Opens both sessions, runs each once and reads the vocabulary, one after the other: a session that opens takes 95 MB
 * more than it keeps.
 * @throws OperatorError for a vocabulary, Error for a graph that cannot be used.
 */
export async function openEncoder(model: ModelFolder, threads: number) {
  const lanes = { questions: createLane(model, threads, 'questions'), batches: createLane(model, threads, 'batches') }
  /** Waits for what runs; nothing is to be sent any more. */
  const close = async (): Promise<void> => {
    await Promise.all([lanes.questions.close(), lanes.batches.close()])
  }
  try {
    for (const lane of LANES) await lanes[lane].encode([[model.padToken]], new AbortController().signal)
    return {
      encode: encodeWith(await model.openTokenizer(), lanes),
      waiting: (lane: Lane) => lanes[lane].waiting(),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** @throws EncoderBusy; Error where the model fails. */
function encodeWith(tokenize: Tokenize, lanes: Readonly<Record<Lane, ReturnType<typeof createLane>>>) {
  return async (texts: readonly string[], signal: AbortSignal): Promise<Encoded> => {
    const tokenized: TokenWindows[] = []
    for (const text of texts) {
      tokenized.push(tokenize(text))
      // A question is read between the texts of a batch.
      if (texts.length > ENCODER_BOUNDS.questionTextsMax) await delay(0)
      if (signal.aborted) throw new EncoderBusy(503, 'the caller hung up')
    }
    const tokens = tokenized.reduce((sum, each) => sum + each.tokens, 0)
    const isQuestion = texts.length <= ENCODER_BOUNDS.questionTextsMax && tokens <= ENCODER_BOUNDS.questionTokensMax
    const lane = isQuestion ? 'questions' : 'batches'
    const windows = tokenized.flatMap((each) => each.windows)
    const ofWindows = await lanes[lane].encode(windows, signal)
    let at = 0
    const vectors = tokenized.map((each) => meanOf(ofWindows.slice(at, (at += each.windows.length))))
    return { vectors, tokens, lane, windowed: tokenized.filter((each) => each.windows.length > 1).length }
  }
}

/** One thread and its session, behind a bounded queue of requests. A thread that ends is replaced with the next run. */
function createLane(model: ModelFolder, threads: number, lane: Lane) {
  const { dimensions, pooling, padToken, graphFile: file } = model
  const graph: Graph = { file, threads, yields: lane === 'batches', dimensions, pooling, padToken }
  const isQuestions = lane === 'questions'
  const waitingMax = isQuestions ? ENCODER_BOUNDS.questionsWaitingMax : ENCODER_BOUNDS.batchesWaitingMax
  const timeoutMs = isQuestions ? ENCODER_BOUNDS.questionTimeoutMs : ENCODER_BOUNDS.batchTimeoutMs
  const resourceLimits = { maxYoungGenerationSizeMb: ENCODER_BOUNDS.sessionYoungGenerationMb }
  const thread = new Piscina<EncodeTask, Float32Array>({
    filename: fileURLToPath(new URL('./session-worker.ts', import.meta.url)),
    minThreads: 1,
    maxThreads: 1,
    concurrentTasksPerWorker: 1,
    maxQueue: 1,
    recordTiming: false,
    resourceLimits,
  })
  const oneAtATime = pLimit(1)
  const waiting = (): number => oneAtATime.pendingCount
  return {
    waiting,
    async encode(windows: readonly (readonly number[])[], signal: AbortSignal) {
      if (waiting() >= waitingMax) throw new EncoderBusy(429, `${waitingMax} ${lane} wait already`)
      const endMs = performance.now() + timeoutMs
      return await oneAtATime(async () => {
        const vectors = new Array<Float32Array>(windows.length)
        for (const places of runsOf(windows)) {
          if (signal.aborted) throw new EncoderBusy(503, 'the caller hung up')
          if (performance.now() >= endMs) throw new EncoderBusy(503, `it took more than ${timeoutMs} ms`)
          const rows = places.map((place) => windows[place] ?? [])
          const all = await thread.run({ graph, rows }, { name: 'encode' })
          for (const [at, place] of places.entries()) vectors[place] = all.slice(at * dimensions, (at + 1) * dimensions)
        }
        return vectors
      })
    },
    close: () => thread.close(),
  }
}

/** Places of the windows of each run: similar lengths together, so that little is padding. */
function runsOf(windows: readonly (readonly number[])[]): readonly (readonly number[])[] {
  const lengthAt = (place: number): number => windows[place]?.length ?? 0
  const order = [...windows.keys()].toSorted((a, b) => lengthAt(a) - lengthAt(b))
  const runs: number[][] = []
  for (const place of order) {
    const run = runs.at(-1)
    if (run !== undefined && (run.length + 1) * lengthAt(place) <= ENCODER_BOUNDS.runTokensMax) run.push(place)
    else runs.push([place])
  }
  return runs
}

/**
 * The first window, which has the heading, weighs more than all others together. A plain mean is nearer to every
 * question than one window is, so long passages would displace short ones (decision 0041).
 */
function meanOf(vectors: readonly Float32Array[]): Float32Array {
  const [first = new Float32Array(), ...others] = vectors
  if (others.length === 0) return first
  const weight = ENCODER_BOUNDS.firstWindowWeight * others.length
  const mean = first.map((value, at) => others.reduce((sum, vector) => sum + (vector[at] ?? 0), weight * value))
  scaleToUnitLength(mean)
  return mean
}
