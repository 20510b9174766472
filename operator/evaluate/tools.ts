import { openFlaggedEmbedder, vectorSettingsOf } from '#operator/command-line/embedding-flags.ts'
import type { Counting } from './about.ts'
import type { DataSetFlags, FieldQuestionFlags } from './flags.ts'
import { openFlaggedReader } from './reader.ts'
import { openFlaggedRewriter } from './rewriter.ts'

export interface EvaluationOutput {
  readonly progress: (stage: string, done: number, total: number, more?: string) => void
  readonly note: (sentence: string) => void
  /** Absent: nobody asks what the models took. */
  readonly counting?: Counting
}

export type EvaluationTools = Awaited<ReturnType<typeof openTools>>

/** @throws OperatorError where flags do not belong together, or an endpoint or file cannot be used. */
export async function openTools(
  flags: DataSetFlags | FieldQuestionFlags,
  questions: Parameters<typeof openFlaggedReader>[1],
  output: EvaluationOutput,
  signal: AbortSignal,
) {
  const { counting = () => (call) => call() } = output
  const opened = await openFlaggedEmbedder(flags, signal, output.note)
  const counted = counting('embedding', { model: flags.embeddingModel ?? '', prompt_sha256: null })
  const embedder = opened && {
    ...opened,
    embed: (...call: Parameters<typeof opened.embed>) => counted(() => opened.embed(...call)),
  }
  const rewriter = await openFlaggedRewriter(flags, counting)
  const reader = await openFlaggedReader(flags, questions, signal, counting)
  return { embedder, rewriter, reader, vectors: vectorSettingsOf(flags), dataDir: flags.dataDir, output, signal }
}
