import { execFile } from 'node:child_process'
import { sign } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { openDatabase } from '#core/db/pool.ts'
import { sha256 } from '#core/platform/digest.ts'
import { createLog } from '#core/platform/log.ts'
import type { RetrievalResponse } from '#gateway/retrieve/schema.ts'
import { startTrace, storeOf, storeUrl, type LocalTrace } from '#operator/demo/local/stack.ts'
import { publish, untilTraced } from '#operator/demo/publish.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { writeTrace } from '#jobs/trace/pipeline.ts'
import { reviewerKeyFile } from '#test/support/installation.ts'
import { smallSource } from '#test/support/jobs.ts'
import { commandLine } from '#test/support/operator-cli.ts'
import { withoutGuards } from '#test/support/postgres.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { until } from '#test/support/until.ts'
import { createCaller, service } from './service.ts'
import { folderOfFile } from '#test/support/folder.ts'

/**
 * A caller who holds a reply, the address of the trace and the operator's key. Two versions of one document are
 * imported, built, reviewed and activated by the processes of the service.
 */
const SLUG = 'traced-rules'
const QUERY = 'What net assets must a natural person have to be a professional client?'
const [BEFORE, AFTER] = ['net assets of at least 2,000,000 crowns', 'net assets of at least 3,000,000 crowns']
const { settings } = service
const store = storeOf(settings)
const KEY = settings.secrets.MANIFEST_PUBLIC_KEY
/** Of the caller; it holds nothing of the service. */
const folder = folderOfFile()
const at = (name: string): string => join(folder, name)

let trace: LocalTrace
let knowledgeBaseId: string
const replies: RetrievalResponse[] = []
beforeAll(async () => {
  knowledgeBaseId = (await createKnowledgeBase(service.operator, { slug: SLUG, title: 'Traced rules' })).id
  trace = await startTrace(settings)
  const caller = await createCaller({ knowledgeBase: SLUG, jurisdictions: ['HS-F'] })
  for (const [n, text] of [BEFORE, AFTER].entries()) {
    const source = at(`source-${n}`)
    mkdirSync(source)
    writeFileSync(join(source, 'rules.md'), readFileSync(smallSource, 'utf8').replace(BEFORE, text))
    const version = await published(source)
    await untilTraced(trace.url, SLUG, version)
    const reply = await until('the gateway serves the version', async () => {
      const answer = await caller.ask({ query: QUERY })
      return answer.retrieved().version === version && answer
    })
    writeFileSync(at(`reply-${n}.json`), reply.bytes)
    writeFileSync(at(`head-${n}.json`), await fetched('head.json'))
    replies.push(reply.retrieved())
  }
  writeFileSync(at('verify-reply.mjs'), await (await fetch(`${trace.url}/verify-reply.mjs`)).text())
})
afterAll(async () => {
  await trace?.stop()
})

async function published(source: string): Promise<string> {
  const deps = {
    operator: service.operator,
    store,
    redisUrl: settings.redisUrl,
    reviewerKeyFile: reviewerKeyFile(settings),
  }
  const publication = { knowledgeBase: SLUG, source, mappingFile: undefined, questionsFile: undefined } as const
  const unheard = { update: () => undefined, end: () => undefined }
  return (await publish(deps, { ...publication, embedding: 'none' }, unheard)).versionId
}

const fetched = async (path: string): Promise<string> => (await fetch(`${trace.url}/${SLUG}/${path}`)).text()

/** Runs the published program in the folder of the caller, without an environment. */
function verified(options: Readonly<Record<string, string>> = {}) {
  const given = { reply: 'reply-1.json', trace: trace.url, 'public-key': KEY, ...options }
  const args = Object.entries(given).flatMap(([name, value]) => [`--${name}`, value])
  return new Promise((resolve) => {
    execFile(process.execPath, ['verify-reply.mjs', ...args], { cwd: folder, env: {} }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), said: stdout + stderr }),
    )
  })
}

const replyOf = (n: number): RetrievalResponse => {
  const reply = replies[n]
  if (reply === undefined) throw new Error(`there is no reply ${n}`)
  return reply
}
const firstOf = (n: number): RetrievalResponse['results'][number] => {
  const [first] = replyOf(n).results
  if (first === undefined) throw new Error(`reply ${n} has no passage`)
  return first
}

/** Saves a reply whose first passage is another one. */
function forged(change: object): Readonly<Record<string, string>> {
  const [first, ...others] = replyOf(1).results
  writeFileSync(at('forged.json'), JSON.stringify({ ...replyOf(1), results: [{ ...first, ...change }, ...others] }))
  return { reply: 'forged.json' }
}

/** Makes a copy of the trace with one file altered. */
function altered(path: string, change: (before: Buffer) => string | Buffer): Readonly<Record<string, string>> {
  rmSync(at('copy'), { recursive: true, force: true })
  cpSync(store.traceFolder, at('copy'), { recursive: true })
  const file = join(at('copy'), SLUG, path)
  writeFileSync(file, change(readFileSync(file)))
  return { trace: 'copy' }
}

