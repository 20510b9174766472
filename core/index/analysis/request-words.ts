import { words } from './words.ts'

/**
 * Words that ask about a provision without naming a topic, folded, in the languages whose references are read: "what
 * does it say", "Inhalt von", "que dit". A question that holds nothing else asks for the provision as a whole.
 */
const REQUEST_WORDS = new Set(
  words(`
    about according allow allowed allows anything applies apply article compare compared comparison contain
    contains content contents cover covered covers define defined defines definition describe described describes
    details difference differences exact exactly explain explained explains explanation full give gives know mean
    meaning means mention mentioned mentions overview paragraph please provide provided provides provision
    provisions quote read reads regulate regulates regulation require required requirement requirements requires
    rule rules say saying says section see show something stand stands state stated states summarise summarize
    summary tell text under wants wording work works
    ask asks asked belong belongs call calls called compulsory concern concerns concerned consequence consequences count
    counts criteria criterion duties duty effect effects entail entails exist exists fall falls forbid forbidden forbids
    happen happens kind kinds law list listed lists main mandatory necessary need needed needs obligation obligations
    obliged permit permits permitted prohibit prohibited prohibits purpose regard regards responsibilities
    responsibility
    scope set sets type types

    absatz artikel bedeuten bedeutet besagen besagt beschreibt bestimmung bitte definiert definition enthalt
    enthalten erfasst erklare erklaren erklarung erlaubt erlautere erlautern erlauterung etwas gem gemass geregelt
    gilt inhalt laut meint mich mir nennt norm paragraf paragraph regeln regelt regelung sagen sagt satz sinn
    steht text uberblick umfang umfassen umfasst voraussetzung voraussetzungen vorschrift was wortlaut zeige zitat
    zitiere zusammenfassung
    ab betrifft brauche brauchen braucht droht drohen erforderlich erfordert folgt fordert gehort geht gelten heisst
    kurz notig notwendig pflicht pflichten rechtsfolge rechtsfolgen schreibt sieht stehen tatbestand tatbestandsmerkmale
    unterliegt unzulassig verbietet verboten verlangen verlangt vorgeschrieben vorsieht zulassig zweck

    alinea concerne condition conditions contenu contient decrit definit definition dire disent dispose disposition
    dit exactement exige explique expliquer expliquez lire moi parle permet plait pouvez precise prevoient prevoit
    prevu autorise effet effets enonce exigent fixe impose imposent interdit necessaire obligation obligations
    obligatoire permettent peux portee puis regit quoi regle regles resume selon sens signification signifie
    sujet t teneur texte vous

    articulo segun cuando quien quienes cual cuales como donde dice dispone establece regula explica explique
    expliqueme significa contenido indica
    articolo secondo quando quale quali dove stabilisce prevede regola spiega contenuto cosa
    artigo quem qual quais onde diz dispoe conteudo
    volgens wanneer welke waar zegt regelt bepaalt luidt inhoud
    artykul kiedy kto jaki jaka jakie ktory gdzie mowi stanowi reguluje okresla tresc wedlug
    podle kdy kdo jaky ktery kde rika stanovi upravuje obsah podla kedy hovori ustanovuje
    kaj kdaj kateri kako doloca pravi vsebina sto tko kada koji gdje kaze propisuje odreduje sadrzaj
    mikor melyik hogyan mond szabalyoz rendelkezik szerint
    cand cine care unde spune reglementeaza potrivit
    какво кога кой къде казва урежда предвижда според
    ποτε ποιος ποια λεει οριζει προβλεπει ρυθμιζει συμφωνα
    hvad hva hvornar hvem hvilken hvordan siger sier bestemmer vad vem vilken hur sager stadgar reglerar enligt ifolge
    mita milloin kuka miten missa sanoo saataa mukaan
    mida millal kuidas utleb satestab kohaselt
    saka nosaka saskana sako nustato pagal reglamentuoja jghid jipprovdi
  `),
)

export function isRequestWord(word: string): boolean {
  return REQUEST_WORDS.has(word)
}

/** Words of one line measure the same; a passage that holds one of them, or a sign, states a measure of that kind. */
const MEASURES = [
  {
    sign: undefined,
    words: `minute minutes hour hours day days week weeks month months year years deadline
      stunde stunden tag tage tagen woche wochen monat monate monaten jahr jahre jahren frist fristen binnen
      heure heures jour jours semaine semaines mois ans annee annees delai delais`,
  },
  { sign: /[€]/u, words: 'euro euros eur' },
  { sign: /[$]/u, words: 'dollar dollars usd cents' },
  { sign: /[%‰]/u, words: 'percent percentage prozent prozentsatz pourcentage' },
  { sign: undefined, words: 'age aged old alter lebensjahr' },
  ...`fee fees gebuhr gebuhren/fine fines fined bussgeld geldbusse geldstrafe amende amendes/penalty penalties/
      price prices preis prix/cost costs kosten kostet cout frais/tax taxes taxed vat steuer steuern impot impots/
      salary wage wages lohn salaire/rate rates zinssatz taux/montant`
    .split('/')
    .map((line) => ({ sign: undefined, words: line })),
].map(({ sign, words: line }) => ({ sign, words: new Set(words(line)) }))

/** A kind of measure that a question asks for: time, an amount of money, a share, an age. */
export type Measure = (typeof MEASURES)[number]

/** Returns the kind of measure that a folded word asks for. */
export function measureOf(word: string): Measure | undefined {
  return MEASURES.find((measure) => measure.words.has(word))
}

/** Returns whether a text states a measure of the kind. @param held its folded words. */
export function statesMeasure({ sign, words: ofKind }: Measure, text: string, held: ReadonlySet<string>): boolean {
  if (sign?.test(text) === true) return true
  for (const word of ofKind) if (held.has(word)) return true
  return false
}
