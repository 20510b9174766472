import { FUNCTION_WORD_FORMS } from '#law/citations/lexer/tokens.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'

/** Words whose form is that of a name of an act, and what else they name. Every word is folded. */

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/).filter((word) => word !== ''))
}

/** Non-statutory sources: they have sections and articles as well, but are no legislation. */
export const NON_STATUTORY = wordsOf(`
  report reports exam examination book form questionnaire survey article paper study guide manual course play
  film series presentation website handbook brochure application agreement contract lease document newspaper
  magazine game test syllabus thesis dissertation novel story tutorial blog essay newsletter plan album
  curriculum prospectus letter memo memorandum minutes proposal offer policy warehouse building terms conditions
  page whitepaper specification spec datasheet invoice checklist playbook wiki readme faq
  scheme textbook podcast email budget menu warranty licence license eula template
  berichts berichtes bericht vertrags vertrages vertrag buches buchs buch prufung formulars formular handbuchs
  handbuch zeitschrift zeitung klausur romans roman anleitung geschaftsbedingungen bedingungen statuten
  rapport contrat formulaire manuel livre journal bail catalogue site guide statuts cahier devis facture
`)

/** Sources of a firm or of two parties, also directly after a provision or before it: `§ 4 AGB`, `AGB § 4`. */
export const PRIVATE_SOURCES = wordsOf(`
  agb avb avv agbs cgv cgu cga eula tos tou nda msa sla dpa agreement contract lease terms faq faqs
  nutzungsbedingungen geschaftsbedingungen mietvertrag mietvertrags mietvertrages arbeitsvertrag arbeitsvertrags
  arbeitsvertrages kaufvertrag kaufvertrags gesellschaftsvertrag gesellschaftsvertrags satzung vertrag
  contrat bail reglement-interieur
`)

/** Owners of a source: `section 4 of our terms`, `Artikel 5 unserer Zeitung`, `article 12 de nos conditions`. */
export const POSSESSIVES = wordsOf(`
  my our your his her mein meine meiner meines meinem meinen unser unsere unserer unseres unserem unseren dein deine
  deiner deines ihr ihre ihrer ihres ihrem ihren euer eure eurer notre nos votre vos mon ma mes son sa ses
`)

/** Owners that follow a provision directly: `§ 5 meines Mietvertrags`, but not `nach Artikel 91b ihre Anteile`. */
export const GENITIVES = wordsOf(`
  meiner meines unserer unseres deiner deines ihrer ihres eurer eures seiner seines
`)

/** Publishers of technical and accounting standards. With a number they name a standard, never an act. */
export const STANDARDS = wordsOf(`
  iso iec din en sp nist ifrs ias astm ansi ieee rfc bs etsi pci soc asc gaap cobit itil owasp nfpa sae fips isa isae
  vde vdi wcag cis tisax nf iec onorm eurocode itu iata icao gamp jis csa ul idw isrs ssae cobit togaf
`)

/** Authorities whose own rules a version may hold, or whose documents have sections: they name no act. */
const ISSUERS = wordsOf(`
  sec fca pra cftc cfpb ftc irs fdic occ frb ncua hud adgm fsra dfsa difc mas hkma cbb cbuae sca eba esma eiopa edpb
  edps esrb ecb ezb bafin cnil amf acpr ico bsi fatf bis enisa nhs bbc ilo imf oecd nato uno un who wto fbi doj dol
  eugh bgh bag bverfg bfh bsg bverwg ecj cjeu cjue ecthr egmr echr-court bundesbank iosco bcbs fsb
`)

