import { join } from 'node:path'
import type { TracedBase } from '#core/db/version-chain.ts'
import { CHANGE_KINDS, changesInWords } from '#core/domain/changes.ts'
import type { Manifest } from '#core/index/format/manifest.ts'
import type { Source } from '#core/index/passages/sources.ts'
import { NOTHING, html, type Markup } from '#jobs/platform/page/markup.ts'
import { tableOf, type Cell } from '#jobs/platform/page/document.ts'
import type { Page } from './files.ts'
import type { Activation } from './history.ts'

/** A version with every activation of it, oldest first. */
export interface TracedVersion {
  readonly id: string
  /** Its published files. */
  readonly folder: string
  readonly manifest: Manifest
  readonly activations: readonly Activation[]
}

export interface TracedSnapshot {
  readonly source: Source
  /** Ids of the versions that contain it, oldest first. */
  readonly versions: readonly string[]
}

const ROWS_SHOWN_MAX = 1_000
const TITLES_SHOWN_MAX = 3
const IN_WORDS = { activate: 'activated', rollback: 'rolled back to' } as const

function listOf(head: readonly string[], rows: readonly (readonly Cell[])[]): Markup {
  const more = rows.length - ROWS_SHOWN_MAX
  return html`${tableOf(head, rows.slice(0, ROWS_SHOWN_MAX), 'words')}
  ${more > 0 ? html`<p>${more} more are in the JSON.</p>` : NOTHING}`
}

const factsOf = (facts: readonly (readonly Cell[])[]): Markup => tableOf([], facts, 'words')
const code = (text: string): Markup => html`<code>${text}</code>`
const link = (to: string, text: Cell): Markup => html`<a href="${to}">${text}</a>`
const asJson = (file: string): Markup => html`<p class="soft small">The same as JSON: ${link(file, code(file))}</p>`
const days = (text: string): Markup => html`<span class="state">${text}</span>`
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

const KEYS_NOTE = 'Take the public key from the operator by another way: a trace that names its own key proves nothing.'

export function rootPage(root: string, slugs: readonly string[]): Page {
  return {
    at: join(root, 'index'),
    title: 'Source trace',
    json: { knowledge_bases: slugs },
    body: html`<p>
        What each version of these knowledge bases holds, where it comes from and who approved it. The trace holds no
        text and lists no passages.
      </p>
      <ul>
        ${slugs.map((slug) => html`<li>${link(`${slug}/index.html`, slug)}</li>`)}
      </ul>
      <h2>Verifying a reply</h2>
      <p>
        ${link('verify-reply.mjs', code('verify-reply.mjs'))} proves or refutes each passage of a saved reply. It is one
        file, without dependencies, for Node 20 and later.
      </p>
      <p>
        <code>node verify-reply.mjs --reply reply.json --trace URL_OF_THIS_PAGE --public-key KEY_OF_THE_OPERATOR</code>
      </p>
      <p class="soft">${KEYS_NOTE}</p>
      <p>Reviewers sign with ${link('sign-review.mjs', code('sign-review.mjs'))}, which shows what it signs.</p>
      ${asJson('index.json')}`,
  }
}

interface BaseParts {
  /** Those that have a page. */
  readonly versions: readonly TracedVersion[]
  readonly history: readonly Activation[]
  readonly publicKeys: readonly Uint8Array[]
}

/** A knowledge base: its active version and its version chain. */
export function basePage(folder: string, { slug, title }: TracedBase, { history, versions, publicKeys }: BaseParts) {
  const active = history.at(-1)?.entry.version_id ?? ''
  const newestFirst = history.toReversed()
  const versionCell = (id: string | null): Cell =>
    id === null || versions.some((version) => version.id === id) ? versionLink('versions/', id) : code(id)
  return {
    at: join(folder, 'index'),
    title,
    json: {
      knowledge_base: slug,
      title,
      active_version: active,
      public_keys: publicKeys.map(base64),
      activations: history.map(({ entry }) => entry),
    },
    body: html`<p class="soft">${link('../index.html', 'Source trace')} · ${code(slug)}</p>
      <p>Active version: ${versionCell(active)}</p>
      <h2>History</h2>
      <p>
        Every activation is an entry that is signed and holds the SHA-256 of the entry before
        (${link('chain.jsonl', code('chain.jsonl'))}). Who keeps the newest entry
        (${link('head.json', code('head.json'))}) can prove later that the history was only extended.
      </p>
      ${listOf(
        ['Entry', 'Day and time', 'Kind', 'Version', 'Replaced', 'Approved by'],
        newestFirst.map(({ sequence, entry, record }) => [
          sequence,
          entry.activated_at,
          IN_WORDS[entry.kind],
          versionCell(entry.version_id),
          versionCell(entry.predecessor),
          record.approvals.map(({ reviewer }) => reviewer.name).join(', ') || '–',
        ]),
      )}
      <h2>Public keys</h2>
      <p class="soft">${KEYS_NOTE}</p>
      <ul>
        ${publicKeys.map((key) => html`<li>${code(base64(key))}</li>`)}
      </ul>
      ${asJson('index.json')}`,
  }
}

function versionLink(path: string, id: string | null): Cell {
  return id === null ? '–' : link(`${path}${id}.html`, code(id))
}

interface VersionParts extends TracedVersion, Pick<BaseParts, 'publicKeys'> {
  readonly sources: readonly Source[]
}

