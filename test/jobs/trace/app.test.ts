import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createTraceApp } from '#jobs/trace/app.ts'
import { folderOfFile } from '#test/support/folder.ts'

const folder = folderOfFile()
const app = createTraceApp(join(folder, 'trace'))
mkdirSync(join(folder, 'trace/rules/versions/v1.tmp'), { recursive: true })
mkdirSync(join(folder, 'trace/rules/versions/v1'))
writeFileSync(join(folder, 'secret.json'), '{}')
for (const [name, text] of [
  ['rules/index.html', '<p>rules</p>'],
  ['rules/versions/v1.html', '<p>v1</p>'],
  ['rules/versions/v1/manifest.json', '{}'],
  ['rules/versions/v1.tmp/manifest.json', '{}'],
  ['.hidden.json', '{}'],
  ['notes.txt', 'x'],
] as const)
  writeFileSync(join(folder, 'trace', name), text)
afterAll(() => app.close())

test('pages are found with and without their ending, and files of a version may be kept for ever', async () => {
  const get = async (url: string): Promise<readonly unknown[]> => {
    const { statusCode, body, headers } = await app.inject(url)
    return [statusCode, statusCode === 308 ? headers.location : body, headers['cache-control']]
  }
  expect(await get('/rules')).toEqual([308, './rules/', undefined])
  expect(await get('/rules/?page=1')).toEqual([200, '<p>rules</p>', 'public, max-age=60'])
  expect(await get('/rules/versions/v1')).toEqual([200, '<p>v1</p>', 'public, max-age=60'])
  expect(await get('/rules/versions/v1/manifest.json')).toEqual([200, '{}', 'public, max-age=31536000, immutable'])
  expect((await app.inject({ method: 'HEAD', url: '/rules/' })).headers['content-length']).toBe('12')
})

test.each([
  '/../secret.json',
  '/rules/..%2f..%2f..%2fsecret.json',
  '/rules/%2e%2e/%2e%2e/secret.json',
  '/.hidden.json',
  '/notes.txt',
  '/rules/versions/',
  '/rules/versions',
  '/rules/versions/v1.tmp/manifest.json',
  '/nothing',
  `/${'a'.repeat(5_000)}`,
])('%s is not served', async (url) => {
  expect((await app.inject(url)).statusCode).toBe(404)
})

test('nothing is taken', async () => {
  expect((await app.inject({ method: 'POST', url: '/rules/', payload: 'x' })).statusCode).toBe(404)
})
