import { createHash } from 'node:crypto'
import {
  closeSync,
  cpSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { signManifest } from '#core/index/format/manifest.ts'
import { createSignedStore } from '#core/index/format/store.ts'
import { rankingOf } from '#core/domain/retrieval-profile.ts'
import type { FoundPassage, SearchQuery } from '#core/domain/search.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import { assertArtifactAsRecorded } from '#jobs/review/files.ts'
import { signingKeys } from '#test/support/secrets.ts'
import type { Draw } from '../draw.ts'
import type { BuiltLaw } from '../laboratory.ts'
import { TODAY, surfaceOf } from '../surface.ts'
import type { Violation } from '../oracle.ts'
import { refusalOf, type Attack } from './attack.ts'

const TIMEOUT_MS = 60_000
const PROBES_MAX = 12
const ANOTHER_KEY = signingKeys()

/** Writes other bytes into a file that somebody may have open. @returns what was done. */
export function editInPlace(folder: string, draw: Draw): string {
  switch (draw.below(5)) {
    case 0:
      return editText(folder, draw)
    case 1:
      return withDigests(folder, editText(folder, draw))
    case 2:
      return swapLines(folder, draw)
    default:
      return flipByte(folder, draw)
  }
}

function write(path: string, bytes: Uint8Array, at: number): void {
  const file = openSync(path, 'r+')
  writeSync(file, bytes, 0, bytes.length, at)
  closeSync(file)
}

/** Puts as many other letters into the text of each passage. */
function editText(folder: string, draw: Draw): string {
  const path = join(folder, 'passages.jsonl')
  const text = readFileSync(path, 'utf8')
  const [from, to] = draw.pick([
    [/\bmust\b/g, 'need'],
    [/\bshall\b/g, 'might'],
    [/\b(?:the|der|les|des|die)\b/g, 'any'],
    [/e/g, 'o'],
  ] as const)
  const lines = text
    .split('\n')
    .map((line) => line.replace(/"text":"(?:[^"\\]|\\.)*"/, (value) => `"text"${value.slice(6).replaceAll(from, to)}`))
  const altered = Buffer.from(lines.join('\n'))
  if (altered.equals(Buffer.from(text))) {
    write(path, Buffer.from('%'), text.indexOf('"text":"') + 8)
    return 'passages.jsonl with another first letter'
  }
  write(path, altered.subarray(0, Buffer.byteLength(text)), 0)
  return `passages.jsonl with ${String(from)} as ${to}`
}

/** Makes the digests of the lines fit; the manifest has the digest of the file of digests. */
function withDigests(folder: string, what: string): string {
  const lines = readFileSync(join(folder, 'passages.jsonl'), 'utf8').split(/(?<=\n)/)
  const digests = lines.map((line) => createHash('sha256').update(line).digest().subarray(0, 16))
  write(join(folder, 'passages.sha256'), Buffer.concat(digests), 0)
  return `${what}, and the digests of the lines`
}

function swapLines(folder: string, draw: Draw): string {
  const path = join(folder, 'passages.jsonl')
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  const shuffled = draw.shuffled(lines)
  write(path, Buffer.from(`${shuffled.join('\n')}\n`), 0)
  return shuffled.join('\n') === lines.join('\n') ? flipByte(folder, draw) : 'lines of passages.jsonl in another order'
}

function flipByte(folder: string, draw: Draw): string {
  const name = draw.pick(readdirSync(folder).toSorted())
  const path = join(folder, name)
  const bytes = readFileSync(path)
  if (bytes.length === 0) return editText(folder, draw)
  const at = draw.below(bytes.length)
  write(path, Buffer.from([(bytes[at] ?? 0) ^ (1 << draw.below(8))]), at)
  return `one bit of ${name} at ${at}`
}

/** Replaces files, as somebody with the rights of the store can. @returns what was done. */
function replaceFiles(folder: string, draw: Draw): string {
  const name = draw.pick(readdirSync(folder).toSorted())
  const path = join(folder, name)
  switch (draw.below(4)) {
    case 0:
      rmSync(path)
      return `${name} removed`
    case 1: {
      const bytes = readFileSync(path)
      if (bytes.length === 0) return editInPlace(folder, draw)
      truncateSync(path, draw.below(bytes.length))
      return `${name} cut`
    }
    case 2:
      writeFileSync(path, Buffer.concat([readFileSync(path), Buffer.from([draw.below(256)])]))
      return `${name} with one more byte`
    default:
      return resign(folder, draw)
  }
}

/** Alters the passages and makes a manifest that fits, signed by another key. */
function resign(folder: string, draw: Draw): string {
  const what = withDigests(folder, editText(folder, draw))
  const path = join(folder, 'manifest.json')
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as { files: Record<string, { sha256: string }> }
  for (const name of ['passages.jsonl', 'passages.sha256']) {
    const entry = manifest.files[name]
    if (entry !== undefined)
      entry.sha256 = createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex')
  }
  const text = Buffer.from(JSON.stringify(manifest))
  writeFileSync(path, text)
  writeFileSync(join(folder, 'manifest.sig'), signManifest(text, ANOTHER_KEY.privateKeyDer))
  return `${what}, with a manifest of another key`
}

/** Alters the bytes of a version before or after a search node loads them. */
export const BYTES: Attack = {
  name: 'alters the bytes of an artifact',
  row: 'bytes',
  async run(laboratory, law, draw) {
    const { root, client } = await laboratory.attackedNode()
    const { versionId, manifestDigest } = law.artifact
    const store = createSignedStore({
      ARTIFACT_STORE: pathToFileURL(root).href,
      MANIFEST_PUBLIC_KEY: [laboratory.keys.publicKeyDer],
    })
    const folder = store.artifactFolder(versionId)
    cpSync(law.artifact.folder, folder, { recursive: true })
    const prepare = (verify: boolean): Promise<unknown> =>
      client.prepareVersion({ versionId, manifestDigest, verify }, TIMEOUT_MS)
    await using ending = new AsyncDisposableStack()
    ending.defer(async () => rmSync(folder, { recursive: true, force: true }))
    ending.defer(async () => void (await client.releaseVersion(versionId, TIMEOUT_MS).catch(() => undefined)))
    const running = draw.chance(0.6)
    if (running) await prepare(false)
    const what = running
      ? editInPlace(folder, draw)
      : draw.chance(0.5)
        ? editInPlace(folder, draw)
        : replaceFiles(folder, draw)
    const violations = running ? await servedFrom(law, client, draw) : []
    const gate = await refusalOf(() =>
      assertArtifactAsRecorded(store, { id: versionId, manifest_digest: manifestDigest }),
    )
    const load = await refusalOf(() => prepare(true))
    const open = (step: string, refusal: string | undefined): Violation[] =>
      refusal === undefined ? [{ rule: 'altered bytes are refused', what: `by ${step}: ${what}` }] : []
    return {
      what: `${running ? 'under a running node' : 'before it is loaded'}: ${what}`,
      refused: gate ?? load,
      violations: [...violations, ...open('review and activation', gate), ...open('the search node', load)],
    }
  },
}

/** Asks the node for some passages: each is as it was built, or the request fails. */
async function servedFrom(law: BuiltLaw, client: SearchNodeClient, draw: Draw): Promise<Violation[]> {
  const { passages } = surfaceOf(law)
  const built = new Set(
    passages.map(({ text, citation, document }) =>
      [text, citation.label, citation.source_anchor, document['title']].join('|'),
    ),
  )
  const violations: Violation[] = []
  for (const { citation, in_force_from: day } of draw.shuffled(passages).slice(0, PROBES_MAX)) {
    const found = await client
      .search(queryOf(law, citation.label, draw.pick([day, TODAY])), TIMEOUT_MS)
      .catch(() => undefined)
    const isAltered = ({ text, citation: shown, document }: FoundPassage): boolean =>
      !built.has([text, shown.label, shown.sourceAnchor, document.title].join('|'))
    const altered = found?.passages.find(isAltered)
    if (altered !== undefined)
      violations.push({
        rule: 'altered bytes are not served',
        what: `${altered.citation.label}: ${altered.text.slice(0, 80)}`,
      })
  }
  return violations
}

function queryOf({ artifact, corpus, profile }: BuiltLaw, text: string, day: string): SearchQuery {
  const { languages, jurisdictions } = corpus.facets
  const filters = {
    languages,
    jurisdictions,
    subjects: [],
    anySubject: true,
    verificationStatuses: profile.verification_statuses,
    inForceOn: day,
    documents: [],
  }
  return {
    versionId: artifact.versionId,
    vector: undefined,
    text,
    limit: 10,
    filters,
    entitled: filters,
    ranking: rankingOf(profile, day),
  }
}
