import { setTraced } from '#core/db/knowledge-bases.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { knowledgeBaseNamed } from './names.ts'
import { withAudit } from './operator.ts'
import type { Operator } from './operator.ts'

/**
 * Decides whether activations of a knowledge base extend its public trace. What was published stays, since replies
 * refer to it.
 */
export async function setTrace(
  operator: Operator,
  slugOrId: string,
  traced: boolean,
): Promise<{ readonly id: string; readonly slug: string; readonly traced: boolean }> {
  const { id, slug } = await knowledgeBaseNamed(operator.database, slugOrId)
  return withAudit(operator, async (client) => {
    if (!(await setTraced(client, id, traced)))
      throw new OperatorError(`The trace of "${slug}" is ${traced ? 'on' : 'off'} already: nothing was changed.`)
    return {
      result: { id, slug, traced },
      audit: {
        action: `knowledge-base.trace-${traced ? 'on' : 'off'}`,
        subject: `knowledge-base:${id}`,
        detail: { slug },
      },
    }
  })
}
