import { execFile } from 'node:child_process'
import { sign } from 'node:crypto'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { chainText, type ChainEntry } from '#core/domain/version-chain.ts'
import { rowOrder } from '#core/index/format/row-checks.ts'
import { leafHash, leafWithoutDays } from '#core/index/passages/leaf.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { sha256 } from '#core/platform/digest.ts'
import { merkleRoot } from '#core/platform/merkle.ts'
import { derivedUuid } from '#core/platform/ids.ts'
import type { Passage } from '#law/import/passage/passage.ts'
import { statedMapping } from '#law/import/corpus/corpus-mapping.ts'
import { parseSourceYaml } from '#law/import/corpus/source-yaml.ts'
import type { Mapping } from '#law/import/mapping/mapping.ts'
import { writeProofs } from '#jobs/trace/proofs.ts'
import { SAMPLES, SAMPLE_SOURCE_YAML } from '#test/law/readers/samples.ts'
import { buildTestArtifact, sourcesOf } from '#test/support/artifact.ts'
import { importContents, line, smallMapping } from '#test/support/import.ts'
import { beeRules } from '#test/support/markdown-source.ts'
import { testPassage } from '#test/support/passages.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { folderOfFile } from '#test/support/folder.ts'

/** The trace of one version with passages of every format that is imported. */
const SLUG = 'every-format'
const VERIFIER = fileURLToPath(new URL('../../../jobs/trace/verify-reply.mjs', import.meta.url))
const LAW = statedMapping(parseSourceYaml(SAMPLE_SOURCE_YAML))
const ORIGINAL = Buffer.from('a file that was drafted from')

interface Kind {
  readonly name: string
  readonly file: string
  readonly bytes: Buffer
  readonly mapping?: Mapping
}

const markdown = beeRules('## BEE-M 1.1 Title\n\nHives 𝔘 <!-- or bees --> are kept.\n\nThey are counted.\n')
const akomaNtoso = SAMPLES.find(({ format }) => format === 'akoma-ntoso')?.bytes.toString() ?? ''
/** What XML may have between two tags, in an encoding with a byte order mark. */
const written = akomaNtoso
  .replace(/^<\?xml.*?\?>/, '<?xml version="1.0"?><!DOCTYPE act [<!-- none -->]>')
  .replace(/applies to/, 'applies &#x1D518; &lt;<![CDATA[<to & fro>]]><!-- > --> to')
  .replaceAll('\n', '\r\n')
const KINDS: readonly Kind[] = [
  { name: 'Markdown with CRLF and a comment', file: 'a.md', bytes: Buffer.from(markdown.replaceAll('\n', '\r\n')) },
  {
    name: 'a line of JSONL',
    file: 'a.jsonl',
    bytes: Buffer.from(`${line('a', '𝔘 "Bees"\tare kept.')}\n${line('b', ' 𝔘 Wasps.', { section: '2' })}\n`),
    mapping: smallMapping(),
  },
  {
    name: 'XML in UTF-16 with CRLF, CDATA and references',
    file: 'utf-16.xml',
    bytes: Buffer.from(`\uFEFF${written}`, 'utf16le'),
    mapping: LAW,
  },
  ...SAMPLES.map(({ name, format, bytes }) => ({
    name,
    file: `${name.replaceAll(' ', '-').replace(',', '')}.${format === 'markdown' ? 'md' : format}`,
    bytes: Buffer.from(bytes),
    mapping: LAW,
  })),
]
const UNREAD: Readonly<Record<string, string>> = {
  'EUR-Lex': 'a web page (XPathSelector)',
  'EUR-Lex before 2004': 'a web page (XPathSelector)',
  'EUR-Lex, consolidated': 'a web page (XPathSelector)',
  'a web page': 'a web page (XPathSelector)',
  Word: 'a Word document (XPathSelector)',
  PDF: 'a PDF (PdfSelector)',
}

const keys = signingKeys()
const folder = folderOfFile()
const at = (...names: readonly string[]): string => join(folder, ...names)
const signed = (text: string): Buffer =>
  sign(null, Buffer.from(text), { key: keys.privateKeyDer, format: 'der', type: 'pkcs8' })
