import { expect, test } from 'vitest'
import { sha256 } from '#core/platform/digest.ts'
import { writeDurably } from '#core/platform/durable-file.ts'
import { assertReadable } from '#jobs/capture/readable.ts'
import { storeIn } from '#test/support/artifact.ts'
import { folderOfFile } from '#test/support/folder.ts'

const folder = folderOfFile()

/** Checks a file of JSONL whose last good bytes are lost. */
async function checked(text: string): Promise<void> {
  const store = storeIn(folder)
  const sha256Hex = sha256(text).toString('hex')
  await writeDurably(store.snapshotFile(sha256Hex), text)
  const file = { sourceName: 'records.jsonl', mediaType: 'application/x-ndjson', bytes: text.length }
  const last = [{ ...file, sha256: 'ab'.repeat(32) }]
  await assertReadable(store, { isAddress: false, isRecords: true }, [{ ...file, sha256: sha256Hex }], last)
}

test.each([
  ['an error page', 'Service unavailable', 'records.jsonl:1: not valid JSON'],
  ['half of itself', '{"id":"a","text":"Bees."}\n{"id":"b","te', 'records.jsonl:2: not valid JSON'],
  ['empty', '\n', 'records.jsonl:1: it holds no record'],
])('a file of JSONL that is %s is a bad capture with its line', async (_name, text, message) => {
  await expect(checked(text)).rejects.toThrow(message)
})

test('a file of JSONL with records is a good one, whatever single lines hold', async () => {
  await expect(checked('{"id":"a"}\n{"id":"b","text":"Bees."}\n')).resolves.toBe(undefined)
})
