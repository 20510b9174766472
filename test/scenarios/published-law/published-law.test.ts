import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { storeUrl } from '#operator/demo/local/stack.ts'
import { withQueues } from '#operator/command-line/queues.ts'
import { reviewerKeyFile } from '#test/support/installation.ts'
import { bodyOf, send, startJsonServer, type JsonServer } from '#test/support/json-server.ts'
import { failuresOf, servedOf, startLoad } from '#test/support/load.ts'
import { commandLine, type Cli } from '#test/support/operator-cli.ts'
import { withId } from '#test/support/operator-corpus.ts'
import { startTestService, type Caller, type TestService } from '#test/support/service.ts'
import { expectEventually, until } from '#test/support/until.ts'
import {
  AMENDED,
  FILES,
  STAND_IN,
  correctLaw,
  correctRecords,
  fileOf,
  inspectedSchema,
  writeRecords,
} from './sources.ts'

const BASE = 'published-law'
const DRAFTED = ['pdf', 'docx']
const candidateSchema = z.object({ event: z.literal('candidate'), version_id: z.string() })
const capturedSchema = z.array(
  z.object({ outcome: z.string(), message: z.string().nullable(), import_id: z.string().nullable() }),
)
const builtSchema = z.object({ version_id: z.string() })

let folder: string
let publisher: JsonServer
let service: TestService
let cli: Cli
/** What the publisher serves now, and what the webhook was told. */
let served: Buffer
const told: unknown[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'published-law-'))
  served = fileOf('ecfr').bytes
  publisher = await startJsonServer((request, response) => {
    if (request.method === 'GET') response.writeHead(200).end(served)
    else
      void bodyOf(request).then((body) => {
        told.push(body)
        send(response, 200, {})
      })
  })
  service = await startTestService({ environment: { CAPTURE_WEBHOOK_URL: `${publisher.baseUrl}/told` } })
  cli = commandLine({
    DATABASE_URL: service.operatorUrl,
    REDIS_URL: service.settings.redisUrl,
    ARTIFACT_STORE: storeUrl(service.settings),
    MANIFEST_PUBLIC_KEY: service.settings.secrets.MANIFEST_PUBLIC_KEY,
  })
})
afterAll(async () => {
  await service?.stop()
  await publisher?.stop()
  await rm(folder, { recursive: true, force: true })
})

/** A folder of law as an operator has it, with drafts of what has no structure, and what no file states. */
async function preparedFolder(): Promise<string> {
  const law = join(folder, 'law')
  await mkdir(law)
  for (const { format, name, bytes } of FILES) if (format !== 'ecfr') await writeFile(join(law, name), bytes)
  const inspected = inspectedSchema.parse(await cli.json('inspect', law))
  const formats = FILES.map(({ format }) => format).filter((format) => format !== 'ecfr')
  expect(new Set(inspected.map(({ format }) => format))).toEqual(new Set(formats))
  for (const { coverage, provisions } of inspected) expect([coverage, provisions > 0]).toEqual([1, true])
  for (const format of DRAFTED) await cli.json('import', 'draft', join(law, fileOf(format).name))
  await cli.json('import', 'init', law)
  await correctLaw(join(law, 'source.yaml'))
  return law
}

/** Imports and builds what is no file of law, beside it: all records of a knowledge base are read with one mapping. */
async function importedRecords(): Promise<string> {
  const records = join(folder, 'records')
  await writeRecords(records)
  await cli.json('import', 'init', records)
  await correctRecords(join(records, 'source.yaml'))
  await cli.json('knowledge-bases', 'create', 'records', '--title', 'Records')
  return withId.parse(await cli.json('import', '--knowledge-base', 'records', '--source', records)).id
}

/** Reads the page of a candidate, signs it with what the reviewer accepts, and activates it. */
async function reviewedAndActivated(version: string, accept: readonly string[] = []): Promise<string> {
  const page = join(folder, `${version}.html`)
  await cli.json('review', 'report', version, '--out', page)
  const accepted = accept.length === 0 ? [] : ['--accept', accept.join(',')]
  const signed = ['--key', reviewerKeyFile(service.settings), '--verdict', 'approved', '--note', 'read']
  await cli.json('review', 'sign', version, ...signed, ...accepted)
  await cli.json('activate', version, '--wait')
  return await readFile(page, 'utf8')
}

