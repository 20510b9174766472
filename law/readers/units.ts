import { labelledHeading, type Provision } from './document.ts'
import { firstAfter, type Vocabulary } from './format.ts'
import type { Role, RoleContext, Roles } from './roles.ts'
import { isNoText, saysNoForce, type Standing } from './standing.ts'
import type { TextWriter } from './text-writer.ts'
import { oneLine, stack, textOf, type MarkupElement, type MarkupNode } from './tree.ts'

export interface OpenUnit {
  /** Set where a heading opened it. */
  readonly rank: number | undefined
  readonly index: number
  readonly kind: string
  readonly level: 'division' | 'passage' | 'part'
  readonly writer: TextWriter
  readonly label: TextWriter
  readonly heading: TextWriter
  readonly role: Extract<Role, { is: 'unit' }>
  readonly element: MarkupElement
  readonly above: OpenUnit | undefined
  readonly notes: MarkupElement[]
  readonly notesOfName: MarkupElement[]
  /** Why it is no law in force, as it or a unit around it states. */
  readonly standing: Standing | undefined
  /** First day on which its text changes. */
  until: string | undefined
  hasUnits: boolean
  /** Whether text of it is struck or hidden. */
  isCut: boolean
}

/** Where the text goes: headings move it on. */
export interface SectionStack {
  unit: OpenUnit
  /** The unit that holds all that headings open. */
  readonly owner: OpenUnit
}

export interface Place {
  readonly sections: SectionStack
  /** Where the text of a heading or a number goes. */
  readonly into: TextWriter | undefined
  readonly quoted: boolean
  readonly lines: boolean
  /** Whether the text is in a heading or a number of the unit itself, and so in no line of its own. */
  readonly flat: boolean
}

export function writerOf({ into, sections }: Place): TextWriter {
  return into ?? sections.unit.writer
}

export function gapOf({ flat, sections, quoted }: Place): 'space' | 'line' | 'paragraph' {
  if (flat) return 'space'
  return sections.unit.level === 'part' || quoted ? 'line' : 'paragraph'
}

function nameOf({ label, heading, role }: OpenUnit, name: 'label' | 'heading'): string {
  return oneLine((name === 'label' ? label : heading).text) || role[name] || ''
}

/** The unit whose text the notes of a place follow. */
export function holderOf(unit: OpenUnit): OpenUnit {
  return passageAround(unit) ?? (unit.level === 'part' && unit.above !== undefined ? holderOf(unit.above) : unit)
}

/** First day on which an element, or one around it, changes. */
export function untilAround(element: MarkupElement, changeOf: Vocabulary['changeOf']): string | undefined {
  const days: (string | undefined)[] = []
  if (changeOf === undefined) return undefined
  for (let next: MarkupElement | undefined = element; next !== undefined; next = next.parent) days.push(changeOf(next))
  return firstAfter('', days)
}

/** The text of a provision is another one from the day on which what it holds begins or ends. */
export function noteChange(unit: OpenUnit, day: string | undefined): void {
  const holder = day === undefined ? undefined : holderOf(unit)
  if (holder !== undefined) holder.until = firstAfter('', [holder.until, day])
}

export function copyText(node: MarkupElement, into: TextWriter, isSkipped: (each: MarkupElement) => boolean): void {
  for (const child of node.children) {
    if (child.kind === 'text') into.add(child)
    else if (!isSkipped(child)) copyText(child, into, isSkipped)
  }
}

export function passageAround(unit: OpenUnit | undefined): OpenUnit | undefined {
  for (let next = unit; next !== undefined; next = next.above) {
    if (next.level === 'passage') return next
    if (next.level === 'division') return undefined
  }
  return undefined
}

function pathTo(unit: OpenUnit | undefined): readonly string[] {
  const path: string[] = []
  for (let next = unit; next?.above !== undefined; next = next.above) {
    const name = labelledHeading({ label: nameOf(next, 'label'), heading: nameOf(next, 'heading') })
    if (name !== '') path.unshift(name)
  }
  return path
}

/** What is read of a unit. @param written its text where it becomes a record. */
export function provisionOf(unit: OpenUnit, written: Pick<TextWriter, 'text' | 'pieces'> | undefined): Provision {
  const { role, element, above, kind, standing, until } = unit
  return {
    kind,
    label: nameOf(unit, 'label'),
    heading: nameOf(unit, 'heading'),
    anchor: role.anchor,
    line: element.line,
    element,
    path: pathTo(above),
    ...(standing === undefined ? {} : { standing }),
    ...(until === undefined ? {} : { until }),
    within: above?.index,
    text: written?.text,
    pieces: written?.pieces ?? [],
  }
}

/** Two written texts in one line. */
export function joined(first: TextWriter, second: TextWriter): Pick<TextWriter, 'text' | 'pieces'> {
  if (first.isEmpty || second.isEmpty) return first.isEmpty ? second : first
  const before = `${first.text} `
  const moved = second.pieces.map((piece) => ({ ...piece, at: piece.at + before.length }))
  return { text: before + second.text, pieces: [...first.pieces, ...moved] }
}

/** Ranges of the texts below an element; those that follow each other are one. */
export function rangesOf(element: MarkupElement): readonly { readonly from: number; readonly to: number }[] {
  const ranges: { from: number; to: number }[] = []
  const waiting: MarkupNode[] = [element]
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (node.kind === 'element') {
      stack(waiting, node.children)
      continue
    }
    const [from, to] = [node.start, node.start + node.value.length]
    const last = ranges.at(-1)
    if (last?.to === from) last.to = to
    else ranges.push({ from, to })
  }
  return ranges
}

export function contextOf(place: Place): RoleContext {
  return { quoted: place.quoted, within: place.sections.unit.kind }
}

/** What a unit around one says of it. The notes to a provision without force tell why, and stay. */
export function inherited(above: OpenUnit | undefined, kind: string): Standing | undefined {
  return kind === 'note' && !isNoText(above?.standing) ? undefined : above?.standing
}

/** Whether a unit without force says no more than that. */
export function isStatement({ standing, writer, heading, label }: OpenUnit): boolean {
  if (isNoText(standing)) return false
  if (!writer.isEmpty) return saysNoForce(writer.text)
  return saysNoForce(heading.isEmpty ? label.text : heading.text)
}

/** Whether a node puts text, or a mark of it, into its line. */
export function writes(node: MarkupNode, roles: Roles, context: RoleContext): boolean {
  if (node.kind === 'text') return node.value.trim() !== ''
  if (node.standing !== undefined) return false
  const role = roles(node, context)
  if ('loss' in role && role.loss !== undefined) return true
  return role.is !== 'omit' && node.children.some((child) => writes(child, roles, context))
}

/** Whether an element that is out of force is left out as a whole: a provision is read, and named. */
export function isLeftOut(role: Role, element: MarkupElement, { sections: { unit } }: Place): boolean {
  if (!isNoText(element.standing) && saysNoForce(textOf(element) ?? '')) return false
  switch (role.is) {
    case 'omit':
      return false
    case 'unit':
      return role.level === 'part' && passageAround(unit) !== undefined
    case 'start':
      return false
    default:
      return true
  }
}
