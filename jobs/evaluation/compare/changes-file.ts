import { z } from 'zod'
import { headerSchema } from '#core/db/version-differences.ts'
import { QUESTIONS_FROM } from '#jobs/evaluation/page/evaluation-report.ts'
import { servedFieldsSchema } from './served-fields.ts'
import NAMES from './change-names.json' with { type: 'json' }

const documentSchema = z.strictObject({ id: z.string(), title: z.string(), canonical_url: z.string() })
const revisionSchema = z.strictObject(headerSchema.shape)
const place = { language: z.string(), provision: z.string(), label: z.string() }
/** Null: absent, or none. */
const values = { before: z.string().nullable(), after: z.string().nullable() }

const historyChange = z.strictObject({
  kind: z.literal('histories_rewritten'),
  repository: z.string(),
  /** Of the oldest text among those whose commit is gone, and how many there are. */
  commit: z.string(),
  texts: z.int(),
  /** Day of the capture that first missed one. */
  since: z.string(),
  /** Titles of acts of which the candidate has not each past version as the active version has it. */
  acts: z.array(z.string()).readonly(),
})
const facetChange = z.strictObject({
  kind: z.literal('facet_values_removed'),
  facet: z.enum(['languages', 'jurisdictions', 'subjects', 'statuses']),
  value: z.string(),
})
const documentChange = z.strictObject({
  kind: z.enum(['documents_removed', 'documents_changed', 'documents_added']),
  document: documentSchema,
  /** Revisions of a changed document that the candidate holds otherwise, or not at all (null). */
  revisions: z
    .array(
      z.strictObject({
        language: z.string(),
        day: z.string(),
        before: revisionSchema,
        after: revisionSchema.nullable(),
      }),
    )
    .readonly()
    .optional(),
  revisions_total: z.int().optional(),
})
const provisionChange = z.strictObject({
  kind: z.enum(['provisions_removed', 'provisions_changed', 'provisions_added']),
  document: documentSchema,
  ...place,
})
const passageChange = z.strictObject({
  kind: z.enum(['passages_removed', 'passages_changed', 'passages_repeated', 'passages_added']),
  document: documentSchema,
  ...place,
  /** First UTC day in force. */
  day: z.string(),
  /** The active passage beside which a repeated passage stands. */
  repeats: z.strictObject({ provision: z.string(), day: z.string(), label: z.string() }).optional(),
  /**
   * The fields that differ; of a passage that only one version holds, the beginning of its text. Of a repeated passage,
   * the text of the active version and the added one.
   */
  before: servedFieldsSchema.optional(),
  after: servedFieldsSchema.optional(),
})

const heldProvision = z.strictObject({ document: z.string(), ...place })
/** A canonical reference that the active version holds, and the provisions that it no longer or newly leads to. */
const referenceChange = z.strictObject({
  kind: z.literal('references_changed'),
  reference: z.string(),
  lost: z.array(heldProvision).readonly(),
  gained: z.array(heldProvision).readonly(),
})
/** A name of acts in questions, and the id of the act that it means; null: none. */
const aliasChange = z.strictObject({ kind: z.enum(['aliases_changed', 'aliases_added']), name: z.string(), ...values })
/** A file of the artifact whose vectors an endpoint sent otherwise. */
const vectorsChange = z.strictObject({ kind: z.literal('vectors_changed'), file: z.string() })
/** Values are JSON; null: absent. */
const profileChange = z.strictObject({
  kind: z.enum(['profile_changed', 'profile_fitted']),
  field: z.string(),
  ...values,
})
const questionFields = z.strictObject({
  text: z.string(),
  relevant: z.array(z.string()).readonly(),
  filters: z.string(),
})
/** A question of a question set. `question` null: the candidate has no question set. */
const questionChange = z.strictObject({
  kind: z.enum(['questions_changed', 'questions_added']),
  question: z.string().nullable(),
  before: questionFields.nullable(),
  after: questionFields.nullable(),
})
/** A search question that only one of the versions holds. `passage` is a source id. */
const searchQuestionChange = z.strictObject({
  kind: z.literal('search_questions_changed'),
  passage: z.string(),
  language: z.string(),
  ...values,
})
const answer = z.strictObject({
  decision: z.enum(['answer', 'abstain']),
  /** Source id of the first passage; null: none. */
  first: z.string().nullable(),
  /** Rank of the first relevant passage, if it is among the first ten. */
  rank: z.int().nullable(),
  unsupported: z.array(z.string()).readonly(),
})
const answerChange = z.strictObject({
  /** `answers_moved`: another first passage or decision, and neither lost nor wrong. */
  kind: z.enum(['answers_lost', 'answers_wrong', 'answers_moved']),
  question: z.string(),
  from: z.enum(QUESTIONS_FROM),
  text: z.string(),
  relevant: z.array(z.string()).readonly(),
  before: answer,
  after: answer,
})
/** Passages with the same content that were read from another snapshot. */
const snapshotChange = z.strictObject({
  kind: z.literal('snapshots_changed'),
  document: documentSchema,
  /** Of the first of them. */
  label: z.string(),
  passages: z.int().positive(),
  before: z.string(),
  after: z.string(),
})

export const namedChangeSchema = z.discriminatedUnion('kind', [
  historyChange,
  facetChange,
  documentChange,
  provisionChange,
  passageChange,
  referenceChange,
  aliasChange,
  vectorsChange,
  profileChange,
  questionChange,
  searchQuestionChange,
  answerChange,
  snapshotChange,
])
export type NamedChange = z.infer<typeof namedChangeSchema>

/** What a page calls a change of each kind, in the order in which a reviewer reads them. */
export const CHANGE_NAMES: Readonly<Record<NamedChange['kind'], string>> = NAMES

export type DocumentChange = z.infer<typeof documentChange>
export type PassageChange = z.infer<typeof passageChange>
export type ReferenceChange = z.infer<typeof referenceChange>
export type AnswerChange = z.infer<typeof answerChange>