/** Initials of countries, offices, roles, documents and techniques, which often stand beside a provision. */
const OTHER_INITIALS = wordsOf(`
  us usa uk uae eu eea ewr efta ue brd ddr nrw gb usd eur gbp chf
  ag kg ohg gbr ug eg ggmbh gmbh kgaa llc llp plc ltd inc sarl sas spa bv nv se
  ceo cfo cio cto ciso coo cmo dpo dsb hr ngo sme kmu pme mlro smf vip
  dpia dsfa aipd pia ropa vvt vt tom scc bcr dpa avv dsar dsr sar nda msa sla tia lia faq pdf cv etc ok
  api url uri html sql xml json csv http https tls ssl iot ict ikt tic it ai ki ia gpai llm saas paas gps cctv vpn
  ip id pc tv crm erp sso mfa
  aif aifm ucits ogaw opcvm casp emt esg kyc aml cft ctf cdd edd pep ubo tpp pisp aisp asp psp ctpp rts its nca roi
  ipo etf otc ccp apr apy taeg atm heloc arm aum nav var cds abs mbs reit spv qr rfp rfq poc kpi okr
  covid vat mwst tva ust wc dvd usb led
  ehr csirt csirts berec esas tlpt mdcg udi itsef mtf otf srn pmcf pms psur lei eori euid frand dnsh prrc vlop vlops
  vlose eudamed cmr sbom dns tld tlp ghg gfe eft efts ach nmlsr uli lar pos aus pin avm iban bic pmi nsf hpml
  apor ltv dti mou kid pai
  srep icaap ilaap lcr nsfr tlac mrel rwa cet pillar
`)

/** Whether capital letters are an ordinary abbreviation, or an emphasised word, and so no name of an act. */
export function isOtherInitials(folded: string): boolean {
  return (
    OTHER_INITIALS.has(folded) ||
    ISSUERS.has(folded) ||
    STANDARDS.has(folded) ||
    PRIVATE_SOURCES.has(folded) ||
    FUNCTION_WORD_FORMS.has(folded) ||
    EMPHASISED.has(folded)
  )
}

const EMPHASISED = wordsOf(`
  please help urgent new yes nein nur wirklich exactly says mean means apply applies required mandatory bitte danke
  important note todo fyi asap vs incl law laws act rule rules data consent contract fine fines
`)

/** Adjectives of a country or a state of the text before the name of an act: `the UK Data Protection Act 2018`. */
export const ORIGINS = wordsOf(`
  uk us eu german french english british european union eu's irish italian spanish austrian swiss american deutsche
  deutschen deutsches francais europeen new revised current amended draft final provisional adopted consolidated
  original
`)

/** Nouns that a numeral counts, and that name no act: `Type II section 4`, `Phase 2 Article 5`. */
export const COUNTED_NOUNS = wordsOf(`
  type typ phase tier class klasse classe level stage stufe version volume band option group gruppe groupe category
  kategorie part teil partie pillar saule pilier annex anhang annexe chapter kapitel chapitre title titel titre
  section abschnitt schedule appendix supplement table tabelle tableau figure abbildung buch book livre tome article
  artikel art paragraph para recital war world king queen pope heinrich louis wilhelm elizabeth exhibit step part
  scenario case fall cas question frage item nr no model modell subpart subchapter unterabschnitt sub division
`)

/** English nouns that end the name of an act. */
export const LEGAL_NOUNS: ReadonlySet<string> = new Set(
  (
    'act law code regulation regulations order directive decision rules rulebook convention treaty ' +
    'constitution charter ordinance statute protocol covenant declaration accord accords bill amendments'
  ).split(' '),
)
const FOREIGN_NOUNS = new Set(
  'gesetz gesetzes verordnung verfassung grundgesetz loi decret ordonnance traite charte'.split(' '),
)

/** `our constitution`, `unsere Verfassung`: a noun of legislation in any language. */
export function isLegalNoun(text: string): boolean {
  return LEGAL_NOUNS.has(text) || FOREIGN_NOUNS.has(text)
}

/** Agreements between states; all others are contracts. */
const TREATIES = new Set(['paris', 'eea', 'schengen', 'trips', 'wto', 'withdrawal', 'efta', 'dublin', 'minsk'])

/** `Paris Agreement`: the position is that of the first word. */
export function isTreaty(tokens: TokenStream, at: number): boolean {
  return TREATIES.has(tokens.text(at)) && tokens.reads(at + 1, 'agreement')
}
