/**
 * Uralic languages.
 *
 * @module
 */

import { stemmer as stemFinnish } from "@orama/stemmers/finnish";
import { stemmer as stemHungarian } from "@orama/stemmers/hungarian";
import { stopwords as finnishStopWords } from "@orama/stopwords/finnish";
import { stopwords as hungarianStopWords } from "@orama/stopwords/hungarian";
import type { Language } from "./language.ts";

export const finnish: Language = {
  code: "fi",
  stem: stemFinnish,
  stopWords: finnishStopWords,
  askingWords: `voinko voiko voitko voin voi saanko saako haluan haluaisin pitääkö pitää täytyy tietää tiedän kerro selitä kysymys
    kuinka paljon paljonko monta milloin missä mistä mihin kuka mikä mitä mitkä miksi miten hei kiitos kyllä ei onko ovatko
    teillä minun tehdä teen kauan`,
  compounds: true,
  smallTalk: {
    greeting: "hei;moi;terve;hyvää huomenta;hyvää päivää;hyvää iltaa;huomenta;päivää;moikka",
    wellbeing: "mitä kuuluu;miten menee;kuinka voit",
    about: "kuka sinä olet;kuka olet;mikä sinun nimesi on;mikä nimesi on;esittele itsesi",
    topics: "mitä tiedät;mitä osaat;mitä voin kysyä;apua;auta;hyvä;hienoa;selvä",
    thanks: "kiitos;kiitos paljon;paljon kiitoksia;kiitti;kiitoksia",
    goodbye: "näkemiin;hei hei;heippa;nähdään;hyvää yötä;hyvää päivänjatkoa",
    more: "lisää;jatka;kyllä;joo;kyllä kiitos;kerro lisää;mitä muuta",
    fillers: "ja sinulle teille avusta paljon ok no",
  },
  phrases: {
    hello: "Hei, olen {name}.",
    introduction: "Olen {name}.",
    wellbeing: "Oikein hyvää, kiitos.",
    related: "Voin kertoa myös näistä: {topics}.",
    nearest: "En ole varma, mutta tästä voi olla apua:",
    unknown: "En tiedä; en ole oppinut siitä mitään.",
    finished: "Siinä kaikki, mitä siitä tiedän.",
    topics: "Voit kysyä minulta näistä: {topics}.",
    thanks: "Ole hyvä.",
    goodbye: "Näkemiin, ja tervetuloa takaisin.",
    private: "En kerro, miten minut on määritetty.",
  },
};

export const hungarian: Language = {
  code: "hu",
  stem: stemHungarian,
  stopWords: hungarianStopWords,
  askingWords: `kérem lehet lehetek tudok tud tudna szeretném szeretnék akarok kell van vannak tudni mondd mondja magyarázd kérdés
    mennyi hány mikor hol hová honnan ki mi melyik milyen miért hogyan szia köszönöm igen nem csinálni önök nekem sok sokáig idő`,
  compounds: true,
  smallTalk: {
    greeting: "szia;sziasztok;jó napot;jó reggelt;jó estét;üdv;helló;jó napot kívánok",
    wellbeing: "hogy vagy;hogy van;mi újság",
    about: "ki vagy;ki vagy te;kicsoda ön;hogy hívnak;mutatkozz be",
    topics: "mit tudsz;mit kérdezhetek;miben tudsz segíteni;segítség;segíts;jó;remek;rendben",
    thanks: "köszönöm;köszi;nagyon köszönöm;köszönöm szépen;kösz",
    goodbye: "viszlát;viszontlátásra;jó éjszakát;szép napot;pá",
    more: "tovább;folytasd;igen;igen kérem;mondj többet;mi más;még",
    fillers: "és a az nagyon segítséget neked önnek ok",
  },
  phrases: {
    hello: "Üdvözlöm, {name} vagyok.",
    introduction: "{name} vagyok.",
    wellbeing: "Nagyon jól, köszönöm.",
    related: "Ezekről is tudok beszélni: {topics}.",
    nearest: "Nem vagyok biztos benne, de talán ez segít:",
    unknown: "Nem tudom; erről semmit sem tanultam.",
    finished: "Ennyit tudok róla.",
    topics: "Ezekről kérdezhet: {topics}.",
    thanks: "Szívesen.",
    goodbye: "Viszontlátásra, jöjjön vissza bármikor.",
    private: "Hogy hogyan vagyok beállítva, azt nem árulom el.",
  },
};
