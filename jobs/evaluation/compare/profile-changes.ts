import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'
import type { EmbeddingSpace } from '#core/index/format/manifest.ts'
import { canonicalJson } from '#core/platform/digest.ts'
import type { NamedChange } from './changes-file.ts'

/** How a version is searched. */
export interface SearchSettings {
  readonly profile: ProfileParameters
  /** Undefined: the version has no vectors. */
  readonly embedding: EmbeddingSpace | undefined
}

type Field = keyof ProfileParameters | 'reader_calibration'

/** Whether a build fits the value, so that it differs with every corpus. Answers show what it changes. */
const IS_FITTED: Readonly<Record<Field, boolean>> = {
  expansion: false,
  verification_statuses: false,
  in_force_only: false,
  dense_weight: true,
  collapse_revisions: false,
  per_document_max: false,
  reader: false,
  reader_calibration: true,
  calibration: true,
}

/** Yields every field of the profile and of the embedding space that differs. */
export function* profileChanges(before: SearchSettings, after: SearchSettings): Generator<NamedChange> {
  for (const field of fieldsOf(IS_FITTED)) {
    const [own, other] = [written(settingsOf(before)[field]), written(settingsOf(after)[field])]
    if (own !== other)
      yield { kind: IS_FITTED[field] ? 'profile_fitted' : 'profile_changed', field, before: own, after: other }
  }
  const [own, other] = [written(withoutProbes(before.embedding)), written(withoutProbes(after.embedding))]
  if (own !== other) yield { kind: 'profile_changed', field: 'embedding', before: own, after: other }
}

/** They differ by rounding; embedders compare them by cosine, and refuse another model. */
function withoutProbes(space: EmbeddingSpace | undefined): Partial<EmbeddingSpace> | undefined {
  if (space === undefined) return undefined
  const { probes: _probes, ...rest } = space
  return rest
}

function settingsOf({ profile }: SearchSettings): Readonly<Record<Field, unknown>> {
  const { calibration = null, ...reader } = profile.reader ?? {}
  return { ...profile, reader: profile.reader && reader, reader_calibration: calibration }
}

function fieldsOf(fields: typeof IS_FITTED): readonly Field[] {
  return Object.keys(fields).filter((field): field is Field => field in fields)
}

function written(value: unknown): string | null {
  return value === undefined || value === null ? null : canonicalJson(value)
}
