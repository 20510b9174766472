import type { Side } from '#core/db/version-differences.ts'
import { sourcesIn } from '#core/index/passages/sources.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { unlessDamaged } from '#jobs/evaluation/altered-candidate.ts'
import type { GoneCommits } from '#law/sources/capture.ts'
import { namedVersion } from '#law/sources/git/clone.ts'
import type { NamedChange } from './changes-file.ts'
import type { ComparedContents } from './compared-passages.ts'

/**
 * Yields each repository that lacks a commit by which the active version holds a text.
 * @param gone as the import of the candidate has it; undefined: the import does not say.
 * @throws OperatorError where the import does not say whether a commit that only the active version names is gone.
 */
export async function* historyChanges(
  before: ComparedContents,
  after: ComparedContents,
  gone: GoneCommits | undefined,
): AsyncGenerator<NamedChange> {
  const [own, other] = [await versionsOf('before', before), await versionsOf('after', after)]
  const [commits, kept] = [new Set(other.map(({ commit }) => commit)), new Set(other.map(({ text }) => text))]
  if (gone === undefined && own.some(({ commit }) => !commits.has(commit)))
    throw new OperatorError('The import does not say which commits are gone from its repository: capture it again.')
  const lost = own.filter(({ commit }) => gone?.[commit] !== undefined).sort((a, b) => (a.from < b.from ? -1 : 1))
  for (const [repository, texts] of Map.groupBy(lost, (one) => one.repository)) {
    const [since = ''] = texts.flatMap(({ commit }) => gone?.[commit] ?? []).sort()
    const acts = new Set(texts.flatMap(({ text, titles }) => (kept.has(text) ? [] : titles)))
    const { commit = '' } = texts[0] ?? {}
    yield { kind: 'histories_rewritten', repository, commit, texts: texts.length, since, acts: [...acts].toSorted() }
  }
}

async function versionsOf(side: Side, { folder, versionId, manifest }: ComparedContents) {
  return await unlessDamaged(side, versionId, async () => {
    const versions = []
    for await (const { source_name: name, revisions } of sourcesIn(folder, manifest.files['sources.jsonl'])) {
      const named = namedVersion(name)
      if (named !== undefined) versions.push({ ...named, titles: revisions.map(({ title }) => title) })
    }
    return versions
  })
}
