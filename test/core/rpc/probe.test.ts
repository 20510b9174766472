import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { HealthImplementation } from 'grpc-health-check'
import { afterAll, expect, test } from 'vitest'
import { freePort } from '#operator/demo/local/supervised-process.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const health = new HealthImplementation({ '': 'NOT_SERVING' })
const server = new Server()

health.addToServer(server)
const port = await new Promise<number>((resolve, reject) =>
  server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
    error === null ? resolve(bound) : reject(error),
  ),
)
afterAll(() => server.forceShutdown())

function probe(...args: readonly string[]): Promise<{ readonly code: number | null; readonly stderr: string }> {
  const child = spawn(process.execPath, ['core/rpc/probe.ts', ...args], {
    cwd: ROOT,
    env: {},
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, stderr })))
}

test('the probe ends with 0 when the server is serving', async () => {
  health.setStatus('', 'SERVING')
  expect(await probe(`127.0.0.1:${port}`)).toEqual({ code: 0, stderr: '' })
})

test('the probe ends with 1 when the server is draining', async () => {
  health.setStatus('', 'NOT_SERVING')
  expect(await probe(`127.0.0.1:${port}`)).toEqual({ code: 1, stderr: 'the server answered NOT_SERVING\n' })
})

test('the probe ends with 1 when nothing listens, and when no address is named', async () => {
  expect((await probe(`127.0.0.1:${await freePort()}`)).code).toBe(1)
  expect((await probe()).code).toBe(1)
})
