import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createForwardWriter, forwardSchema, pairSlot, tokenHash } from '#core/artifact/forward.ts'

type Row = readonly [heading: readonly string[], text: readonly string[], continues: boolean]

function written(rows: readonly Row[]): { readonly tokens: Uint32Array; readonly offsets: number[]; readonly pairs: Uint32Array } & ReturnType<ReturnType<typeof createForwardWriter>['finish']> {
  const writer = createForwardWriter(rows.length)
  const tokens = Buffer.concat(rows.map(([heading, text, continues]) => writer.add({ language: 'en-GB', heading, text }, continues)))
  const finished = writer.finish()
  return { ...finished, tokens: uint32s(tokens), offsets: [...uint32s(finished.offsets)], pairs: uint32s(finished.pairs) } as never
}
