import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { finishActivation, insertActivation, setVersionState } from '#core/db/activations.ts'
import { insertKnowledgeBase } from '#core/db/knowledge-bases.ts'
import { inTransaction, type Queryable } from '#core/db/pool.ts'
import { retireReviewer } from '#core/db/reviewers.ts'
import { VERSION_STATES } from '#core/db/versions.ts'
import { openTestPools, withoutGuards } from '#test/support/postgres.ts'
import {
  firstReviewer,
  insertSignedReview,
  insertTestReviewer,
  makeComparable,
  requireReviewers,
} from '#test/support/reviews.ts'
import { insertVersion } from '#test/support/version-rows.ts'

type State = (typeof VERSION_STATES)[number]
interface Base {
  readonly id: string
  readonly slug: string
}
interface Version {
  readonly base: Base
  readonly version: string
  readonly profile: string
}

/** The owner is the superuser: the guards hold for it as for everybody. */
const { owner, jobs } = await openTestPools()

async function createBase(): Promise<Base> {
  const base = { id: randomUUID(), slug: `base-${randomUUID()}` }
  await insertKnowledgeBase(owner, { ...base, title: 'Rules', as_of: null })
  return base
}

async function createVersion(state: State, given?: Base): Promise<Version> {
  const base = given ?? (await createBase())
  const { version, profile } = await insertVersion(owner, { slug: base.slug, state, passages: 1 })
  return { base, version, profile }
}

async function review(version: string, verdict: 'approved' | 'rejected'): Promise<void> {
  await makeComparable(owner, version)
  await insertSignedReview(owner, version, { verdict })
}

async function point(client: Queryable, { id }: Base, version: string): Promise<void> {
  await client.query(
    'insert into active_versions (knowledge_base_id, version_id) values ($1, $2) on conflict (knowledge_base_id) ' +
      'do update set version_id = $2, previous_version_id = active_versions.version_id',
    [id, version],
  )
}

/** What an activation writes, in one transaction. */
async function activate(to: Version, from?: Version): Promise<void> {
  const asked = { id: randomUUID(), knowledgeBaseId: to.base.id, versionId: to.version, actor: 'actor' } as const
  await insertActivation(owner, { ...asked, expectedVersionId: from?.version ?? null, kind: 'activate' })
  await inTransaction(jobs, async (client) => {
    await point(client, to.base, to.version)
    await client.query("update corpus_versions set state = 'active' where id = $1", [to.version])
    if (from !== undefined)
      await client.query("update corpus_versions set state = 'retired' where id = $1", [from.version])
    await finishActivation(client, asked.id, 'done', '')
  })
}

/** A knowledge base with an active version, and an approved candidate of it. */
async function createActiveAndCandidate(): Promise<{ readonly active: Version; readonly candidate: Version }> {
  const base = await createBase()
  const active = await createVersion('candidate', base)
  const candidate = await createVersion('candidate', base)
  await review(active.version, 'approved')
  await activate(active)
  await review(candidate.version, 'approved')
  return { active, candidate }
}