const snapshotOf = ({ file }: Kind): string => derivedUuid('test snapshot', file)

beforeAll(async () => {
  const rows: PassageRecord[] = []
  const added = (kind: Kind, { selector }: Passage, text: string): PassageRecord => {
    const passage = testPassage(rows.length, { text })
    const citation = { ...passage.citation, source_snapshot_id: snapshotOf(kind) }
    const original = kind.file === 'a.md' ? { original: { sha256: sha256(ORIGINAL).toString('hex') } } : {}
    const record = { ...passage, citation, selector: { ...selector, ...original } }
    rows.push(record)
    return record
  }
  const replies = new Map<string, readonly PassageRecord[]>()
  for (const kind of KINDS) {
    writeFileSync(at(kind.file), kind.bytes)
    const { passages } = await importContents({ [kind.file]: kind.bytes }, kind.mapping)
    const [first] = passages
    if (first === undefined) throw new Error(`no passage of ${kind.name}`)
    replies.set(
      `${kind.file}.json`,
      passages.map((passage) => added(kind, passage, passage.text)),
    )
    replies.set(`${kind.file}.forged.json`, [added(kind, first, `${first.text}!`)])
  }
  const version = await writeTrace(rows)
  for (const [name, records] of replies) {
    const results = records.map(({ chunk_id, text, document, citation, metadata }) => ({
      chunk_id,
      text,
      document,
      citation,
      metadata,
    }))
    writeFileSync(at(name), JSON.stringify({ knowledge_base: SLUG, version, results }))
  }
})

/** Writes an artifact and its trace, with one activation. @returns the version. */
async function writeTrace(records: readonly PassageRecord[]): Promise<string> {
  const digests = new Map(KINDS.map((kind) => [snapshotOf(kind), sha256(kind.bytes).toString('hex')]))
  const { versionId, manifest, manifestDigest, ...artifact } = await buildTestArtifact({
    store: at('store'),
    rows: records.toSorted(rowOrder).map((record) => ({ record, vector: Float32Array.of(1) })),
    embedding: null,
    sources: sourcesOf([...digests.keys()]).map((facts) => ({ ...facts, sha256: digests.get(facts.id) ?? '' })),
    privateKeyDer: keys.privateKeyDer,
  })
  const target = at('trace', SLUG, 'versions', versionId)
  await writeProofs({ artifactFolder: artifact.folder, manifest, target: join(target, 'proofs') })
  for (const file of ['manifest.json', 'manifest.sig', 'sources.jsonl'])
    cpSync(join(artifact.folder, file), join(target, file))
  const profile = { id: derivedUuid('test', 'profile'), sha256: 'a'.repeat(64) }
  const record = chainText({ version_id: versionId, profile, changes: null, approvals: [] })
  const entry: ChainEntry = {
    format: 'evidence version chain 1',
    knowledge_base: { id: derivedUuid('test', SLUG), slug: SLUG },
    sequence: 1,
    kind: 'activate',
    version_id: versionId,
    predecessor: null,
    manifest_sha256: manifestDigest.toString('hex'),
    record_sha256: sha256(record).toString('hex'),
    activated_at: '2026-01-01T00:00:00.000Z',
    previous_sha256: null,
  }
  const text = chainText(entry)
  mkdirSync(at('trace', SLUG, 'activations'))
  writeFileSync(at('trace', SLUG, 'activations', '1.json'), record)
  const link = JSON.stringify({ sequence: 1, entry: text, signature: signed(text).toString('base64') })
  writeFileSync(at('trace', SLUG, 'chain.jsonl'), `${link}\n`)
  return versionId
}

/** @returns exit code and output of the program. */
function verified(reply: string, snapshot: string, ...rest: readonly string[]): Promise<readonly [number, string]> {
  const key = keys.publicKeyDer.toString('base64')
  const args = ['--reply', reply, '--trace', 'trace', '--public-key', key, '--snapshot', snapshot, ...rest]
  return new Promise((resolve) => {
    execFile(process.execPath, [VERIFIER, ...args], { cwd: folder, env: {} }, (error, stdout, stderr) =>
      resolve([error === null ? 0 : Number(error.code), stdout + stderr]),
    )
  })
}

