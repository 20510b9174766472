import { addActivate } from './commands/activate.ts'
import { addAudit } from './commands/audit.ts'
import { addBuild } from './commands/build.ts'
import { addClients } from './commands/clients.ts'
import { addEntitlements } from './commands/entitlements.ts'
import { addExposure } from './commands/exposure.ts'
import { addFingerprints } from './commands/fingerprints.ts'
import { addGc } from './commands/gc.ts'
import { addInspect } from './commands/inspect.ts'
import { addImports } from './commands/imports.ts'
import { addJobs } from './commands/jobs.ts'
import { addKeys } from './commands/keys.ts'
import { addKnowledgeBases } from './commands/knowledge-bases.ts'
import { addModels } from './commands/models.ts'
import { addMigrate } from './commands/migrate.ts'
import { addOrganizations } from './commands/organizations.ts'
import { addPlans } from './commands/plans.ts'
import { addReplay } from './commands/replay.ts'
import { addRequests } from './commands/requests.ts'
import { addReview } from './commands/review.ts'
import { addReviewers } from './commands/reviewers.ts'
import { addCapture, addSources } from './commands/sources.ts'
import { addUsage } from './commands/usage.ts'
import { addVersions } from './commands/versions.ts'
import { addWithdrawals } from './commands/withdrawals.ts'
import { failureOf } from './failure.ts'
import { OperatorCommand } from './operator-command.ts'
import type { Console } from './operator-command.ts'

const WALK = `
From an empty database to a client that may ask:
  npm run operator -- migrate
  npm run operator -- knowledge-bases create hsfa-rules --title "HSFA rulebook"
  npm run operator -- import --knowledge-base hsfa-rules --source ./rulebook
  npm run operator -- build start --import IMPORT --questions questions.jsonl --wait
  npm run operator -- review show VERSION
  npm run operator -- reviewers keygen --out reviewer.pem
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

/** Runs a command line. @returns its exit code; what went wrong is one sentence on standard error. */
export async function runProgram(args: readonly string[], console: Console): Promise<number> {
  try {
    await createProgram(console).parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    const { exitCode, sentence } = failureOf(error)
    if (sentence !== undefined) console.stderr.write(`${sentence}\n`)
    return exitCode
  }
}

/** Creates the whole command line, which throws instead of exiting. */
export function createProgram(console: Console): OperatorCommand {
  const program = new OperatorCommand('operator', console)
    .description('Operate the evidence retrieval service.')
    .exitOverride()
    // Options after the name of a command belong to it: "import draft FILE --json" is an option of "draft".
    .enablePositionalOptions()
    .showHelpAfterError('(add --help to see how)')
    .addHelpText('after', WALK)
  addMigrate(program)
  addModels(program)
  addOrganizations(program)
  addClients(program)
  addPlans(program)
  addKnowledgeBases(program)
  addEntitlements(program)
  addKeys(program)
  addInspect(program)
  addImports(program)
  addSources(program)
  addCapture(program)
  addBuild(program)
  addReviewers(program)
  addReview(program)
  addActivate(program)
  addVersions(program)
  addWithdrawals(program)
  addGc(program)
  addJobs(program)
  addUsage(program)
  addRequests(program)
  addReplay(program)
  addExposure(program)
  addFingerprints(program)
  addAudit(program)
  return program
}
