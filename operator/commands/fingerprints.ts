import { listFingerprintEpochs } from '#core/db/fingerprint-keys.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { eraseFingerprints, rewrapFingerprints, rotateFingerprints } from '#operator/actions/fingerprints.ts'
import { idOf, organizationNamed } from '#operator/actions/names.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { isGiven, option, rows, text, whole } from '#operator/command-line/inputs.ts'
import { change, group, list } from '#operator/command-line/verbs.ts'

const { SERVICE_SECRET } = OPERATOR_VARIABLES
const EPOCH_MAX = 1_000_000
const ABOUT = 'The ledger holds queries only as keyed fingerprints, under a key per organization and epoch.'

export const commands: Commands = [
  group('fingerprints', 'keys of the fingerprints in the ledger: rotate, rewrap, erase, list', [
    change('rotate <organization>', 'open a new epoch: later fingerprints no longer match earlier ones', {
      notes: ABOUT,
      input: { organization: text },
      variables: { SERVICE_SECRET },
      async run({ organization }, { operator, config }) {
        const changed = await rotateFingerprints(operator, { organization, serviceSecrets: config.SERVICE_SECRET })
        return [changed, `"${changed.organization}" now writes under epoch ${changed.current_epoch}.`]
      },
    }),
    change('rewrap', 'wrap every key again under the first secret of SERVICE_SECRET: fingerprints stay as they are', {
      notes:
        'Needed once SERVICE_SECRET has a new secret first and the earlier one second. It can be repeated at any time; ' +
        'keys\nthat the first secret unwraps already are left alone. It fails if no secret unwraps some key.',
      input: { organization: option('<organization>', 'only the keys of one') },
      variables: { SERVICE_SECRET },
      async run({ organization }, { operator, config, show, progress }) {
        const input = { organization, serviceSecrets: config.SERVICE_SECRET }
        const done = await rewrapFingerprints(operator, input, (keys) => progress.update('Reading keys', keys))
        const { rewrapped_keys: again, current_keys: current, unopened_keys: closed, unopened } = done
        show(done, `Wrapped ${again} keys again; ${current} were under the first secret already.`)
        const [first] = unopened
        if (first !== undefined)
          throw new OperatorError(
            `No secret of SERVICE_SECRET opens ${closed} keys, the first of "${first.organization}", ` +
              `epoch ${first.epoch}: put the secret that they were wrapped under second and repeat the command, or ` +
              'erase them with "operator fingerprints erase".',
          )
        return undefined
      },
    }),
    change(
      'erase <organization>',
      'forget the key of one epoch, or all: nobody can test a query against those fingerprints any more',
      {
        notes: `${ABOUT}\nErasing the key in use opens a new epoch at once, so that requests go on. Ledger rows stay.`,
        input: {
          organization: text,
          epoch: option('<n>', 'only this epoch; without it, all', whole(1, EPOCH_MAX).optional()),
          yes: option('', 'confirm: this cannot be undone', isGiven),
        },
        variables: { SERVICE_SECRET },
        async run({ yes, ...input }, { operator, config }) {
          if (!yes)
            throw new OperatorError(
              'Erasing fingerprint keys cannot be undone: repeat the command with --yes if that is what you want.',
            )
          const changed = await eraseFingerprints(operator, { ...input, serviceSecrets: config.SERVICE_SECRET })
          const { erased_epochs: erased, organization, current_epoch: current } = changed
          const now = `it now writes under epoch ${current}.`
          return [changed, `Erased epoch ${erased.join(', ')} of "${organization}"; ${now}`]
        },
      },
    ),
    list('list', 'list epochs and their state', {
      input: { organization: option('<organization>', 'only those of one'), rows },
      read: async (input, { database }) =>
        await listFingerprintEpochs(database, await idOf(organizationNamed, database, input.organization), input.rows),
      columns: 'organization epoch state created_at erased_at',
      empty: 'There is no fingerprint key yet: "operator organizations create" makes the first.',
    }),
  ]),
]
