import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { writeChanged } from '#core/platform/durable-file.ts'
import { renderDocument } from '#jobs/platform/page/document.ts'
import type { Markup } from '#jobs/platform/page/markup.ts'

/** The one-file programs of callers and of reviewers, which are published with each trace. */
const PROGRAMS = ['./verify-reply.mjs', '../review/sign-review.mjs'] as const

export async function publishPrograms(root: string): Promise<void> {
  for (const program of PROGRAMS)
    await writeChanged(join(root, basename(program)), await readFile(new URL(program, import.meta.url), 'utf8'))
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
