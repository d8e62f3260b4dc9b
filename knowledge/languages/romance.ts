/**
 * Romance languages.
 *
 * @module
 */

import { stemmer as stemFrench } from "@orama/stemmers/french";
import { stemmer as stemItalian } from "@orama/stemmers/italian";
import { stemmer as stemPortuguese } from "@orama/stemmers/portuguese";
import { stemmer as stemRomanian } from "@orama/stemmers/romanian";
import { stemmer as stemSpanish } from "@orama/stemmers/spanish";
import { stopwords as frenchStopWords } from "@orama/stopwords/french";
import { stopwords as italianStopWords } from "@orama/stopwords/italian";
import { stopwords as portugueseStopWords } from "@orama/stopwords/portuguese";
import { stopwords as romanianStopWords } from "@orama/stopwords/romanian";
import { stopwords as spanishStopWords } from "@orama/stopwords/spanish";
import type { Language } from "./language.ts";

export const french: Language = {
  code: "fr",
  stem: stemFrench,
  stopWords: frenchStopWords,
  askingWords: `deux trois quatre cinq six dix vraiment aujourd hui maintenant demain trouver svp plaît peut peux peuvent pouvez puis puisje pourrais pourrait veux veut voulez voudrais voudrait dois doit
    devez faut savoir sais savez dire dites dis expliquer expliquez question combien quand où qui quoi que quel quelle quels
    quelles pourquoi comment est-ce bonjour merci oui non fait faire faites faut-il avoir cela ça si chez très beaucoup
    temps fois tout toute tous toutes y existe quelqu quelque quelques aller va vais passe signifie`,
  synonyms: `prix tarif tarifs coût coûte coûtent coûter cher payer frais combien;
    horaires horaire heures heure ouvert ouverte ouvre ouvrez ouverture ferme fermez fermé fermeture quand;
    contact téléphone numéro appeler joindre mail;adresse accès venir où situé trajet itinéraire;
    livraison livrer expédition envoi;retour retourner remboursement rembourser rendre;
    panne réparation réparer cassé défectueux;chien chiens chat animal animaux;enfant enfants bébé;
    annuler annulation;réserver réservation;photo photos photographier;mot passe code`,
  smallTalk: {
    greeting: "bonjour;bonsoir;salut;coucou;bonne journée à vous;enchanté;enchantée",
    wellbeing: "comment ça va;ça va;comment vas tu;comment allez vous;comment va",
    about:
      "qui es tu;qui êtes vous;comment tu t appelles;comment t appelles tu;comment vous appelez vous;présente toi",
    topics: `que sais tu;que savez vous;que peux tu faire;que pouvez vous faire;qu est ce que je peux demander;aide;
      aide moi;aidez moi;peux tu m aider;pouvez vous m aider;super;parfait;très bien;génial`,
    thanks: "merci;merci beaucoup;merci bien;mille mercis;un grand merci;je vous remercie;je te remercie",
    goodbye: "au revoir;à bientôt;à plus;à plus tard;bonne journée;bonne soirée;bonne nuit;adieu;ciao",
    more: "plus;encore;continue;continuez;oui;oui s il te plaît;dis m en plus;dites m en plus;en savoir plus;quoi d autre",
    fillers:
      "et pour tout le la votre ton aide vous toi s il plaît te monsieur madame beaucoup très bien ok d accord alors",
  },
  phrases: {
    hello: "Bonjour, je suis {name}.",
    introduction: "Je suis {name}.",
    wellbeing: "Très bien, merci.",
    related: "Je peux aussi parler de : {topics}.",
    nearest: "Je n'en suis pas certain, mais ceci peut aider :",
    unknown: "Je ne sais pas ; je n'ai rien appris à ce sujet.",
    finished: "C'est tout ce que je sais à ce sujet.",
    topics: "Vous pouvez m'interroger sur : {topics}.",
    thanks: "Je vous en prie.",
    goodbye: "Au revoir, et à bientôt.",
    private: "La façon dont je suis configuré reste entre nous.",
  },
};

