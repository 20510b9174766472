/**
 * Well-known names of acts, independent of any corpus. All other names come with the corpus. `cased`: the name is
 * ambiguous and counts only as written here.
 */
export interface KnownAct {
  readonly act: string
  readonly names: readonly string[]
  readonly cased?: boolean
}

const EU: readonly KnownAct[] = [
  {
    act: 'celex:32016R0679',
    names: [
      'GDPR',
      'EU GDPR',
      'DSGVO',
      'DS-GVO',
      'RGPD',
      'General Data Protection Regulation',
      'Datenschutz-Grundverordnung',
      'Datenschutzgrundverordnung',
    ],
  },
  { act: 'celex:32016R0679', names: ['règlement général sur la protection des données'] },
  {
    act: 'celex:32024R1689',
    names: [
      'AI Act',
      'EU AI Act',
      'AIA',
      'Artificial Intelligence Act',
      'KI-Verordnung',
      'KI-VO',
      "règlement sur l'intelligence artificielle",
    ],
  },
  { act: 'celex:32022R2554', names: ['DORA', 'Digital Operational Resilience Act'] },
  { act: 'celex:32023R1114', names: ['MiCA', 'MiCAR', 'Markets in Crypto-Assets Regulation'] },
  { act: 'celex:32022L2555', names: ['NIS2', 'NIS 2 Directive', 'NIS-2-Richtlinie', 'directive NIS 2'] },
  { act: 'celex:32014L0065', names: ['MiFID II', 'MiFID 2'] },
  { act: 'celex:32014R0600', names: ['MiFIR'] },
  { act: 'celex:32015L2366', names: ['PSD2', 'PSD 2'] },
  { act: 'celex:32009L0065', names: ['UCITS Directive', 'OGAW-Richtlinie', 'directive OPCVM'] },
  { act: 'celex:32011L0061', names: ['AIFMD'] },
  { act: 'celex:32019R2088', names: ['SFDR', 'Offenlegungsverordnung'] },
  { act: 'celex:32022R2065', names: ['Digital Services Act', 'DSA'] },
  { act: 'celex:32022R1925', names: ['Digital Markets Act', 'DMA'] },
  { act: 'celex:32023R2854', names: ['EU Data Act'] },
  { act: 'celex:32014R0596', names: ['Market Abuse Regulation', 'Marktmissbrauchsverordnung'] },
  { act: 'celex:32014R0596', names: ['MAR'], cased: true },
  { act: 'celex:32013R0575', names: ['CRR', 'Capital Requirements Regulation'] },
  { act: 'celex:32002L0058', names: ['ePrivacy Directive'] },
  { act: 'celex:12012E', names: ['TFEU', 'AEUV', 'TFUE', 'Treaty on the Functioning of the European Union'] },
  { act: 'celex:12012M', names: ['TEU', 'EUV', 'Treaty on European Union'], cased: true },
  {
    act: 'celex:12012P',
    names: ['Charter of Fundamental Rights', 'Charter of Fundamental Rights of the European Union', 'GRCh'],
  },
]

const UK: readonly KnownAct[] = [
  { act: 'ukpga:2018/12', names: ['Data Protection Act 2018', 'DPA 2018'] },
  { act: 'ukpga:2000/8', names: ['Financial Services and Markets Act 2000', 'FSMA 2000', 'FSMA'] },
  { act: 'ukpga:2006/46', names: ['Companies Act 2006', 'CA 2006'] },
  { act: 'ukpga:2010/15', names: ['Equality Act 2010', 'EqA 2010'] },
  { act: 'ukpga:2010/23', names: ['Bribery Act 2010'] },
  { act: 'ukpga:1998/42', names: ['Human Rights Act 1998', 'HRA 1998'] },
  { act: 'ukpga:2002/29', names: ['Proceeds of Crime Act 2002', 'POCA 2002'] },
  { act: 'ukpga:2015/30', names: ['Modern Slavery Act 2015'] },
  { act: 'ukpga:2015/15', names: ['Consumer Rights Act 2015', 'CRA 2015'] },
  { act: 'ukpga:1996/18', names: ['Employment Rights Act 1996', 'ERA 1996'] },
  { act: 'ukpga:1986/45', names: ['Insolvency Act 1986'] },
  { act: 'ukpga:2000/36', names: ['Freedom of Information Act 2000', 'FOIA 2000'] },
  { act: 'ukpga:2023/50', names: ['Online Safety Act 2023'] },
  { act: 'uksi:2017/692', names: ['Money Laundering Regulations 2017', 'MLR 2017', 'MLRs 2017'] },
  {
    act: 'uksi:2017/692',
    names: ['Money Laundering, Terrorist Financing and Transfer of Funds (Information on the Payer) Regulations 2017'],
  },
  {
    act: 'uksi:2003/2426',
    names: ['PECR', 'PECR 2003', 'Privacy and Electronic Communications (EC Directive) Regulations 2003'],
  },
  { act: 'eur:2016/679', names: ['UK GDPR'] },
]

