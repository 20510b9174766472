import type { Page } from 'playwright-core'
import { afterAll, describe, expect, test } from 'vitest'
import { exposureOf } from '#operator/actions/exposure.ts'
import { knowledgeBaseNamed, organizationNamed } from '#operator/actions/names.ts'
import { readSigningKey } from '#operator/actions/reviewers.ts'
import { withdraw } from '#operator/actions/withdrawals.ts'
import { builtInCorpus } from '#operator/demo/corpus.ts'
import { storeOf } from '#operator/demo/local/stack.ts'
import { openPage } from '#operator/demo/page.ts'
import { LOOKS, auditOf, openPage as openInBrowser, startBrowser } from '#test/support/browser.ts'
import { consoleAt } from '#test/support/console.ts'
import { ABSTAINED_QUERY, ANSWERED_QUERY, KNOWLEDGE_BASE } from '#test/support/caller.ts'
import { reviewerKeyFile } from '#test/support/installation.ts'
import { startTestService } from '#test/support/service.ts'

const service = await startTestService()
const { operator, settings, owner } = service
const [searchNode] = service.searchNodes
const [gateway] = service.gateways
if (searchNode === undefined || gateway === undefined) throw new Error('the service has no gateway or search node')
const caller = await service.createCaller()
const { operatorUrl } = service
const { organization, key: apiKey } = caller
const running = { settings, operatorUrl, searchNode, gateway }
const page = await openPage(operator, running, { corpus: builtInCorpus(), organization, apiKey })
const { send, headers: HEADERS, token } = consoleAt(page.url)
const browser = await startBrowser()
afterAll(async () => {
  await browser.close()
  await page.close()
  await service.stop()
})

async function exposed(): Promise<number> {
  const { id: organizationId } = await organizationNamed(operator.database, organization)
  const { id: knowledgeBaseId } = await knowledgeBaseNamed(operator.database, KNOWLEDGE_BASE)
  const [of] = await exposureOf(operator.database, { organizationId, knowledgeBaseId, environment: 'live' }, 1)
  return of?.exposure ?? 0
}

describe('What the page shows', () => {
  test('of an abstention: bar, five passages that are not trusted, and the request, which counts and leaves no text', async () => {
    expect(await exposed()).toBe(0)
    const { status, text: said, headers } = await send('/ask', { question: ABSTAINED_QUERY })
    expect([status, headers['cache-control']]).toEqual([200, 'no-store'])
    expect(said).toMatch(/It abstains, because[^]*<svg role="img" aria-label="Evidence 0\.\d{3}, threshold 0\.\d{3}"/)
    expect(said.match(/ found, not trusted/g)).toHaveLength(5)
    expect(said).toContain('<mark>pledged</mark>')
    expect(said).toMatch(/by words <b>0\.\d{3}[^]*Matched words: [^]*Time by stage[^]*search/)
    for (const language of ['curl', 'TypeScript', 'Python']) expect(said).toContain(`<summary>${language}</summary>`)
    expect(said).toContain('Bearer $EVIDENCE_API_KEY')
    expect(said).not.toContain(apiKey)
    expect(await exposed()).toBe(5)
    const { rows } = await owner.query<{ row: string }>('select row_to_json(a)::text as row from audit a order by seq')
    expect(JSON.parse(rows.at(-1)?.row ?? '')).toMatchObject({
      action: 'request.explain',
      subject: expect.stringMatching(/^req_/),
      detail: { shown: 5 },
    })
    expect(rows.map(({ row }) => row).join('\n')).not.toContain(ABSTAINED_QUERY)
  })

  test('of an answer: what is served; of a provision that is not held: its name and the reason', async () => {
    expect((await send('/ask', { question: ANSWERED_QUERY })).text).toMatch(
      /It answers[^]*COB-M 2\.1[^]*<b class="good">served<\/b>/,
    )
    expect((await send('/ask', { question: 'What does COB-M 99.9 say?' })).text).toContain(
      'because &quot;COB-M 99.9&quot;, which the question names, is not held',
    )
  })

  test('of the corpus: its documents, and each as it is cut without what is withdrawn', async () => {
    const listed = (await send('/documents', {})).text
    expect(listed).toMatch(/15 documents[^]*Conduct of Business Rulebook \(Mainland\)[^]*2024-07-01/)
    const row = /value="([^"]+)" \/>\s*<[^>]*value="([^"]+)" \/>\s*<button class="link"\s*><bdi>Customer Data Rulebook/
    const [, revision = '', snapshot = ''] = row.exec(listed) ?? []
    const before = await exposed()
    const opened = (await send('/document', { revision, snapshot })).text
    expect(opened).toMatch(/passages 1 to 10 of\s+10/)
    expect(await exposed()).toBe(before + 10)
    const [, label = '', secret = ''] =
      /<bdi>([^<]+)<\/bdi><\/b>[^]*?<p class="words" dir="auto">\s*([^<]{40})/.exec(opened) ?? []
    const input = { knowledgeBase: KNOWLEDGE_BASE, what: label, reason: 'corrected' } as const
    const key = await readSigningKey(reviewerKeyFile(settings))
    await withdraw(operator, storeOf(settings), input, [key])
    const after = (await send('/document', { revision, snapshot })).text
    expect(after).toContain('Withdrawn</b>: it is not served.')
    expect(after).not.toContain(secret)
    expect(await send('/document', { revision, snapshot: 'of another file' })).toMatchObject({ status: 422 })
    const unknown = '00000000-0000-4000-8000-000000000000'
    expect(await send('/document', { revision: unknown, snapshot })).toMatchObject({ status: 422 })
  })
})

