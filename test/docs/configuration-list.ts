import type { Variables } from '#core/platform/config.ts'
import { GATEWAY_VARIABLES } from '#gateway/config.ts'
import { JOBS_VARIABLES, OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { ENCODER_VARIABLES } from '#jobs/encoder/config.ts'
import { TRACE_VARIABLES } from '#jobs/trace/config.ts'
import { SEARCH_NODE_VARIABLES } from '#search-node/config.ts'

const PROCESSES: Readonly<Record<string, Variables>> = {
  gateway: GATEWAY_VARIABLES,
  'search node': SEARCH_NODE_VARIABLES,
  jobs: JOBS_VARIABLES,
  operator: OPERATOR_VARIABLES,
  encoder: ENCODER_VARIABLES,
  trace: TRACE_VARIABLES,
}
const COLUMNS_MAX = 120

/** The documented list of every variable of every process, as Markdown, from the schemas that read them. */
export function configurationList(): string {
  const names = [...new Set(Object.values(PROCESSES).flatMap((variables) => Object.keys(variables)))]
  return names.map((name) => wrapped(itemOf(name))).join('\n')
}

function itemOf(name: string): string {
  const takers = Object.entries(PROCESSES).filter(([, variables]) => name in variables)
  const variable = takers[0]?.[1][name]
  const required = variable?.schema.safeParse(undefined).success === false
  const fallbacks = new Set(
    takers.flatMap(
      ([, variables]) => variables[name]?.fallback ?? variables[name]?.schema.safeParse(undefined).data ?? [],
    ),
  )
  const need = required ? 'required' : 'optional'
  const facts = [
    takers.map(([process]) => process).join(', '),
    fallbacks.size === 0 ? need : `default: ${[...fallbacks].map(String).join(' or ')}`,
    ...(variable?.secret === true ? ['secret'] : []),
  ]
  return `- \`${name}\` (${facts.join('; ')}): ${variable?.help ?? ''}.`
}

/** Lines of at most COLUMNS_MAX characters; those after the first are indented as parts of the item. */
function wrapped(item: string): string {
  const lines: string[] = []
  let line = ''
  for (const word of item.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > COLUMNS_MAX) {
      lines.push(line)
      line = ` `
    }
    line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line].join('\n')
}