const DE: readonly KnownAct[] = [
  {
    act: 'de:bgb',
    names: [
      'BGB',
      'Bürgerliches Gesetzbuch',
      'Bürgerlichen Gesetzbuches',
      'Bürgerlichen Gesetzbuchs',
      'Bürgerlichen Gesetzbuch',
    ],
  },
  { act: 'de:gg', names: ['Grundgesetz', 'Grundgesetzes', 'Grundgesetz für die Bundesrepublik Deutschland'] },
  { act: 'de:gg', names: ['GG'], cased: true },
  { act: 'de:stgb', names: ['StGB', 'Strafgesetzbuch', 'Strafgesetzbuches', 'Strafgesetzbuchs'] },
  { act: 'de:hgb', names: ['HGB', 'Handelsgesetzbuch', 'Handelsgesetzbuches', 'Handelsgesetzbuchs'] },
  { act: 'de:zpo', names: ['ZPO', 'Zivilprozessordnung'] },
  { act: 'de:stpo', names: ['StPO', 'Strafprozessordnung'] },
  { act: 'de:bdsg', names: ['BDSG', 'Bundesdatenschutzgesetz', 'Bundesdatenschutzgesetzes'] },
  { act: 'de:ao', names: ['Abgabenordnung'] },
  { act: 'de:kwg', names: ['KWG', 'KredWG', 'Kreditwesengesetz', 'Kreditwesengesetzes'] },
  { act: 'de:gwg', names: ['GwG', 'Geldwäschegesetz', 'Geldwäschegesetzes'] },
  { act: 'de:wphg', names: ['WpHG', 'Wertpapierhandelsgesetz', 'Wertpapierhandelsgesetzes'] },
  { act: 'de:zag', names: ['ZAG', 'Zahlungsdiensteaufsichtsgesetz', 'Zahlungsdiensteaufsichtsgesetzes'] },
  { act: 'de:kagb', names: ['KAGB', 'Kapitalanlagegesetzbuch', 'Kapitalanlagegesetzbuchs'] },
  { act: 'de:aktg', names: ['AktG', 'Aktiengesetz', 'Aktiengesetzes'] },
  { act: 'de:gmbhg', names: ['GmbHG', 'GmbH-Gesetz'] },
  { act: 'de:inso', names: ['InsO', 'Insolvenzordnung'] },
  { act: 'de:vwvfg', names: ['VwVfG', 'Verwaltungsverfahrensgesetz', 'Verwaltungsverfahrensgesetzes'] },
  { act: 'de:urhg', names: ['UrhG', 'Urheberrechtsgesetz', 'Urheberrechtsgesetzes'] },
  { act: 'de:uwg', names: ['UWG'] },
  { act: 'de:betrvg', names: ['BetrVG', 'Betriebsverfassungsgesetz', 'Betriebsverfassungsgesetzes'] },
  { act: 'de:kschg', names: ['KSchG', 'Kündigungsschutzgesetz', 'Kündigungsschutzgesetzes'] },
]

const FR: readonly KnownAct[] = [
  { act: 'fr:code-civil', names: ['code civil', 'C. civ.', 'Cciv'] },
  { act: 'fr:code-penal', names: ['code pénal', 'C. pén.'] },
  { act: 'fr:code-du-travail', names: ['code du travail', 'C. trav.'] },
  { act: 'fr:code-de-commerce', names: ['code de commerce', 'C. com.'] },
  { act: 'fr:code-de-la-consommation', names: ['code de la consommation', 'C. consom.', 'C. conso.'] },
  { act: 'fr:code-monetaire-et-financier', names: ['code monétaire et financier', 'CMF', 'C. mon. fin.', 'COMOFI'] },
  { act: 'fr:code-de-procedure-civile', names: ['code de procédure civile', 'CPC'] },
  { act: 'fr:code-de-procedure-penale', names: ['code de procédure pénale', 'CPP'] },
  { act: 'fr:code-general-des-impots', names: ['code général des impôts', 'CGI'] },
  { act: 'fr:code-des-assurances', names: ['code des assurances', 'C. assur.'] },
  { act: 'fr:code-de-la-sante-publique', names: ['code de la santé publique', 'CSP'] },
  { act: 'fr:code-de-la-securite-sociale', names: ['code de la sécurité sociale', 'CSS'] },
  { act: 'fr:code-de-la-propriete-intellectuelle', names: ['code de la propriété intellectuelle', 'CPI'] },
  { act: 'fr:code-de-l-environnement', names: ["code de l'environnement"] },
  { act: 'fr:code-de-la-route', names: ['code de la route'] },
  { act: 'fr:loi-78-17', names: ['loi Informatique et Libertés'] },
]

export const KNOWN_ACTS: readonly KnownAct[] = [...EU, ...UK, ...DE, ...FR]

/** Regulations of the Consumer Financial Protection Bureau by letter: parts of 12 CFR chapter X. */
export const BUREAU_PARTS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    b: '1002',
    c: '1003',
    d: '1004',
    e: '1005',
    f: '1006',
    g: '1007',
    h: '1008',
    i: '1009',
    j: '1010',
    k: '1011',
    l: '1012',
    m: '1013',
    n: '1014',
    o: '1015',
    p: '1016',
    v: '1022',
    x: '1024',
    z: '1026',
    dd: '1030',
  }),
)
