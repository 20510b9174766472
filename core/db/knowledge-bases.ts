import { z } from 'zod'
import { changesOne, rowOf, rowsOf } from './rows.ts'

const knowledgeBaseRow = z.object({
  id: z.uuid(),
  slug: z.string(),
  title: z.string(),
  /** Day, YYYY-MM-DD, on which law must be in force to be served; null: the day of each request. */
  as_of: z.iso.date().nullable(),
  traced: z.boolean(),
  active_version_id: z.uuid().nullable(),
  /** Passages of the active version; null when none is active. */
  passages: z.int().nullable(),
  activated_at: z.date().nullable(),
  created_at: z.date(),
})
export type KnowledgeBaseRow = z.infer<typeof knowledgeBaseRow>

const KNOWLEDGE_BASES = `
  select k.id, k.slug, k.title, k.as_of::text, k.traced, a.version_id as active_version_id, v.passages, a.activated_at,
    k.created_at
  from knowledge_bases k
  left join active_versions a on a.knowledge_base_id = k.id
  left join corpus_versions v on v.id = a.version_id`

/** Callers can look up in the trace what they are served from the first reply on. @returns false when the slug is taken. */
export const insertKnowledgeBase = changesOne.named<Pick<KnowledgeBaseRow, 'id' | 'slug' | 'title' | 'as_of'>>`
  insert into knowledge_bases (id, slug, title, as_of, traced) values (:id, :slug, :title, :as_of, true)
  on conflict (slug) do nothing`

/** @returns false when it is so already. */
export const setTraced = changesOne<[id: string, traced: boolean]>`
  update knowledge_bases set traced = $2 where id = $1 and traced <> $2`

export const listKnowledgeBases = rowsOf(knowledgeBaseRow)<[limit: number]>`${KNOWLEDGE_BASES} order by k.slug limit $1`

export const findKnowledgeBase = rowOf(knowledgeBaseRow)<[slugOrId: string]>`
  ${KNOWLEDGE_BASES} where k.id::text = lower($1) or k.slug = $1`
