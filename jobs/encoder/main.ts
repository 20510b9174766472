import { parseArgs } from 'node:util'
import { hostAndPort } from '#core/platform/config.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { createLog, describeCause } from '#core/platform/log.ts'
import { stopOnSignal } from '#core/platform/shutdown.ts'
import { startOrExplain } from '#core/platform/start.ts'
import { createEncoderApp, createEncoderMetrics } from './app.ts'
import { ENCODER_BOUNDS } from './bounds.ts'
import { encoderConfig, encoderThreads } from './config.ts'
import { openEncoder } from './encoder.ts'
import { readModelFolder } from './model-folder.ts'

await startOrExplain('The encoder cannot start', async () => {
  const string = { type: 'string' } as const
  const { values } = parseArgs({ options: { model: string, port: string, threads: string } })
  const config = encoderConfig({ model: values.model, port: values.port })
  const threads = encoderThreads(values.threads)
  const log = createLog('encoder', config.LOG_LEVEL)
  const model = await readModelFolder(config.MODEL_DIR)
  const encoder = await openEncoder(model, threads).catch((cause: unknown) => {
    if (cause instanceof OperatorError) throw cause
    throw new OperatorError(`The model in ${config.MODEL_DIR} cannot be used: ${describeCause(cause)}`, { cause })
  })
  const app = createEncoderApp({ model, encoder, metrics: createEncoderMetrics(encoder.waiting), log })
  await app.listen(hostAndPort(config.ENCODER_LISTEN))
  const bound = app.server.address()
  const port = bound === null || typeof bound === 'string' ? undefined : bound.port
  log.info('listening', { address: config.ENCODER_LISTEN, port, model: model.name, digest: model.digest })
  stopOnSignal(log, ENCODER_BOUNDS.encoderStopTimeoutMs, async () => {
    await app.close()
    await encoder.close()
  })
})
