/** A well-known name of an act, independent of any corpus. All other names come with the corpus. */
export interface KnownName {
  readonly act: string
  readonly name: string
  /** The name is ambiguous and counts only as written here. */
  readonly cased: boolean
  /** The name is an abbreviation of other things as well, and counts only beside a provision. */
  readonly beside: boolean
}

/** Names with `^` count only as written, those with `~` only beside a provision, those with `!` only as both. */
const NAMES = `
celex:32016R0679 = GDPR | EU GDPR | DSGVO | DS-GVO | RGPD | General Data Protection Regulation
celex:32016R0679 = Datenschutz-Grundverordnung | Datenschutzgrundverordnung
celex:32016R0679 = règlement général sur la protection des données
celex:32024R1689 = AI Act | EU AI Act | AIA | Artificial Intelligence Act | KI-Verordnung | KI-VO
celex:32024R1689 = règlement sur l'intelligence artificielle | règlement IA | AI Regulation | EU AI Regulation
celex:32022R2554 = DORA | Digital Operational Resilience Act
celex:32023R1114 = MiCA | MiCAR | Markets in Crypto-Assets Regulation
celex:32022L2555 = NIS2 | NIS 2 Directive | NIS-2-Richtlinie | NIS-2-RL | directive NIS 2
celex:32014L0065 = MiFID II
celex:32014R0600 = MiFIR
celex:32015L2366 = PSD2 | PSD 2 | second Payment Services Directive
celex:32009L0065 = UCITS Directive | OGAW-Richtlinie | directive OPCVM
celex:32011L0061 = AIFMD | AIFM Directive | AIFM-Richtlinie
celex:32020R0852 = !Taxonomy | EU Taxonomy | Taxonomy Regulation | Taxonomie-Verordnung | Taxonomie-VO
celex:32002L0058 = !ePrivacy | ePrivacy Directive | e-Privacy Directive | ePrivacy-Richtlinie | ePrivacy-RL
celex:32002L0058 = e-Privacy-RL
celex:32014L0053 = !RED
celex:32016L0680 = !LED
celex:32019R2088 = SFDR | Offenlegungsverordnung
celex:32022R2065 = Digital Services Act | DSA
celex:32022R1925 = Digital Markets Act | DMA
celex:32023R2854 = EU Data Act
celex:32014R0596 = Market Abuse Regulation | Marktmissbrauchsverordnung | ^MAR
celex:32013R0575 = CRR | Capital Requirements Regulation
celex:12012E = TFEU | AEUV | TFUE | Treaty on the Functioning of the European Union
celex:12012M = ^TEU | ^EUV | ^Treaty on European Union
celex:12012P = Charter of Fundamental Rights | Charter of Fundamental Rights of the European Union | GRCh
ukpga:2018/12 = Data Protection Act 2018 | DPA 2018
ukpga:2000/8 = Financial Services and Markets Act 2000 | FSMA 2000 | FSMA
ukpga:2006/46 = Companies Act 2006 | CA 2006
ukpga:2010/15 = Equality Act 2010 | EqA 2010
ukpga:2010/23 = Bribery Act 2010
ukpga:1998/42 = Human Rights Act 1998 | HRA 1998
ukpga:2002/29 = Proceeds of Crime Act 2002 | POCA 2002
ukpga:2015/30 = Modern Slavery Act 2015
ukpga:2015/15 = Consumer Rights Act 2015 | CRA 2015
ukpga:1996/18 = Employment Rights Act 1996 | ERA 1996
ukpga:1986/45 = Insolvency Act 1986
ukpga:2000/36 = Freedom of Information Act 2000 | FOIA 2000
ukpga:2023/50 = Online Safety Act 2023
uksi:2017/692 = Money Laundering Regulations 2017 | MLR 2017 | MLRs 2017
uksi:2017/692 = Money Laundering, Terrorist Financing and Transfer of Funds (Information on the Payer) Regulations 2017
uksi:2003/2426 = PECR | PECR 2003 | Privacy and Electronic Communications (EC Directive) Regulations 2003
eur:2016/679 = UK GDPR
de:bgb = German Civil Code | BGB | Bürgerliches Gesetzbuch | Bürgerlichen Gesetzbuches | Bürgerlichen Gesetzbuchs
de:bgb = Bürgerlichen Gesetzbuch
de:stgb = German Criminal Code | StGB | Strafgesetzbuch
de:hgb = German Commercial Code | HGB | Handelsgesetzbuch
de:gg = German Basic Law | Basic Law | Grundgesetz | Grundgesetz für die Bundesrepublik Deutschland | ^GG
de:agg = Allgemeines Gleichbehandlungsgesetz | Allgemeinen Gleichbehandlungsgesetzes
de:arbschg = ArbSchG | Arbeitsschutzgesetz
de:arbzg = ArbZG | Arbeitszeitgesetz
de:egbgb = EGBGB | Einführungsgesetz zum Bürgerlichen Gesetzbuche | Einführungsgesetzes zum Bürgerlichen Gesetzbuche
de:baugb = BauGB | Baugesetzbuch
de:btmg = BtMG | Betäubungsmittelgesetz
de:burlg = BUrlG | Bundesurlaubsgesetz
de:estg = EStG | Einkommensteuergesetz
de:gewo = GewO | Gewerbeordnung
de:markeng = MarkenG | Markengesetz
de:muschg = MuSchG | Mutterschutzgesetz
de:patg = PatG | Patentgesetz
de:prodhaftg = ProdHaftG | Produkthaftungsgesetz
de:stvo = StVO | Straßenverkehrsordnung | Straßenverkehrs-Ordnung
de:stvg = StVG | Straßenverkehrsgesetz
de:ttdsg = TTDSG | TDDDG | Telekommunikation-Telemedien-Datenschutz-Gesetz
de:tvg = TVG | Tarifvertragsgesetz
de:tzbfg = TzBfG | Teilzeit- und Befristungsgesetz
de:ustg = UStG | Umsatzsteuergesetz
de:vag = Versicherungsaufsichtsgesetz
de:vwgo = VwGO | Verwaltungsgerichtsordnung
de:weg = Wohnungseigentumsgesetz
de:wpig = WpIG | Wertpapierinstitutsgesetz
de:zpo = ZPO | Zivilprozessordnung
de:stpo = StPO | Strafprozessordnung
de:bdsg = BDSG | Bundesdatenschutzgesetz
de:ao = Abgabenordnung
de:kwg = KWG | KredWG | Kreditwesengesetz
de:gwg = GwG | Geldwäschegesetz
de:wphg = WpHG | Wertpapierhandelsgesetz
de:zag = ZAG | Zahlungsdiensteaufsichtsgesetz
de:kagb = KAGB | Kapitalanlagegesetzbuch
de:aktg = AktG | Aktiengesetz
de:gmbhg = GmbHG | GmbH-Gesetz
de:inso = InsO | Insolvenzordnung
de:vwvfg = VwVfG | Verwaltungsverfahrensgesetz
de:urhg = UrhG | Urheberrechtsgesetz
de:uwg = UWG
de:betrvg = BetrVG | Betriebsverfassungsgesetz
de:kschg = KSchG | Kündigungsschutzgesetz
usc:26 = ~IRC | ~I.R.C. | Internal Revenue Code | Internal Revenue Code of 1986
cfr:26 = Treas. Reg. | Treasury Regulation | Treasury Regulations
fr:code-civil = code civil | C. civ. | Cciv | French Civil Code | Civil Code
fr:code-penal = code pénal | C. pén.
fr:code-du-travail = code du travail | C. trav.
fr:code-de-commerce = code de commerce | C. com.
fr:code-de-la-consommation = code de la consommation | C. consom. | C. conso.
fr:code-monetaire-et-financier = code monétaire et financier | C. mon. fin. | COMOFI | ~CMF
fr:code-de-procedure-civile = code de procédure civile | ~CPC
fr:code-de-procedure-penale = code de procédure pénale | ~CPP
fr:code-general-des-impots = code général des impôts | ~CGI
fr:code-des-assurances = code des assurances | C. assur.
fr:code-de-la-sante-publique = code de la santé publique | ~CSP
fr:code-de-la-securite-sociale = code de la sécurité sociale | ~CSS
fr:code-de-la-propriete-intellectuelle = code de la propriété intellectuelle | ~CPI
fr:code-de-l-environnement = code de l'environnement
fr:code-de-la-route = code de la route
fr:loi-78-17 = loi Informatique et Libertés
`

export const KNOWN_NAMES: readonly KnownName[] = NAMES.trim()
  .split('\n')
  .flatMap((line) => {
    const [act = '', names = ''] = line.split(' = ')
    return names.split(' | ').map((marked) => {
      const mark = /^[!^~]/.exec(marked)?.[0] ?? ''
      return { act, name: marked.slice(mark.length), cased: /[!^]/.test(mark), beside: /[!~]/.test(mark) }
    })
  })
