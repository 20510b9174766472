import { join } from 'node:path'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { openArtifactStore } from '#core/index/format/store.ts'
import { STORE_SETTINGS } from '#core/index/settings.ts'
import { sourceSchema } from '#core/index/passages/sources.ts'
import { knowledgeBaseNamed } from '#operator/actions/names.ts'
import { versionToSearch } from '#operator/actions/withdrawals.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { option, rows, text } from '#operator/command-line/inputs.ts'
import { table } from '#operator/command-line/table.ts'
import { group, verb } from '#operator/command-line/verbs.ts'

export const commands: Commands = [
  group('documents', 'what a version holds: list', [
    verb('list', 'list the documents of a version with their days in force', {
      notes: 'It reads the artifact, so it lists what is served, not what was imported.',
      input: {
        knowledgeBase: option('<slug>', 'the knowledge base', text),
        version: option('<version>', 'default: the active one'),
        rows,
      },
      variables: STORE_SETTINGS,
      async run({ knowledgeBase, version, rows: limit }, { database, config }) {
        const base = await knowledgeBaseNamed(database, knowledgeBase)
        const { id } = await versionToSearch(database, base, version)
        const store = openArtifactStore(config)
        const path = join(await store.fetch(store.artifactFolder(id)), 'sources.jsonl')
        const found = []
        for await (const line of createInterface({ input: createReadStream(path) })) {
          const { source_name: source, revisions } = sourceSchema.parse(JSON.parse(line))
          for (const { derived: _, ...revision } of revisions) found.push({ ...revision, source })
        }
        const listed = found.toSorted((a, b) => (a.title < b.title ? -1 : 1)).slice(0, limit)
        const more = found.length > limit ? `\nThere are ${found.length}: ask for more with --rows.` : ''
        const columns = 'title authority in_force_from=from in_force_to=to passages source'
        return [listed, () => `${table(listed, columns)}${more}`]
      },
    }),
  ]),
]
