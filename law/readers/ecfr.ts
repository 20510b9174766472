import { attribute, at, childNamed, descendants, firstNamed, textOf, type MarkupElement } from './tree.ts'
import { cfrCitation, DIVISIONS, emphasis, titleOf } from './cfr-citation.ts'
import { dated, dayIn, dayInWords, type MarkupFormat, type ReadTree } from './format.ts'
import { lead, type Role } from './roles.ts'
import NAMES from './names/ecfr.json' with { type: 'json' }
import { formatOf } from './vocabulary.ts'
import { parseXml } from './xml.ts'

/** By `TYPE`; a section and an appendix hold text. */
const KINDS: ReadonlyMap<string, string> = new Map([...DIVISIONS, ['SECTION', 'section'], ['APPENDIX', 'appendix']])
const BY_NUMBER = [...KINDS.values()]

const { roles: ROLES, vocabulary: VOCABULARY } = formatOf(NAMES, [], [lead('', ' '), 'HED'], [emphasis, 'E'])

/** The eCFR as govinfo publishes it whole, and as ecfr.gov's versioner gives parts of it. */
export const ECFR: MarkupFormat = {
  format: 'ecfr',
  parse: parseXml,
  recognises: ({ kind, root, head }) =>
    kind === 'xml' &&
    (root === 'DLPSTEXTCLASS' || root === 'ECFR' || (/^DIV[1-9]$/.test(root) && /\bTYPE=/.test(head))),
  vocabulary: () => VOCABULARY,
  roles: () => roleOf,
  fields: fieldsOf,
  cite: cfrCitation,
}

function roleOf(element: MarkupElement): Role {
  return /^DIV[1-9]$/.test(element.name) ? divisionOf(element) : (ROLES(element) ?? { is: 'block' })
}

function divisionOf(element: MarkupElement): Role {
  const number = Number(element.name.slice(3))
  const kind = KINDS.get(attribute(element, 'TYPE') ?? '') ?? BY_NUMBER[number - 1] ?? 'division'
  const level = kind === 'section' || kind === 'appendix' ? 'passage' : 'division'
  return { is: 'unit', kind, level, anchor: attribute(element, 'N'), label: labelOf(kind, element) }
}

/** Only the number of a section is no part of the heading's words. Title 48 writes it without the sign. */
function labelOf(kind: string, element: MarkupElement): string | undefined {
  const number = attribute(element, 'N')
  if (kind !== 'section' || number === undefined) return undefined
  const isBare = textOf(childNamed(element, 'HEAD'))?.startsWith(number) === true
  return number.startsWith('§') || isBare ? number : `§ ${number}`
}

function fieldsOf({ tree, path }: ReadTree): ReturnType<MarkupFormat['fields']> {
  const { root } = tree
  const header = at(root, 'HEADER', 'FILEDESC', 'TITLESTMT', 'TITLE')
  const title = firstNamed(root, 'DIV1')
  const part = root.name === 'DIV5' ? attribute(root, 'N') : undefined
  const cited = citationIn(root)
  const number =
    titleOf(cited ?? '') ??
    attribute(title, 'N') ??
    /^(\d+):/.exec(attribute(root, 'NODE') ?? '')?.[1] ??
    titleIn(root) ??
    /title-(\d+)/.exec(path)?.[1]
  const amended = dayInWords(textOf(firstNamed(root, 'AMDDATE')))
  const named = dayIn(/(\d{4}-\d{2}-\d{2})/.exec(path)?.[1])
  const date = dated(amended, 'amendment-date') ?? dated(named, 'file-name')
  return {
    title: textOf(header) ?? textOf(firstNamed(root, 'HEAD')),
    identifier:
      cited ?? (number === undefined ? undefined : part === undefined ? `${number} CFR` : `${number} CFR Part ${part}`),
    language: 'en',
    jurisdiction: 'US',
    url: number === undefined ? undefined : `https://www.ecfr.gov/current/title-${number}`,
    publishedAt: date,
    effectiveFrom: date,
  }
}

/**
 * The citation in the versioner's metadata, which is JSON escaped once or twice. Where it has none, its path names the
 * title and the part: `/on/2024-01-01/title-40/part-50/appendix-Appendix A-1 to Part 50`.
 */
function citationIn(root: MarkupElement): string | undefined {
  const stated = metadataOf(root)
  const cited = /"citation":"([^"]+)"/.exec(stated)?.[1]
  const [title, part] = [/\/title-(\d+)/, /\/part-([\w-]+)/].map((step) => step.exec(pathIn(stated))?.[1])
  return cited ?? (title === undefined || part === undefined ? undefined : `${title} CFR Part ${part}`)
}

/** Number of the title in the path of the first element that has one. */
function titleIn(root: MarkupElement): string | undefined {
  for (const element of descendants(root)) {
    const title = /\/title-(\d+)/.exec(pathIn(metadataOf(element)))?.[1]
    if (title !== undefined) return title
  }
  return undefined
}

function pathIn(metadata: string): string {
  return /"path":"([^"]+)"/.exec(metadata)?.[1] ?? ''
}

function metadataOf(element: MarkupElement): string {
  return attribute(element, 'hierarchy_metadata')?.replaceAll('&quot;', '"') ?? ''
}
