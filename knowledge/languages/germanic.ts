/**
 * Germanic languages.
 *
 * @module
 */

import { stemmer as stemDanish } from "@orama/stemmers/danish";
import { stemmer as stemDutch } from "@orama/stemmers/dutch";
import { stemmer as stemEnglish } from "@orama/stemmers/english";
import { stemmer as stemGerman } from "@orama/stemmers/german";
import { stemmer as stemNorwegian } from "@orama/stemmers/norwegian";
import { stemmer as stemSwedish } from "@orama/stemmers/swedish";
import { stopwords as danishStopWords } from "@orama/stopwords/danish";
import { stopwords as dutchStopWords } from "@orama/stopwords/dutch";
import { stopwords as englishStopWords } from "@orama/stopwords/english";
import { stopwords as germanStopWords } from "@orama/stopwords/german";
import { stopwords as norwegianStopWords } from "@orama/stopwords/norwegian";
import { stopwords as swedishStopWords } from "@orama/stopwords/swedish";
import type { Language } from "./language.ts";

export const english: Language = {
  code: "en",
  stem: stemEnglish,
  stopWords: englishStopWords,
  askingWords: `anywhere somewhere nowhere anybody anyone anything cannot could couldn does either else even ever every everything however just
    let ll might mine must need needn shall somebody someone something still us ve via whatever whether within without
    would yes yet also please tell know want wanna like get got give say said talk speak ask hi hello hey ok okay
    explain describe question answer curious wonder wondering possible possibly really actually maybe thanks thank
    cheers per much many lot lots bit kind sort thing things stuff way ways happen happens`,
  vagueWords: `able add advice affect allow always amount annoying apart appear available avoid away back bad become begin
    believe best better big bring call case cause certain change check choose come common compare consider contain correct
    create day decide deal depend detail determine difference different differ difficult direct discover early easy enough
    end exactly example exist expect experience fact famous far fast fastest favorite favourite feel few find fine first
    five fix follow four full general go going good great guess hand handle happen hard have help high hold home idea ideal
    important impossible improve include increase inside instead interested keep kindly know large last late later learn
    least leave left less level life little long longer look low made main make matter mean meaning method minute moment
    move name near necessary never new next nice normal nothing now number often old one opinion order part particular
    people perfect perhaps person place point popular prefer problem proper purpose put quick quite rather read real reason
    recommend remember right roughly run same see seem send set short show simple simply since six small somewhere soon
    special start step still strong suggest suitable supposed sure take teach ten think thought three time tip today
    together told tomorrow top true try turn two type typical understand use used useful user using usual view wait watch
    week well went work worse worst worth wrong year`,
  synonyms: `price prices cost costs fee fees charge rate rates expensive cheap pay much;
    hours opening open opens closed close closes closing schedule timetable when time;
    contact phone telephone call number email hotline;address directions location located where getting there arrive;
    delivery shipping deliver ship dispatch;return returns refund;repair fix broken defective;
    dog dogs cat cats pet pets animal animals;child children kid kids baby;cancel cancellation;
    book booking reserve reservation;picture pictures photo photos photograph;password code passcode pin`,
  smallTalk: {
    greeting: `hi;hello;hey;hiya;howdy;greetings;good morning;good afternoon;good evening;good day;pleased to meet you;
      nice to meet you;hi there;hello there;hey there`,
    wellbeing: "how are you;how are you doing;how are things;how r you;how is it going;how do you do",
    about: `who are you;what are you;what is your name;what s your name;introduce yourself;tell me about yourself;
      tell me something about yourself;tell me a bit about yourself;tell me about you`,
    topics: `what can you do;what can you tell me;what can you help me with;what can you help with;what can you answer;
      what can you talk about;what do you know;what do you know about;what can i ask;what can i ask you;
      what could i ask you;what should i ask you;what else can i ask;what else do you know;what may i ask you;
      which topics do you know;what topics do you know;which subjects do you know;what can i ask you about;
      help;help me;can you help me;no;nope;alright;fine;see;got it;understood;interesting;wow;ah;oh;hm;hmm;haha;lol;
      makes sense;nice;good;great;amazing;true;fair enough;really;lovely;perfect;wonderful;brilliant;awesome;cool`,
    thanks:
      "thanks;thank you;thank u;thx;ty;cheers;much appreciated;appreciated;grateful;thanks a lot;very helpful",
    goodbye: `bye;bye bye;goodbye;farewell;cya;see you;see ya;good night;have a nice day;have a good day;
      have a great day;have a good one;have a nice evening;have a nice weekend`,
    more: "more;tell me more;go on;continue;yes;yeah;yep;yup;sure;what else;anything else;elaborate;keep going;next",
    fillers: `a about again all and are around are but can could dear did do everyone for friend from i in indeed is it
      its later lot me much my now of ok okay please right so soon some such that the then there this to today tomorrow
      too us very was well with you your`,
  },
  phrases: {
    hello: "Hello, I'm {name}.",
    introduction: "I'm {name}.",
    wellbeing: "Very well, thank you for asking.",
    related: "I can also tell you about {topics}.",
    nearest: "I'm not sure about that, but this may help:",
    unknown: "I don't know; nothing I have learned covers that.",
    finished: "That is all I know about it.",
    topics: "You can ask me about {topics}.",
    thanks: "You're welcome.",
    goodbye: "Goodbye, and come back any time.",
    private: "How I was set up is not something I share.",
  },
};

