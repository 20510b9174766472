import { basename, dirname } from 'node:path'
import { z } from 'zod'
import { isCloneOfLaw } from '#law/import/corpus/corpus-folder.ts'
import { filesBelow, inspectFile, type Inspection } from '#law/readers/inspect.ts'
import { inspectClone, type CloneInspection } from '#law/sources/git/inspect.ts'
import type { OnCloneProgress } from '#law/sources/git/clone.ts'
import { SOURCE_YAML } from '#law/sources/list.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { table } from '#operator/command-line/table.ts'
import { offline } from '#operator/command-line/verbs.ts'

export const commands: Commands = [
  offline('inspect <paths...>', 'show what files of law hold: format, title, dates, provisions, and what is not read', {
    notes:
      'The format is recognised by the content of each file. Nothing is stored, and no service is needed.\n' +
      'Coverage is the share of the characters that lie in exactly one passage or in an omission by a named rule.\n' +
      'Of a clone of published law it shows by country and rank which versions would be served, and why others not.',
    input: { paths: z.array(z.string().min(1)).min(1) },
    async run({ paths }, { progress }) {
      const clones = paths.filter(isCloneOfLaw)
      if (clones.length > 0) return await inspectClones(clones, paths, progress.update.bind(progress))
      const files = (await filesBelow(paths)).filter((file) => basename(file) !== SOURCE_YAML)
      const inspections: Inspection[] = []
      for (const [index, file] of files.entries()) {
        progress.update('reading', index, files.length)
        inspections.push(await inspectFile(file))
      }
      return [inspections, () => rendered(inspections)]
    },
  }),
]

async function inspectClones(clones: readonly string[], paths: readonly string[], onProgress: OnCloneProgress) {
  if (clones.length < paths.length) throw new OperatorError('Name clones alone, or files and folders alone.')
  const found: CloneInspection[] = []
  for (const path of clones) found.push(await inspectClone({ path }, onProgress))
  return [found, () => found.map(renderedClone).join('\n\n')] as const
}

const CLONE_COLUMNS = 'country rank acts revisions in_force later'

function renderedClone({ path, commits, groups }: CloneInspection): string {
  const reasons = groups.flatMap(({ country, rank, not_served: reasonsOf }) =>
    Object.entries(reasonsOf).map(([reason, count]) => `${country} ${rank}: ${count} not served: ${reason}`),
  )
  return [`${path}, ${commits} commits`, table(groups, CLONE_COLUMNS, 'There is no law here.'), ...reasons].join('\n')
}

const COLUMNS = 'path=file format language jurisdiction effective_from=in_force_from provisions share=coverage title'
const TITLE_SHOWN_MAX = 60

function rendered(inspections: readonly Inspection[]): string {
  const folder = folderOf(inspections.map(({ path }) => path))
  const rows = inspections.map((each) => ({
    ...each,
    path: each.path.slice(folder.length),
    title:
      each.title !== null && each.title.length > TITLE_SHOWN_MAX
        ? `${each.title.slice(0, TITLE_SHOWN_MAX)}…`
        : each.title,
    share: each.coverage === null ? null : `${(each.coverage * 100).toFixed(2)} %`,
  }))
  const warnings = inspections.flatMap(({ path, warnings: found }) =>
    found.map(({ message, line, page, xpath }) => {
      const place = line !== undefined ? `:${line}` : page !== undefined ? `, page ${page}` : ''
      return `${path}${place}: ${message}${xpath === undefined ? '' : ` (${xpath})`}`
    }),
  )
  const shown = table(rows, COLUMNS, 'There is no file here.')
  return [...(folder === '' ? [] : [`In ${folder}`]), shown, ...warnings].join('\n')
}

/** The folder of several files, with its slash; '' where they have none in common. */
function folderOf(paths: readonly string[]): string {
  const [first, ...others] = paths
  if (first === undefined || others.length === 0) return ''
  for (let folder = dirname(first); folder !== '.' && folder !== '/'; folder = dirname(folder))
    if (others.every((path) => path.startsWith(`${folder}/`))) return `${folder}/`
  return ''
}
