import type { Variables } from '#core/platform/config.ts'
import { GATEWAY_VARIABLES } from '#gateway/config.ts'
import { JOBS_VARIABLES, OPERATOR_VARIABLES } from '#jobs/config.ts'
import { SEARCH_NODE_VARIABLES } from '#search-node/config.ts'

const PROCESSES: Readonly<Record<string, Variables>> = {
  gateway: GATEWAY_VARIABLES,
  'search node': SEARCH_NODE_VARIABLES,
  jobs: JOBS_VARIABLES,
  operator: OPERATOR_VARIABLES,
}

/** The documented table of every variable of every process, as Markdown, from the schemas that read them. */
export function configurationTable(): string {
  const names = [...new Set(Object.values(PROCESSES).flatMap((variables) => Object.keys(variables)))]
  const rows = names.map((name) => {
    const takers = Object.entries(PROCESSES).filter(([, variables]) => name in variables)
    const variable = takers[0]?.[1][name]
    const required = variable?.schema.safeParse(undefined).success === false
    const fallback = new Set(
      takers.map(([, variables]) => variables[name]?.fallback ?? (required ? 'required' : 'none')),
    )
    return (
      `| \`${name}\` | ${takers.map(([process]) => process).join(', ')} | ` +
      `${[...fallback].join(' or ')} | ` +
      `${capitalised(variable?.help ?? '')}${variable?.secret === true ? ' Secret.' : ''} |`
    )
  })
  return ['| Variable | Read by | Default | Meaning |', '| --- | --- | --- | --- |', ...rows].join('\n')
}

function capitalised(help: string): string {
  return `${help.slice(0, 1).toUpperCase()}${help.slice(1)}.`
}