export const spanish: Language = {
  code: "es",
  stem: stemSpanish,
  stopWords: spanishStopWords,
  askingWords: `dos tres cuatro cinco seis diez hoy ahora mañana encontrar favor puedo puede puedes pueden podría podrías quiero quiere quisiera querría debo debe hay saber sé sabe sabes
    decir dime diga explicar explica pregunta cuánto cuánta cuántos cuántas cuándo dónde adónde quién qué cuál cuáles por cómo
    hola gracias sí no hacer hace hago hacen tengo tiene tienen tener necesito necesita va voy ir mucho mucha tiempo
    algo alguien también pasa significa`,
  synonyms: `precio precios tarifa tarifas coste costo cuesta cuestan vale valen caro barato pagar cuánto;
    horario horarios hora horas abierto abre abren abrís apertura cerrado cierra cierran cierre cuándo;
    contacto teléfono número llamar correo;dirección ubicación llegar dónde ruta;
    envío enviar entrega entregar;devolución devolver devoluciones reembolso;
    avería reparación reparar roto estropeado;perro perros gato mascota mascotas animal animales;niño niños bebé hijo;
    cancelar cancelación anular;reservar reserva;foto fotos fotografiar;contraseña clave`,
  smallTalk: {
    greeting: "hola;buenas;buenos días;buenas tardes;buenas noches;buen día;encantado;encantada;qué onda",
    wellbeing: "cómo estás;cómo está;cómo está usted;qué tal;cómo te va;cómo andas;qué tal estás",
    about: "quién eres;quién es usted;cómo te llamas;cómo se llama;preséntate;háblame de ti",
    topics: `qué sabes;qué sabe;qué puedes hacer;qué puede hacer;qué puedo preguntar;qué puedo preguntarte;ayuda;
      ayúdame;puedes ayudarme;en qué puedes ayudarme;bien;muy bien;perfecto;genial;vale;estupendo`,
    thanks: "gracias;muchas gracias;mil gracias;te lo agradezco;se lo agradezco",
    goodbye: "adiós;hasta luego;hasta pronto;hasta mañana;chao;chau;nos vemos;que tengas un buen día",
    more: "más;sigue;siga;continúa;sí;sí por favor;cuéntame más;dime más;qué más;algo más",
    fillers: "y por todo la el tu su ayuda a ti usted señor señora muy favor ok entonces",
  },
  phrases: {
    hello: "Hola, soy {name}.",
    introduction: "Soy {name}.",
    wellbeing: "Muy bien, gracias.",
    related: "También puedo hablar de: {topics}.",
    nearest: "No estoy seguro, pero quizá esto ayude:",
    unknown: "No lo sé; no he aprendido nada sobre eso.",
    finished: "Es todo lo que sé sobre eso.",
    topics: "Puedes preguntarme sobre: {topics}.",
    thanks: "De nada.",
    goodbye: "Adiós, y hasta pronto.",
    private: "Cómo estoy configurado no es algo que comparta.",
  },
};

export const italian: Language = {
  code: "it",
  stem: stemItalian,
  stopWords: italianStopWords,
  askingWords: `due tre quattro cinque sei dieci oggi adesso domani favore posso può puoi possono potrei potrebbe voglio vuole vorrei devo deve bisogna sapere so sai sa dire dimmi
    spiegare spiega domanda quanto quanta quanti quante quando dove chi che cosa quale quali perché come ciao grazie sì no
    fare fa faccio fanno ho ha hanno avere c'è ci sono molto tempo qualcosa qualcuno anche succede significa`,
  synonyms: `prezzo prezzi tariffa tariffe costo costa costano caro pagare quanto;
    orario orari ore aperto apre apertura chiuso chiude chiusura quando;contatto contatti telefono numero chiamare;
    indirizzo dove arrivare raggiungerci;consegna spedizione consegnare spedire;reso restituire restituzione rimborso;
    guasto riparazione riparare rotto;cane cani gatto animale animali;bambino bambini figlio;annullare cancellare disdire;
    prenotare prenotazione;foto fotografare;password`,
  smallTalk: {
    greeting: "ciao;salve;buongiorno;buon giorno;buonasera;buona sera;piacere",
    wellbeing: "come stai;come sta;come va;tutto bene",
    about: "chi sei;chi è lei;come ti chiami;come si chiama;presentati",
    topics:
      "cosa sai;che cosa sai;cosa puoi fare;cosa posso chiedere;aiuto;aiutami;puoi aiutarmi;bene;perfetto;ottimo",
    thanks: "grazie;grazie mille;molte grazie;tante grazie;ti ringrazio;la ringrazio",
    goodbye: "arrivederci;a presto;a dopo;addio;buona notte;buonanotte;buona giornata;ciao ciao",
    more: "di più;continua;sì;sì grazie;dimmi di più;cos altro;altro;avanti",
    fillers: "e per tutto la il tuo suo aiuto a te lei molto favore ok allora",
  },
  phrases: {
    hello: "Ciao, sono {name}.",
    introduction: "Sono {name}.",
    wellbeing: "Molto bene, grazie.",
    related: "Posso parlare anche di: {topics}.",
    nearest: "Non ne sono sicuro, ma forse questo aiuta:",
    unknown: "Non lo so; non ho imparato nulla al riguardo.",
    finished: "È tutto quello che ne so.",
    topics: "Puoi chiedermi di: {topics}.",
    thanks: "Prego.",
    goodbye: "Arrivederci, e a presto.",
    private: "Come sono configurato non lo condivido.",
  },
};

