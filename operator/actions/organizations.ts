import { randomUUID } from 'node:crypto'
import { OperatorError } from '#core/platform/errors.ts'
import type { ServiceSecrets } from '#core/credentials/settings.ts'
import { insertClient, setClientActive } from '#core/db/clients.ts'
import { insertOrganization, setOrganizationActive } from '#core/db/organizations.ts'
import { insertKnowledgeBase } from '#core/db/knowledge-bases.ts'
import { checkedName, clientNamed, organizationNamed } from './names.ts'
import { createFingerprintEpoch } from './fingerprints.ts'
import { withAudit } from './operator.ts'
import type { Operator } from './operator.ts'

/** Creates an organization with its first fingerprint key, which its first request needs. */
export async function createOrganization(
  operator: Operator,
  input: { readonly name: string; readonly serviceSecrets: ServiceSecrets },
): Promise<{ readonly id: string; readonly name: string }> {
  const name = checkedName('an organization', input.name)
  const id = randomUUID()
  return withAudit(operator, async (client) => {
    if (!(await insertOrganization(client, id, name)))
      throw new OperatorError(
        `The organization "${name}" exists already: choose another name, or use the existing one.`,
      )
    await createFingerprintEpoch(client, id, input.serviceSecrets)
    return {
      result: { id, name },
      audit: { action: 'organization.create', subject: `organization:${id}`, detail: { name } },
    }
  })
}

/**
 * Suspends or resumes an organization. Suspension disables all keys of all its clients within five seconds; nothing is
 * deleted.
 */
export async function setOrganizationSuspended(
  operator: Operator,
  nameOrId: string,
  suspended: boolean,
): Promise<{ readonly id: string; readonly name: string; readonly active: boolean }> {
  const { id, name } = await organizationNamed(operator.database, nameOrId)
  const action = suspended ? 'organization.suspend' : 'organization.resume'
  return withAudit(operator, async (client) => {
    if (!(await setOrganizationActive(client, id, !suspended)))
      throw new OperatorError(
        `The organization "${name}" is ${suspended ? 'suspended' : 'active'} already: nothing was changed.`,
      )
    return {
      result: { id, name, active: !suspended },
      audit: { action, subject: `organization:${id}`, detail: { name } },
    }
  })
}

export async function createClient(
  operator: Operator,
  input: { readonly organization: string; readonly name: string },
): Promise<{ readonly id: string; readonly name: string; readonly organization: string }> {
  const name = checkedName('a client', input.name)
  const organization = await organizationNamed(operator.database, input.organization)
  const id = randomUUID()
  return withAudit(operator, async (client) => {
    if (!(await insertClient(client, id, organization.id, name)))
      throw new OperatorError(
        `"${organization.name}" has a client "${name}" already: choose another name, or use the existing one.`,
      )
    const audit = {
      action: 'client.create',
      subject: `client:${id}`,
      detail: { name, organization: organization.name, organization_id: organization.id },
    }
    return { result: { id, name, organization: organization.name }, audit }
  })
}

export async function setClientSuspended(
  operator: Operator,
  nameOrId: string,
  suspended: boolean,
): Promise<{ readonly id: string; readonly name: string; readonly active: boolean }> {
  const { id, name } = await clientNamed(operator.database, nameOrId)
  const action = suspended ? 'client.suspend' : 'client.resume'
  return withAudit(operator, async (client) => {
    if (!(await setClientActive(client, id, !suspended)))
      throw new OperatorError(
        `The client "${name}" is ${suspended ? 'suspended' : 'active'} already: nothing was changed.`,
      )
    return { result: { id, name, active: !suspended }, audit: { action, subject: `client:${id}`, detail: { name } } }
  })
}

const SLUG = /^[a-z0-9][a-z0-9-]{0,62}$/

export async function createKnowledgeBase(
  operator: Operator,
  input: { readonly slug: string; readonly title: string },
): Promise<{ readonly id: string; readonly slug: string; readonly title: string }> {
  const { slug } = input
  if (!SLUG.test(slug))
    throw new OperatorError(
      'A slug has 1 to 63 lower-case letters, digits and hyphens and begins with a letter or digit: ' +
        'choose one like "banking-rules".',
    )
  const title = checkedName('a knowledge base', input.title)
  const id = randomUUID()
  return withAudit(operator, async (client) => {
    if (!(await insertKnowledgeBase(client, id, slug, title)))
      throw new OperatorError(
        `The knowledge base "${slug}" exists already: choose another slug, or use the existing one.`,
      )
    return {
      result: { id, slug, title },
      audit: { action: 'knowledge-base.create', subject: `knowledge-base:${id}`, detail: { slug, title } },
    }
  })
}
