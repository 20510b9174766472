import { execFile, spawn } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDatabase } from '#core/db/pool.ts'
import { createLog } from '#core/platform/log.ts'
import { writeTrace } from '#jobs/trace/pipeline.ts'
import { knowledgeBaseNamed } from '#operator/actions/names.ts'
import { storeOf } from '#operator/demo/local/stack.ts'
import { freePort } from '#operator/demo/local/supervised-process.ts'
import { ABSTAINED_QUERY, ANSWERED_QUERY, KNOWLEDGE_BASE, type Caller } from '#test/support/caller.ts'
import { installClient } from '#test/support/client-package.ts'
import { folderOfFile } from '#test/support/folder.ts'
import { until } from '#test/support/until.ts'
import { baseUrl, createCaller, service } from './service.ts'

/** A caller who has the package, a copy of the trace and the operator's key. */
const { settings } = service
const KEY = settings.secrets.MANIFEST_PUBLIC_KEY
const folder = folderOfFile()
const trace = join(folder, 'trace')
const VERIFY = `
import { verify } from 'evidence-retrieval-client'
const [raw, options] = process.argv.slice(2)
console.log(JSON.stringify(await verify({ raw }, JSON.parse(options))))
`
let caller: Caller
beforeAll(async () => {
  caller = await createCaller()
  await installClient(folder)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'verify.js'), VERIFY)
  cpSync(new URL('../../clients/typescript/examples/backend.ts', import.meta.url), join(folder, 'backend.ts'))
  const { id } = await knowledgeBaseNamed(service.operator.database, KNOWLEDGE_BASE)
  const log = createLog('test', 'silent')
  await using database = openDatabase(settings.jobsDatabaseUrl, log, 1)
  await writeTrace({ database, store: storeOf(settings), traceDir: trace, log }, id)
})

async function verified(raw: string, options: object = {}): Promise<unknown> {
  const given = JSON.stringify({ trace, publicKey: KEY, ...options })
  const { stdout } = await promisify(execFile)(process.execPath, ['verify.js', raw, given], { cwd: folder })
  return JSON.parse(stdout)
}

test('verify proves a reply, refutes one that was altered, and says what it could not check', async () => {
  const raw = (await caller.ask()).bytes.toString()
  expect(await verified(raw)).toEqual({ verdict: 'proved', message: expect.stringMatching(/^PROVED: \d passages/) })
  expect(await verified(raw.replace('14 calendar days', '15 calendar days'))).toEqual({
    verdict: 'refuted',
    message: expect.stringMatching(/^REFUTED: results\/\d\/text/),
  })
  const unchecked = { verdict: 'unchecked', message: expect.stringMatching(/^COULD NOT CHECK: /) }
  expect(await verified(raw, { trace: join(folder, 'nowhere') })).toEqual(unchecked)
  expect(await verified((await caller.ask({ query: ABSTAINED_QUERY })).bytes.toString())).toEqual(unchecked)
})

const running: { kill(): boolean }[] = []
afterAll(() => {
  for (const backend of running) backend.kill()
})

/** Asks the backend of the examples. @returns status and body. */
async function askBackend(question: string, environment: object = {}): Promise<readonly [number, unknown]> {
  const port = await freePort()
  const own = { EVIDENCE_URL: baseUrl, EVIDENCE_API_KEY: caller.key, EVIDENCE_KNOWLEDGE_BASE: KNOWLEDGE_BASE }
  const env = { ...own, EVIDENCE_TRACE: trace, EVIDENCE_PUBLIC_KEY: KEY, PORT: String(port), ...environment }
  const backend = spawn(process.execPath, ['backend.ts'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] })
  running.push(backend)
  let output = ''
  backend.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  await until('the backend listens', () => output.includes('listening'))
  const reply = await fetch(`http://127.0.0.1:${port}/ask`, { method: 'POST', body: question })
  return [reply.status, await reply.json()]
}

test('the backend of the examples quotes an answer that is proved, and nothing else', async () => {
  const [status, answered] = await askBackend(ANSWERED_QUERY)
  expect([status, answered]).toMatchObject([
    200,
    { quoted: expect.arrayContaining([expect.objectContaining({ source: expect.stringMatching(/, COB-M 2\.1$/) })]) },
  ])
  expect(await askBackend('What does COB-M 99.9 say?')).toMatchObject([
    200,
    { quoted: [], missing: ['COB-M 99.9: not_in_corpus'] },
  ])
  const elsewhere = { EVIDENCE_TRACE: join(folder, 'nowhere') }
  expect(await askBackend(ANSWERED_QUERY, elsewhere)).toEqual([502, { why: expect.stringMatching(/^unchecked: /) }])
  const [refused, told] = await askBackend(ANSWERED_QUERY, { EVIDENCE_API_KEY: 'erk_live_x' })
  expect([refused, told]).toEqual([503, { why: 'the law could not be searched just now' }])
})
