import type { PassageRecord } from '#core/index/passages/record.ts'
import { figure, whole } from '#jobs/evaluation/page/numbers.ts'
import { tableOf } from '#jobs/platform/page/document.ts'
import { NOTHING, html, type Markup } from '#jobs/platform/page/markup.ts'
import { segmentsOf, type Explained } from '#operator/commands/explain.ts'
import { UNSUPPORTED } from '#operator/commands/requests.ts'
import type { HeldDocument } from './documents.ts'

/** Passages that are shown of what was found, and of a document at once. */
export const FOUND_SHOWN = 5
export const CUT_SHOWN = 100
const LISTED_SHOWN = 1_000

const ASKING = html`<nav class="tabs">
    <button type="button" data-view="asking" aria-pressed="true">Ask</button>
    <button type="button" data-view="holding" aria-pressed="false">Documents</button>
  </nav>
  <section id="asking" aria-label="Ask">
    <form action="ask" data-into="said" class="ask">
      <label for="question">Question</label>
      <input id="question" name="question" required autofocus autocomplete="off" spellcheck="false" />
      <button>Ask</button>
    </form>
    <div id="said" aria-live="polite">
      <p class="soft">
        Each question is asked at the gateway with the demo’s own key, and charged. You see what was found, also where
        the service abstains.
      </p>
    </div>
  </section>`