const refuted = (field: string): object => ({
  code: 2,
  said: expect.stringMatching(new RegExp(`^REFUTED: ${field}: `)),
})

describe('a reply that was saved', () => {
  test.each([0, 1])('is proved by its trace and the key alone, also once another version is active (%i)', async (n) => {
    expect(firstOf(n).text).toContain(n === 0 ? BEFORE : AFTER)
    expect(await verified({ reply: `reply-${n}.json` })).toEqual({
      code: 0,
      said: expect.stringContaining(`PROVED: ${replyOf(n).results.length} passages of version ${replyOf(n).version}`),
    })
  })

  test('is proved by a copy of the trace, from a head seen earlier, and in the captured bytes', async () => {
    cpSync(store.traceFolder, at('mirror'), { recursive: true })
    const options = { trace: 'mirror', head: 'head-0.json', snapshot: 'source-1/rules.md' }
    expect(await verified(options)).toMatchObject({ code: 0, said: expect.stringContaining('the place of') })
    expect(await verified({ snapshot: 'source-0/rules.md' })).toMatchObject(refuted('snapshot'))
  })

  test('names snapshots that resolve, also those of an earlier version', async () => {
    for (const [n, { citation, document }] of [firstOf(0), firstOf(1)].entries()) {
      const bytes = readFileSync(at(`source-${n}/rules.md`))
      const shown: unknown = JSON.parse(await fetched(`snapshots/${citation.source_snapshot_id}.json`))
      expect(shown).toMatchObject({
        source_name: 'rules.md',
        sha256: sha256(bytes).toString('hex'),
        bytes: bytes.length,
        media_type: 'text/markdown',
        captured_by: 'operator import',
        versions: [replyOf(n).version],
        revisions: [{ canonical_url: document.canonical_url, revision_id: document.revision_id }],
      })
      expect(await fetched(`snapshots/${citation.source_snapshot_id}`)).toContain('Revisions read from it')
    }
  })

  test('names a version that resolves to who approved it, and to what changed', async () => {
    const shown: unknown = JSON.parse(await fetched(`versions/${replyOf(1).version}.json`))
    expect(shown).toMatchObject({
      predecessor: replyOf(0).version,
      public_keys: [KEY],
      activations: [
        { entry: { sequence: 2 }, record: { changes: { counts: { passages_changed: 1 } }, approvals: [{}] } },
      ],
    })
  })
})

test('a request that a version answered before it was retired is replayed with an equal result', async () => {
  const cli = commandLine({
    ...settings.environment,
    DATABASE_URL: service.operatorUrl,
    SERVICE_SECRET: settings.secrets.SERVICE_SECRET,
    MANIFEST_PUBLIC_KEY: KEY,
    ARTIFACT_STORE: storeUrl(settings),
  })
  const { rows } = await service.owner.query('select state from corpus_versions where id = $1', [replyOf(0).version])
  expect(rows).toEqual([{ state: 'retired' }])
  writeFileSync(at('query.txt'), `${QUERY}\n`)
  const { code, stdout, stderr } = await cli.run(
    'replay',
    replyOf(0).request_id,
    '--query-file',
    at('query.txt'),
    '--json',
  )
  expect([code, JSON.parse(stdout)], stderr).toMatchObject([0, { difference: null }])
})

