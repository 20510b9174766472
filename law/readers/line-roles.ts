import { attribute } from './tree.ts'
import type { MarkupElement } from './tree.ts'
import type { Role } from './roles.ts'

/** What a block of a tree of lines is. */
export function lineRole(element: MarkupElement, lines: boolean): Role {
  switch (element.name) {
    case 'omitted':
      return { is: 'omit', rule: attribute(element, 'rule') ?? 'no text' }
    case 'heading': {
      const kind = attribute(element, 'kind') ?? 'heading'
      return {
        is: 'start',
        kind,
        level: kind === 'heading' ? 'division' : 'passage',
        rank: Number(attribute(element, 'rank') ?? 1),
        anchor: attribute(element, 'anchor'),
        names: 'heading',
      }
    }
    case 'row':
    case 'cell':
      return { is: element.name }
    default:
      return { is: lines ? 'lines' : 'block' }
  }
}
