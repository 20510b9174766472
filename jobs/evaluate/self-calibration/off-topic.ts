const ENGLISH = [
  'How long do I boil an egg until the yolk is firm?',
  'Which football club won the cup final last spring?',
  'What is a good name for a grey kitten?',
  'How do I get red wine stains out of a white shirt?',
  'Which guitar chords does this love song use?',
  'Will it snow in the mountains at the weekend?',
  'How many stairs does the lighthouse on the island have?',
  'Which trail shoes are comfortable for wide feet?',
  'How do I prune an old apple tree?',
  'Who played the detective in that television series?',
]

const GERMAN = [
  'Wie lange muss ein Ei kochen, bis der Dotter fest ist?',
  'Welcher Verein hat im Frühjahr das Pokalfinale gewonnen?',
  'Wie heißt ein guter Name für ein graues Kätzchen?',
  'Wie bekomme ich Rotweinflecken aus einem weißen Hemd?',
  'Welche Gitarrenakkorde hat dieses Liebeslied?',
  'Schneit es am Wochenende in den Bergen?',
  'Wie viele Stufen hat der Leuchtturm auf der Insel?',
  'Welche Wanderschuhe passen für breite Füße?',
  'Wie schneide ich einen alten Apfelbaum?',
  'Wer spielte den Kommissar in dieser Fernsehserie?',
]

const FRENCH = [
  'Combien de temps faut-il cuire un œuf pour que le jaune soit dur ?',
  'Quel club a gagné la finale de la coupe au printemps ?',
  'Quel joli nom donner à un chaton gris ?',
  'Comment enlever une tache de vin rouge sur une chemise blanche ?',
  'Quels accords de guitare pour cette chanson d’amour ?',
  'Va-t-il neiger en montagne ce week-end ?',
  'Combien de marches compte le phare de l’île ?',
  'Quelles chaussures de marche pour des pieds larges ?',
  'Comment tailler un vieux pommier ?',
  'Qui jouait le commissaire dans ce feuilleton ?',
]

const BY_LANGUAGE: ReadonlyMap<string, readonly string[]> = new Map([
  ['en', ENGLISH],
  ['de', GERMAN],
  ['fr', FRENCH],
])

/**
 * Returns everyday questions that a collection of rules does not answer, in English where there are none in a language.
 * @param language primary subtag.
 */
export function offTopicQuestions(language: string): readonly string[] {
  return BY_LANGUAGE.get(language) ?? ENGLISH
}
