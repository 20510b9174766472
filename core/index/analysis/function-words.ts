/** Function words of English, German and French in their usual spelling; `words()` folds them. */
export const FUNCTION_WORDS = `
a an the and or nor but if then else than that this these those there here it its itself he him his himself she her hers
they them their theirs themselves we us our ours you your yours i me my
who whom whose which what when where why how whether while until unless although though because since
is are was were be been being am do does did done doing has have had having can could may might must shall should will
would cannot not no
as at by for from in into of off on onto out over to up with within without under upon about above below after before
again against between through throughout during per via
so also any all both each either neither every few more most much many other others another some such own same only very
too just even still yet ever never thereof therein thereto hereby herein etc ie eg
long soon often able become becomes get gets give given gives go goes let make makes made making take takes taken taking

der die das den dem des ein eine einer eines einem einen kein keine keiner keines keinem keinen und oder aber auch als
an am auf aus bei beim bis da dabei dadurch dafür dagegen daher damit danach daran darauf daraus
darf dürfen darin darüber davon dazu dass denn deren dessen doch dort durch er es etwa für gegen hat haben hatte hatten
habe hier hin hinter ich ihm ihn ihnen ihr ihre ihrer ihres ihrem ihren im in ins ist
sind sein seine seiner seines seinem seinen sei seien war waren wäre wird werden wurde wurden worden jede jeder jedes
jedem jeden jene jener jenes kann können könnte konnte man mehr mit muss müssen müsste nach
nicht nichts noch nun nur ob ohne seit sich sie so sofern soweit solche solcher solches solchen solchem soll sollen
sollte sonst sowie um unter vom von vor während wann warum was weil welche welcher welches
welchem welchen wenn wer wem wen wessen wie wieder wieviel viel viele vielen wo wobei wodurch zu zum zur zwischen zwar
über diese dieser dieses diesem diesen derselbe dieselbe dasselbe derselben desselben denselben
jedoch bereits einander allen aller alle alles andere anderen anderer anderes lange oft hoch groß mein meine meiner
meinem meinen meines wir uns unser dein gibt

le la les l un une des du de d et ou mais donc or ni car que qu qui quoi dont où quel quelle quels quelles quand comment
pourquoi combien lequel laquelle lesquels lesquelles duquel auquel
ce cet cette ces cela ceci celui celle ceux celles ci ça il elle ils elles on nous vous je tu me te se soi lui eux leur
leurs son sa ses notre nos votre vos mon ma mes ton ta tes en y
à au aux avec sans sous sur dans par pour pas ne plus moins très trop peu peut peuvent pouvoir pourra doit doivent
devoir devra est sont être été étaient était soit soient sera seront serait fut
a ont avoir ait aient avait avaient eu fait faire font faut si comme ainsi alors lorsque puisque quoique jusque entre
vers chez depuis pendant avant après contre selon malgré parmi
tout toute tous toutes aucun aucune même mêmes autre autres chaque tel telle tels telles non aussi encore déjà jamais
toujours quelque quelques plusieurs certain certaine certains certaines
`
