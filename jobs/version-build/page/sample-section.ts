import { capturedBeside } from '#jobs/evaluation/compare/page/captured.ts'
import { whole } from '#jobs/evaluation/page/numbers.ts'
import { NOTHING, html, type Markup } from '#jobs/platform/page/markup.ts'
import { reviewTools } from '#jobs/platform/page/document.ts'
import { SAMPLE_KINDS, type SampledPassage } from './sample.ts'

/** Shows sampled passages beside their captured source, by document, with a box to tick. */
export function sampleSection(sample: readonly SampledPassage[]): Markup {
  if (sample.length === 0) return NOTHING
  const byDocument = Map.groupBy(sample, ({ passage }) => passage.document.id)
  const counts = SAMPLE_KINDS.map((kind) => [kind, sample.filter(({ kinds }) => kinds.includes(kind)).length] as const)
  return html`<h2>Passages beside their source</h2>
    <p class="small">
      No version was active, so there is nothing to compare with. ${whole(sample.length)} passages were drawn to be read
      beside the captured files; one may be of several kinds:
      ${counts.map(([kind, count]) => `${kind} (${whole(count)})`).join(', ')}.
    </p>
    <section>
      ${reviewTools(SAMPLE_KINDS.map((kind) => [nameOf(kind), kind]))}
      ${[...byDocument].map(
        ([id, of]) =>
          html`<details class="group" open>
            <summary>
              <b><bdi>${of[0]?.passage.document.title ?? ''}</bdi></b>
              <span class="soft small">${whole(of.length)} of its passages</span>
            </summary>
            <p class="small"><a href="#document-${id}">All passages of the document</a></p>
            ${of.map(card)}
          </details>`,
      )}
    </section>`
}

/** A name without spaces. */
function nameOf(kind: string): string {
  return kind.replaceAll(' ', '_')
}

function card({ passage, kinds, captured }: SampledPassage): Markup {
  const { chunk_id: id, citation, document, in_force_from: from, in_force_to: to, text, metadata } = passage
  const until = to === null ? '' : ` to ${to}`
  return html`<article class="miss change" id="${id}" data-kinds="${kinds.map(nameOf).join(' ')}">
    <p class="small">
      <label
        ><input type="checkbox" class="tick" /> <b><bdi>${citation.label}</bdi></b></label
      >
      <span class="soft">· ${kinds.join(', ')} · ${metadata.language} · in force from ${from}${until}</span>
    </p>
    <div class="sides">
      <div>
        <p class="soft small">as it is served</p>
        <p class="words"><bdi>${text}</bdi></p>
      </div>
      <div>${capturedBeside(captured, passage)}</div>
    </div>
    <p class="soft small">published ${document.published_at.slice(0, 10)} · ${document.authority}</p>
  </article>`
}