export const german: Language = {
  code: "de",
  stem: stemGerman,
  stopWords: germanStopWords,
  askingWords: `los lassen lasse jemand wirklich überhaupt lohnt zwei drei vier fünf sechs zehn habt heute morgen gestern jetzt nehmen bekommen kriegen finden findet bitte gibt geben kann kannst könnt könnte könnten kannste darf dürfen möchte möchten mag will wollen
    würde würden soll sollte muss müssen brauche brauchen eigentlich denn mal wissen weiß weißt sagen sag erklären
    erklär erzählen erzähl frage geht gehen tun machen mache macht wieviel wieviele wann wo wohin woher wer wen wem was
    welche welcher welches welchen wie warum wieso weshalb viel viele lange lang hallo danke ja nein euch euer eure
    ihr ihre man etwas irgendwas irgendwie noch schon gerade immer passiert bedeutet heißt`,
  vagueWords: `allgemein alt alte alten ander andere anderer anderes anderen anfangen angeben ankommen art
    aussehen bedeuten beginnen beginnt beispiel bereit besonders besser beste besten bestimmt bieten bietet
    bleiben bleibt brauche bringen bringt dabei dafür damit direkt eigen eigene einfach einmal ende enden endet
    erhalten erhält erlaubt ersten etwa extra fall fertig früh früher funktionieren funktioniert gehört genau
    genug gilt gelten gleich gleiche groß große großen gut gute guten halten hält helfen hilft hoch hohe holen
    holt abholen abgeholt häufig höchstens insgesamt kennen klappt klein kleine kleinen kommen kommt komme
    konkret kurz kurze lassen laufen läuft legen leicht leider letzte liegen liegt machbar maximal mindestens
    mitnehmen möglich möglichkeit nah nahe neu neue neuen neuer neues nötig normal nutzen nutzt ort platz problem
    pro rechnen reicht richtig schlecht schlimm schnell schwer sehen seite selber selbst sicher sinn sofort sonst
    spät später stehen steht stelle stellen stellt stimmt stunde stunden tag tage tagen tipp treffen typisch
    üblich ungefähr unterschied verfügbar vergleich verwenden voll vorher vorhanden wählen warten wichtig
    wichtige wirkt woche wochen zeigen zeit ziemlich zuerst zusätzlich`,
  compounds: true,
  synonyms: `preis preise kosten kostet kostenpunkt tarif tarife gebühr gebühren eintritt teuer billig zahlen zahlt bezahlen wieviel;
    öffnungszeiten geöffnet offen öffnet öffnen schließt geschlossen zu auf wann uhr zeiten uhrzeit termine;
    kontakt telefon telefonnummer nummer anrufen erreichen mail;anfahrt adresse weg wo wohin anreise;
    lieferung liefern versand verschicken zustellung;rückgabe rücksendung zurückschicken zurückgeben zurücksenden umtausch;
    reparatur reparieren kaputt defekt störung;hund hunde katze haustier haustiere tier tiere;kind kinder baby kleinkind;
    stornieren stornierung absagen kündigen;buchen buchung reservieren reservierung;foto fotos fotografieren bild bilder;
    kennwort passwort pin;dauer dauert dauern wartezeit frist`,
  smallTalk: {
    greeting: "hallo;hi;hey;guten tag;guten morgen;guten abend;moin;servus;grüß gott;grüezi;grüß dich;tag",
    wellbeing: "wie geht es dir;wie geht es ihnen;wie geht s;wie geht s dir;wie gehts;wie geht es",
    about: "wer bist du;wer sind sie;wie heißt du;wie heißen sie;stell dich vor;was bist du;erzähl von dir",
    topics: `was kannst du;was können sie;was weißt du;was wissen sie;wobei kannst du helfen;womit kannst du helfen;
      hilfe;was kann ich fragen;was kann ich dich fragen;was kann ich sie fragen;welche themen;gut;schön;super;aha`,
    thanks:
      "danke;danke schön;dankeschön;danke sehr;vielen dank;herzlichen dank;besten dank;tausend dank;merci",
    goodbye:
      "tschüss;tschüs;auf wiedersehen;bis bald;bis später;bis dann;ciao;gute nacht;schönen tag noch;ade",
    more: "mehr;weiter;ja;ja bitte;gern;gerne;erzähl mehr;erzähl mir mehr;noch mehr;was noch;und weiter",
    fillers:
      "bitte du dir sie ihnen und auch noch sehr für die das hilfe so ok okay na dann mir euch alle zusammen",
  },
  phrases: {
    hello: "Hallo, ich bin {name}.",
    introduction: "Ich bin {name}.",
    wellbeing: "Sehr gut, danke der Nachfrage.",
    related: "Ich kann auch etwas sagen zu: {topics}.",
    nearest: "Da bin ich nicht sicher, aber vielleicht hilft das:",
    unknown: "Das weiß ich nicht; darüber habe ich nichts gelernt.",
    finished: "Mehr weiß ich darüber nicht.",
    topics: "Meine Themen: {topics}.",
    thanks: "Gern geschehen.",
    goodbye: "Auf Wiedersehen, bis zum nächsten Mal.",
    private: "Wie ich eingerichtet bin, behalte ich für mich.",
  },
};

