import type { Omitted, Provision, ReaderLoss } from './document.ts'
import { drawnRole } from './drawn.ts'
import type { Vocabulary } from './format.ts'
import type { Role, Roles, TextRole } from './roles.ts'
import { columnsOf, RowCells } from './row-cells.ts'
import { isNoText, STANDING_RULES, type Standing } from './standing.ts'
import { TextWriter } from './text-writer.ts'
import { writtenIn, type MarkupElement, type MarkupNode } from './tree.ts'
import {
  contextOf,
  copyText,
  gapOf,
  holderOf,
  inherited,
  isLeftOut,
  isStatement,
  joined,
  noteChange,
  passageAround,
  provisionOf,
  rangesOf,
  untilAround,
  writerOf,
  writes,
} from './units.ts'
import type { SectionStack, OpenUnit, Place } from './units.ts'

/** The rule by which numbers and headings stand beside a passage and not in its text. */
export const HEADING_RULE = 'number or heading, which the passage carries'

/** Reads the provisions below an element, which is the document itself. */
export function walk(root: MarkupElement, roles: Roles, changeOf: ChangeOf) {
  const walker = new Walker(roles, changeOf)
  walker.document(root)
  return { provisions: walker.provisions, omitted: walker.omitted, losses: walker.losses }
}

type ChangeOf = Vocabulary['changeOf']

class Walker {
  readonly #roles: Roles
  readonly #changeOf: ChangeOf
  readonly #units: (Provision | undefined)[] = []
  readonly #cells = new RowCells()
  readonly omitted: Omitted[] = []
  readonly losses: ReaderLoss[] = []

  constructor(roles: Roles, changeOf: ChangeOf) {
    this.#changeOf = changeOf
    this.#roles = (element, context) => drawnRole(element) ?? roles(element, context)
  }

  get provisions(): readonly Provision[] {
    return this.#units.flatMap((unit) => unit ?? [])
  }

  document(root: MarkupElement): void {
    const unit = this.#open({ is: 'unit', kind: 'document', level: 'division' }, root, undefined, new TextWriter())
    this.#filled(unit, false, (place) => this.#whole(root, place))
  }