async function built(importId: string): Promise<string> {
  return builtSchema.parse(await cli.json('build', 'start', '--import', importId, '--wait')).version_id
}

/** Lets the schedule of the source come round now, and waits for the candidate that the webhook is told of. */
async function capturedOnSchedule(): Promise<string> {
  await withQueues(service.settings.redisUrl, (open) =>
    until('the schedule of the source holds its next capture', async () => {
      const [next] = await open('capture').getDelayed()
      await next?.promote()
      return next !== undefined
    }),
  )
  return until(
    'the candidate of the capture is told of',
    (seen) => {
      seen(told.length)
      return told.flatMap((each) => candidateSchema.safeParse(each).data?.version_id ?? [])[0]
    },
    { processes: [service.jobs] },
  )
}

async function textOf(caller: Caller): Promise<string> {
  return (await caller.ask()).retrieved().results.find(({ citation }) => citation.label === AMENDED.label)?.text ?? ''
}

test(`law of each format goes from its files to callers, is captured again when it changes, rolled back and withdrawn,
 and no request fails meanwhile${STAND_IN}`, async () => {
  const others = startLoad(await service.createCaller(), [service.gateways[0]?.baseUrl ?? ''], CALLERS)
  const law = await preparedFolder()
  const yaml = ['--source-yaml', join(law, 'source.yaml')]
  await cli.json('knowledge-bases', 'create', BASE, '--title', 'Published law')
  await cli.json('sources', 'add', 'folder', '--knowledge-base', BASE, '--from', law, ...yaml)
  const address = `${publisher.baseUrl}/${fileOf('ecfr').name}`
  const often = ['--allow-private', '--every-minutes', '1440']
  await cli.json('sources', 'add', 'publisher', '--knowledge-base', BASE, '--from', address, ...yaml, ...often)
  const captured = capturedSchema.parse(await cli.json('capture', '--knowledge-base', BASE))
  const importId = z
    .string()
    .parse(captured.at(-1)?.import_id, { error: () => `nothing is imported: ${captured.at(-1)?.message}` })
  const listed = await cli.json('sources', 'list', '--knowledge-base', BASE)
  expect(listed).toMatchObject(
    ['folder', 'publisher'].map((name) => ({ name, last_outcome: expect.stringMatching(/^(?:un)?changed$/) })),
  )

  const first = await built(importId)
  const page = await reviewedAndActivated(first)
  for (const { name } of FILES) expect(page).toContain(basename(name))
  await reviewedAndActivated(await built(await importedRecords()))

  const caller = await lawCaller()
  const load = startLoad(caller, [service.gateways[0]?.baseUrl ?? ''], CALLERS)
  await expectEventually(async () => (await textOf(caller)).includes(AMENDED.before), true)

  served = Buffer.from(served.toString().replace(AMENDED.before, AMENDED.after))
  const second = await capturedOnSchedule()
  const changes = await reviewedAndActivated(second, ['provisions_changed', 'passages_changed'])
  expect(changes).toContain(AMENDED.label)
  await expectEventually(async () => (await textOf(caller)).includes(AMENDED.after), true)

  await cli.json('rollback', BASE, '--wait')
  await expectEventually(async () => (await textOf(caller)).includes(AMENDED.before), true)
  const why = ['--reason', 'the publisher corrects it', '--key', reviewerKeyFile(service.settings)]
  await cli.json('withdraw', AMENDED.label, '--knowledge-base', BASE, ...why)
  await expectEventually(
    async () => (await caller.ask()).retrieved().abstention.unsupported_explicit_references.map(({ reason }) => reason),
    ['withdrawn'],
  )
  const sent = [...(await load.stop()), ...(await others.stop())]
  expect(failuresOf(sent)).toEqual([])
  const versions = servedOf(await load.stop()).map((answer) => answer.retrieved().version)
  expect(new Set(versions)).toEqual(new Set([first, second]))
})

const CALLERS = { callers: 1, pauseMs: 200 }

/** A caller of the knowledge base who asks for the provision that changes. */
async function lawCaller(): Promise<Caller> {
  const languages = ['en', 'de', 'en-US', 'en-GB']
  const caller = await service.createCaller({ knowledgeBase: BASE, languages, jurisdictions: ['US', 'GB', 'DE', 'EU'] })
  return { ...caller, ask: (body, options) => caller.ask({ query: AMENDED.query, ...body }, options) }
}
