import { foldKey } from '#core/identity/fold.ts'
import { standingOfStyle, type Standing } from './standing.ts'
import { allNamed, writtenIn, type MarkupElement } from './tree.ts'
import type { ReaderLoss } from './document.ts'

type Matches = (element: MarkupElement) => boolean

interface StyleRule {
  readonly selector: string
  readonly matches: Matches | undefined
  readonly standing: Standing
}

/** States of a page in use, and what stands beside the text of an element. */
const NOT_ITSELF = /:(?:after|before|hover|focus|active|visited|target|checked|disabled|empty|:)/i
/** Rules for some screens, for print alone and for movements say nothing. */
const SHOWN = /^@(?:media\s+(?:only\s+)?(?:all|screen)$|supports\b|layer\b)/i
const RULES_MAX = 2_000

/**
 * Returns a function that says of an element whether a rule of the page's style sheets hides it or strikes it through
 * (CSS 2.2, chapter 5).
 */
export function createStyles(root: MarkupElement): (element: MarkupElement) => Standing | undefined {
  const rules = rulesOf(root).filter(({ matches }) => matches !== undefined)
  return (element) => {
    if (element.name === 'dialog' && !element.attributes.has('open')) return 'hidden'
    return rules.find(({ matches }) => matches?.(element) === true)?.standing
  }
}

/** The rules that hide or strike and whose selectors are not understood. */
export function unreadStyles(root: MarkupElement): readonly ReaderLoss[] {
  return rulesOf(root).flatMap(({ selector, matches }) =>
    matches === undefined ? [{ name: `style rule ${selector.slice(0, 60)}`, count: 1, line: 1 }] : [],
  )
}

function rulesOf(root: MarkupElement): readonly StyleRule[] {
  const rules: StyleRule[] = []
  for (const sheet of allNamed(root, 'style')) {
    const css = writtenIn(sheet).replaceAll(/\/\*[\s\S]*?\*\/|<!--|-->/g, ' ')
    const heads: string[] = []
    let from = 0
    for (const { index, 0: brace } of css.matchAll(/[{}]/g)) {
      const written = css.slice(from, index)
      from = index + 1
      if (brace === '{') {
        heads.push(written.slice(written.lastIndexOf(';') + 1).trim())
        continue
      }
      const head = heads.pop() ?? '@'
      const standing = standingOfStyle(written)
      if (standing === undefined || head.startsWith('@') || !heads.every((each) => SHOWN.test(each))) continue
      for (const selector of head.split(',').map((each) => each.trim()))
        if (!NOT_ITSELF.test(selector) && rules.length < RULES_MAX)
          rules.push({ selector, matches: matcherOf(selector), standing })
    }
  }
  return rules
}

/** Undefined for a selector of another form than names, classes, ids and attributes, within each other. */
function matcherOf(selector: string): Matches | undefined {
  const steps = selector.replaceAll(/\s*>\s*/g, ' >').split(/\s+/)
  let around: Matches | undefined
  for (const step of steps) {
    const own = compoundOf(step.replace(/^>/, ''))
    if (own === undefined) return undefined
    const outer = around
    const isChild = step.startsWith('>')
    around = (element) => {
      if (!own(element)) return false
      if (outer === undefined) return true
      for (let next = element.parent; next !== undefined; next = next.parent) {
        if (outer(next)) return true
        if (isChild) return false
      }
      return false
    }
  }
  return around
}

const SIMPLE = /([.#]?)([\p{L}\p{N}_-]+)|\*|\[\s*([\w-]+)\s*(?:([~^$*|]?)=\s*["']?([^"'\]]*)["']?\s*)?\]/uy

function compoundOf(compound: string): Matches | undefined {
  const tests: Matches[] = []
  SIMPLE.lastIndex = 0
  while (SIMPLE.lastIndex < compound.length) {
    const found = SIMPLE.exec(compound)
    if (found === null) return undefined
    const [, mark, name = '', attribute, operator, value] = found
    if (attribute !== undefined) tests.push(({ attributes }) => has(attributes.get(attribute), operator, value))
    else if (mark === '.') tests.push(({ attributes }) => has(attributes.get('class'), '~', name))
    else if (mark === '#') tests.push(({ attributes }) => attributes.get('id') === name)
    else if (name !== '') tests.push((element) => element.name === foldKey(name))
  }
  return tests.length === 0 && compound !== '*' ? undefined : (element) => tests.every((test) => test(element))
}

function has(stated: string | undefined, operator: string | undefined, value: string | undefined): boolean {
  if (stated === undefined || value === undefined) return stated !== undefined
  switch (operator) {
    case '~':
      return stated.split(/\s+/).includes(value)
    case '^':
    case '|':
      return stated.startsWith(value)
    case '$':
      return stated.endsWith(value)
    case '*':
      return stated.includes(value)
    default:
      return stated === value
  }
}
