import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { utcDay } from '#core/platform/time.ts'
import { storeUrl } from '#operator/demo/local/stack.ts'
import { act, commit, FIRST, git, LATER, message, ONE, PATH, repositoryOf, TWO } from '../law/sources/git/repository.ts'
import { folderOfFile } from '#test/support/folder.ts'
import { reviewerKeyFile } from '#test/support/installation.ts'
import { commandLine, type Cli } from '#test/support/operator-cli.ts'
import { startTestService, type TestService } from '#test/support/service.ts'

const capturedSchema = z.tuple([z.object({ import_id: z.string(), outcome: z.string() })])
const root = folderOfFile()
let service: TestService
let cli: Cli

// Costs one service and three builds of four passages, about 30 s.
beforeAll(async () => {
  service = await startTestService()
  cli = commandLine({
    DATABASE_URL: service.operatorUrl,
    REDIS_URL: service.settings.redisUrl,
    ARTIFACT_STORE: storeUrl(service.settings),
    MANIFEST_PUBLIC_KEY: service.settings.secrets.MANIFEST_PUBLIC_KEY,
  })
})
afterAll(async () => await service?.stop())

/** Captures the sources of a knowledge base and builds a candidate. @returns its version and its page for reviewers. */
async function candidateOf(knowledgeBase: string) {
  const { stdout } = await cli.run('capture', '--knowledge-base', knowledgeBase, '--json')
  const [{ import_id: importId, outcome }] = capturedSchema.parse(JSON.parse(stdout))
  const built = await cli.json('build', 'start', '--import', importId, '--wait')
  const { version_id: version } = z.object({ version_id: z.string() }).parse(built)
  const out = join(root, `${version}.html`)
  await cli.json('review', 'report', version, '--out', out)
  return { version, page: await readFile(out, 'utf8'), outcome }
}

/** The command that approves a version. */
function signing(version: string): readonly [string, string] {
  return [`review sign ${version} --verdict approved --note read --key`, reviewerKeyFile(service.settings)]
}

test('a clone is served as the law of today, and in a knowledge base of its own as the law of a past day', async () => {
  const clone = repositoryOf(root, [FIRST, [message('reform', '2010-04-01'), act(TWO, LATER)]])
  const known = git(clone, 'rev-parse', 'HEAD')
  const yaml = join(root, 'peru.yaml')
  await writeFile(yaml, 'authorities:\n  ley: Congreso\n')
  const texts: Record<string, readonly string[]> = {}
  const days: string[] = []
  for (const [slug, ...asOf] of [['peru'], ['peru-2005', '--as-of', '2005-01-01']] as const) {
    await cli.json('knowledge-bases', 'create', slug, '--title', slug, ...asOf)
    await cli.json('sources', 'add', slug, '--knowledge-base', slug, '--git', clone, '--source-yaml', yaml)
    const { version } = await candidateOf(slug)
    await cli.json(...signing(version))
    await cli.json('activate', version, '--wait')
    const caller = await service.createCaller({ knowledgeBase: slug, languages: ['es'], jurisdictions: ['PE'] })
    const { results, request_id } = (await caller.ask({ query: 'lámparas en la puerta de cada casa' })).retrieved()
    texts[slug] = results.map(({ text }) => text).filter((text) => text.startsWith('Cada casa'))
    const shown = z.object({ in_force_on: z.string() }).parse(await cli.json('requests', 'show', request_id))
    days.push(shown.in_force_on)
  }
  expect(days[1]).toBe('2005-01-01')
  expect(texts).toEqual({ peru: [TWO], 'peru-2005': [ONE] })
  await expect(service.owner.query("update knowledge_bases set as_of = null where slug = 'peru-2005'")).rejects.toThrow(
    'never changed',
  )

  const pulled = commit(clone, message('reform', '2020-01-01'), {
    [PATH]: act('Cada casa tiene tres lámparas en la puerta.', { last_updated: '2020-02-01' }),
  })
  const { page } = await candidateOf('peru')
  for (const named of ['tres', `commit=${pulled}`]) expect(page).toContain(named)

  git(clone, 'reset', '-q', '--hard', 'HEAD~2')
  commit(clone, message('reform', '2010-04-01'), { [PATH]: act('Cada casa tiene nueve lámparas en la puerta.', LATER) })
  const { version, outcome, ...rewritten } = await candidateOf('peru')
  expect(outcome).toBe('failed')
  const day = utcDay(new Date())
  expect(rewritten.page).toContain(
    `lacks the captured commit ${known} since ${day}; past versions of Ley de lámparas differ`,
  )
  expect(rewritten.page.indexOf('lacks the captured')).toBeLessThan(rewritten.page.indexOf('<ins>nueve'))
  const [, kinds = ''] = /--accept (histories_rewritten,[\w,]+)/.exec(rewritten.page) ?? []
  const others = kinds.replace('histories_rewritten,', '')
  expect(await cli.refused(...signing(version), '--accept', others)).toContain('1 history rewritten beyond')
  expect(await cli.refused('activate', version, '--wait')).toContain('approv')
  const capturedAgain = async (): Promise<string> => (await cli.run('capture --knowledge-base peru --json')).stdout
  expect(await capturedAgain()).toContain('the history was rewritten')
  await cli.json(...signing(version), '--accept', kinds)
  await cli.json('activate', version, '--wait')
  expect(await capturedAgain()).not.toContain('rewritten')
})