describe('a forgery is refuted by name:', () => {
  test('a character of the text, the document, the label, the anchor, the metadata, another snapshot', async () => {
    const { text, document, citation, metadata } = firstOf(1)
    const other = firstOf(0).citation.source_snapshot_id
    for (const [field, change] of [
      ['text', { text: text.replace('3,000,000', '3,000,001') }],
      ['text', { text: [text] }],
      ['document', { document: { ...document, effective_at: '2023-09-02T00:00:00.000Z' } }],
      ['citation/label', { citation: { ...citation, label: 'COB-F 1.3' } }],
      ['citation/source_anchor', { citation: { ...citation, source_anchor: `${citation.source_anchor}x` } }],
      ['citation/source_snapshot_id', { citation: { ...citation, source_snapshot_id: other } }],
      ['metadata', { metadata: { ...metadata, jurisdiction: 'HS-M' } }],
    ] as const)
      expect(await verified(forged(change))).toMatchObject(refuted(`results/0/${field}`))
  })

  test('a key that is given twice', async () => {
    const twice = JSON.stringify(replyOf(1)).replace('"text":', '"text":"another","text":')
    writeFileSync(at('twice.json'), twice)
    expect(await verified({ reply: 'twice.json' })).toMatchObject(refuted('reply'))
  })

  test('a passage of an older version, and a version that was never active', async () => {
    expect(await verified(forged(firstOf(0)))).toMatchObject(refuted('results/0/chunk_id'))
    const never = { ...replyOf(1), version: knowledgeBaseId }
    writeFileSync(at('never.json'), JSON.stringify(never))
    expect(await verified({ reply: 'never.json' })).toMatchObject(refuted('version'))
  })

  test('a manifest and an entry that another key signed', async () => {
    const { privateKeyDer } = signingKeys()
    const key = { key: privateKeyDer, format: 'der', type: 'pkcs8' } as const
    const manifest = `versions/${replyOf(1).version}/manifest.json`
    const signed = altered(manifest.replace('.json', '.sig'), () =>
      sign(null, readFileSync(join(store.traceFolder, SLUG, manifest)), key),
    )
    expect(await verified(signed)).toMatchObject(refuted('manifest/signature'))
    expect(await verified({ 'public-key': signingKeys().publicKeyDer.toString('base64') })).toMatchObject(
      refuted('chain/1/signature'),
    )
  })

  test('a chain that lost an entry, and one that the holder of the key wrote again', async () => {
    const linesOf = (before: Buffer): readonly string[] => before.toString().trimEnd().split('\n')
    const cut = altered('chain.jsonl', (before) => `${linesOf(before)[1]}\n`)
    expect(await verified(cut)).toMatchObject(refuted('chain/2/previous_sha256'))
    const key = {
      key: Buffer.from(settings.secrets.MANIFEST_PRIVATE_KEY, 'base64'),
      format: 'der',
      type: 'pkcs8',
    } as const
    const replaced = altered('chain.jsonl', (before) => {
      let previous = ''
      const again = linesOf(before).map((line) => {
        const { sequence, entry } = z.object({ sequence: z.int(), entry: z.string() }).parse(JSON.parse(line))
        const text = entry
          .replace(/"activated_at":"[^"]*"/, '"activated_at":"2026-01-01T00:00:00.000Z"')
          .replace(/"previous_sha256":"[^"]*"/, `"previous_sha256":"${previous}"`)
        previous = sha256(text).toString('hex')
        return JSON.stringify({
          sequence,
          entry: text,
          signature: sign(null, Buffer.from(text), key).toString('base64'),
        })
      })
      return `${again.join('\n')}\n`
    })
    expect(await verified(replaced)).toMatchObject({ code: 0 })
    expect(await verified({ ...replaced, head: 'head-0.json' })).toMatchObject(refuted('head'))
  })

  test('a record, a manifest and a proof that were edited in the trace', async () => {
    const edited = altered('activations/2.json', (before) =>
      before.toString().replace('passages_changed":1', 'passages_changed":0'),
    )
    expect(await verified(edited)).toMatchObject(refuted('chain/2/record'))
    const { version } = replyOf(1)
    const manifest = altered(`versions/${version}/manifest.json`, (before) => `${before.toString()} `)
    expect(await verified(manifest)).toMatchObject(refuted('manifest/signature'))
    const name = sha256(`evidence trace 1 name ${version} ${firstOf(1).chunk_id}`).toString('hex')
    const proof = altered(`versions/${version}/proofs/${name[0]}.jsonl`, (before) =>
      before.toString().replaceAll('"sealed":"', '"sealed":"AAAA'),
    )
    expect(await verified(proof)).toMatchObject(refuted('results/0/chunk_id'))
  })

  test('an artifact that was edited in place, and a record that was altered in Postgres, are not published', async () => {
    await using database = openDatabase(settings.jobsDatabaseUrl, createLog('test', 'silent'), 1)
    const write = (traceDir: string): Promise<void> =>
      writeTrace({ database, store, traceDir, log: createLog('test', 'silent') }, knowledgeBaseId)
    const passages = join(store.artifactFolder(replyOf(0).version), 'passages.jsonl')
    const before = readFileSync(passages)
    const { rows } = await service.owner.query<{ record: string }>(RECORD, [knowledgeBaseId])
    writeFileSync(passages, before.toString().replace(BEFORE, AFTER))
    await expect(write(at('again'))).rejects.toThrow('not under the Merkle root of the manifest')
    writeFileSync(passages, before)
    await withoutGuards(service.owner, ALTER, [knowledgeBaseId, '{}'])
    await expect(write(at('again'))).rejects.toThrow(`Entry 1 of the version chain of ${SLUG}: its record is not`)
    await withoutGuards(service.owner, ALTER, [knowledgeBaseId, rows[0]?.record])
    await write(at('again'))
    expect(await verified({ trace: 'again' })).toMatchObject({ code: 0 })
  })
})

const RECORD = 'select record from version_chain where knowledge_base_id = $1 and sequence = 1'
const ALTER = 'update version_chain set record = $2 where knowledge_base_id = $1 and sequence = 1'

test('what cannot be checked is neither proved nor refuted', async () => {
  const unchecked = { code: 1, said: expect.stringMatching(/^COULD NOT CHECK: /) }
  writeFileSync(at('error.json'), JSON.stringify({ error: { code: 'RATE_LIMITED' }, request_id: 'x', trace_id: 'y' }))
  writeFileSync(at('slug.json'), JSON.stringify({ ...replyOf(1), knowledge_base: '../..' }))
  for (const options of [{ reply: 'error.json' }, { reply: 'slug.json' }, { trace: 'nowhere' }, { 'public-key': 'x' }])
    expect(await verified(options)).toMatchObject(unchecked)
})