/** A version: its signed manifest, its activations with their approvals, and its sources. */
export function versionPage(
  folder: string,
  { slug, title }: TracedBase,
  { id, manifest, activations, sources, publicKeys }: VersionParts,
): Page {
  const [first] = activations
  return {
    at: join(folder, 'versions', id),
    title: `Version ${id}`,
    json: {
      knowledge_base: slug,
      version_id: id,
      manifest_sha256: first?.entry.manifest_sha256,
      public_keys: publicKeys.map(base64),
      merkle_root: manifest.merkle_root,
      passages: manifest.passages,
      documents: manifest.documents,
      predecessor: first?.entry.predecessor,
      activations: activations.map(({ entry, record }) => ({ entry, record })),
      snapshots: sources.map(({ id: snapshot, source_name: name }) => ({ id: snapshot, source_name: name })),
    },
    body: html`<p class="soft">${link('../../index.html', 'Source trace')} · ${link('../index.html', title)}</p>
      ${factsOf([
        ['Passages', manifest.passages],
        ['Documents', manifest.documents],
        ['Predecessor', versionLink('', first?.entry.predecessor ?? null)],
        ['Merkle root of the passages', code(manifest.merkle_root)],
        [
          'Manifest',
          html`${link(`${id}/manifest.json`, 'manifest.json')}, signature ${link(`${id}/manifest.sig`, 'manifest.sig')}`,
        ],
        ['SHA-256 of the manifest', code(first?.entry.manifest_sha256 ?? '')],
        ['Public keys of the operator', html`${publicKeys.map((key) => html`${code(base64(key))} `)}`],
      ])}
      ${activations.map(activationOf)}
      <h2>Sources</h2>
      ${listOf(
        ['Source', 'Documents', 'Bytes', 'SHA-256'],
        sources.map(({ id: snapshot, source_name: name, revisions, bytes, sha256 }) => [
          link(`../snapshots/${snapshot}.html`, name),
          [...new Set(revisions.map((revision) => revision.title))].slice(0, TITLES_SHOWN_MAX).join('; '),
          bytes,
          code(sha256),
        ]),
      )}
      ${asJson(`${id}.json`)}`,
  }
}

function activationOf({ sequence, entry, record: { changes, approvals, profile } }: Activation): Markup {
  const counted = changes === null ? [] : CHANGE_KINDS.filter((kind) => changes.counts[kind] > 0)
  return html`<h2>Entry ${sequence}: ${IN_WORDS[entry.kind]} at ${entry.activated_at}</h2>
    ${
      changes === null
        ? html`<p>${entry.kind === 'rollback' ? 'It was active before.' : 'It is the first version.'}</p>`
        : html`<p>Against its predecessor: ${changesInWords(changes)}.</p>`
    }
    ${
      counted.length === 0 || changes === null
        ? NOTHING
        : listOf(
            ['Kind of change', 'Count'],
            counted.map((kind) => [kind.replaceAll('_', ' '), changes.counts[kind]]),
          )
    }
    <p class="soft small">
      Profile ${code(profile.id)}. What it rested on, as signed:
      ${link(`../activations/${sequence}.json`, code(`${sequence}.json`))}
    </p>
    ${approvals.map(
      ({ reviewer, public_key: key, statement, signature }) =>
        html`<h3>Approved by ${reviewer.name}</h3>
          ${factsOf([
            ['Public key', code(key)],
            ['Signature', code(signature)],
          ])}
          <details>
            <summary>What was signed</summary>
            <p class="words small">${statement}</p>
          </details>`,
    )}`
}

/** A captured source, the revisions that were read from it, and the versions that contain it. */
export function snapshotPage(folder: string, { slug, title }: TracedBase, { source, versions }: TracedSnapshot): Page {
  const { revisions, ...facts } = source
  return {
    at: join(folder, 'snapshots', source.id),
    title: source.source_name,
    json: { knowledge_base: slug, ...facts, versions, revisions },
    body: html`<p class="soft">${link('../../index.html', 'Source trace')} · ${link('../index.html', title)}</p>
      ${factsOf([
        ['Snapshot', code(source.id)],
        ['SHA-256', code(source.sha256)],
        ['Bytes', source.bytes],
        ['Media type', source.media_type],
        ['Captured', `${source.captured_at ?? 'not on record'}, by ${source.captured_by ?? 'a command not on record'}`],
        ['Licence', source.licence ?? 'not stated'],
      ])}
      <h2>Revisions read from it</h2>
      ${listOf(
        ['Document', 'Authority', 'Published', 'Effective', 'In force', 'Derived', 'Passages'],
        revisions.map((revision) => [
          html`${link(revision.canonical_url, revision.title)}<small>${revision.canonical_url}</small>`,
          revision.authority,
          days(revision.published_at.slice(0, 10)),
          days(revision.effective_at.slice(0, 10)),
          days(
            revision.in_force_to === null
              ? `since ${revision.in_force_from}`
              : `${revision.in_force_from} to ${revision.in_force_to}`,
          ),
          derivedInWords(revision.derived),
          revision.passages,
        ]),
      )}
      <h2>Versions that contain it</h2>
      <ul>
        ${versions.map((id) => html`<li>${versionLink('../versions/', id)}</li>`)}
      </ul>
      ${asJson(`${source.id}.json`)}`,
  }
}

function derivedInWords(derived: Readonly<Record<string, string>>): string {
  return (
    Object.entries(derived)
      .map(([field, rule]) => `${field}: ${rule}`)
      .join('; ') || '–'
  )
}
