const LABEL_CHARACTERS_MAX = 500

export const IMPORT_BOUNDS = {
  // Sources.
  sourceIdCharactersMax: 500,
  /** One read of a snapshot. */
  readBlockBytes: 256 * 1024,
  /** One line of a JSONL source: one record. */
  lineBytesMax: 1024 * 1024,

  // Markdown and mappings.
  frontMatterCharactersMax: 16 * 1024,
  sourceYamlBytesMax: 1024 * 1024,
  /** Files that `import init` reads for a proposal, and records of JSONL. */
  proposedFilesMax: 10_000,
  proposedRecordsMax: 2_000,
  /** Size of a compiled pattern of a mapping. */
  patternInstructionsMax: 500,
  /** Instructions that one step of a match may have active: 100,000 characters then cost at most 100 ms. */
  patternActiveInstructionsMax: 48,
  /** A value that a mapping makes of a record; the longest text that a reader yields fits. */
  mappedValueCharactersMax: 4 * 1024 * 1024,

  // Records.
  titleCharactersMax: 1_000,
  urlCharactersMax: 2_000,
  /** Encoded words of a text fragment. */
  textFragmentCharactersMax: 600,
  labelCharactersMax: LABEL_CHARACTERS_MAX,
  /** A longer citation is cut, so that the number of a part still fits. */
  citationCharactersMax: LABEL_CHARACTERS_MAX - 60,
  headingCharactersMax: 2_000,
  /** Distinct values of one facet of a version. */
  facetValuesMax: 1_000,
  /** Records of one id in one import. */
  recordsPerIdMax: 1_000,

  // Acts and references.
  /** Acts that one version may hold. */
  actsMax: 20_000,
  actIdCharactersMax: 120,
  aliasCharactersMax: 200,
  aliasesPerActMax: 50,
  referenceCharactersMax: 300,
  referencesPerRecordMax: 8,
  /** Vocabularies in memory. Sources arrive act by act, and a vocabulary takes about 1.5 ms to create. */
  vocabulariesMax: 64,
  /** Keys, dates, labels and the like whose reading is remembered, of each kind. */
  rememberedTextsMax: 1_000,

  // Staging.
  /** Page cache of the staging file of an import. */
  stagingCacheKib: 64 * 1024,
  stagingTransactionRows: 20_000,
  /** Documents and facets whose row numbers stay in memory. */
  stagingCachedIdsMax: 10_000,
  /** Drafts collected before they are appended to the spill file. */
  spillBufferBytes: 1024 * 1024,
  /** Pages of 4 KiB of what an import keeps of the files that it has read; beyond, it keeps nothing. */
  readPagesMax: 4 * 1024 * 1024,

  // Report.
  unreadFieldsNamedMax: 1_000,
  /** Units of the text of a record that is not served. */
  reportTextMax: 300,
  reportEntriesMax: 10_000,
  /** Contradictions that the refusal of an import names. */
  importConflictsNamedMax: 20,
  /** Sources of one document of one day that a warning names. */
  importSourcesNamedMax: 5,
} as const