  /** Reads into a unit, and closes it. */
  #filled(unit: OpenUnit, quoted: boolean, read: (place: Place) => void): void {
    const sections = { unit, owner: unit }
    read({ sections, into: undefined, quoted, lines: false, flat: false })
    this.#closeStarted(sections, 0)
    this.#close(unit)
  }

  #open(
    role: Extract<Role, { is: 'unit' }>,
    element: MarkupElement,
    above: OpenUnit | undefined,
    writer: TextWriter,
    rank?: number,
  ): OpenUnit {
    const index = this.#units.push(undefined) - 1
    const level = role.level === 'part' && passageAround(above) === undefined ? 'passage' : role.level
    if (above !== undefined) above.hasUnits = true
    const [label, heading] = [new TextWriter(), new TextWriter()]
    const names = { label, heading, notes: [], notesOfName: [], hasUnits: false, isCut: false }
    // What stands below a hidden heading is shown.
    const own = rank !== undefined && element.standing === 'hidden' ? undefined : element.standing
    const standing = own ?? inherited(above, role.kind)
    const unit = { index, kind: role.kind, level, writer, role, element, above, rank, ...names, standing }
    if (level === 'part' && above !== undefined) noteChange(above, this.#changeOf?.(element))
    return { ...unit, until: level === 'part' ? undefined : untilAround(element, this.#changeOf) }
  }

  #close(unit: OpenUnit): void {
    const { element, level, writer } = unit
    if (level === 'part') return this.#keep(unit, undefined)
    this.#notes(unit)
    if (unit.standing !== undefined && !isStatement(unit)) {
      for (const { from, to } of [unit.label, unit.heading, writer].flatMap(({ pieces }) => pieces))
        this.omitted.push({ rule: STANDING_RULES[unit.standing], line: element.line, from, to })
      return this.#keep(unit, undefined)
    }
    const isNamed = !unit.label.isEmpty || !unit.heading.isEmpty
    // A repealed or reserved provision has no other text; one whose text is struck or hidden has none.
    if (writer.isEmpty && isNamed && (!unit.isCut || isStatement(unit)) && (level === 'passage' || !unit.hasUnits))
      return this.#keep(unit, joined(unit.label, unit.heading))
    for (const { from, to } of [...unit.label.pieces, ...unit.heading.pieces])
      this.omitted.push({ rule: HEADING_RULE, line: element.line, from, to })
    this.#keep(unit, writer.isEmpty ? undefined : writer)
  }

  #keep(unit: OpenUnit, written: Pick<TextWriter, 'text' | 'pieces'> | undefined): void {
    this.#units[unit.index] = provisionOf(unit, written)
  }

  #notes(unit: OpenUnit): void {
    for (const note of unit.notesOfName) this.#below(unit, note, '')
    for (const [index, note] of unit.notes.entries()) this.#below(unit, note, `[${index + 1}]`)
  }

  #below(unit: OpenUnit, note: MarkupElement, mark: string): void {
    const sections = { unit, owner: unit }
    const place: Place = { sections, into: unit.writer, quoted: true, lines: false, flat: true }
    unit.writer.separate('paragraph')
    this.#bullet(mark, place)
    this.#children(note, place)
  }

  #children(element: MarkupElement, place: Place): void {
    for (const child of element.children) this.#visit(child, place)
  }

  #visit(node: MarkupNode, place: Place): void {
    if (node.kind === 'text') {
      writerOf(place).add(node, place.lines)
      return
    }
    const units = this.#units.length
    this.#element(node, place)
    if (this.#units.length === units) noteChange(place.sections.unit, this.#changeOf?.(node))
  }

  #element(node: MarkupElement, place: Place): void {
    const role = this.#roles(node, contextOf(place))
    if (node.standing !== undefined && isLeftOut(role, node, place)) return this.#gone(role, node, node.standing, place)
    switch (role.is) {
      case 'omit':
        for (const { from, to } of rangesOf(node)) this.omitted.push({ rule: role.rule, line: node.line, from, to })
        if (role.loss === undefined || node.standing !== undefined) return
        writerOf(place).mark(` [${role.loss}] `)
        this.losses.push({ name: role.loss, count: 1, line: node.line })
        return
      case 'unit':
        return this.#unit(role, node, place)
      case 'start':
        return this.#start(role, node, place)
      case 'note':
        return this.#note(node, place)
      case 'label':
      case 'heading':
        return this.#named(role.is, node, place)
      default:
        return this.#text(role, node, place)
    }
  }

  /** What is struck leaves the gap that its own white space or its lines were; no word runs into the next one. */
  #gone(role: Role, node: MarkupElement, standing: Standing, place: Place): void {
    for (const { from, to } of rangesOf(node))
      this.omitted.push({ rule: STANDING_RULES[standing], line: node.line, from, to })
    const isInline = role.is === 'inline' || role.is === 'marked' || role.is === 'note' || role.is === 'label'
    const written = writtenIn(node)
    if (isNoText(standing) && place.into === undefined) holderOf(place.sections.unit).isCut ||= /\S/.test(written)
    if (!isInline) writerOf(place).separate(gapOf(place))
    else if (/^\s|\s$/.test(written)) writerOf(place).separate('space')
  }

  /** What the document states of itself holds for all units in it. */
  #whole(root: MarkupElement, place: Place): void {
    if (root.standing === undefined) this.#visit(root, place)
    else this.#children(root, place)
  }

  #text(role: TextRole, node: MarkupElement, place: Place): void {
    const gap = gapOf(place)
    switch (role.is) {
      case 'inline':
        return this.#children(node, place)
      case 'cell':
        return this.#children(node, { ...place, flat: true, lines: false })
      case 'marked': {
        writerOf(place).mark(role.before)
        if (role.loss !== undefined) this.losses.push({ name: role.loss, count: 1, line: node.line })
        this.#children(node, { ...place, flat: true })
        writerOf(place).mark(role.after)
        if (role.label === true) writerOf(place).holdLine()
        return
      }
      case 'block':
        return this.#apart(node, place, gap)
      case 'quote':
        return this.#apart(node, { ...place, quoted: true }, gap)
      case 'lines':
        return this.#apart(node, { ...place, lines: true }, gap)
      case 'break':
        return this.#apart(node, place, place.flat ? 'space' : 'line')
      case 'item':
        writerOf(place).separate(place.flat ? 'space' : 'line')
        this.#bullet(role.mark, place)
        this.#apart(node, place, place.flat ? 'space' : 'line')
        return
      case 'row':
        return this.#row(node, place)
      default:
        role satisfies never
    }
  }

  #apart(node: MarkupElement, place: Place, gap: 'space' | 'line' | 'paragraph'): void {
    writerOf(place).separate(gap)
    this.#children(node, place)
    writerOf(place).separate(gap)
  }

  #bullet(mark: string, place: Place): void {
    if (mark === '') return
    writerOf(place).mark(mark)
    writerOf(place).holdLine()
  }

  /** Cells of a row stand in one line, apart from each other. */
  #row(row: MarkupElement, place: Place): void {
    const gap = place.flat ? 'space' : 'line'
    writerOf(place).separate(gap)
    let cells = 0
    for (const child of row.children) {
      if (child.kind === 'text' && child.value.trim() === '') continue
      if (child.kind === 'element') cells += this.#cells.skippedBefore(child)
      if (writes(child, this.#roles, contextOf(place))) {
        if (cells > 0) writerOf(place).mark(` ${'| '.repeat(cells).trim()} `)
        cells = 0
      }
      this.#visit(child, { ...place, flat: true })
      cells += child.kind === 'element' ? columnsOf(child) : 1
    }
    writerOf(place).separate(gap)
  }

  #unit(role: Extract<Role, { is: 'unit' }>, node: MarkupElement, place: Place): void {
    if (role.ends !== undefined) this.#closeStarted(place.sections, role.ends)
    const { unit: around } = place.sections
    const quoted = place.quoted || role.quoted === true
    if (role.level !== 'part' || passageAround(around) === undefined) {
      const unit = this.#open(role, node, around, new TextWriter())
      this.#filled(unit, quoted, (inner) => this.#children(node, inner))
      // What follows in the unit around it is another paragraph.
      writerOf(place).separate('paragraph')
      return
    }
    const unit = this.#open(role, node, around, around.writer)
    const gap = place.flat ? 'space' : around.level === 'part' ? 'line' : 'paragraph'
    writerOf(place).separate(gap)
    this.#bullet(role.label ?? '', place)
    this.#children(node, { ...place, quoted, sections: { unit, owner: unit } })
    writerOf(place).separate(gap)
    this.#close(unit)
  }

  #start(role: Extract<Role, { is: 'start' }>, node: MarkupElement, place: Place): void {
    const { sections } = place
    this.#closeStarted(sections, role.rank)
    const { kind, level, anchor, rank, names } = role
    const unit = this.#open({ is: 'unit', kind, level, anchor }, node, sections.unit, new TextWriter(), rank)
    sections.unit = unit
    const named = { ...place, into: unit[names], flat: true }
    if (node.standing !== undefined && isNoText(node.standing)) this.#gone(role, node, node.standing, named)
    else this.#children(node, named)
  }

  /** Closes what headings of a rank and below have opened. */
  #closeStarted(sections: SectionStack, rank: number): void {
    while (sections.unit !== sections.owner && (sections.unit.rank ?? 0) >= rank) {
      const { unit } = sections
      this.#close(unit)
      sections.unit = unit.above ?? sections.owner
    }
  }

  #note(node: MarkupElement, place: Place): void {
    const holder = holderOf(place.sections.unit)
    if (holder.writer !== writerOf(place)) {
      // A note of a number or a heading is no part of the name.
      place.sections.unit.notesOfName.push(node)
      return
    }
    holder.notes.push(node)
    holder.writer.mark(`[${holder.notes.length}]`)
  }

  #named(is: 'label' | 'heading', node: MarkupElement, place: Place): void {
    const { unit } = place.sections
    if (!place.quoted && unit.level !== 'part') {
      unit[is].separate('space')
      this.#children(node, { ...place, into: unit[is], flat: true })
      return
    }
    const gap = place.flat ? 'space' : 'line'
    if (is === 'heading') writerOf(place).separate(gap)
    this.#children(node, { ...place, flat: true })
    if (is === 'label') writerOf(place).holdLine()
    else writerOf(place).separate(gap)
    // The tree names it too; the text is claimed once.
    if (!place.quoted)
      copyText(
        node,
        unit[is],
        (each) => each.standing !== undefined || ['note', 'omit'].includes(this.#roles(each, contextOf(place)).is),
      )
  }
}
