import { failureOf } from '../command-line/failure.ts'
import { OperatorCommand } from '../command-line/operator-command.ts'
import type { Console } from '../command-line/operator-command.ts'

const WALK = `
From an empty database to a client that may ask:
  npm run operator -- migrate
  npm run operator -- knowledge-bases create hsfa-rules --title "HSFA rulebook"
  npm run operator -- import --knowledge-base hsfa-rules --source ./rulebook
  npm run operator -- build start --import IMPORT --questions questions.jsonl --wait
  npm run operator -- review show VERSION
  npm run --silent operator -- reviewers keygen --out reviewer.pem > reviewer.pub
  npm run operator -- reviewers add "First reviewer" --public-key reviewer.pub
  npm run operator -- review sign VERSION --key reviewer.pem --verdict approved --note "read the report"
  npm run operator -- activate VERSION --wait
  npm run operator -- organizations create "Harbour Bank"
  npm run operator -- clients create "Advice Desk" --organization "Harbour Bank"
  npm run operator -- plans create beta
  npm run operator -- entitlements grant --client "Advice Desk" --environment live --knowledge-base hsfa-rules \
--plan beta --languages en --jurisdictions HS-M,HS-F --subjects all
  npm run operator -- keys issue --client "Advice Desk" --environment live

Whatever is named may be named by name or UUID. Results go to standard output, progress and errors to standard error;
for machines add --json and keep npm's own banner away: npm run --silent operator -- keys list --json
Exit codes: 0 done, 1 refused, 2 not understood. Each command's --help has examples.`

interface Commands {
  readonly names: readonly string[]
  readonly load: () => Promise<(program: OperatorCommand) => void>
}

/** In the order of the help. A command loads what it needs, and nothing of the others. */
const COMMANDS: readonly Commands[] = [
  { names: ['migrate'], load: async () => (await import('./migrate.ts')).addMigrate },
  { names: ['models'], load: async () => (await import('./models.ts')).addModels },
  { names: ['organizations'], load: async () => (await import('./organizations.ts')).addOrganizations },
  { names: ['clients'], load: async () => (await import('./clients.ts')).addClients },
  { names: ['plans'], load: async () => (await import('./plans.ts')).addPlans },
  { names: ['knowledge-bases'], load: async () => (await import('./knowledge-bases.ts')).addKnowledgeBases },
  { names: ['entitlements'], load: async () => (await import('./entitlements.ts')).addEntitlements },
  { names: ['keys'], load: async () => (await import('./keys.ts')).addKeys },
  { names: ['inspect'], load: async () => (await import('./inspect.ts')).addInspect },
  { names: ['import', 'imports'], load: async () => (await import('./imports.ts')).addImports },
  { names: ['sources'], load: async () => (await import('./sources.ts')).addSources },
  { names: ['capture'], load: async () => (await import('./sources.ts')).addCapture },
  { names: ['build'], load: async () => (await import('./build.ts')).addBuild },
  { names: ['reviewers'], load: async () => (await import('./reviewers.ts')).addReviewers },
  { names: ['review'], load: async () => (await import('./review.ts')).addReview },
  { names: ['activate', 'rollback'], load: async () => (await import('./activate.ts')).addActivate },
  { names: ['versions'], load: async () => (await import('./versions.ts')).addVersions },
  { names: ['withdraw', 'withdrawals'], load: async () => (await import('./withdrawals.ts')).addWithdrawals },
  { names: ['gc'], load: async () => (await import('./gc.ts')).addGc },
  { names: ['jobs'], load: async () => (await import('./jobs.ts')).addJobs },
  { names: ['usage'], load: async () => (await import('./usage.ts')).addUsage },
  { names: ['requests'], load: async () => (await import('./requests.ts')).addRequests },
  { names: ['replay'], load: async () => (await import('./replay.ts')).addReplay },
  { names: ['exposure'], load: async () => (await import('./exposure.ts')).addExposure },
  { names: ['fingerprints'], load: async () => (await import('./fingerprints.ts')).addFingerprints },
  { names: ['audit'], load: async () => (await import('./audit.ts')).addAudit },
]

/** Runs a command line. @returns its exit code; what went wrong is one sentence on standard error. */
export async function runProgram(args: readonly string[], console: Console): Promise<number> {
  try {
    const program = await createProgram(console, args[0])
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    const { exitCode, sentence } = failureOf(error)
    if (sentence !== undefined) console.stderr.write(`${sentence}\n`)
    return exitCode
  }
}

/**
 * Creates a command line, which throws instead of exiting.
 * @param name of the only command that is wanted; absent or unknown: it has all of them.
 */
export async function createProgram(console: Console, name?: string): Promise<OperatorCommand> {
  const program = new OperatorCommand('operator', console)
    .description('Operate the evidence retrieval service.')
    .exitOverride()
    // Options after the name of a command belong to it: "import draft FILE --json" is an option of "draft".
    .enablePositionalOptions()
    .showHelpAfterError('(add --help to see how)')
    .addHelpText('after', WALK)
  const only = COMMANDS.filter(({ names }) => names.includes(name ?? ''))
  for (const { load } of only.length === 0 ? COMMANDS : only) (await load())(program)
  return program
}
