/** Bounds of an artifact: its passages, its embedding space, its signatures, and what of it stays in memory. */
export const INDEX_BOUNDS = {
  // Passages.
  passageCharactersMax: 4_000,
  /** All fields of one reply passage as JSON. The rest of the smallest allowed reply still fits. */
  passageJsonBytesMax: 18_000,

  // Embedding space of a version.
  embeddingModelCharactersMax: 200,
  embeddingPrefixCharactersMax: 1_000,
  embeddingDimensionsMin: 8,
  embeddingDimensionsMax: 4_096,
  probesMax: 8,
  /** Base64 of one byte for each of `embeddingDimensionsMax` dimensions. */
  probeCharactersMax: 5_464,

  // Copies of an object store.
  cacheMb: 51_200,
  cacheMbMax: 16_777_216,

  // Signatures.
  /** Public keys under which the manifest of a version may be signed. */
  manifestKeysMax: 8,

  // Memory.
  /**
   * Files of words of a version up to this size are kept in memory; of a million passages at most the dictionary is as
   * small.
   */
  residentFileBytesMax: 24 * 1_024 * 1_024,
  /** So are float32 vectors: those of about 40,000 passages of 384 dimensions. */
  residentVectorBytesMax: 64 * 1_024 * 1_024,
  /** SQ4 vectors of a version of so many MiB are kept in memory; those of a million passages are larger. */
  residentSq4MbDefault: 64,
  /** WebAssembly addresses 4 GiB. */
} as const
