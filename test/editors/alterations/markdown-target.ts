import type { Draw } from '../draw.ts'
import type { Sources } from '../sources.ts'
import { withFile, type Alteration, type Altered, type Expectation } from './alteration.ts'
import { parseMarkdown, withProvision, writeMarkdown, type MarkdownFile } from './markdown-file.ts'

export interface Target {
  readonly name: string
  readonly file: MarkdownFile
  /** A provision of the file. */
  readonly at: number
  readonly provision: string
  /** The sources with the file altered. */
  rewritten(file: MarkdownFile, what: string, expect?: readonly Expectation[]): Altered
  /** The sources with another text in the place of the provision. */
  replaced(provision: string, what: string, expect?: readonly Expectation[]): Altered
}

/** An alteration of one file of Markdown, at one of its provisions. */
export function ofMarkdown(
  row: string,
  name: string,
  alter: (target: Target, draw: Draw, sources: Sources) => Altered | undefined,
): Alteration {
  return {
    name,
    row,
    alter(sources, draw) {
      if (sources.format !== 'markdown') return undefined
      const [path, text] = draw.pick([...sources.files])
      const file = parseMarkdown(text)
      const at = draw.below(file.provisions.length)
      const provision = file.provisions[at]
      if (provision === undefined) return undefined
      const rewritten: Target['rewritten'] = (other, what, expect = []) => ({
        sources: withFile(sources, path, writeMarkdown(other)),
        what: `${path}: ${what}`,
        expect,
      })
      const replaced: Target['replaced'] = (other, ...rest) =>
        rewritten(
          withProvision(file, at, () => other),
          ...rest,
        )
      return alter({ name: path, file, at, provision, rewritten, replaced }, draw, sources)
    },
  }
}
