import { randomUUID } from 'node:crypto'
import type { ServiceSecrets } from '#core/credentials/settings.ts'
import { insertClient, setClientActive } from '#core/db/clients.ts'
import { insertKnowledgeBase, setTraced } from '#core/db/knowledge-bases.ts'
import { insertOrganization, setOrganizationActive } from '#core/db/organizations.ts'
import type { Queryable } from '#core/db/pool.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { createFingerprintEpoch } from './fingerprints.ts'
import { checkedName, clientNamed, isUuid, knowledgeBaseNamed, organizationNamed } from './names.ts'
import { withAudit, type Operator } from './operator.ts'

/** Creates an organization with its first fingerprint key, which its first request needs. */
export async function createOrganization(
  operator: Operator,
  input: { readonly name: string; readonly serviceSecrets: ServiceSecrets },
) {
  const name = checkedName('an organization', input.name)
  const id = randomUUID()
  return withAudit(operator, 'organization.create', async (client) => {
    if (!(await insertOrganization(client, id, name)))
      throw new OperatorError(
        `The organization "${name}" exists already: choose another name, or use the existing one.`,
      )
    await createFingerprintEpoch(client, id, input.serviceSecrets)
    return [{ id, name }, `organization:${id}`, { name }]
  })
}

export async function createClient(
  operator: Operator,
  input: { readonly organization: string; readonly name: string },
) {
  const name = checkedName('a client', input.name)
  const { id: organization_id, name: organization } = await organizationNamed(operator.database, input.organization)
  const id = randomUUID()
  return withAudit(operator, 'client.create', async (client) => {
    if (!(await insertClient(client, id, organization_id, name)))
      throw new OperatorError(
        `"${organization}" has a client "${name}" already: choose another name, or use the existing one.`,
      )
    return [{ id, name, organization }, `client:${id}`, { name, organization, organization_id }]
  })
}

/** Suspension refuses all requests within five seconds; nothing is deleted. */
function switchOf(
  noun: string,
  named: typeof organizationNamed | typeof clientNamed,
  setActive: (client: Queryable, id: string, active: boolean) => Promise<boolean>,
) {
  return async (operator: Operator, nameOrId: string, suspended: boolean) => {
    const { id, name } = await named(operator.database, nameOrId)
    return withAudit(operator, `${noun}.${suspended ? 'suspend' : 'resume'}`, async (client) => {
      if (!(await setActive(client, id, !suspended)))
        throw new OperatorError(
          `The ${noun} "${name}" is ${suspended ? 'suspended' : 'active'} already: nothing was changed.`,
        )
      return [{ id, name, active: !suspended }, `${noun}:${id}`, { name }]
    })
  }
}

/** Suspends an organization with all keys of all its clients, or resumes it. */
export const setOrganizationSuspended = switchOf('organization', organizationNamed, setOrganizationActive)
export const setClientSuspended = switchOf('client', clientNamed, setClientActive)

const SLUG = /^[a-z0-9][a-z0-9-]{0,62}$/

export async function createKnowledgeBase(
  operator: Operator,
  { slug, title: given, asOf }: { readonly slug: string; readonly title: string; readonly asOf?: string | undefined },
) {
  if (!SLUG.test(slug) || isUuid(slug))
    throw new OperatorError(
      'A slug has 1 to 63 lower-case letters, digits and hyphens and begins with a letter or digit; ' +
        'it is no UUID: choose one like "banking-rules".',
    )
  const made = { id: randomUUID(), slug, title: checkedName('a knowledge base', given), as_of: asOf ?? null }
  return withAudit(operator, 'knowledge-base.create', async (client) => {
    if (!(await insertKnowledgeBase(client, made)))
      throw new OperatorError(
        `The knowledge base "${slug}" exists already: choose another slug, or use the existing one.`,
      )
    const { id, ...stated } = made
    return [made, `knowledge-base:${id}`, stated]
  })
}

/**
 * Decides whether activations of a knowledge base extend its public trace. What was published stays, since replies
 * refer to it.
 */
export async function setTrace(operator: Operator, slugOrId: string, traced: boolean) {
  const { id, slug } = await knowledgeBaseNamed(operator.database, slugOrId)
  const state = traced ? 'on' : 'off'
  return withAudit(operator, `knowledge-base.trace-${state}`, async (client) => {
    if (!(await setTraced(client, id, traced)))
      throw new OperatorError(`The trace of "${slug}" is ${state} already: nothing was changed.`)
    return [{ id, slug, traced }, `knowledge-base:${id}`, { slug }]
  })
}