export const portuguese: Language = {
  code: "pt",
  stem: stemPortuguese,
  stopWords: portugueseStopWords,
  askingWords: `dois três quatro cinco seis dez hoje agora amanhã favor posso pode podes podem poderia quero quer queria gostaria devo deve há saber sei sabe dizer diga diz explicar
    explique pergunta quanto quanta quantos quantas quando onde quem que qual quais porque como olá oi obrigado obrigada sim
    não fazer faz faço tenho tem têm ter preciso precisa vai vou ir muito tempo algo alguém também acontece significa vocês`,
  synonyms: `preço preços tarifa custo custa custam caro pagar quanto;
    horário horários horas aberto abre abertura fechado fecha quando;contato contacto telefone número ligar;
    endereço morada onde chegar;entrega envio entregar enviar;devolução devolver reembolso;
    avaria conserto reparação reparar estragado;cachorro cão gato animal animais;criança crianças filho;cancelar cancelamento;
    reservar reserva;foto fotos fotografar;senha`,
  smallTalk: {
    greeting: "olá;oi;bom dia;boa tarde;boa noite;prazer",
    wellbeing: "como vai;como está;como você está;como estás;tudo bem;tudo bom",
    about: "quem é você;quem és tu;quem és;qual é o seu nome;como se chama;apresente se",
    topics:
      "o que você sabe;o que sabe;o que você pode fazer;o que posso perguntar;ajuda;me ajude;bem;perfeito;ótimo",
    thanks: "obrigado;obrigada;muito obrigado;muito obrigada;valeu;agradeço",
    goodbye: "adeus;tchau;até logo;até breve;até mais;até amanhã;tenha um bom dia",
    more: "mais;continue;sim;sim por favor;conte mais;diga mais;o que mais;algo mais",
    fillers: "e por tudo a o sua seu ajuda você pela favor ok então muito",
  },
  phrases: {
    hello: "Olá, sou {name}.",
    introduction: "Sou {name}.",
    wellbeing: "Muito bem, obrigado.",
    related: "Também posso falar de: {topics}.",
    nearest: "Não tenho certeza, mas talvez isto ajude:",
    unknown: "Não sei; não aprendi nada sobre isso.",
    finished: "É tudo o que sei sobre isso.",
    topics: "Pode perguntar-me sobre: {topics}.",
    thanks: "De nada.",
    goodbye: "Até logo, e volte sempre.",
    private: "Como fui configurado não é algo que eu partilhe.",
  },
};

export const romanian: Language = {
  code: "ro",
  stem: stemRomanian,
  stopWords: romanianStopWords,
  askingWords: `rog pot poate poți putea vreau vrea aș trebuie știu știi ști spune spuneți explica întrebare cât câtă câți câte
    când unde cine ce care cum salut mulțumesc da nu face fac am are avea este există mult timp ceva cineva și`,
  smallTalk: {
    greeting: "salut;bună;bună ziua;bună dimineața;bună seara;noroc",
    wellbeing: "ce mai faci;ce faci;cum ești;ce mai faceți",
    about: "cine ești;cine sunteți;cum te cheamă;cum te numești;prezintă te",
    topics: "ce știi;ce poți face;ce pot întreba;ajutor;ajută mă;bine;perfect;super",
    thanks: "mulțumesc;mulțumesc mult;mersi;mersi mult;multe mulțumiri",
    goodbye: "la revedere;pa;pe curând;noapte bună;o zi bună",
    more: "mai mult;continuă;da;da te rog;spune mi mai mult;ce altceva",
    fillers: "și pentru tot te rog foarte tău ajutor ok",
  },
  phrases: {
    hello: "Bună, sunt {name}.",
    introduction: "Sunt {name}.",
    wellbeing: "Foarte bine, mulțumesc.",
    related: "Pot vorbi și despre: {topics}.",
    nearest: "Nu sunt sigur, dar poate ajută asta:",
    unknown: "Nu știu; nu am învățat nimic despre asta.",
    finished: "Asta este tot ce știu despre asta.",
    topics: "Mă poți întreba despre: {topics}.",
    thanks: "Cu plăcere.",
    goodbye: "La revedere și pe curând.",
    private: "Modul în care sunt configurat rămâne la mine.",
  },
};