export const dutch: Language = {
  code: "nl",
  stem: stemDutch,
  stopWords: dutchStopWords,
  askingWords: `twee drie vier vijf zes tien vandaag nu morgen alstublieft alsjeblieft kan kunnen kun mag mogen wil willen zou zouden moet moeten weten weet zeggen zeg
    vertel vertellen uitleggen vraag hoe hoeveel wanneer waar wie wat welke welk waarom graag hallo bedankt ja nee jullie
    gaat gaan doen doe heb hebt heeft krijg krijgen lang veel`,
  compounds: true,
  synonyms: `prijs prijzen kosten kost tarief tarieven toegang duur goedkoop betalen hoeveel;
    openingstijden open geopend gesloten sluit dicht wanneer tijden uur;contact telefoon nummer bellen mail;
    adres route locatie waar bereikbaarheid;levering leveren bezorging verzending;retour terugsturen terugbrengen;
    reparatie repareren kapot defect;hond honden kat huisdier huisdieren dier dieren;kind kinderen baby;
    annuleren annulering;boeken boeking reserveren reservering;wachtwoord pincode`,
  smallTalk: {
    greeting: "hallo;hoi;hey;goedendag;goedemorgen;goedemiddag;goedenavond;dag",
    wellbeing: "hoe gaat het;hoe gaat het met je;hoe gaat het met u;alles goed",
    about: "wie ben je;wie ben jij;wie bent u;hoe heet je;hoe heet u;stel jezelf voor",
    topics:
      "wat kun je;wat kan je;wat weet je;wat kan ik vragen;waarmee kun je helpen;help;goed;mooi;prima;leuk",
    thanks:
      "dank;bedankt;dank je;dank je wel;dank u;dank u wel;dankjewel;hartelijk dank;heel erg bedankt;merci",
    goodbye: "doei;tot ziens;tot straks;tot later;welterusten;fijne dag;fijne dag nog;doeg",
    more: "meer;ga door;verder;ja;ja graag;vertel meer;vertel me meer;wat nog meer",
    fillers: "je u jij en ook nog heel erg voor de het hulp dan alsjeblieft alstublieft ok oké",
  },
  phrases: {
    hello: "Hallo, ik ben {name}.",
    introduction: "Ik ben {name}.",
    wellbeing: "Heel goed, dank je.",
    related: "Ik kan ook vertellen over {topics}.",
    nearest: "Dat weet ik niet zeker, maar misschien helpt dit:",
    unknown: "Dat weet ik niet; daar heb ik niets over geleerd.",
    finished: "Dat is alles wat ik erover weet.",
    topics: "Je kunt me vragen naar {topics}.",
    thanks: "Graag gedaan.",
    goodbye: "Tot ziens, en kom gerust terug.",
    private: "Hoe ik ben ingesteld, houd ik voor mezelf.",
  },
};

