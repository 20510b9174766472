import type { Embedder } from '#core/embedding/embedder.ts'
import { openFlaggedEmbedder, vectorSettingsOf } from '#operator/command-line/embedding-flags.ts'
import type { DataSetFlags, FieldQuestionFlags } from './flags.ts'
import { openFlaggedReader } from './reader.ts'

export interface EvaluationOutput {
  readonly progress: (stage: string, done: number, total: number, more?: string) => void
  readonly note: (sentence: string) => void
  /** Counts the tokens of an embedder; absent: nobody asks for them. */
  readonly counting?: (embedder: Embedder) => Embedder
}

export type EvaluationTools = Awaited<ReturnType<typeof openTools>>

/** @throws OperatorError where flags do not belong together, or an endpoint or file cannot be used. */
export async function openTools(
  flags: DataSetFlags | FieldQuestionFlags,
  questions: Parameters<typeof openFlaggedReader>[1],
  output: EvaluationOutput,
  signal: AbortSignal,
) {
  const opened = await openFlaggedEmbedder(flags, signal, output.note)
  const embedder = opened && (output.counting?.(opened) ?? opened)
  const reader = await openFlaggedReader(flags, questions, signal)
  return { embedder, reader, vectors: vectorSettingsOf(flags), dataDir: flags.dataDir, output, signal }
}
