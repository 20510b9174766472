/** Content words that occur in a large share of all provisions on any subject. */
export const VERY_COMMON_WORDS = `
person article paragraph section subsection subparagraph chapter part annex schedule title point clause rule regulation
act law directive provision
apply applicable application accordance according pursuant refer referred set out following follow mention subject
respect relation relevant appropriate necessary specific particular respective
provide require requirement include ensure case purpose mean meaning define definition order way manner matter time
period date day month year
information member state union authority competent commission use used carry establish one two three first second third
new different certain general

Absatz Abs Satz Nummer Nr Paragraph Paragraf Artikel Buchstabe Gesetz Vorschrift Bestimmung Abschnitt Kapitel Teil Titel
Fall Fälle Sinne entsprechend entsprechende gelten gilt anwenden anzuwenden Anwendung
insbesondere erforderlich bestimmen bestimmt jeweils jeweilig genannt bezeichnet zuständig Person Recht Tag Monat Jahr
Zeit gemäß ersten zweiten erste zweite eins zwei drei

loi code alinéa disposition cas effet présent présente applicable appliquer prévu prévue prévoir condition droit
personne acte an année mois jour date lieu sens conformément dit dite chapitre titre partie
premier première deuxième second deux trois
`

/** Content words that are common in regulation, and so less informative than the rest. */
export const COMMON_WORDS = `
authorised authorized entity undertaking firm company institution service activity business financial measure condition
obligation right regulator party report reporting notice notify notification
document procedure policy system process management control risk amount number value least level basis rate total type
kind form term result effect account client customer product public national European
decision request consider determine determined determination review assess assessment approval approve specify specified
prescribe prescribed relate related place conduct operate operation operator need want keep kept hold held

Behörde Antrag Vertrag Vertrages Verträge Verpflichtung verpflichtet Pflicht Frist Unternehmen Leistung Verfahren
Entscheidung Angabe Information Daten Mitteilung Nachweis Kosten Anspruch Umfang Maßnahme Voraussetzung verlangen

contrat demande juge tribunal bien obligation délai somme chose qualité intérêt
`