test.each(KINDS.filter(({ name }) => UNREAD[name] === undefined))(
  'places in $name are proved, and refuted for another text',
  async ({ file }) => {
    expect(await verified(`${file}.json`, file)).toEqual([
      0,
      expect.stringMatching(/^PROVED: .* the place of \d+ pass/),
    ])
    expect(await verified(`${file}.forged.json`, file)).toEqual([
      2,
      'REFUTED: results/0/text: does not stand at its place in the snapshot\n',
    ])
  },
)

test.each(KINDS.filter(({ name }) => UNREAD[name] !== undefined))(
  'places in $name are neither proved nor refuted, and the kind is named',
  async ({ name, file }) => {
    for (const reply of [`${file}.json`, `${file}.forged.json`])
      expect(await verified(reply, file)).toEqual([
        1,
        `COULD NOT CHECK: places in ${UNREAD[name]} are not read by this program; all else of the reply is proved\n`,
      ])
  },
)

test('the original of a corrected draft is not the file from which passages were read', async () => {
  writeFileSync(at('original'), ORIGINAL)
  const said = expect.stringContaining('is the original of a corrected draft: give the draft')
  expect(await verified('a.md.json', 'original')).toEqual([1, said])
})

test('a passage is in force on its days alone, and without a day none is proved', async () => {
  const { in_force_from: from } = testPassage(0)
  const [code, said] = await verified('a.md.json', 'a.md')
  expect([code, said]).toEqual([0, expect.stringContaining('; day not proved\nresults/0: in force from')])
  expect(await verified('a.md.json', 'a.md', '--day', from)).toEqual([
    0,
    expect.stringContaining(`; in force on ${from}`),
  ])
  expect(await verified('a.md.json', 'a.md', '--day', '1900-01-01')).toEqual([
    2,
    expect.stringMatching(/^REFUTED: results\/0: is in force from .*, not on 1900-01-01/),
  ])
  expect(await verified('a.md.json', 'a.md', '--day', 'soon')).toEqual([1, expect.stringContaining('--day is a day')])
})

test('a field that a reply does not have is refuted, and an empty reply proves nothing', async () => {
  const reply: { readonly results: readonly Record<string, unknown>[] } = JSON.parse(
    readFileSync(at('a.md.json'), 'utf8'),
  )
  const write = (name: string, results: readonly unknown[]): void =>
    writeFileSync(at(name), JSON.stringify({ ...reply, results }))
  write(
    'more.json',
    reply.results.map((result) => ({ ...result, in_force: 'always' })),
  )
  expect(await verified('more.json', 'a.md')).toEqual([2, 'REFUTED: results/0/in_force: is no field of a reply\n'])
  write('empty.json', [])
  expect(await verified('empty.json', 'a.md')).toEqual([1, expect.stringContaining('nothing to prove')])
})

test('a version whose leaves have no days is traced and proved as before, but for the day', async () => {
  const built = await buildTestArtifact({
    store: at('store-before'),
    rows: [{ record: testPassage(0), vector: Float32Array.of(1) }],
    embedding: null,
    privateKeyDer: keys.privateKeyDer,
  })
  const leaves = leafHash(leafWithoutDays(testPassage(0)))
  writeFileSync(join(built.folder, 'passages.leaves'), leaves)
  const manifest = { ...built.manifest, merkle_root: merkleRoot(leaves).toString('hex') }
  await writeProofs({ artifactFolder: built.folder, manifest, target: at('proofs-before') })
  expect(readdirSync(at('proofs-before'))).toHaveLength(16)
  const altered = { ...manifest, merkle_root: built.manifest.merkle_root }
  await expect(writeProofs({ artifactFolder: built.folder, manifest: altered, target: at('none') })).rejects.toThrow(
    'Merkle root',
  )
})
