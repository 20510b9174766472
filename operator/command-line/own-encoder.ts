import { statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { OperatorError } from '#core/platform/errors.ts'
import { modelsFolder } from '#jobs/platform/config.ts'
import type { EmbeddingFlags } from './embedding-flags.ts'
import { startListening } from '../processes/listening-process.ts'
import { ENCODER_MALLOC, ENCODER_OPTIONS } from '../processes/node-options.ts'

/** Reading the vocabulary and opening the model takes seconds on an idle machine. */
const START_TIMEOUT_MS = 180_000
/** Small enough for any machine, and trained in a hundred languages. */
export const RECOMMENDED_MODEL = 'multilingual-e5-small'
const NAME = /^[A-Za-z0-9][\w.-]*$/

const listeningSchema = z.object({
  event: z.literal('listening'),
  port: z.int(),
  model: z.string(),
  digest: z.string(),
})

type OwnEncoder = Awaited<ReturnType<typeof startOwnEncoder>>

/**
 * Returns the folder of a model.
 * @param model a folder, or the name of one below the folder of models, where `models fetch` puts them.
 * @throws OperatorError that says how to get it.
 */
export function modelFolderOf(model: string, models: string = modelsFolder()): string {
  const candidates = [resolve(model), ...(NAME.test(model) ? [join(resolve(models), model)] : [])]
  const found = candidates.find((path) => statSync(path, { throwIfNoEntry: false })?.isDirectory())
  if (found !== undefined) return found
  throw new OperatorError(
    `There is no model folder at ${candidates.join(' or ')}: name a folder in the layout of sentence-transformers, or ` +
      `fetch one with "npm run operator -- models fetch ${NAME.test(model) ? basename(model) : 'NAME'}".`,
  )
}

/**
 * Starts the encoder of a model on a free port of loopback.
 * @throws OperatorError when there is no such model, or it cannot be used.
 */
export async function startOwnEncoder(flags: EmbeddingFlags & { readonly model: string }) {
  assertOneEncoder(flags)
  const { said, ended, stop } = await startListening({
    name: 'The encoder',
    program: fileURLToPath(new URL('../../jobs/encoder/main.ts', import.meta.url)),
    nodeOptions: ENCODER_OPTIONS,
    environment: { ...ENCODER_MALLOC, MODEL_DIR: modelFolderOf(flags.model), ENCODER_LISTEN: '127.0.0.1:0' },
    startTimeoutMs: START_TIMEOUT_MS,
    listening: listeningSchema,
  })
  return { baseUrl: `http://127.0.0.1:${said.port}/v1`, model: said.model, digest: said.digest, ended, stop }
}

/** @throws OperatorError where `--model` and flags of an endpoint come together. */
function assertOneEncoder({ model, embedding, embeddings, embeddingModel, embeddingKeyEnv }: EmbeddingFlags): void {
  if (model === undefined) return
  const others = { embedding, embeddings, 'embedding-model': embeddingModel, 'embedding-key-env': embeddingKeyEnv }
  const [other] = Object.entries(others).find(([, value]) => value !== undefined) ?? []
  if (other !== undefined) throw new OperatorError(`--model starts an encoder of its own: leave out it or --${other}.`)
}

/** Returns the flags with the endpoint of an encoder in place of its model. */
export function flagsWith<T extends EmbeddingFlags>(flags: T, { baseUrl, model }: OwnEncoder): T {
  return { ...flags, model: undefined, embeddings: baseUrl, embeddingModel: model }
}

/**
 * Runs work while the encoder of `--model` runs, if the flags name one.
 * @param use gets flags that name its endpoint, a signal that is also aborted when it ends, and the model's digest.
 */
export async function withOwnEncoder<F extends EmbeddingFlags, T>(
  flags: F,
  signal: AbortSignal,
  use: (flags: F, signal: AbortSignal, digest?: string) => Promise<T>,
): Promise<T> {
  const { model } = flags
  if (model === undefined) return await use(flags, signal)
  await using opened = new AsyncDisposableStack()
  const encoder = opened.adopt(await startOwnEncoder({ ...flags, model }), (it) => it.stop())
  return await use(flagsWith(flags, encoder), AbortSignal.any([signal, encoder.ended]), encoder.digest)
}
