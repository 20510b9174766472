import type { Imported } from '#core/db/imports.ts'
import type { BuildParameters } from '#jobs/version-build/parameters.ts'
import { BUILD_BOUNDS } from '#jobs/version-build/bounds.ts'
import type { Corpus } from '#jobs/version-build/sort.ts'
import { importReportSchema, type ImportReport, type RecordLocation } from '#law/import/report/report.ts'
import { whole } from '#jobs/evaluation/page/numbers.ts'
import { NOTHING, html, type Markup } from '#jobs/platform/page/markup.ts'

/** What the build decides about withdrawals, those of which nothing was there, and what else was found. */
type Withdrawals = BuildParameters['withdrawals'] &
  Pick<Corpus, 'withdrawals_without_passages'> & { readonly again: readonly string[] }

/**
 * Shows what the import left out or derived, and how its mapping differs from that of the active version.
 * @param active undefined: no version was active.
 */
export function importSection(
  imported: Imported,
  active: Imported | undefined,
  { drop, restore, withdrawals_without_passages: none, again }: Withdrawals,
): Markup {
  const without = new Set(none)
  const findings = importReportSchema.parse(imported.report)
  const { files, records_read, passages, reasons, losses, omissions, derived_values, derived_ends, coverage } = findings
  const derived = Object.entries(derived_values).map(([name, count]) => `${name}: ${whole(count)}`)
  return html`<h2>The import</h2>
    <p>Files: ${whole(files)}. Records: ${whole(records_read)}. Passages: ${whole(passages)}.</p>
    ${listOf(
      'Law that no passage states, accepted by name',
      losses.map((one) => [placeOf(one), `${one.reason}${one.text === undefined ? '' : `: ${one.text}`}`]),
    )}
    ${listOf(
      'Reasons for which records were skipped',
      Object.entries(reasons).map(([reason, count]) => [`${whole(count)} ×`, reason]),
    )}
    ${coverageOf(coverage)}
    ${listOf(
      'Left out by a rule of the reader',
      omissions.map((one) => [placeOf(one), `${one.rule}: ${one.text}`]),
    )}
    ${listOf(
      'Texts that end when a later one takes effect, not on a stated day',
      derived_ends.map((one) => [placeOf(one), `ends on ${one.day}`]),
    )}
    ${listOf(
      'Derived, not stated by the source (records)',
      derived.map((one) => ['', one]),
    )}
    ${listOf('Withdrawals whose passages were left out', drop.filter(({ id }) => !without.has(id)).map(withdrawalShown))}
    ${listOf(
      'Withdrawals that left nothing out: their ids are gone',
      drop.filter(({ id }) => without.has(id)).map(withdrawalShown),
    )}
    ${listOf(
      'Withdrawals that this version ends for itself: what they name is served again',
      restore.map((id) => [id, 'restored']),
    )}
    ${listOf(
      'Withdrawn law under another id: the activation is refused until it is decided',
      again.map((sentence) => ['', sentence]),
    )}
    ${
      active === undefined
        ? NOTHING
        : listOf('Changes of the mapping', mappingChanges(flat(active.mapping), flat(imported.mapping)))
    }`
}

function withdrawalShown(withdrawal: Withdrawals['drop'][number]): readonly [place: string, text: string] {
  const { id, document, chunk_id: chunk, provisions, label = 'without a label' } = withdrawal
  if (chunk !== '') return [id, `${label}: passage ${chunk} of document ${document}`]
  return [id, `${label}: ${provisions.length === 0 ? '' : 'provision of '}document ${document}`]
}

/** Sources without characters of law, such as JSONL, have no share. */
function coverageOf({ characters, uncovered, remainder }: ImportReport['coverage']): Markup {
  if (characters === 0) return NOTHING
  const share = ((1 - uncovered / characters) * 100).toFixed(3)
  return html`<p class="small">
      Of ${whole(characters)} characters of law, ${share} % lie in one passage or a named omission.
    </p>
    ${listOf(
      'In no passage',
      remainder.map((one) => [placeOf(one), one.text]),
    )}`
}

function placeOf({ source, line, id }: RecordLocation): string {
  return `${source}:${line}${id === undefined ? '' : ` ${id}`}`
}

function listOf(title: string, entries: readonly (readonly [place: string, text: string])[]): Markup {
  const shown = entries.slice(0, BUILD_BOUNDS.importFindingsShownMax)
  const more =
    entries.length > shown.length ? html`<p class="soft">and ${whole(entries.length - shown.length)} more</p>` : NOTHING
  if (entries.length === 0) return html`<p class="small">${title}: none.</p>`
  return html`<details class="group">
    <summary>${title}: <b>${whole(entries.length)}</b></summary>
    <ul class="small">
      ${shown.map(([place, text]) => html`<li><span class="soft">${place}</span> <bdi>${text}</bdi></li>`)}
    </ul>
    ${more}
  </details>`
}

/** The values of a mapping by their path. */
function flat(value: unknown, path = ''): ReadonlyMap<string, string> {
  if (typeof value !== 'object' || value === null) return new Map([[path, JSON.stringify(value) ?? '']])
  return new Map(
    Object.entries(value).flatMap(([key, inner]) => [...flat(inner, path === '' ? key : `${path}.${key}`)]),
  )
}

function mappingChanges(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): readonly (readonly [string, string])[] {
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((path) => before.get(path) !== after.get(path))
    .sort()
    .map((path) => [path, `${before.get(path) ?? 'absent'} → ${after.get(path) ?? 'absent'}`])
}