/** The page without any content of the corpus: `page.mjs` asks for what is shown, and has the token. */
export function renderConsole(title: string, asks: boolean): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="style.css" />
        <script type="module" src="page.mjs"></script>
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          ${asks ? ASKING : NOTHING}
          <noscript><p class="verdict bad">This page needs its script: it asks for what is shown.</p></noscript>
          <section id="holding" aria-label="Documents" ${asks ? 'hidden' : ''}>
            <form action="documents" data-into="held"></form>
            <div id="held" aria-live="polite"></div>
          </section>
        </main>
      </body>
    </html> `.source
}

/** What is shown of one question. @param requests the same request in the languages of callers. */
export function renderExplained(explained: Explained, requests: readonly (readonly [string, string])[]): Markup {
  const { decision, because, unsupported_references: missing, searched, passages, narrowed_to: narrowed } = explained
  const shown = passages.slice(0, FOUND_SHOWN)
  const answers = decision === 'answer'
  const rewritten = searched[0] === 'the question' ? [] : searched
  return html`<h2 tabindex="-1">${answers ? 'Answer' : 'Abstention'}</h2>
    <p class="verdict ${answers ? 'good' : 'doubtful'}">${because}</p>
    ${bar(explained.observed_value, explained.threshold)}
    ${missing
      .slice(1)
      .map(
        ({ text, reason }) => html`<p class="verdict bad"><b>${text}</b> is named too and ${UNSUPPORTED[reason]}.</p>`,
      )}
    <p class="small soft">
      ${whole(narrowed.passages)} passages may be searched, in force on ${narrowed.in_force_on}.
      ${whole(passages.length)} were found${rewritten.length === 0 ? '.' : ', by what the rewriter asked:'}
    </p>
    ${
      rewritten.length === 0
        ? NOTHING
        : html`<ul>
            ${rewritten.map((query) => html`<li><bdi>${query}</bdi></li>`)}
          </ul>`
    }
    <h3>${answers ? 'Passages' : 'Found, not trusted'}</h3>
    ${shown.length === 0 ? html`<p>Nothing was found.</p>` : shown.map((passage) => foundPassage(passage, answers))}
    <h3>The same request</h3>
    <p class="small soft">The variable <code>EVIDENCE_API_KEY</code> holds a key; the demo has printed one.</p>
    ${requests.map(
      ([name, code]) =>
        html`<details>
          <summary>${name}</summary>
          <pre class="scroll" tabindex="0" aria-label="${name}"><code>${code}</code></pre>
        </details>`,
    )}
    <h3>How it was decided</h3>
    <details>
      <summary>Time by stage</summary>
      ${tableOf(
        ['stage', 'ms'],
        Object.entries(explained.stage_ms ?? {}).map(([stage, ms]) => [stage, String(ms)]),
      )}
    </details>
    <details>
      <summary>What the evidence is made of</summary>
      ${tableOf(
        ['predictor', 'value', 'weight', 'adds to the log-odds'],
        explained.predictors.map(({ name, value, weight, adds }) => [name, ...[value, weight, adds].map(figure)]),
      )}
    </details>
    <p class="small soft">
      Request <code>${explained.request_id}</code>, decided by <code>${explained.signal}</code>.
    </p>`
}

/** The observed value on a scale from 0 to 1, with the threshold. */
function bar(value: number, threshold: number): Markup {
  const at = (share: number): string => `${(share * 100).toFixed(1)}%`
  const said = `Evidence ${figure(value)}, threshold ${figure(threshold)}`
  return html`<figure class="bar ${value >= threshold ? 'good' : 'doubtful'}">
    <svg role="img" aria-label="${said}" width="100%" height="22">
      <rect class="whole" width="100%" height="14" y="4" />
      <rect class="part" width="${at(value)}" height="14" y="4" />
      <rect class="mark" width="3" height="22" x="${at(threshold)}" />
    </svg>
    <figcaption class="small">${said}</figcaption>
  </figure>`
}

function foundPassage(passage: Explained['passages'][number], answers: boolean): Markup {
  const { label, document, source, text, served, named, reader, matched_words: matched } = passage
  const words = new Set(matched)
  const marked = segmentsOf(text).map((each) => (words.has(each) ? html`<mark>${each}</mark>` : each))
  const mark = served ? html`<b class="good">served</b>` : answers ? 'found, not served' : 'found, not trusted'
  const facts = [
    ['score', figure(passage.score)],
    ['by words', figure(passage.by_words)],
    ...(passage.by_vector === null ? [] : [['by vectors', figure(passage.by_vector)]]),
    ['named in the question', named ? 'yes' : 'no'],
    ...(reader === null ? [] : [['reader', figure(reader)]]),
  ]
  return html`<article class="miss">
    <p class="small">
      <b><bdi>${label}</bdi></b> <span class="soft">· <bdi>${document}</bdi> ·</span> ${mark} ·
      <a href="${source}" rel="noreferrer noopener" target="_blank">publisher’s page</a>
    </p>
    <ul class="facts small soft">
      ${facts.map(([name = '', value = '']) => html`<li>${name} <b>${value}</b></li>`)}
    </ul>
    <p class="words" dir="auto">${marked}</p>
    <p class="small soft">${matched.length === 0 ? 'No word matches.' : html`Matched words: ${matched.join(', ')}`}</p>
  </article>`
}

/** `unserved`: why nothing of it is served. */
export type ListedDocument = Omit<HeldDocument, 'published_at' | 'effective_at' | 'derived' | 'id'> & {
  readonly unserved?: string | undefined
}

/** A passage as it is cut; one that is withdrawn is not served, and no page shows it. */
export interface CutPassage {
  readonly passage: Omit<PassageRecord, 'position'>
  readonly withdrawn: boolean
  readonly unserved?: string | undefined
}

function linkTo(url: string): Markup {
  return url === '' ? NOTHING : html`· <a href="${url}" rel="noreferrer noopener" target="_blank">publisher’s page</a>`
}

/** The documents by title. @param said above them. */
export function renderDocuments(documents: readonly ListedDocument[], said = NOTHING): Markup {
  const listed = documents.slice(0, LISTED_SHOWN)
  return html`<h2 tabindex="-1">${whole(documents.length)} documents</h2>
    ${said}
    ${listed.length === documents.length ? NOTHING : html`<p class="soft">The first ${whole(LISTED_SHOWN)} by title.</p>`}
    ${tableOf(
      ['document', 'in force from', 'passages'],
      listed.map((each) => [
        html`<form action="document" data-into="held">
            <input type="hidden" name="revision" value="${each.revision_id}" />
            <input type="hidden" name="snapshot" value="${each.snapshot}" />
            <button class="link" ${each.passages === 0 ? 'disabled' : ''}><bdi>${each.title}</bdi></button>
          </form>
          <small>
            <bdi>${each.authority}</bdi> ·
            ${each.file}${each.capturedAt === null ? '' : `, captured ${each.capturedAt.slice(0, 10)}`}
            ${linkTo(each.canonical_url)}
          </small>
          ${each.unserved === undefined ? NOTHING : html`<small><b class="bad">Not served</b>: ${each.unserved}</small>`}`,
        html`<span class="state">${each.in_force_from}</span>
          ${each.in_force_to === null ? NOTHING : html`to <span class="state">${each.in_force_to}</span>`}`,
        whole(each.passages),
      ]),
      'words',
    )}`
}

/** Passages of one document as it is cut. @param from place of the first one that is shown. */
export function renderDocument(passages: readonly CutPassage[], from: number): Markup {
  const [first] = passages
  if (first === undefined) return NOTHING
  const { document, citation, in_force_from: day } = first.passage
  const until = Math.min(from + CUT_SHOWN, passages.length)
  const turn = (name: string, to: number): Markup =>
    html`<form action="document" data-into="held">
      <input type="hidden" name="revision" value="${document.revision_id}" />
      <input type="hidden" name="snapshot" value="${citation.source_snapshot_id}" />
      <input type="hidden" name="from" value="${to}" />
      <button>${name}</button>
    </form>`
  return html`<form action="documents" data-into="held"><button>All documents</button></form>
    <h2 tabindex="-1"><bdi>${document.title}</bdi></h2>
    <p class="small soft">
      <bdi>${document.authority}</bdi> · in force from ${day} · passages ${whole(from + 1)} to ${whole(until)} of
      ${whole(passages.length)}
    </p>
    ${passages.slice(from, until).map(cutPassage)}
    <div class="facts">
      ${from === 0 ? NOTHING : turn('Before', Math.max(0, from - CUT_SHOWN))}
      ${until === passages.length ? NOTHING : turn('Next', until)}
    </div>`
}

function cutPassage({ passage, withdrawn, unserved }: CutPassage): Markup {
  const { citation, metadata, text, in_force_to: to } = passage
  const shown = withdrawn ? html`<b class="bad">Withdrawn</b>: it is not served.` : text
  return html`<article class="miss passage">
    <p class="small">
      <b><bdi>${citation.label}</bdi></b>
      <span class="soft"
        >· ${unserved ?? metadata.verification_status}${to === null ? '' : ` · in force to ${to}`}</span
      >
      ${linkTo(citation.source_anchor)}
    </p>
    <p class="words" dir="auto">${shown}</p>
  </article>`
}

/** @param key in double quotes of a shell. */
export function curlOf(url: string, key: string, body: object): string {
  const authorization = `-H "Authorization: Bearer ${key}" \\\n  -H 'Content-Type: application/json'`
  return `curl -s ${url}/v1/retrieve ${authorization} -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`
}

/** @param body of the request. @returns it as curl, TypeScript and Python send it. */
export function sameRequest(url: string, body: { readonly query: string; readonly knowledge_base: string }) {
  const base = JSON.stringify(url)
  const [query, knowledgeBase] = [JSON.stringify(body.query), JSON.stringify(body.knowledge_base)]
  return [
    ['curl', curlOf(url, '$EVIDENCE_API_KEY', body)],
    [
      'TypeScript',
      `import { EvidenceClient } from 'evidence-retrieval-client'\n\n` +
        `const client = new EvidenceClient({ baseUrl: ${base}, apiKey: process.env['EVIDENCE_API_KEY'] ?? '' })\n` +
        `const reply = await client.retrieve({ query: ${query}, knowledge_base: ${knowledgeBase} })`,
    ],
    [
      'Python',
      `import os\nfrom evidence_retrieval import EvidenceClient\n\n` +
        `client = EvidenceClient(${base}, os.environ["EVIDENCE_API_KEY"])\n` +
        `reply = client.retrieve(${query}, ${knowledgeBase})`,
    ],
  ] as const
}

/** One sentence in place of a result. */
export function renderFault(sentence: string): Markup {
  return html`<p class="verdict bad" tabindex="-1">${sentence}</p>`
}
