import { randomUUID } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { insertActivation } from '#core/db/activations.ts'
import { activePointer } from '#core/db/corpus-lists.ts'
import { readVersion } from '#core/db/versions.ts'
import { prepareOnLiveNodes } from '#jobs/platform/search-nodes.ts'
import { CALL_TIMEOUT_MS, until } from '#test/support/until.ts'
import { PLAINTEXT, openSearchNodeClients } from '#test/support/search-node.ts'
import { openCandidateHarness, type CandidateHarness } from './candidate-harness.ts'

/** Files of a version are edited, or are gone, after its evaluation; the command line and the job worker are real. */
let harness: CandidateHarness
let active: string
let candidate: string

beforeAll(async () => {
  harness = await openCandidateHarness()
  await harness.keygen('first')
  await harness.jsonWithId('reviewers', 'add', 'First', '--public-key', harness.file('first.pub'))
  active = await harness.build()
  await harness.cli.json(...signing(active))
  expect(await harness.activated(active)).toBe('done')
  candidate = await harness.build()
})
afterAll(() => harness?.close())

function signing(version: string): readonly string[] {
  return ['review', 'sign', version, '--key', harness.file('first.pem'), '--verdict', 'approved', '--note', 'read']
}

function reporting(version: string): readonly string[] {
  return ['review', 'report', version, '--out', harness.file('report.html')]
}

function stating(version: string): readonly string[] {
  const verdict = ['--verdict', 'approved', '--note', 'read', '--out', harness.file('statement.json')]
  return ['review', 'statement', version, '--reviewer', 'First', ...verdict]
}

const passages = (version: string): string => join(harness.store.artifactFolder(version), 'passages.jsonl')

/** Runs with another word in a passage; the file keeps its length and stays JSON. */
async function withEdit(version: string, run: () => Promise<void>): Promise<void> {
  const before = readFileSync(passages(version))
  const at = before.indexOf(' must ')
  expect(at).toBeGreaterThan(0)
  writeFileSync(
    passages(version),
    Buffer.concat([before.subarray(0, at), Buffer.from(' can  '), before.subarray(at + 6)]),
  )
  using ending = new DisposableStack()
  ending.defer(() => writeFileSync(passages(version), before))
  await run()
}

/** Runs while the manifest has a signature of nobody. */
async function withSignature(version: string, run: () => Promise<void>): Promise<void> {
  const path = join(harness.store.artifactFolder(version), 'manifest.sig')
  const before = readFileSync(path)
  writeFileSync(path, Buffer.alloc(before.length))
  using ending = new DisposableStack()
  ending.defer(() => writeFileSync(path, before))
  await run()
}

const UNSIGNED =
  /^The artifact of the version is not the one that was built \(The signature of the manifest holds under no key /
const ALTERED =
  /^The artifact of the version is not the one that was built \(passages\.jsonl does not have the SHA-256 that the manifest states; [^ ]+\): restore it from a backup, or build again\.\n?$/
const GONE =
  /^The artifact of the version is not the one that was built \(The artifact has no readable manifest\.json; /

async function expectActive(version: string): Promise<void> {
  expect((await activePointer(harness.owner, harness.base.id))?.version_id).toBe(version)
}

/** The last line of what a command wrote before it was refused. */
async function refusal(...args: readonly string[]): Promise<string> {
  return (await harness.refusal(...args)).trimEnd().split('\n').at(-1) ?? ''
}

test('a candidate whose passages or signature were altered is refused at each step', async () => {
  const edits = [
    [withEdit, ALTERED],
    [withSignature, UNSIGNED],
  ] as const
  const steps = [reporting(candidate), stating(candidate), signing(candidate)]
  for (const [edit, refused] of edits)
    await edit(candidate, async () => {
      for (const step of steps) expect(await refusal(...step)).toMatch(refused)
    })
  await harness.cli.json(...signing(candidate))
  for (const [edit, refused] of edits)
    await edit(candidate, async () => {
      expect(await harness.activated(candidate)).toMatch(refused)
      expect(await refusal('activate', candidate)).toMatch(refused)
    })
  await expectActive(active)
})

test('a search node that has the candidate loaded verifies it again before the pointer moves', async () => {
  const nodes = openSearchNodeClients([harness.searchNode], PLAINTEXT)
  const loaded = async (): Promise<boolean> => {
    const all = await Promise.all(nodes.map((node) => node.status(CALL_TIMEOUT_MS)))
    return all.some((status) => status.loaded.some(({ versionId }) => versionId === candidate))
  }
  try {
    const manifestDigest = (await readVersion(harness.owner, candidate))?.manifest_digest ?? Buffer.alloc(0)
    const version = { versionId: candidate, manifestDigest, verify: true }
    expect(await prepareOnLiveNodes(nodes, version)).toMatchObject({ loaded: [{}], failed: [] })
    await withEdit(candidate, async () => {
      expect(await prepareOnLiveNodes(nodes, version)).toMatchObject({
        loaded: [],
        failed: [{ reason: expect.stringContaining('passages.jsonl does not have the SHA-256') }],
      })
      await until('the node unloads the candidate', async () => !(await loaded()))
    })
  } finally {
    for (const node of nodes) node.close()
  }
})

test('a rollback to a version whose files are gone is refused, and the active version stays', async () => {
  expect(await harness.activated(candidate)).toBe('done')
  const folder = harness.store.artifactFolder(active)
  renameSync(folder, harness.file('gone'))
  expect(await refusal('rollback', harness.base.slug)).toMatch(GONE)
  const id = randomUUID()
  const asked = { knowledgeBaseId: harness.base.id, versionId: active, expectedVersionId: candidate } as const
  await insertActivation(harness.operator, { ...asked, id, kind: 'rollback', actor: 'another' })
  expect(await harness.runActivation(id)).toMatch(GONE)
  await expectActive(candidate)
  renameSync(harness.file('gone'), folder)
  await withSignature(active, async () => expect(await refusal('rollback', harness.base.slug)).toMatch(UNSIGNED))
  const { id: again } = await harness.jsonWithId('rollback', harness.base.slug)
  expect(await harness.runActivation(again)).toBe('done')
  await expectActive(active)
})
