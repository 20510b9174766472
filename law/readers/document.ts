import RULES from './names/date-rules.json' with { type: 'json' }
import type { Piece } from './text-writer.ts'
import type { Standing } from './standing.ts'
import type { MarkupElement } from './tree.ts'

export type ReaderFormat =
  | ('akoma-ntoso' | 'clml' | 'cfr' | 'ecfr' | 'eur-lex' | 'formex' | 'gii-norm')
  | ('html' | 'regml' | 'uslm' | 'markdown' | 'pdf' | 'docx')

/** Rules by which a date is derived, as the lineage of a revision names them. */
export const DATE_RULES = RULES
export type DateRule = keyof typeof DATE_RULES

/** A day, YYYY-MM-DD; without a rule the file states it as what it is taken for. */
export interface ReadDate {
  readonly day: string
  readonly rule?: DateRule
}

export interface Provision {
  /** The format's word: `section`, `article`, `recital`. */
  readonly kind: string
  /** Its number as written: `§ 51.1`, `Article 5`, `(1)`. */
  readonly label: string
  readonly heading: string
  readonly anchor: string | undefined
  /** Position of the provision that holds this one, in the list of the document. */
  readonly within: number | undefined
  readonly line: number
  /** Page of a PDF, from 1. */
  readonly page?: number
  readonly element: MarkupElement | undefined
  /** Headings above it, outermost first. */
  readonly path: readonly string[]
  /** Why it is no law in force: then it has no text, or one that says so. */
  readonly standing?: Standing | undefined
  /** First day, after that of the text, on which the file states that it changes or ends. */
  readonly until?: string | undefined
  /** Its text where it becomes a record of its own; the text of those within it stands with it. */
  readonly text: string | undefined
  readonly pieces: readonly Piece[]
}

/** The provisions around one, nearest first. @param provisions all of the document. */
export function aroundOf({ within }: Provision, provisions: readonly Provision[]): readonly Provision[] {
  const outer = within === undefined ? undefined : provisions[within]
  return outer === undefined ? [] : [outer, ...aroundOf(outer, provisions)]
}

/** Number and heading of a provision, which may hold the number. */
export function labelledHeading({ label, heading }: Pick<Provision, 'label' | 'heading'>): string {
  return (heading.startsWith(label) ? heading : `${label} ${heading}`).trim()
}

export interface Omitted {
  readonly rule: string
  readonly line: number
  readonly from: number
  readonly to: number
}

export interface ReaderWarning {
  readonly message: string
  readonly line?: number
  readonly page?: number
  readonly xpath?: string
}

/** What a file says and its reader does not understand. */
export interface ReaderLoss {
  /** Of what is not understood, the same in every file. */
  readonly name: string
  readonly count: number
  readonly line: number
}

/** What a document says of itself. What is undefined, the file does not state. */
export interface DocumentFields {
  readonly title?: string | undefined
  readonly identifier?: string | undefined
  /** Further names by which the act is cited; the first is its official abbreviation. */
  readonly names?: readonly string[]
  /** BCP 47. */
  readonly language?: string | undefined
  readonly jurisdiction?: string | undefined
  readonly authority?: string | undefined
  readonly subjects?: readonly string[]
  readonly url?: string | undefined
  readonly publishedAt?: ReadDate | undefined
  readonly effectiveFrom?: ReadDate | undefined
  readonly effectiveTo?: ReadDate | undefined
}

/** How a provision is cited. */
export interface Citation {
  readonly label: string
  /** The name of the act, where the label begins with it. */
  readonly name?: string
  /** Key of the document that the provision belongs to, where a file holds several. */
  readonly document?: string
  readonly title?: string
  readonly url?: string
  readonly act?: string
  readonly aliases?: string
  readonly reference?: string
}
