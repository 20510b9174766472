import { countsOf } from '#core/domain/changes.ts'
import type { Changes } from '#core/domain/changes.ts'
import type { Side } from '#core/db/version-differences.ts'
import { COMPARISON_BOUNDS } from './bounds.ts'
import { openChangesFile } from './changes-file.ts'
import type { NamedChange } from './changes-file.ts'
import { changesToShow } from './changes-to-show.ts'

export interface ComparedChanges {
  readonly changes: Changes
  /** The changes that the evaluation page shows. */
  readonly shown: readonly NamedChange[]
}

/** Counts every change, writes it to the changes file, and keeps the first ones for the page. */
export interface ChangesRecorder {
  /** Counts what a version holds. */
  hold(unit: keyof Changes['before'], side: Side, count?: number): void
  record(change: NamedChange): Promise<void>
  /** Puts the file in its place. */
  finish(): Promise<ComparedChanges>
  /** Removes what was written; harmless after `finish`. */
  abandon(): Promise<void>
}

/** @param path of the changes file. */
export async function openChangesRecorder(path: string): Promise<ChangesRecorder> {
  const file = await openChangesFile(path)
  const shown = changesToShow(COMPARISON_BOUNDS.changesShownMax)
  const held = {
    before: { documents: 0, provisions: 0, passages: 0 },
    after: { documents: 0, provisions: 0, passages: 0 },
  }
  const counts = new Map<NamedChange['kind'], number>()
  const of = (kind: NamedChange['kind']): number => counts.get(kind) ?? 0
  return {
    hold: (unit, side, count = 1) => void (held[side][unit] += count),
    async record(change) {
      counts.set(change.kind, of(change.kind) + 1)
      shown.offer(change)
      await file.append(change)
    },
    async finish() {
      const changes = {
        ...held,
        added: {
          documents: of('documents_added'),
          provisions: of('provisions_added'),
          passages: of('passages_added') + of('passages_repeated'),
        },
        counts: countsOf(of),
        sha256: await file.finish(),
      }
      return { changes, shown: shown.first() }
    },
    abandon: () => file.abandon(),
  }
}
