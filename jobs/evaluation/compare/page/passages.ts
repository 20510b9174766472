import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { passagesIn } from '#core/index/passages/records.ts'
import { COMPARISON_BOUNDS } from '#jobs/evaluation/compare/bounds.ts'
import { whole } from '#jobs/evaluation/page/numbers.ts'
import { dataElement, html } from '#jobs/platform/page/markup.ts'
import type { Markup } from '#jobs/platform/page/markup.ts'

interface DocumentPassages {
  readonly id: string
  readonly title: string
  /** Label, first day in force, text, and the id by which a question set names it. */
  readonly passages: (readonly [string, string, string, string])[]
}

/**
 * Lists the documents of a version; the page shows all passages of one where it is asked to. They are part of the page,
 * compressed, up to a bound of their characters.
 * @param folder of a verified artifact.
 */
export async function passagesSection(folder: string): Promise<Markup> {
  const documents = await documentsIn(folder)
  if (documents === undefined)
    return html`<h2>The passages</h2>
      <p>
        The version holds more than ${whole(COMPARISON_BOUNDS.pagePassageCharactersMax)} characters, so the page does
        not carry its passages.
      </p>`
  const listed = documents.toSorted((a, b) => (a.title < b.title ? -1 : 1))
  return html`<h2>The passages</h2>
    <p class="small">
      Choose a document; its passages appear below the list, each with the id by which a question set names it. This
      needs scripts.
    </p>
    <ul class="documents small">
      ${listed.map(
        ({ id, title, passages }) =>
          html`<li>
            <a href="#document-${id}"><bdi>${title}</bdi></a> <span class="soft">${whole(passages.length)}</span>
          </li>`,
      )}
    </ul>
    <section id="document" hidden></section>
    ${dataElement('passages', gzipSync(JSON.stringify(listed)))}`
}

/** @returns undefined where the texts exceed the bound. */
async function documentsIn(folder: string): Promise<readonly DocumentPassages[] | undefined> {
  const documents = new Map<string, DocumentPassages>()
  let characters = 0
  for await (const passage of passagesIn(join(folder, 'passages.jsonl'))) {
    const { document, citation, in_force_from: day, text, source_id: named } = passage
    characters += text.length
    if (characters > COMPARISON_BOUNDS.pagePassageCharactersMax) return undefined
    const held = documents.get(document.id) ?? { id: document.id, title: document.title, passages: [] }
    held.passages.push([citation.label, day, text, named])
    documents.set(document.id, held)
  }
  return [...documents.values()]
}