describe('the state of a version', () => {
  const transitions = ['candidate active', 'candidate rejected', 'active retired', 'retired active']
  const others = VERSION_STATES.flatMap((from) =>
    VERSION_STATES.filter((to) => to !== from && !transitions.includes(`${from} ${to}`)).map(
      (to) => [from, to] as const,
    ),
  )

  test.each(others)('never changes from %s to %s', async (from, to) => {
    const { version } = await createVersion(from)
    await review(version, 'approved')
    await expect(setVersionState(owner, version, from, to)).rejects.toThrow(
      `a version that is ${from} never becomes ${to}`,
    )
  })

  test('goes from candidate to active to retired and back with the pointer', async () => {
    const { active, candidate } = await createActiveAndCandidate()
    await activate(candidate, active)
    await activate(active, candidate)
    const { rows } = await owner.query(
      'select v.id, v.state from active_versions a join corpus_versions v on v.id in (a.version_id, ' +
        'a.previous_version_id) where a.knowledge_base_id = $1 order by v.state',
      [active.base.id],
    )
    expect(rows).toEqual([
      { id: active.version, state: 'active' },
      { id: candidate.version, state: 'retired' },
    ])
  })

  test('goes from candidate to rejected', async () => {
    const { version } = await createVersion('candidate')
    expect(await setVersionState(owner, version, 'candidate', 'rejected')).toBe(true)
  })

  test.each(VERSION_STATES.filter((state) => state !== 'candidate'))('does not begin as %s', async (state) => {
    const { version } = await createVersion('candidate')
    await expect(
      owner.query(
        'insert into corpus_versions (id, knowledge_base_id, build_id, state, passages, documents, facets, ' +
          'evaluation, passed) select gen_random_uuid(), knowledge_base_id, gen_random_uuid(), $2, passages, ' +
          'documents, facets, evaluation, passed from corpus_versions where id = $1',
        [version, state],
      ),
    ).rejects.toThrow(`a version begins as a candidate, not ${state}`)
  })

  const unapproved = 'a version becomes active only if enough reviewers approve this transition'
  const notPassed = 'a version becomes active only if it passed its evaluation'

  test('becomes active only with an approval', async () => {
    const candidate = await createVersion('candidate')
    await expect(activate(candidate)).rejects.toThrow(unapproved)
    await review(candidate.version, 'approved')
    await activate(candidate)
  })

  test('never becomes active once it is rejected', async () => {
    const { active, candidate } = await createActiveAndCandidate()
    await review(candidate.version, 'approved')
    await setVersionState(jobs, candidate.version, 'candidate', 'rejected')
    await expect(activate(candidate, active)).rejects.toThrow('the pointer returns only to a version on the way back')
  })

  test('is approved from one activation of its predecessor only: the approval never comes back', async () => {
    const { active, candidate } = await createActiveAndCandidate()
    const other = await createVersion('candidate', active.base)
    await review(other.version, 'approved')
    await activate(other, active)
    await activate(active, other)
    await expect(activate(candidate, active)).rejects.toThrow(unapproved)
    await review(candidate.version, 'approved')
    await activate(candidate, active)
  })

  test('is approved with its own profile', async () => {
    const { active, candidate } = await createActiveAndCandidate()
    await insertSignedReview(owner, candidate.version, {
      alter: (statement) => ({ ...statement, profile: { ...statement.profile, id: active.profile } }),
    })
    await expect(activate(candidate, active)).rejects.toThrow(unapproved)
  })

  test('is pointed to at no other isolation level than read committed', async () => {
    const { candidate } = await createActiveAndCandidate()
    const pointed = inTransaction(jobs, async (client) => {
      await client.query('set transaction isolation level repeatable read')
      await point(client, candidate.base, candidate.version)
    })
    await expect(pointed).rejects.toThrow('only at isolation level read committed')
  })

  test('becomes active only with the approval of the step from the version that is active', async () => {
    const { active, candidate } = await createActiveAndCandidate()
    const other = await createVersion('candidate', active.base)
    await review(other.version, 'approved')
    await activate(other, active)
    await expect(activate(candidate, other)).rejects.toThrow(
      'a candidate becomes active only if it was compared with the version that it replaces',
    )
    await makeComparable(owner, candidate.version)
    await expect(activate(candidate, other)).rejects.toThrow(unapproved)
    await review(candidate.version, 'approved')
    await activate(candidate, other)
  })

  test('becomes active only with the approvals of as many different reviewers as the policy requires', async () => {
    const { active, candidate } = await createActiveAndCandidate()
    const second = await insertTestReviewer(owner, randomUUID(), undefined, await firstReviewer(owner))
    const third = await insertTestReviewer(owner, randomUUID(), undefined, await firstReviewer(owner))
    await requireReviewers(owner, active.base, 2)
    await review(candidate.version, 'approved')
    await expect(activate(candidate, active)).rejects.toThrow(unapproved)
    await insertSignedReview(owner, candidate.version, { reviewer: second })
    await retireReviewer(owner, second.id)
    await expect(activate(candidate, active)).rejects.toThrow(unapproved)
    await insertSignedReview(owner, candidate.version, { reviewer: third })
    await activate(candidate, active)
  })

  test('becomes active again only with the approvals that the policy asks for a return', async () => {
    const { active, candidate } = await createActiveAndCandidate()
    await review(candidate.version, 'approved')
    await activate(candidate, active)
    await requireReviewers(owner, active.base, 1, 1)
    await expect(activate(active, candidate)).rejects.toThrow(unapproved)
    await insertSignedReview(owner, active.version, { accepts: [] })
    await activate(active, candidate)
  })

  test('becomes active only if the version passed its evaluation', async () => {
    const failed = await createVersion('candidate')
    await review(failed.version, 'approved')
    await withoutGuards(owner, 'update corpus_versions set passed = false where id = $1', [failed.version])
    await expect(activate(failed)).rejects.toThrow(notPassed)
    await expect(setVersionState(owner, failed.version, 'candidate', 'active')).rejects.toThrow(notPassed)
  })
})

