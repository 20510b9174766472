import { randomUUID } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { countsOf, type Changes } from '#core/domain/changes.ts'
import type { Side } from '#core/db/version-differences.ts'
import { renameDurably } from '#core/platform/durable-file.ts'
import { openHashedFile } from '#core/platform/hashed-file.ts'
import { COMPARISON_BOUNDS } from './bounds.ts'
import { CHANGE_NAMES, type NamedChange } from './changes-file.ts'
import { keysOf } from './served-fields.ts'

/** Counts every change, writes it to the changes file, and keeps the first ones for the page. */
export type ChangesRecorder = Awaited<ReturnType<typeof openChangesRecorder>>

/** @param path of the changes file, which has this name once it is whole. */
export async function openChangesRecorder(path: string) {
  await mkdir(dirname(path), { recursive: true })
  const temporary = `${path}.${randomUUID()}.tmp`
  const file = await openHashedFile(temporary)
  const shown = changesToShow(COMPARISON_BOUNDS.changesShownMax)
  const held = {
    before: { documents: 0, provisions: 0, passages: 0 },
    after: { documents: 0, provisions: 0, passages: 0 },
  }
  const counts = new Map<NamedChange['kind'], number>()
  const of = (kind: NamedChange['kind']): number => counts.get(kind) ?? 0
  return {
    hold: (unit: keyof Changes['before'], side: Side, count = 1) => void (held[side][unit] += count),
    async record(change: NamedChange) {
      counts.set(change.kind, of(change.kind) + 1)
      shown.offer(change)
      await file.write(Buffer.from(`${oneLine(change)}\n`))
    },
    /** Puts the file in its place. @returns also the changes that the evaluation page shows. */
    async finish() {
      const { sha256 } = await file.finish()
      await renameDurably(temporary, path)
      const changes = {
        ...held,
        added: {
          documents: of('documents_added'),
          provisions: of('provisions_added'),
          passages: of('passages_added') + of('passages_repeated'),
        },
        counts: countsOf(of),
        sha256,
      }
      return { changes, shown: shown.first() }
    },
    /** Removes what was written; harmless after `finish`. */
    async [Symbol.asyncDispose]() {
      await file[Symbol.asyncDispose]()
      await rm(temporary, { force: true })
    },
  }
}

/** Readers of lines also end one at the separators of Unicode, which JSON does not escape. */
function oneLine(change: NamedChange): string {
  return JSON.stringify(change)
    .replaceAll('\u2028', String.raw`\u2028`)
    .replaceAll('\u2029', String.raw`\u2029`)
}

/** Keeps the changes that a page with room for `max` shows, of any number that are offered. */
export function changesToShow(max: number) {
  // Of a changed or added provision, its passages are shown.
  const kinds = keysOf(CHANGE_NAMES).filter((kind) => !/^provisions_(?:changed|added)$/.test(kind))
  const kept = new Map(['text', ...kinds].map((each) => [each, new Array<NamedChange>()]))
  let count = 0
  return {
    offer(change: NamedChange) {
      const list = kept.get(changeClassOf(change))
      if (list === undefined || list.length === max) return
      list.push(change)
      count += 1
      if (count > max) {
        ;[...kept.values()].findLast((others) => others.length > 0)?.pop()
        count -= 1
      }
    },
    first: () => [...kept.values()].flat(),
  }
}

/** An altered text comes before every other change. */
function changeClassOf(change: NamedChange): string {
  return change.kind === 'passages_changed' && change.before?.text !== undefined ? 'text' : change.kind
}
