import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Manifest } from './manifest.ts'

type Files = Omit<Manifest['files'], 'grams.json' | 'grams.frequencies'>

/** The build needs the postings for the grams; a version with an engine is not searched in them. */
export async function withoutPostings(files: Files, folder: string): Promise<Files> {
  const { 'lexical.postings': _postings, ...others } = files
  await rm(join(folder, 'lexical.postings'))
  return others
}