describe('a version', () => {
  test.each([
    'passed = not passed',
    "evaluation = '{}' || jsonb_build_object('a', 1)",
    'passages = passages + 1',
    "facets = jsonb_build_object('a', 1)",
    'profile_id = gen_random_uuid()',
    "profile = '{}'",
    "created_at = created_at - interval '1 day'",
    "state = 'rejected', passages = passages + 1",
  ])('changes nothing but its state: not %s', async (change) => {
    const { version } = await createVersion('candidate')
    await expect(owner.query(`update corpus_versions set ${change} where id = $1`, [version])).rejects.toThrow(
      'a version changes nothing but its state',
    )
  })

  test('is never deleted', async () => {
    const { version } = await createVersion('rejected')
    await expect(owner.query('delete from corpus_versions where id = $1', [version])).rejects.toThrow(
      'a version is never deleted',
    )
  })
})

describe('the active version of a knowledge base, at commit', () => {
  const pointed = 'the active version of a knowledge base is in state active and belongs to it'
  const alone = 'a version is in state active only while it is the active version of its knowledge base'

  test('is in state active', async () => {
    const { active, candidate } = await createActiveAndCandidate()
    await expect(point(jobs, active.base, candidate.version)).rejects.toThrow(pointed)
    await expect(setVersionState(jobs, active.version, 'active', 'retired')).rejects.toThrow(pointed)
  })

  test('is the only one in state active', async () => {
    const { candidate } = await createActiveAndCandidate()
    await expect(setVersionState(jobs, candidate.version, 'candidate', 'active')).rejects.toThrow(
      'a candidate becomes active only after the pointer names it',
    )
    await expect(activate(candidate)).rejects.toThrow(alone)
  })

  test('is not removed while its state is active', async () => {
    const { active } = await createActiveAndCandidate()
    await expect(
      owner.query('delete from active_versions where knowledge_base_id = $1', [active.base.id]),
    ).rejects.toThrow(alone)
  })

  test('belongs to that knowledge base', async () => {
    const { active } = await createActiveAndCandidate()
    const other = await createActiveAndCandidate()
    await expect(point(jobs, active.base, other.active.version)).rejects.toThrow(
      'the pointer returns only to a version on the way back',
    )
  })

  test('is reached again only along the way back', async () => {
    const { active, candidate } = await createActiveAndCandidate()
    await activate(candidate, active)
    await activate(active, candidate)
    await expect(activate(candidate, active)).rejects.toThrow('the pointer returns only to a version on the way back')
  })

  test('replaced a version of the same knowledge base', async () => {
    const { active } = await createActiveAndCandidate()
    const other = await createActiveAndCandidate()
    await expect(
      jobs.query('update active_versions set previous_version_id = $2 where knowledge_base_id = $1', [
        active.base.id,
        other.active.version,
      ]),
    ).rejects.toThrow('the previous version belongs to the same knowledge base')
  })
})
