import type { PassageRecord } from '#core/index/passages/record.ts'
import { NOTHING, html, type Markup } from '#jobs/platform/page/markup.ts'
import type { Captured } from './neighbours.ts'

/** The place of a passage in its captured file, marked, and the publisher's page. */
export function capturedBeside({ source, before, own, after }: Captured, passage: PassageRecord): Markup {
  return html`<p class="soft small">
      in the captured ${source}, ${placeOf(passage)}, <a href="${passage.citation.source_anchor}">publisher’s page</a>
    </p>
    <p class="words">${soft(before)}<bdi class="own">${own}</bdi>${soft(after)}</p>`
}

function soft(text: string): Markup {
  return text === '' ? NOTHING : html`<bdi class="soft">${text}</bdi>`
}

function placeOf({ selector }: PassageRecord): string {
  switch (selector.type) {
    case 'DataPositionSelector':
      return `bytes ${selector.start} to ${selector.end}`
    case 'JsonPointerSelector':
      return `line ${selector.line}`
    case 'XPathSelector':
      return selector.value
    case 'PdfSelector':
      return `page ${selector.lines[0]?.page ?? 0}`
    default:
      return selector satisfies never
  }
}