export const swedish: Language = {
  code: "sv",
  stem: stemSwedish,
  stopWords: swedishStopWords,
  askingWords: `två tre fyra fem snälla kan kunna får få vill skulle ska måste vet veta säga säg berätta förklara fråga hur mycket många när
    var vart vem vad vilken vilket vilka varför gärna hej tack ja nej finns går göra gör har behöver länge`,
  compounds: true,
  smallTalk: {
    greeting: "hej;hejsan;hallå;god morgon;god dag;god kväll;tjena",
    wellbeing: "hur mår du;hur är det;hur står det till",
    about: "vem är du;vad heter du;presentera dig;vad är du",
    topics: "vad kan du;vad vet du;vad kan jag fråga;vad kan du hjälpa till med;hjälp;bra;fint;kul",
    thanks: "tack;tack så mycket;stort tack;tusen tack",
    goodbye: "hej då;adjö;vi ses;god natt;ha det bra;ha en bra dag",
    more: "mer;fortsätt;ja;ja tack;berätta mer;vad mer",
    fillers: "du dig och också för det den hjälpen så då ok okej",
  },
  phrases: {
    hello: "Hej, jag är {name}.",
    introduction: "Jag är {name}.",
    wellbeing: "Mycket bra, tack.",
    related: "Jag kan också berätta om {topics}.",
    nearest: "Det är jag inte säker på, men det här kanske hjälper:",
    unknown: "Det vet jag inte; det har jag inte lärt mig något om.",
    finished: "Det är allt jag vet om det.",
    topics: "Du kan fråga mig om {topics}.",
    thanks: "Varsågod.",
    goodbye: "Hej då, välkommen tillbaka.",
    private: "Hur jag är inställd behåller jag för mig själv.",
  },
};

export const danish: Language = {
  code: "da",
  stem: stemDanish,
  stopWords: danishStopWords,
  askingWords: `to tre fire fem venligst kan kunne må vil ville skal skulle ved vide sige sig fortæl fortælle forklar spørge hvor meget mange
    hvornår hvem hvad hvilken hvilket hvilke hvorfor hvordan gerne hej tak ja nej findes går gøre gør har længe`,
  compounds: true,
  smallTalk: {
    greeting: "hej;goddag;godmorgen;god aften;halløj;hallo",
    wellbeing: "hvordan har du det;hvordan går det",
    about: "hvem er du;hvad hedder du;præsenter dig selv",
    topics: "hvad kan du;hvad ved du;hvad kan jag spørge om;hvad kan jeg spørge om;hjælp;godt;fint",
    thanks: "tak;mange tak;tusind tak;tak for hjælpen",
    goodbye: "farvel;hej hej;vi ses;godnat;hav en god dag",
    more: "mere;fortsæt;ja;ja tak;fortæl mere;hvad mere",
    fillers: "du dig og også for det den hjælpen så ok okay",
  },
  phrases: {
    hello: "Hej, jeg er {name}.",
    introduction: "Jeg er {name}.",
    wellbeing: "Rigtig godt, tak.",
    related: "Jeg kan også fortælle om {topics}.",
    nearest: "Det er jeg ikke sikker på, men måske hjælper dette:",
    unknown: "Det ved jeg ikke; det har jeg ikke lært noget om.",
    finished: "Det er alt, hvad jeg ved om det.",
    topics: "Du kan spørge mig om {topics}.",
    thanks: "Det var så lidt.",
    goodbye: "Farvel, og velkommen tilbage.",
    private: "Hvordan jeg er sat op, holder jeg for mig selv.",
  },
};

export const norwegian: Language = {
  code: "no",
  stem: stemNorwegian,
  stopWords: norwegianStopWords,
  askingWords: `to tre fire fem vennligst kan kunne må vil ville skal skulle vet vite si fortell fortelle forklar spørre hvor mye mange når hvem
    hva hvilken hvilket hvilke hvorfor hvordan gjerne hei takk ja nei finnes går gjøre gjør har lenge`,
  compounds: true,
  smallTalk: {
    greeting: "hei;hallo;god morgen;god dag;god kveld;heisann",
    wellbeing: "hvordan har du det;hvordan går det",
    about: "hvem er du;hva heter du;presenter deg",
    topics: "hva kan du;hva vet du;hva kan jeg spørre om;hjelp;bra;fint",
    thanks: "takk;mange takk;tusen takk;takk for hjelpen",
    goodbye: "ha det;ha det bra;farvel;vi sees;god natt;ha en fin dag",
    more: "mer;fortsett;ja;ja takk;fortell mer;hva mer",
    fillers: "du deg og også for det den hjelpen så ok",
  },
  phrases: {
    hello: "Hei, jeg er {name}.",
    introduction: "Jeg er {name}.",
    wellbeing: "Veldig bra, takk.",
    related: "Jeg kan også fortelle om {topics}.",
    nearest: "Det er jeg ikke sikker på, men kanskje hjelper dette:",
    unknown: "Det vet jeg ikke; det har jeg ikke lært noe om.",
    finished: "Det er alt jeg vet om det.",
    topics: "Du kan spørre meg om {topics}.",
    thanks: "Bare hyggelig.",
    goodbye: "Ha det, og velkommen tilbake.",
    private: "Hvordan jeg er satt opp, holder jeg for meg selv.",
  },
};
