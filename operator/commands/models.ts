import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { baseUrl } from '#core/platform/config.ts'
import { CATALOGUE, type KnownRelease } from '#jobs/encoder/models/catalogue.ts'
import { HUB, bytesOf, fetchModel, releaseNamed } from '#jobs/encoder/models/fetch.ts'
import { modelsFolder } from '#jobs/platform/config.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { option } from '#operator/command-line/inputs.ts'
import { table } from '#operator/command-line/table.ts'
import { group, offline } from '#operator/command-line/verbs.ts'

const into = option('<folder>', 'folder of models (default: MODELS_DIR, else ./models)')

const UNMEASURED = { quality: 'not measured', speed: 'not measured', memory: 'not measured' }

export const commands: Commands = [
  group('models', 'embedding models for the encoder: list, fetch', [
    offline('list', 'list the models that can be fetched, and which are there; asks no server', {
      input: { into },
      run(input) {
        const folder = resolve(input.into ?? modelsFolder())
        const found = Object.entries(CATALOGUE).map(([name, release]) => {
          const { repository, revision, licence } = release
          const state = existsSync(join(folder, name)) ? 'there' : 'not fetched'
          const measured = { ...UNMEASURED, ...release.measured }
          return { name, state, bytes: bytesOf(release), ...measured, licence, repository, revision }
        })
        const shown = table(found, 'name state bytes quality speed memory licence repository', 'There is no model.')
        return Promise.resolve([found, shown])
      },
    }),
    offline(
      'fetch <name>',
      'download a model of the list into a read-only folder, each file checked against its SHA-256',
      {
        notes:
          'Revision, licence, sizes and digests are shown first. A run that was interrupted is continued by the next one.\n' +
          'A redirection is followed within the server that was named and to the hosts of the hub.',
        input: {
          name: z.string().min(1),
          into,
          from: option('<url>', `hub or mirror with the same paths (default: ${HUB})`, baseUrl.default(HUB)),
        },
        async run({ name, from, ...input }, { note, progress }) {
          const release = releaseNamed(name)
          note(described(name, release))
          const fetched = await fetchModel({
            name,
            release,
            from,
            models: resolve(input.into ?? modelsFolder()),
            signal: new AbortController().signal,
            onProgress: (file, done, total) => progress.update(file, done, total),
          })
          const { folder, wasThere } = fetched
          return [
            { name, revision: release.revision, ...fetched },
            wasThere
              ? `${folder} is there already, and agrees with its digests.`
              : `Fetched ${name} into ${folder}: start it with "npm run start:encoder -- --model ${folder}".`,
          ]
        },
      },
    ),
  ]),
]

function described(name: string, release: KnownRelease): string {
  const { repository, revision, licence, files } = release
  const lines = files.map(({ path, bytes, sha256 }) => `  ${path}  ${bytes} bytes  SHA-256 ${sha256}`)
  return [`${name}: ${repository} at ${revision}, licence ${licence}, ${bytesOf(release)} bytes`, ...lines].join('\n')
}
