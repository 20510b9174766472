import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { z } from 'zod'
import { OperatorError } from '#core/platform/errors.ts'
import { listFingerprintEpochs } from '#core/db/fingerprint-keys.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { eraseFingerprints, rotateFingerprints } from '#operator/actions/fingerprints.ts'
import { rewrapFingerprints } from '#operator/actions/rewrap-fingerprints.ts'
import { organizationNamed } from '#operator/actions/names.ts'
import { addCommandGroup } from '#operator/command-line/command.ts'
import { rows, text, whole } from '#operator/command-line/inputs.ts'
import { addDatabaseCommand } from '#operator/command-line/session.ts'
import { table } from '#operator/command-line/table.ts'

const { SERVICE_SECRET } = OPERATOR_VARIABLES
const EPOCH_MAX = 1_000_000
const ABOUT = 'The ledger holds queries only as keyed fingerprints, under a key per organization and epoch.'

export function addFingerprints(program: OperatorCommand): void {
  const fingerprints = addCommandGroup(
    program,
    'fingerprints',
    'keys of the fingerprints in the ledger: rotate, rewrap, erase, list',
  )
  addRotate(fingerprints)
  addRewrap(fingerprints)
  addErase(fingerprints)
  addList(fingerprints)
}

function addRotate(fingerprints: OperatorCommand): void {
  addDatabaseCommand(fingerprints, {
    usage: 'rotate <organization>',
    summary: 'open a new epoch: later fingerprints no longer match earlier ones',
    notes: ABOUT,
    examples: ['fingerprints rotate "Harbour Bank"'],
    input: { organization: text },
    variables: { SERVICE_SECRET },
    writes: true,
    run: async (input, { operator, config, show }) => {
      const changed = await rotateFingerprints(operator, {
        organization: input.organization,
        serviceSecrets: config.SERVICE_SECRET,
      })
      show(changed, () => `"${changed.organization}" now writes under epoch ${changed.current_epoch}.`)
    },
  })
}

function addRewrap(fingerprints: OperatorCommand): void {
  addDatabaseCommand(fingerprints, {
    usage: 'rewrap',
    summary: 'wrap every key again under the first secret of SERVICE_SECRET: fingerprints stay as they are',
    flags: { '--organization <organization>': 'only the keys of one' },
    notes:
      'Needed once SERVICE_SECRET has a new secret first and the earlier one second. It can be repeated at any time; ' +
      'keys\nthat the first secret unwraps already are left alone. It fails if no secret unwraps some key.',
    examples: ['fingerprints rewrap', 'fingerprints rewrap --organization "Harbour Bank"'],
    input: { organization: text.optional() },
    variables: { SERVICE_SECRET },
    writes: true,
    run: async ({ organization }, { operator, config, show, progress }) => {
      const done = await rewrapFingerprints(operator, { organization, serviceSecrets: config.SERVICE_SECRET }, (keys) =>
        progress.update('Reading keys', keys),
      )
      show(
        done,
        () => `Wrapped ${done.rewrapped_keys} keys again; ${done.current_keys} were under the first secret already.`,
      )
      const [first] = done.unopened
      if (first !== undefined)
        throw new OperatorError(
          `No secret of SERVICE_SECRET opens ${done.unopened_keys} keys, the first of "${first.organization}", ` +
            `epoch ${first.epoch}: put the secret that they were wrapped under second and repeat the command, or ` +
            'erase them with "operator fingerprints erase".',
        )
    },
  })
}

function addErase(fingerprints: OperatorCommand): void {
  addDatabaseCommand(fingerprints, {
    usage: 'erase <organization>',
    summary: 'forget the key of one epoch, or all: nobody can test a query against those fingerprints any more',
    flags: { '--epoch <n>': 'only this epoch; without it, all', '--yes': 'confirm: this cannot be undone' },
    notes: `${ABOUT}\nErasing the key in use opens a new epoch at once, so that requests go on. Ledger rows stay.`,
    examples: ['fingerprints erase "Harbour Bank" --epoch 1 --yes', 'fingerprints erase "Harbour Bank" --yes'],
    input: { organization: text, epoch: whole(1, EPOCH_MAX).optional(), yes: z.boolean().default(false) },
    variables: { SERVICE_SECRET },
    writes: true,
    run: async (input, { operator, config, show }) => {
      if (!input.yes)
        throw new OperatorError(
          'Erasing fingerprint keys cannot be undone: repeat the command with --yes if that is what you want.',
        )
      const changed = await eraseFingerprints(operator, {
        organization: input.organization,
        epoch: input.epoch,
        serviceSecrets: config.SERVICE_SECRET,
      })
      show(
        changed,
        () =>
          `Erased epoch ${changed.erased_epochs.join(', ')} of "${changed.organization}"; it now ` +
          `writes under epoch ${changed.current_epoch}.`,
      )
    },
  })
}

function addList(fingerprints: OperatorCommand): void {
  addDatabaseCommand(fingerprints, {
    usage: 'list',
    summary: 'list epochs and their state',
    flags: { '--organization <organization>': 'only those of one', '--rows <n>': 'show at most so many' },
    examples: ['fingerprints list'],
    input: { organization: text.optional(), rows },
    variables: {},
    run: async (input, { operator, show }) => {
      const organization =
        input.organization === undefined ? null : (await organizationNamed(operator.database, input.organization)).id
      const found = await listFingerprintEpochs(operator.database, organization, input.rows)
      const columns = {
        organization: 'organization',
        epoch: 'epoch',
        state: 'state',
        created_at: 'created',
        erased_at: 'erased',
      }
      show(found, () =>
        table(found, columns, 'There is no fingerprint key yet: "operator organizations create" makes the first.'),
      )
    },
  })
}
