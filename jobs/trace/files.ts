import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeDurably } from '#core/platform/durable-file.ts'
import { renderDocument } from '#jobs/platform/page/document.ts'
import type { Markup } from '#jobs/platform/page/markup.ts'

/** The one-file program of callers, which is published with each trace. */
const VERIFIER = fileURLToPath(new URL('./verify-reply.mjs', import.meta.url))

/** Writes a file durably unless it has this text already. */
export async function writeChanged(path: string, text: string): Promise<void> {
  if ((await readFile(path, 'utf8').catch(() => undefined)) !== text) await writeDurably(path, text)
}

export async function publishVerifier(root: string): Promise<void> {
  await writeChanged(join(root, 'verify-reply.mjs'), await readFile(VERIFIER, 'utf8'))
}

/** A page, and the same as JSON. `at` has no ending. */
export interface Page {
  readonly at: string
  readonly title: string
  readonly body: Markup
  readonly json: object
}

export async function writePage({ at, title, body, json }: Page): Promise<void> {
  await writeChanged(`${at}.json`, `${JSON.stringify(json, null, 2)}\n`)
  await writeChanged(`${at}.html`, renderDocument(title, body))
}
