import { isAbsolute } from 'node:path'
import { z } from 'zod'
import { ed25519Key, optional, url, wholeNumber, type Variable } from '#core/platform/config.ts'
import { INDEX_BOUNDS } from './bounds.ts'

const publicKey = ed25519Key('spki', 44)

const publicKeyList: z.ZodType<readonly Buffer[], string | undefined> = z
  .string()
  .transform((text): readonly (string | undefined)[] => text.split(',').map((part) => part.trim()))
  .pipe(z.array(publicKey).min(1).max(INDEX_BOUNDS.manifestKeysMax))
  .refine((keys) => new Set(keys.map((key) => key.toString('base64'))).size === keys.length)

/** The folder that jobs write and that the process of the trace serves. */
export const TRACE_DIR = {
  schema: z.string().min(1),
  help: 'folder of the public source trace, which jobs write and the trace serves; the trace has no default',
} as const satisfies Variable<string>

/** Where artifacts, snapshots and reports are. */
export const STORE_SETTINGS = {
  ARTIFACT_STORE: {
    schema: url('file:', 's3:').refine((text) => !text.startsWith('s3:') || new URL(text).hostname !== ''),
    help:
      'the folder of artifacts and snapshots as a file: URL, e.g. file:///var/lib/evidence, or s3://bucket/prefix of an ' +
      'object store',
  },
  ARTIFACT_CACHE: {
    schema: optional(z.string().refine(isAbsolute)),
    help: 'absolute path of the folder of copies of an object store; a search node has one of its own',
    fallback: 'none; an object store needs it',
  },
  ARTIFACT_CACHE_MAX_MB: {
    schema: wholeNumber(1, INDEX_BOUNDS.cacheMbMax, INDEX_BOUNDS.cacheMb),
    help: 'MiB that these copies may take; the least recently used ones go first, and none that is wanted',
  },
} as const satisfies Record<string, Variable<unknown>>

/** Variables of the artifact store, and of the signatures of its manifests. */
export const ARTIFACT_SETTINGS = {
  ...STORE_SETTINGS,
  MANIFEST_PUBLIC_KEY: {
    schema: publicKeyList,
    help:
      'base64 of the Ed25519 public key (SPKI, DER) that manifests are verified with; while rotating, several keys, ' +
      'separated by commas',
  },
  MANIFEST_PRIVATE_KEY: {
    schema: ed25519Key('pkcs8', 48),
    help: 'base64 of the Ed25519 private key (PKCS #8, DER) that manifests are signed with',
    secret: true,
  },
} as const satisfies Record<string, Variable<unknown>>
