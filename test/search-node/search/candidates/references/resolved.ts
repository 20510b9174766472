import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ActEntry } from '#core/index/references/layout.ts'
import { openReferencesReader } from '#core/index/references/reader.ts'
import { createReferencesWriter } from '#core/index/references/writer.ts'
import { createActAliases } from '#law/citations/parser.ts'
import { resolveReferences } from '#search-node/search/candidates/references/resolve.ts'
import type { NamedRows } from '#search-node/search/interfaces.ts'

/** A passage of a version. */
export interface Passage {
  readonly references: readonly string[]
  readonly text?: string
  /** Seen under the entitlement, and under the request's own filters. */
  readonly entitled?: boolean
  readonly allowed?: boolean
  readonly withdrawn?: boolean
  readonly document?: number
}

const ACTS: readonly ActEntry[] = [
  { id: 'celex:32016R0679', aliases: ['GDPR'] },
  { id: 'rulebook:bee', aliases: ['BEE', 'BEE Rulebook'] },
]

/** Resolves the references of a query in a version with these passages, whose rows are their places. */
export function resolve(query: string, passages: readonly Passage[]): NamedRows {
  const writer = createReferencesWriter(passages.length)
  for (const [row, { references }] of passages.entries()) writer.add(row, { references: [...references] })
  const { references, bytes } = writer.finish(ACTS)
  const folder = mkdtempSync(join(tmpdir(), 'resolve-'))
  using ending = new DisposableStack()
  ending.defer(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'references.json'), JSON.stringify(references))
  writeFileSync(join(folder, 'references.bin'), bytes)
  using index = openReferencesReader(folder)
  const entitled = (row: number): boolean => passages[row]?.entitled !== false
  const seen = (row: number): boolean => entitled(row) && passages[row]?.allowed !== false
  return resolveReferences(query, index, createActAliases(index.actNames), {
    entitled,
    allowed: (row) => seen(row) && passages[row]?.withdrawn !== true,
    withdrawn: (row) => seen(row) && passages[row]?.withdrawn === true,
    text: (row) => passages[row]?.text ?? '',
    document: (row) => passages[row]?.document ?? 0,
  })
}