describe('What the page refuses', () => {
  const { origin: _, ...withoutOrigin } = HEADERS
  const { 'x-console-token': __, ...withoutToken } = HEADERS
  test.each([
    ['a name that was bound to loopback', { ...HEADERS, host: 'rebound.example:80' }],
    ['a page of another origin', { ...HEADERS, origin: 'http://127.0.0.1:1' }],
    ['no origin', withoutOrigin],
    ['no token', withoutToken],
    ['the token of another start', { ...HEADERS, 'x-console-token': `${token.slice(1)}A` }],
  ])('%s: nothing is asked, charged or shown', async (_case, headers) => {
    const before = await exposed()
    for (const path of ['/ask', '/documents']) {
      const refused = await send(path, { question: ANSWERED_QUERY }, headers)
      expect(refused.status).toBe(403)
      expect(refused.text).not.toContain('COB-M')
    }
    expect(await exposed()).toBe(before)
  })

  test('what is no question is refused in one sentence, and so is what the gateway refuses', async () => {
    expect(await send('/ask', { query: 'x' })).toMatchObject({
      status: 400,
      text: expect.stringContaining('verdict bad'),
    })
    const long = await send('/ask', { question: 'a '.repeat(5_000) })
    expect(long).toMatchObject({ status: 422, text: expect.stringContaining('The gateway refused') })
  })
})

describe('The page in a browser', () => {
  const asked = async (tab: Page): Promise<void> => {
    await tab.keyboard.type(ABSTAINED_QUERY)
    await tab.keyboard.press('Enter')
    await tab.waitForSelector('#said article')
  }

  test.each(LOOKS)('answers the keyboard alone, without a fault or overflow, in $scheme on a $device', async (look) => {
    expect(await auditOf(browser, page.url, look, asked)).toEqual([])
    const { page: tab, faults, close } = await openInBrowser(browser, page.url, look)
    await asked(tab)
    expect(await tab.locator('#said article').count()).toBe(5)
    expect(decodeURI(tab.url())).toBe(page.url)
    const [kept, overflow] = await Promise.all([
      tab.context().storageState(),
      tab.evaluate<number>('document.documentElement.scrollWidth - innerWidth'),
    ])
    expect([kept, overflow]).toEqual([{ cookies: [], origins: [] }, 0])
    await tab.getByRole('button', { name: 'Documents' }).press('Enter')
    await tab.getByRole('button', { name: 'Customer Data Rulebook (Mainland)' }).press('Enter')
    await tab.waitForSelector('#held article')
    expect(faults).toEqual([])
    await close()
  })
})
