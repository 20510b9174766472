import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { demoCorpus, openWorkerHarness } from '#test/support/jobs.ts'
import { commandLine } from '#test/support/operator-cli.ts'
import { PLAINTEXT, openSearchNodeClients } from '#test/support/search-node.ts'
import { testSecrets } from '#test/support/secrets.ts'
import { folderOfFile } from '#test/support/folder.ts'

const { harness, redis, startWorker } = await openWorkerHarness()
const { KEY_PEPPERS, SERVICE_SECRET } = testSecrets()
const environment = {
  DATABASE_URL: harness.operatorUrl,
  REDIS_URL: redis.url,
  ARTIFACT_STORE: harness.environment['ARTIFACT_STORE'] ?? '',
  MANIFEST_PUBLIC_KEY: harness.environment['MANIFEST_PUBLIC_KEY'] ?? '',
  KEY_PEPPERS,
  SERVICE_SECRET,
}
const operator = commandLine(environment)
const folder = folderOfFile()
beforeEach(async () => {
  await startWorker({ nodes: openSearchNodeClients([harness.searchNode], PLAINTEXT) })
})

/** Names of files of the recipe; a reader has them in the folder where npm runs. */
const FILE = /^\.\/|\.(?:jsonl|pem|pub)$/
const WORDS = /"([^"]*)"|(\S+)/g

test('every line of the recipe of "operator --help" does what it says, in its order and with the files of the lines before', async () => {
  cpSync(join(demoCorpus, 'rulebook'), join(folder, 'rulebook'), { recursive: true })
  cpSync(join(demoCorpus, 'questions.jsonl'), join(folder, 'questions.jsonl'))
  const { stdout: help } = await operator.run('--help')
  const lines = [...help.matchAll(/^ {2}npm run (?:--silent )?operator -- (.+?)(?: > (\S+))?$/gm)]
  expect(lines.length).toBeGreaterThan(10)
  const placeholders = new Map<string, string>()
  let last = ''
  for (const [line, command = '', file] of lines) {
    const words = [...command.matchAll(WORDS)].map(([, quoted, plain = '']) => quoted ?? plain)
    const args = words.map((word) => (FILE.test(word) ? join(folder, word) : (placeholders.get(word) ?? word)))
    const cli = words[0] === 'migrate' ? commandLine({ ...environment, DATABASE_URL: harness.ownerUrl }) : operator
    const { code, stdout, stderr } = await cli.run(...args)
    expect(code, `${line}\n${stderr}`).toBe(0)
    if (file !== undefined) writeFileSync(join(folder, file), stdout)
    const [next] = [...`${stdout}${stderr}`.matchAll(/(?:--import|review show) ([0-9a-f-]{36})/g)].slice(-1)
    if (next?.[1] !== undefined) placeholders.set(words[0] === 'import' ? 'IMPORT' : 'VERSION', next[1])
    last = stdout
  }
  expect(last).toMatch(/erk_live_[0-9A-Za-z]{33}/)
})

test('law of one short provision is built from a source without a question set', async () => {
  const law = join(folder, 'law')
  mkdirSync(law)
  const page = '<html lang="en"><h1>Bees Order</h1><h2>Section 1 Hives</h2><p>Every hive has a number.</p></html>'
  writeFileSync(join(law, 'bees.html'), page)
  const stated = ['authority: Bee Office', 'jurisdiction: HS-M', 'canonical_url: https://bees.example/']
  writeFileSync(
    join(law, 'source.yaml'),
    [...stated, 'published_at: 2026-01-01', 'effective_at: 2026-02-01', ''].join('\n'),
  )
  await operator.json('knowledge-bases', 'create', 'bees', '--title', 'Law of bees')
  await operator.json('sources', 'add', 'bees-order', '--knowledge-base', 'bees', '--from', law)
  const [captured] = z
    .array(z.object({ import_id: z.uuid() }))
    .parse(await operator.json('capture', 'bees-order', '--knowledge-base', 'bees'))
  const built = z
    .object({ version_id: z.uuid(), passed: z.boolean() })
    .parse(await operator.json('build', 'start', '--import', captured?.import_id ?? '', '--wait'))
  expect(built.passed).toBe(true)
})
