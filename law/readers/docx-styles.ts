import { attribute, childNamed, childrenNamed, type MarkupElement } from './tree.ts'

const STYLES_MAX = 20

/** A style of a Word document by its id, then those that it is based on. */
export type Styles = (id: string | undefined) => readonly MarkupElement[]

export function stylesOf(root: MarkupElement | undefined): Styles {
  const byId = new Map(childrenNamed(root, 'style').map((each) => [attribute(each, 'styleId') ?? '', each] as const))
  return (id) => {
    const chain: MarkupElement[] = []
    for (let next = byId.get(id ?? ''); next !== undefined; next = byId.get(valueOf(next, 'basedOn') ?? ''))
      if (chain.push(next) === STYLES_MAX) break
    return chain
  }
}

export function valueOf(parent: MarkupElement | undefined, name: string): string | undefined {
  return attribute(childNamed(parent, name), 'val')
}
