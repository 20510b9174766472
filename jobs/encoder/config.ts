import { availableParallelism } from 'node:os'
import { z } from 'zod'
import { ENCODER_ADDRESS } from '#core/embedding/settings.ts'
import { ConfigError, LOG_LEVEL, listenAddress, readConfig, wholeNumber } from '#core/platform/config.ts'
import type { ConfigOf, Variable } from '#core/platform/config.ts'
import { ENCODER_BOUNDS } from './bounds.ts'

export const ENCODER_VARIABLES = {
  MODEL_DIR: {
    schema: z.string().min(1),
    help: 'folder of the embedding model in the layout of sentence-transformers, with onnx/model.onnx',
  },
  ENCODER_LISTEN: {
    schema: listenAddress(ENCODER_ADDRESS),
    help: 'host:port of the embeddings endpoint; it asks for no key, so keep it off the public network',
  },
  LOG_LEVEL,
} as const satisfies Record<string, Variable<unknown>>

/** @param flags take precedence over the environment; undefined: not given. */
export function encoderConfig(flags: {
  readonly model: string | undefined
  readonly port: string | undefined
}): ConfigOf<typeof ENCODER_VARIABLES> {
  return readConfig(ENCODER_VARIABLES, {
    ...process.env,
    ...(flags.model === undefined ? {} : { MODEL_DIR: flags.model }),
    ...(flags.port === undefined ? {} : { ENCODER_LISTEN: `127.0.0.1:${flags.port}` }),
  })
}

/** Threads that compute one run of the model: those of the flag, or the number of cores. @throws ConfigError */
export function encoderThreads(flag: string | undefined): number {
  const parsed = wholeNumber(1, ENCODER_BOUNDS.encoderThreadsMax, availableParallelism()).safeParse(flag)
  if (parsed.success) return parsed.data
  throw new ConfigError(`--threads must be a whole number from 1 to ${ENCODER_BOUNDS.encoderThreadsMax}.`)
}
