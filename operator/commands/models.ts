import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { baseUrl } from '#core/platform/config.ts'
import { modelsFolder } from '#jobs/platform/config.ts'
import { CATALOGUE } from '#jobs/encoder/models/catalogue.ts'
import type { KnownRelease } from '#jobs/encoder/models/catalogue.ts'
import { HUB, bytesOf, fetchModel, releaseNamed } from '#jobs/encoder/models/fetch.ts'
import { addCommand, addCommandGroup } from '#operator/command-line/command.ts'
import { text } from '#operator/command-line/inputs.ts'
import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { table } from '#operator/command-line/table.ts'

const INTO = { '--into <folder>': 'folder of models (default: MODELS_DIR, else ./models)' }

export function addModels(program: OperatorCommand, catalogue: typeof CATALOGUE = CATALOGUE): void {
  const models = addCommandGroup(program, 'models', 'embedding models for the encoder: list, fetch')
  addList(models, catalogue)
  addFetch(models, catalogue)
}

function addList(models: OperatorCommand, catalogue: typeof CATALOGUE): void {
  addCommand(
    models,
    {
      usage: 'list',
      summary: 'list the models that can be fetched, and which are there; asks no server',
      flags: INTO,
      examples: ['models list'],
      input: { into: text.optional() },
    },
    {},
    ({ into }, { show }) => {
      const folder = resolve(into ?? modelsFolder())
      const found = Object.entries(catalogue).map(([name, release]) => {
        const { repository, revision, licence } = release
        const state = existsSync(join(folder, name)) ? 'there' : 'not fetched'
        return { name, state, bytes: bytesOf(release), licence, repository, revision }
      })
      const columns = { name: 'name', state: 'state', bytes: 'bytes', licence: 'licence', repository: 'repository' }
      show(found, () => table(found, columns, 'There is no model.'))
      return Promise.resolve()
    },
  )
}

function addFetch(models: OperatorCommand, catalogue: typeof CATALOGUE): void {
  addCommand(
    models,
    {
      usage: 'fetch <name>',
      summary: 'download a model of the list into a read-only folder, each file checked against its SHA-256',
      flags: { ...INTO, '--from <url>': `hub or mirror with the same paths (default: ${HUB})` },
      notes:
        'Revision, licence, sizes and digests are shown first. A run that was interrupted is continued by the next one.\n' +
        'A redirection is followed within the server that was named and to the hosts of the hub.',
      examples: [
        'models fetch multilingual-e5-small',
        'models fetch bge-m3 --from https://mirror.example --into /srv/models',
      ],
      input: { name: z.string().min(1), from: baseUrl.default(HUB), into: text.optional() },
    },
    {},
    async ({ name, from, into }, { show, note, progress }) => {
      const release = releaseNamed(name, catalogue)
      note(described(name, release))
      const onProgress = (file: string, done: number, total: number): void => progress.update(file, done, total)
      const { signal } = new AbortController()
      const fetched = await fetchModel({
        name,
        release,
        models: resolve(into ?? modelsFolder()),
        from,
        signal,
        onProgress,
      })
      show({ name, revision: release.revision, ...fetched }, () =>
        fetched.wasThere
          ? `${fetched.folder} is there already, and agrees with its digests.`
          : `Fetched ${name} into ${fetched.folder}: start it with "npm run start:encoder -- --model ${fetched.folder}".`,
      )
    },
  )
}

function described(name: string, release: KnownRelease): string {
  const { repository, revision, licence, files } = release
  const lines = files.map(({ path, bytes, sha256 }) => `  ${path}  ${bytes} bytes  SHA-256 ${sha256}`)
  return [`${name}: ${repository} at ${revision}, licence ${licence}, ${bytesOf(release)} bytes`, ...lines].join('\n')
}
