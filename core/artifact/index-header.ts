import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { ArtifactError } from './artifact-error.ts'

/**
 * What a usearch file says of itself. Source: `index_dense_head_t` and `metric_kind_t`/`scalar_kind_t` of usearch 2.26:
 * uint32 rows, uint32 bytes a row, the vectors, then a head of 64 bytes.
 */
export interface IndexHeader {
  readonly metric: 'cos' | 'other'
  readonly scalar: 'bf16' | 'other'
  readonly vectors: number
  readonly dimensions: number
}

const MAGIC = 'usearch'
const HEAD_BYTES = 64
const METRIC_OFFSET = 13
const SCALAR_OFFSET = 14
const COUNT_OFFSET = 17
const DELETED_OFFSET = 25
const DIMENSIONS_OFFSET = 33
const METRIC_COS = 0x63
const SCALAR_BF16 = 4

/** @throws ArtifactError if the file is no usearch index. */
export async function readIndexHeader(path: string): Promise<IndexHeader> {
  const file = await open(path, 'r')
  try {
    const matrix = await bytesAt(file, 0, 8)
    const head = await bytesAt(file, 8 + matrix.readUInt32LE(0) * matrix.readUInt32LE(4), HEAD_BYTES)
    if (head.toString('latin1', 0, MAGIC.length) !== MAGIC) throw new ArtifactError('vectors.usearch is not a usearch index.')
    return {
      metric: head[METRIC_OFFSET] === METRIC_COS ? 'cos' : 'other',
      scalar: head[SCALAR_OFFSET] === SCALAR_BF16 ? 'bf16' : 'other',
      vectors: Number(head.readBigUInt64LE(COUNT_OFFSET)) - Number(head.readBigUInt64LE(DELETED_OFFSET)),
      dimensions: Number(head.readBigUInt64LE(DIMENSIONS_OFFSET)),
    }
  } finally {
    await file.close()
  }
}

async function bytesAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, position)
  if (bytesRead !== length) throw new ArtifactError('vectors.usearch ends before its header does.')
  return buffer
}
