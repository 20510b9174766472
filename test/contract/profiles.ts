import { cpSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'
import { createArtifactStore } from '#core/index/format/store.ts'
import { storeUrl } from '#operator/demo/local/stack.ts'
import { readServing } from '#core/db/versions.ts'
import { sha256 } from '#core/platform/digest.ts'
import { derivedUuid } from '#core/platform/ids.ts'
import { knowledgeBaseNamed } from '#operator/actions/names.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { prepareOn } from '#jobs/platform/search-nodes.ts'
import type { VersionRef } from '#core/domain/search.ts'
import { MANIFEST_FILE, manifestSchema, manifestText } from '#core/index/format/manifest.ts'
import { addEntitledProfile } from '#operator/actions/entitlements.ts'
import { exclusively, withoutGuards } from '#test/support/postgres.ts'
import { withSearchNode } from '#test/support/search-node.ts'
import { writeSignedManifest } from '#test/support/artifact.ts'
import type { Caller } from '#test/support/caller.ts'
import { service } from './service.ts'

const store = createArtifactStore(storeUrl(service.settings))

/**
 * A version that was active before, with the corpus of the active version and a profile of other parameters, loaded on
 * every search node. Callers who ask for the same parameters share it.
 * @returns the id of the profile.
 */
export async function addProfile(knowledgeBase: string, parameters: object, threshold: number): Promise<string> {
  const { id: base } = await knowledgeBaseNamed(service.operator.database, knowledgeBase)
  const active = await readServing(service.owner, base)
  if (active === undefined) throw new Error(`nothing is active in ${knowledgeBase}`)
  const { versionId: from, profile } = active
  const id = derivedUuid('test version', from, JSON.stringify(parameters), String(threshold))
  const lock = sha256(id).readInt32BE()
  const manifestDigest = await exclusively(inject('servers'), lock, () => Promise.resolve(copyArtifact(from, id)))
  const profileId = derivedUuid('test profile', id)
  await withoutGuards(
    service.owner,
    'insert into corpus_versions select (jsonb_populate_record(v, $2)).* from corpus_versions v where v.id = $1 ' +
      'on conflict do nothing',
    [
      from,
      {
        id,
        build_id: id,
        state: 'retired',
        manifest_digest: `\\x${manifestDigest.toString('hex')}`,
        profile_id: profileId,
        profile: { ...profile, ...parameters, calibration: { ...profile.calibration, threshold } },
      },
    ],
  )
  await loadOnNodes({ versionId: id, manifestDigest })
  return profileId
}

/** A knowledge base of a test, whose active version is a copy of that of another one. */
export async function copyKnowledgeBase(from: string, slug: string): Promise<{ readonly versionId: string }> {
  await createKnowledgeBase(service.operator, { slug, title: slug })
  const [source, copy] = await Promise.all(
    [from, slug].map((name) => knowledgeBaseNamed(service.operator.database, name)),
  )
  const serving = source && (await readServing(service.owner, source.id))
  if (serving === undefined || copy === undefined) throw new Error(`nothing is active in ${from}`)
  const versionId = derivedUuid('test version', slug)
  const manifestDigest = copyArtifact(serving.versionId, versionId)
  await withoutGuards(
    service.owner,
    'with version as (insert into corpus_versions select (jsonb_populate_record(v, $2)).* from corpus_versions v ' +
      'where v.id = $1 returning id, knowledge_base_id) ' +
      'insert into active_versions (knowledge_base_id, version_id) select knowledge_base_id, id from version',
    [
      serving.versionId,
      {
        id: versionId,
        build_id: versionId,
        knowledge_base_id: copy.id,
        manifest_digest: `\\x${manifestDigest.toString('hex')}`,
        profile_id: derivedUuid('test profile', slug),
      },
    ],
  )
  await loadOnNodes({ versionId, manifestDigest })
  return { versionId }
}

async function loadOnNodes(version: VersionRef): Promise<void> {
  await Promise.all(
    service.searchNodes.map(({ address }) => withSearchNode(address, (client) => prepareOn(client, version))),
  )
}

/** @returns the digest of the copy's manifest. */
function copyArtifact(from: string, to: string): Buffer {
  const folder = store.artifactFolder(to)
  const manifestFile = join(folder, MANIFEST_FILE)
  if (!existsSync(folder)) {
    cpSync(store.artifactFolder(from), folder, { recursive: true })
    const manifest = manifestSchema.parse(JSON.parse(readFileSync(manifestFile, 'utf8')))
    const key = Buffer.from(service.settings.secrets.MANIFEST_PRIVATE_KEY, 'base64')
    return writeSignedManifest(folder, manifestText({ ...manifest, version_id: to }), key)
  }
  return sha256(readFileSync(manifestFile))
}

/**
 * The active profile with a threshold of 0 and the given parameters. All remaining passages are shown, so a test sees
 * the search without the decision. It must be created before the caller's first request, because gateways cache access
 * for some seconds.
 */
export async function showingProfile(caller: Caller, parameters: object = {}): Promise<string> {
  const shown = { passage_floor: 0, ...parameters }
  const id = await addProfile(caller.entitlement.split('/').at(-1) ?? '', shown, 0)
  await addEntitledProfile(service.operator, caller.entitlement, id)
  return id
}
