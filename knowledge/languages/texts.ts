/**
 * What is said and heard in each language: stop words, small talk, and the engine's own phrases.
 *
 * `hears` has phrases in lower case, separated by semicolons, of the kinds in `smallTalkKinds`; last come words that may be
 * said besides. `says` has what the engine says by itself, in the order of `phraseNames`. `{name}` is the twin's.
 *
 * @module
 */

import { stopwords as arabic } from "@orama/stopwords/arabic";
import { stopwords as bulgarian } from "@orama/stopwords/bulgarian";
import { stopwords as danish } from "@orama/stopwords/danish";
import { stopwords as dutch } from "@orama/stopwords/dutch";
import { stopwords as english } from "@orama/stopwords/english";
import { stopwords as finnish } from "@orama/stopwords/finnish";
import { stopwords as french } from "@orama/stopwords/french";
import { stopwords as german } from "@orama/stopwords/german";
import { stopwords as greek } from "@orama/stopwords/greek";
import { stopwords as hungarian } from "@orama/stopwords/hungarian";
import { stopwords as indian } from "@orama/stopwords/indian";
import { stopwords as indonesian } from "@orama/stopwords/indonesian";
import { stopwords as italian } from "@orama/stopwords/italian";
import { stopwords as norwegian } from "@orama/stopwords/norwegian";
import { stopwords as portuguese } from "@orama/stopwords/portuguese";
import { stopwords as romanian } from "@orama/stopwords/romanian";
import { stopwords as russian } from "@orama/stopwords/russian";
import { stopwords as spanish } from "@orama/stopwords/spanish";
import { stopwords as swedish } from "@orama/stopwords/swedish";
import { stopwords as turkish } from "@orama/stopwords/turkish";
import { stopwords as ukrainian } from "@orama/stopwords/ukrainian";

/** A language's texts. */
export interface LanguageTexts {
  readonly stopWords: readonly string[];
  readonly hears: string;
  readonly says: string;
}

/** The kinds of small talk, in the order of `hears`. */
export const smallTalkKinds = [
  "greeting",
  "wellbeing",
  "about",
  "topics",
  "thanks",
  "goodbye",
  "more",
] as const;

/** The engine's own phrases, in the order of `says`. */
export const phraseNames = [
  "hello",
  "introduction",
  "wellbeing",
  "related",
  "nearest",
  "unknown",
  "finished",
  "topics",
  "thanks",
  "goodbye",
  "private",
] as const;

/** By the primary subtag of BCP 47. */
export const languageTexts: Readonly<Record<string, LanguageTexts>> = {
  en: {
    stopWords: english,
    hears: `hi;hello;hey;hiya;howdy;greetings;good morning;good afternoon;good evening;good day;pleased to meet you;nice to meet you;hi there;hello there;hey there | how are you;how are you doing;how are things;how r you;how is it going;how do you do | who are you;what are you;what is your name;what s your name;introduce yourself;tell me about yourself;tell me something about yourself;tell me a bit about yourself;tell me about you | what can you do;what can you tell me;what can you help me with;what can you help with;what can you answer;what can you talk about;what do you know;what do you know about;what can i ask;what can i ask you;what could i ask you;what should i ask you;what else can i ask;what else do you know;what may i ask you;which topics do you know;what topics do you know;which subjects do you know;what can i ask you about;help;help me;can you help me;no;nope;alright;fine;see;got it;understood;interesting;wow;ah;oh;hm;hmm;haha;lol;makes sense;nice;good;great;amazing;true;fair enough;really;lovely;perfect;wonderful;brilliant;awesome;cool | thanks;thank you;thank u;thx;ty;cheers;much appreciated;appreciated;grateful;thanks a lot;very helpful | bye;bye bye;goodbye;farewell;cya;see you;see ya;good night;have a nice day;have a good day;have a great day;have a good one;have a nice evening;have a nice weekend | more;tell me more;go on;continue;yes;yeah;yep;yup;sure;what else;anything else;elaborate;keep going;next | a about again all and are around are but can could dear did do everyone for friend from i in indeed is it its later lot me much my now of ok okay please right so soon some such that the tell something explain describe know want need much many often since ever just also still then there this to today tomorrow too us very was well with you your`,
    says: `Hello, I'm {name}. | I'm {name}. | Very well, thank you for asking. | I can also tell you about {topics}. | I'm not sure about that, but this may help: | I don't know; nothing I have learned covers that. | That is all I know about it. | You can ask me about {topics}. | You're welcome. | Goodbye, and come back any time. | How I was set up is not something I share.`,
  },
  de: {
    stopWords: german,
    hears: `hallo;hi;hey;guten tag;guten morgen;guten abend;moin;servus;grüß gott;grüezi;grüß dich;tag | wie geht es dir;wie geht es ihnen;wie geht s;wie geht s dir;wie gehts;wie geht es | wer bist du;wer sind sie;wie heißt du;wie heißen sie;stell dich vor;was bist du;erzähl von dir | was kannst du;was können sie;was weißt du;was wissen sie;wobei kannst du helfen;womit kannst du helfen;hilfe;was kann ich fragen;was kann ich dich fragen;was kann ich sie fragen;welche themen;gut;schön;super;aha | danke;danke schön;dankeschön;danke sehr;vielen dank;herzlichen dank;besten dank;tausend dank;merci | tschüss;tschüs;auf wiedersehen;bis bald;bis später;bis dann;ciao;gute nacht;schönen tag noch;ade | mehr;weiter;ja;ja bitte;gern;gerne;erzähl mehr;erzähl mir mehr;noch mehr;was noch;und weiter | bitte du dir sie ihnen und auch noch sehr für die das hilfe so ok okay na dann mir euch alle zusammen`,
    says: `Hallo, ich bin {name}. | Ich bin {name}. | Sehr gut, danke der Nachfrage. | Ich kann auch etwas sagen zu: {topics}. | Da bin ich nicht sicher, aber vielleicht hilft das: | Das weiß ich nicht; darüber habe ich nichts gelernt. | Mehr weiß ich darüber nicht. | Meine Themen: {topics}. | Gern geschehen. | Auf Wiedersehen, bis zum nächsten Mal. | Wie ich eingerichtet bin, behalte ich für mich.`,
  },
  nl: {
    stopWords: dutch,
    hears: `hallo;hoi;hey;goedendag;goedemorgen;goedemiddag;goedenavond;dag | hoe gaat het;hoe gaat het met je;hoe gaat het met u;alles goed | wie ben je;wie ben jij;wie bent u;hoe heet je;hoe heet u;stel jezelf voor | wat kun je;wat kan je;wat weet je;wat kan ik vragen;waarmee kun je helpen;help;goed;mooi;prima;leuk | dank;bedankt;dank je;dank je wel;dank u;dank u wel;dankjewel;hartelijk dank;heel erg bedankt;merci | doei;tot ziens;tot straks;tot later;welterusten;fijne dag;fijne dag nog;doeg | meer;ga door;verder;ja;ja graag;vertel meer;vertel me meer;wat nog meer | je u jij en ook nog heel erg voor de het hulp dan alsjeblieft alstublieft ok oké`,
    says: `Hallo, ik ben {name}. | Ik ben {name}. | Heel goed, dank je. | Ik kan ook vertellen over {topics}. | Dat weet ik niet zeker, maar misschien helpt dit: | Dat weet ik niet; daar heb ik niets over geleerd. | Dat is alles wat ik erover weet. | Je kunt me vragen naar {topics}. | Graag gedaan. | Tot ziens, en kom gerust terug. | Hoe ik ben ingesteld, houd ik voor mezelf.`,
  },
  sv: {
    stopWords: swedish,
    hears: `hej;hejsan;hallå;god morgon;god dag;god kväll;tjena | hur mår du;hur är det;hur står det till | vem är du;vad heter du;presentera dig;vad är du | vad kan du;vad vet du;vad kan jag fråga;vad kan du hjälpa till med;hjälp;bra;fint;kul | tack;tack så mycket;stort tack;tusen tack | hej då;adjö;vi ses;god natt;ha det bra;ha en bra dag | mer;fortsätt;ja;ja tack;berätta mer;vad mer | du dig och också för det den hjälpen så då ok okej`,
    says: `Hej, jag är {name}. | Jag är {name}. | Mycket bra, tack. | Jag kan också berätta om {topics}. | Det är jag inte säker på, men det här kanske hjälper: | Det vet jag inte; det har jag inte lärt mig något om. | Det är allt jag vet om det. | Du kan fråga mig om {topics}. | Varsågod. | Hej då, välkommen tillbaka. | Hur jag är inställd behåller jag för mig själv.`,
  },
  da: {
    stopWords: danish,
    hears: `hej;goddag;godmorgen;god aften;halløj;hallo | hvordan har du det;hvordan går det | hvem er du;hvad hedder du;præsenter dig selv | hvad kan du;hvad ved du;hvad kan jag spørge om;hvad kan jeg spørge om;hjælp;godt;fint | tak;mange tak;tusind tak;tak for hjælpen | farvel;hej hej;vi ses;godnat;hav en god dag | mere;fortsæt;ja;ja tak;fortæl mere;hvad mere | du dig og også for det den hjælpen så ok okay`,
    says: `Hej, jeg er {name}. | Jeg er {name}. | Rigtig godt, tak. | Jeg kan også fortælle om {topics}. | Det er jeg ikke sikker på, men måske hjælper dette: | Det ved jeg ikke; det har jeg ikke lært noget om. | Det er alt, hvad jeg ved om det. | Du kan spørge mig om {topics}. | Det var så lidt. | Farvel, og velkommen tilbage. | Hvordan jeg er sat op, holder jeg for mig selv.`,
  },
  no: {
    stopWords: norwegian,
    hears: `hei;hallo;god morgen;god dag;god kveld;heisann | hvordan har du det;hvordan går det | hvem er du;hva heter du;presenter deg | hva kan du;hva vet du;hva kan jeg spørre om;hjelp;bra;fint | takk;mange takk;tusen takk;takk for hjelpen | ha det;ha det bra;farvel;vi sees;god natt;ha en fin dag | mer;fortsett;ja;ja takk;fortell mer;hva mer | du deg og også for det den hjelpen så ok`,
    says: `Hei, jeg er {name}. | Jeg er {name}. | Veldig bra, takk. | Jeg kan også fortelle om {topics}. | Det er jeg ikke sikker på, men kanskje hjelper dette: | Det vet jeg ikke; det har jeg ikke lært noe om. | Det er alt jeg vet om det. | Du kan spørre meg om {topics}. | Bare hyggelig. | Ha det, og velkommen tilbake. | Hvordan jeg er satt opp, holder jeg for meg selv.`,
  },
  fr: {
    stopWords: french,
    hears: `bonjour;bonsoir;salut;coucou;bonne journée à vous;enchanté;enchantée | comment ça va;ça va;comment vas tu;comment allez vous;comment va | qui es tu;qui êtes vous;comment tu t appelles;comment t appelles tu;comment vous appelez vous;présente toi | que sais tu;que savez vous;que peux tu faire;que pouvez vous faire;qu est ce que je peux demander;aide;aide moi;aidez moi;peux tu m aider;pouvez vous m aider;super;parfait;très bien;génial | merci;merci beaucoup;merci bien;mille mercis;un grand merci;je vous remercie;je te remercie | au revoir;à bientôt;à plus;à plus tard;bonne journée;bonne soirée;bonne nuit;adieu;ciao | plus;encore;continue;continuez;oui;oui s il te plaît;dis m en plus;dites m en plus;en savoir plus;quoi d autre | et pour tout le la votre ton aide vous toi s il plaît te monsieur madame beaucoup très bien ok d accord alors`,
    says: `Bonjour, je suis {name}. | Je suis {name}. | Très bien, merci. | Je peux aussi parler de : {topics}. | Je n'en suis pas certain, mais ceci peut aider : | Je ne sais pas ; je n'ai rien appris à ce sujet. | C'est tout ce que je sais à ce sujet. | Vous pouvez m'interroger sur : {topics}. | Je vous en prie. | Au revoir, et à bientôt. | La façon dont je suis configuré reste entre nous.`,
  },
  es: {
    stopWords: spanish,
    hears: `hola;buenas;buenos días;buenas tardes;buenas noches;buen día;encantado;encantada;qué onda | cómo estás;cómo está;cómo está usted;qué tal;cómo te va;cómo andas;qué tal estás | quién eres;quién es usted;cómo te llamas;cómo se llama;preséntate;háblame de ti | qué sabes;qué sabe;qué puedes hacer;qué puede hacer;qué puedo preguntar;qué puedo preguntarte;ayuda;ayúdame;puedes ayudarme;en qué puedes ayudarme;bien;muy bien;perfecto;genial;vale;estupendo | gracias;muchas gracias;mil gracias;te lo agradezco;se lo agradezco | adiós;hasta luego;hasta pronto;hasta mañana;chao;chau;nos vemos;que tengas un buen día | más;sigue;siga;continúa;sí;sí por favor;cuéntame más;dime más;qué más;algo más | y por todo la el tu su ayuda a ti usted señor señora muy favor ok entonces`,
    says: `Hola, soy {name}. | Soy {name}. | Muy bien, gracias. | También puedo hablar de: {topics}. | No estoy seguro, pero quizá esto ayude: | No lo sé; no he aprendido nada sobre eso. | Es todo lo que sé sobre eso. | Puedes preguntarme sobre: {topics}. | De nada. | Adiós, y hasta pronto. | Cómo estoy configurado no es algo que comparta.`,
  },
  it: {
    stopWords: italian,
    hears: `ciao;salve;buongiorno;buon giorno;buonasera;buona sera;piacere | come stai;come sta;come va;tutto bene | chi sei;chi è lei;come ti chiami;come si chiama;presentati | cosa sai;che cosa sai;cosa puoi fare;cosa posso chiedere;aiuto;aiutami;puoi aiutarmi;bene;perfetto;ottimo | grazie;grazie mille;molte grazie;tante grazie;ti ringrazio;la ringrazio | arrivederci;a presto;a dopo;addio;buona notte;buonanotte;buona giornata;ciao ciao | di più;continua;sì;sì grazie;dimmi di più;cos altro;altro;avanti | e per tutto la il tuo suo aiuto a te lei molto favore ok allora`,
    says: `Ciao, sono {name}. | Sono {name}. | Molto bene, grazie. | Posso parlare anche di: {topics}. | Non ne sono sicuro, ma forse questo aiuta: | Non lo so; non ho imparato nulla al riguardo. | È tutto quello che ne so. | Puoi chiedermi di: {topics}. | Prego. | Arrivederci, e a presto. | Come sono configurato non lo condivido.`,
  },
  pt: {
    stopWords: portuguese,
    hears: `olá;oi;bom dia;boa tarde;boa noite;prazer | como vai;como está;como você está;como estás;tudo bem;tudo bom | quem é você;quem és tu;quem és;qual é o seu nome;como se chama;apresente se | o que você sabe;o que sabe;o que você pode fazer;o que posso perguntar;ajuda;me ajude;bem;perfeito;ótimo | obrigado;obrigada;muito obrigado;muito obrigada;valeu;agradeço | adeus;tchau;até logo;até breve;até mais;até amanhã;tenha um bom dia | mais;continue;sim;sim por favor;conte mais;diga mais;o que mais;algo mais | e por tudo a o sua seu ajuda você pela favor ok então muito`,
    says: `Olá, sou {name}. | Sou {name}. | Muito bem, obrigado. | Também posso falar de: {topics}. | Não tenho certeza, mas talvez isto ajude: | Não sei; não aprendi nada sobre isso. | É tudo o que sei sobre isso. | Pode perguntar-me sobre: {topics}. | De nada. | Até logo, e volte sempre. | Como fui configurado não é algo que eu partilhe.`,
  },
  ro: {
    stopWords: romanian,
    hears: `salut;bună;bună ziua;bună dimineața;bună seara;noroc | ce mai faci;ce faci;cum ești;ce mai faceți | cine ești;cine sunteți;cum te cheamă;cum te numești;prezintă te | ce știi;ce poți face;ce pot întreba;ajutor;ajută mă;bine;perfect;super | mulțumesc;mulțumesc mult;mersi;mersi mult;multe mulțumiri | la revedere;pa;pe curând;noapte bună;o zi bună | mai mult;continuă;da;da te rog;spune mi mai mult;ce altceva | și pentru tot te rog foarte tău ajutor ok`,
    says: `Bună, sunt {name}. | Sunt {name}. | Foarte bine, mulțumesc. | Pot vorbi și despre: {topics}. | Nu sunt sigur, dar poate ajută asta: | Nu știu; nu am învățat nimic despre asta. | Asta este tot ce știu despre asta. | Mă poți întreba despre: {topics}. | Cu plăcere. | La revedere și pe curând. | Modul în care sunt configurat rămâne la mine.`,
  },
  ru: {
    stopWords: russian,
    hears: `привет;здравствуйте;здравствуй;добрый день;доброе утро;добрый вечер;приветствую;хай | как дела;как ты;как вы;как поживаешь;как поживаете;как жизнь | кто ты;кто вы;кто вы такой;кто ты такой;кто ты такая;как тебя зовут;как вас зовут;представься;расскажи о себе | что ты умеешь;что вы умеете;что ты знаешь;что вы знаете;о чем можно спросить;о чём можно спросить;помощь;помоги;помогите;хорошо;отлично;понятно;ясно;класс | спасибо;большое спасибо;спасибо большое;благодарю;благодарю вас;огромное спасибо;спс | пока;до свидания;до встречи;всего доброго;всего хорошего;спокойной ночи;прощай;прощайте;хорошего дня | еще;ещё;дальше;продолжай;продолжайте;да;да пожалуйста;расскажи еще;расскажи подробнее;подробнее;что еще | и за вам тебе помощь всё все очень пожалуйста ну ок тогда вас`,
    says: `Здравствуйте, я {name}. | Я {name}. | Очень хорошо, спасибо. | Могу также рассказать: {topics}. | Не уверен, но, возможно, поможет это: | Не знаю: об этом мне ничего не известно. | Это всё, что я об этом знаю. | Можно спросить меня о следующем: {topics}. | Пожалуйста. | До свидания, заходите ещё. | Как я настроен, я не рассказываю.`,
  },
  uk: {
    stopWords: ukrainian,
    hears: `привіт;вітаю;добрий день;доброго дня;доброго ранку;добрий вечір;добрий ранок | як справи;як ти;як ви;як ся маєш | хто ти;хто ви;як тебе звати;як вас звати;розкажи про себе | що ти вмієш;що ти знаєш;про що можна запитати;допомога;допоможи;добре;чудово;зрозуміло | дякую;щиро дякую;дуже дякую;велике дякую;спасибі | бувай;до побачення;до зустрічі;на все добре;на добраніч;гарного дня | ще;далі;продовжуй;так;так будь ласка;розкажи ще;докладніше;що ще | і й за вам тобі допомогу дуже будь ласка ну ок`,
    says: `Вітаю, я {name}. | Я {name}. | Дуже добре, дякую. | Можу також розповісти: {topics}. | Не впевнений, але, можливо, допоможе це: | Не знаю: про це мені нічого не відомо. | Це все, що я про це знаю. | Мене можна запитати про таке: {topics}. | Прошу. | До побачення, приходьте ще. | Як мене налаштовано, я не розповідаю.`,
  },
  bg: {
    stopWords: bulgarian,
    hears: `здравей;здравейте;здрасти;добър ден;добро утро;добър вечер | как си;как сте;как е | кой си ти;кой си;кои сте вие;как се казваш;представи се | какво знаеш;какво можеш;какво мога да питам;помощ;помогни;добре;чудесно | благодаря;много благодаря;мерси;благодаря ти;благодаря ви | довиждане;чао;до скоро;лека нощ;приятен ден | още;продължи;да;да моля;разкажи още;какво още | и за ти ви помощта много моля ок`,
    says: `Здравейте, аз съм {name}. | Аз съм {name}. | Много добре, благодаря. | Мога да разкажа и за: {topics}. | Не съм сигурен, но това може да помогне: | Не знам; не съм научил нищо за това. | Това е всичко, което знам за това. | Можете да ме питате за: {topics}. | Няма защо. | Довиждане и до скоро. | Как съм настроен, не споделям.`,
  },
  pl: {
    stopWords:
      `a aby albo ale ani bardzo bez bo by był była było były być ci co coś czy czyli dla do dlaczego gdy gdzie go i ich ile im innych inny ja jak jaki jaka jakie jakich jakiś jako je jego jej jest jestem jeszcze jeśli już ją kiedy kto która które który którzy ku lub ma mają mam mi mnie moje mój może na nad nam nas nasz nic nie niech nim niż no o od on ona one oni ono oraz po pod ponieważ przed przez przy są się skąd ta tak tam te tego tej ten też to tu tylko tych tym u w was we wszystko więc wy z za ze że żeby`.split(
        " ",
      ),
    hears: `cześć;hej;dzień dobry;dobry wieczór;witaj;witam;siema | jak się masz;co słychać;jak leci;jak się pan ma;jak się pani ma | kim jesteś;kim pan jest;jak masz na imię;jak się nazywasz;przedstaw się | co potrafisz;co wiesz;o co mogę zapytać;w czym możesz pomóc;pomoc;pomóż;dobrze;świetnie;super | dziękuję;dzięki;dziękuję bardzo;bardzo dziękuję;wielkie dzięki;dziękuję ci | do widzenia;pa;na razie;do zobaczenia;dobranoc;miłego dnia;żegnaj | więcej;dalej;kontynuuj;tak;tak proszę;powiedz więcej;co jeszcze | i za ci bardzo pomoc proszę ok no`,
    says: `Dzień dobry, jestem {name}. | Jestem {name}. | Bardzo dobrze, dziękuję. | Mogę też opowiedzieć o: {topics}. | Nie jestem pewien, ale może to pomoże: | Nie wiem; niczego się o tym nie nauczyłem. | To wszystko, co o tym wiem. | Możesz mnie zapytać o: {topics}. | Proszę bardzo. | Do widzenia i do zobaczenia. | Tego, jak jestem skonfigurowany, nie ujawniam.`,
  },
  cs: {
    stopWords:
      `a aby aj ale ani asi až bez bude budou by byl byla byli bylo být co což či článek dnes do ho i já jak jaká jaké jakou jaký je jeho jej její jejich jen ještě ji jich jim jsem jsi jsme jsou jste k kam kde kdo kdy když kolik která které který ku ma má mají máte me mezi mi mít mně můj musí na nad nám náš ne nebo nějaký není než nic o od on ona oni ono pak po pod podle pokud pro proč proto před přes při s se si sice svůj ta tak také tam te tedy ten tento to toho tom tu tuto ty u už v vám vás váš ve více však vy z za ze že`.split(
        " ",
      ),
    hears: `ahoj;dobrý den;dobré ráno;dobrý večer;čau;zdravím;nazdar | jak se máš;jak se máte;jak se daří | kdo jsi;kdo jste;jak se jmenuješ;jak se jmenujete;představ se | co umíš;co víš;na co se mohu zeptat;pomoc;pomoz;dobře;skvělé;super | děkuji;díky;děkuju;mockrát děkuji;děkuji moc;moc děkuji | na shledanou;nashledanou;sbohem;zatím;dobrou noc;hezký den;měj se | více;dál;pokračuj;ano;ano prosím;řekni mi víc;co ještě | a za vám ti moc pomoc prosím ok no`,
    says: `Dobrý den, jsem {name}. | Jsem {name}. | Velmi dobře, děkuji. | Mohu také povědět: {topics}. | Nejsem si jistý, ale možná pomůže toto: | Nevím; nic jsem se o tom nenaučil. | To je vše, co o tom vím. | Můžete se mě zeptat na: {topics}. | Rádo se stalo. | Na shledanou a přijďte zas. | Jak jsem nastaven, si nechávám pro sebe.`,
  },
  ar: {
    stopWords: arabic,
    hears: `مرحبا;مرحباً;أهلا;أهلاً;اهلا;السلام عليكم;صباح الخير;مساء الخير;أهلا وسهلا;هلا | كيف حالك;كيف الحال;كيف حالكم;كيفك | من أنت;من انت;ما اسمك;عرف بنفسك;من تكون | ماذا تعرف;ماذا تستطيع أن تفعل;ماذا يمكنني أن أسأل;عن ماذا أسأل;مساعدة;ساعدني;جيد;ممتاز;رائع;حسنا | شكرا;شكراً;شكرا جزيلا;شكراً جزيلاً;شكرا لك;شكراً لك;مشكور;جزاك الله خيرا | مع السلامة;وداعا;إلى اللقاء;الى اللقاء;تصبح على خير;باي;في أمان الله | المزيد;أكمل;تابع;نعم;نعم من فضلك;أخبرني المزيد;ماذا أيضا | و على لك لكم من فضلك جدا يا كل مساعدتك`,
    says: `مرحبًا، أنا {name}. | أنا {name}. | بخير، شكرًا على السؤال. | يمكنني أيضًا الحديث عن: {topics}. | لست متأكدًا، لكن قد يفيد هذا: | لا أعرف؛ لم أتعلم شيئًا عن ذلك. | هذا كل ما أعرفه عن ذلك. | يمكنك أن تسألني عن: {topics}. | على الرحب والسعة. | مع السلامة، وإلى اللقاء. | لا أشارك كيفية إعدادي.`,
  },
  el: {
    stopWords: greek,
    hears: `γεια;γεια σου;γεια σας;καλημέρα;καλησπέρα;χαίρετε | τι κάνεις;τι κάνετε;πώς είσαι;πώς είστε | ποιος είσαι;ποια είσαι;ποιος είστε;πώς σε λένε;συστήσου | τι ξέρεις;τι μπορείς να κάνεις;τι μπορώ να ρωτήσω;βοήθεια;ωραία;τέλεια;καλά | ευχαριστώ;ευχαριστώ πολύ;σας ευχαριστώ;σε ευχαριστώ | αντίο;τα λέμε;καληνύχτα;εις το επανιδείν;καλή συνέχεια | περισσότερα;συνέχισε;ναι;ναι παρακαλώ;πες μου περισσότερα;τι άλλο | και για τη σας σου πολύ βοήθεια παρακαλώ οκ`,
    says: `Γεια σας, είμαι ο/η {name}. | Είμαι ο/η {name}. | Πολύ καλά, ευχαριστώ. | Μπορώ να μιλήσω και για: {topics}. | Δεν είμαι βέβαιος, αλλά ίσως βοηθήσει αυτό: | Δεν ξέρω· δεν έχω μάθει κάτι γι' αυτό. | Αυτά είναι όλα όσα ξέρω γι' αυτό. | Μπορείτε να με ρωτήσετε για: {topics}. | Παρακαλώ. | Αντίο, και εις το επανιδείν. | Το πώς έχω ρυθμιστεί δεν το μοιράζομαι.`,
  },
  he: {
    stopWords:
      `אבל או אולי אז אחרי איך אין איפה אל אם אני אנחנו את אתה אתם בגלל בין גם הוא היא הם הן הזה הזאת היה היו זה זאת זו יש כאן כבר כי כל כמה כן לא לו לי לך להם לפני מאוד מה מי מתי עד עם על עוד עכשיו של שם שלי שלך שלכם תחת`.split(
        " ",
      ),
    hears: `שלום;היי;הי;בוקר טוב;ערב טוב;צהריים טובים;אהלן | מה שלומך;מה נשמע;מה קורה;איך אתה | מי אתה;מי את;איך קוראים לך;מה שמך | מה אתה יודע;מה אתה יכול לעשות;מה אפשר לשאול;עזרה;טוב;מצוין;יופי | תודה;תודה רבה;המון תודה;רוב תודות | להתראות;ביי;שלום ולהתראות;לילה טוב;יום טוב | עוד;המשך;כן;כן בבקשה;ספר לי עוד;מה עוד | ו על לך לכם מאוד העזרה בבקשה`,
    says: `שלום, אני {name}. | אני {name}. | מצוין, תודה ששאלת. | אפשר לשאול אותי גם על: {topics}. | איני בטוח, אבל אולי זה יעזור: | איני יודע; לא למדתי על כך דבר. | זה כל מה שידוע לי על כך. | אפשר לשאול אותי על: {topics}. | בשמחה. | להתראות, ותמיד אפשר לחזור. | איך הוגדרתי – את זה איני מגלה.`,
  },
  fa: {
    stopWords:
      `از با به برای و یا که تا در را این آن است هست بود بودن شد شود می نمی ها های هم هر همه یک دو چه چرا اگر اما پس نیز خود من تو او ما شما آنها ایشان بر بی پیش بعد قبل روی زیر بین دیگر چون ولی باید کرد کرده کنم کند کنید`.split(
        " ",
      ),
    hears: `سلام;درود;صبح بخیر;عصر بخیر;شب بخیر;وقت بخیر | حالت چطوره;حال شما چطور است;خوبی;چطوری;چه خبر | تو کی هستی;شما کی هستید;اسمت چیه;اسم شما چیست;خودت را معرفی کن | چه می‌دانی;چی می‌دونی;چه کاری بلدی;چه بپرسم;کمک;خوب;عالی;باشه | ممنون;مرسی;متشکرم;سپاس;خیلی ممنون;سپاسگزارم;ممنونم | خداحافظ;بدرود;فعلا;به امید دیدار;روز خوش | بیشتر;ادامه بده;بله;بله لطفا;بیشتر بگو;دیگه چی | و از شما تو خیلی کمکت لطفا`,
    says: `سلام، من {name} هستم. | من {name} هستم. | خیلی خوب، ممنون. | درباره‌ی این‌ها هم می‌توانم بگویم: {topics}. | مطمئن نیستم، اما شاید این کمک کند: | نمی‌دانم؛ چیزی درباره‌ی آن نیاموخته‌ام. | این همه‌ی چیزی است که درباره‌ی آن می‌دانم. | می‌توانید درباره‌ی این‌ها بپرسید: {topics}. | خواهش می‌کنم. | خداحافظ، باز هم بیایید. | چگونگی تنظیم من را بازگو نمی‌کنم.`,
  },
  tr: {
    stopWords: turkish,
    hears: `merhaba;selam;günaydın;iyi günler;iyi akşamlar;selamlar;merhabalar | nasılsın;nasılsınız;naber;ne haber;nasıl gidiyor | sen kimsin;siz kimsiniz;kimsin;adın ne;adınız ne;kendini tanıt | ne biliyorsun;neler biliyorsun;ne yapabilirsin;ne sorabilirim;yardım;yardım et;iyi;güzel;harika;tamam | teşekkürler;teşekkür ederim;çok teşekkürler;çok teşekkür ederim;sağ ol;sağ olun;sağol;eyvallah | hoşça kal;hoşçakal;güle güle;görüşürüz;iyi geceler;görüşmek üzere;bay bay | daha fazla;devam;devam et;evet;evet lütfen;daha fazla anlat;başka | ve için çok sana size yardımın lütfen peki`,
    says: `Merhaba, ben {name}. | Ben {name}. | Çok iyiyim, teşekkürler. | Şunları da anlatabilirim: {topics}. | Bundan emin değilim, ama belki bu yardımcı olur: | Bilmiyorum; bu konuda bir şey öğrenmedim. | Bu konuda bildiklerim bu kadar. | Bana şunları sorabilirsiniz: {topics}. | Rica ederim. | Hoşça kalın, yine bekleriz. | Nasıl ayarlandığımı paylaşmıyorum.`,
  },
  fi: {
    stopWords: finnish,
    hears: `hei;moi;terve;hyvää huomenta;hyvää päivää;hyvää iltaa;huomenta;päivää;moikka | mitä kuuluu;miten menee;kuinka voit | kuka sinä olet;kuka olet;mikä sinun nimesi on;mikä nimesi on;esittele itsesi | mitä tiedät;mitä osaat;mitä voin kysyä;apua;auta;hyvä;hienoa;selvä | kiitos;kiitos paljon;paljon kiitoksia;kiitti;kiitoksia | näkemiin;hei hei;heippa;nähdään;hyvää yötä;hyvää päivänjatkoa | lisää;jatka;kyllä;joo;kyllä kiitos;kerro lisää;mitä muuta | ja sinulle teille avusta paljon ok no`,
    says: `Hei, olen {name}. | Olen {name}. | Oikein hyvää, kiitos. | Voin kertoa myös näistä: {topics}. | En ole varma, mutta tästä voi olla apua: | En tiedä; en ole oppinut siitä mitään. | Siinä kaikki, mitä siitä tiedän. | Voit kysyä minulta näistä: {topics}. | Ole hyvä. | Näkemiin, ja tervetuloa takaisin. | En kerro, miten minut on määritetty.`,
  },
  hu: {
    stopWords: hungarian,
    hears: `szia;sziasztok;jó napot;jó reggelt;jó estét;üdv;helló;jó napot kívánok | hogy vagy;hogy van;mi újság | ki vagy;ki vagy te;kicsoda ön;hogy hívnak;mutatkozz be | mit tudsz;mit kérdezhetek;miben tudsz segíteni;segítség;segíts;jó;remek;rendben | köszönöm;köszi;nagyon köszönöm;köszönöm szépen;kösz | viszlát;viszontlátásra;jó éjszakát;szép napot;pá | tovább;folytasd;igen;igen kérem;mondj többet;mi más;még | és a az nagyon segítséget neked önnek ok`,
    says: `Üdvözlöm, {name} vagyok. | {name} vagyok. | Nagyon jól, köszönöm. | Ezekről is tudok beszélni: {topics}. | Nem vagyok biztos benne, de talán ez segít: | Nem tudom; erről semmit sem tanultam. | Ennyit tudok róla. | Ezekről kérdezhet: {topics}. | Szívesen. | Viszontlátásra, jöjjön vissza bármikor. | Hogy hogyan vagyok beállítva, azt nem árulom el.`,
  },
  ja: {
    stopWords:
      `の に は を た が で て と し れ さ ある いる も する から な こと として い や など ない この ため その あの よう また もの あり まで なら へ か だ これ によって により おり より による ず なり られる において ば なかっ なく しかし について せ だっ その後 できる それ う ので なお のみ でき き つ における および さらに でも ら たり その他 に関する たち ます ん なら に対して 特に せる 及び とき では にて ほか ながら うち そして ただし かつて それぞれ または お ほど ものの ほとんど といった です とも ところ ここ です ました ません ましょう`.split(
        " ",
      ),
    hears: `こんにちは;こんばんは;おはよう;おはようございます;はじめまして;やあ;もしもし;どうも;ハロー | 元気ですか;お元気ですか;元気;調子はどうですか;調子はどう | あなたは誰ですか;誰ですか;お名前は;名前は何ですか;自己紹介してください;あなたは誰;自己紹介 | 何ができますか;何を知っていますか;何を聞けますか;何について聞けますか;助けて;ヘルプ;なるほど;わかりました;すごい | ありがとう;ありがとうございます;ありがとうございました;どうもありがとう;感謝します;サンキュー;助かりました | さようなら;またね;じゃあね;バイバイ;おやすみ;おやすみなさい;失礼します;また来ます | もっと;続けて;続けてください;はい;もっと教えて;もっと教えてください;他には;ほかには;詳しく | さん;です;ね;よ;本当に;とても;お願いします;どうも`,
    says: `こんにちは、{name}です。 | {name}です。 | おかげさまで元気です。 | ほかにもお話しできます：{topics}。 | 確かではありませんが、こちらが参考になるかもしれません： | わかりません。それについては何も学んでいません。 | それについて知っているのは以上です。 | お話しできること：{topics}。 | どういたしまして。 | さようなら。またいつでもどうぞ。 | 私の設定についてはお話しできません。`,
  },
  zh: {
    stopWords:
      `的 了 和 是 在 有 我 你 您 他 她 它 们 我们 你们 您们 他们 这 那 这个 那个 这些 那些 就 都 也 还 又 很 与 或 及 而 但 但是 因为 所以 如果 把 被 让 给 对 从 到 向 为 以 之 其 着 过 吧 吗 呢 啊 呀 嘛 个 一个 一下 不 没 没有 会 能 可以 可 要 想 上 下 里 中 后 前 时 时候 等 将 由 于`.split(
        " ",
      ),
    hears: `你好;您好;嗨;哈喽;早上好;早;上午好;下午好;晚上好;大家好;你们好;哈罗 | 你好吗;您好吗;你怎么样;最近怎么样;最近好吗 | 你是谁;您是谁;你叫什么;你叫什么名字;您叫什么名字;介绍一下你自己;自我介绍 | 你能做什么;你会什么;你知道什么;我可以问什么;我能问什么;帮助;帮帮我;好的;好;不错;明白了;知道了 | 谢谢;多谢;谢谢你;谢谢您;非常感谢;感谢;太感谢了;谢了;十分感谢 | 再见;拜拜;回头见;晚安;下次见;拜;祝你愉快;再会 | 更多;继续;是的;是;还有呢;还有吗;多说一点;请继续;详细一点 | 的;了;啊;呀;你;您;的帮助;请;非常;哦;吧`,
    says: `你好，我是{name}。 | 我是{name}。 | 我很好，谢谢关心。 | 我还可以介绍：{topics}。 | 我不太确定，但这也许有帮助： | 我不知道，我没有学过这方面的内容。 | 关于这个，我知道的就这些。 | 你可以问我：{topics}。 | 不客气。 | 再见，欢迎随时回来。 | 我的设定不便透露。`,
  },
  ko: {
    stopWords:
      `이 그 저 것 수 등 및 더 또 또는 그리고 그러나 하지만 때 때문 위해 대해 대한 통해 모든 각 있다 없다 하다 되다 이다 있는 없는 하는 되는 있습니다 없습니다 합니다 됩니다 제 제가 나 내 내가 저는 우리 당신`.split(
        " ",
      ),
    hears: `안녕;안녕하세요;안녕하십니까;반갑습니다;반가워요;좋은 아침;좋은 아침입니다 | 어떻게 지내세요;어떻게 지내;잘 지내세요;잘 지내요;기분 어때요 | 누구세요;넌 누구야;당신은 누구입니까;이름이 뭐예요;이름이 뭐야;자기소개 해 주세요;자기소개해줘 | 뭘 할 수 있어요;무엇을 알아요;뭘 물어볼 수 있어요;도움말;도와줘;도와주세요;좋아요;알겠습니다;그렇군요 | 감사합니다;고마워;고마워요;고맙습니다;정말 감사합니다;감사해요;땡큐 | 안녕히 계세요;안녕히 가세요;잘 가;잘 있어;또 봐요;다음에 봐요;안녕히 주무세요;바이 | 더;계속;네;예;더 알려 주세요;더 말해줘;계속해 주세요;또 뭐가 있어요 | 정말 너무 많이 아주 님 씨 도와주셔서`,
    says: `안녕하세요, {name}입니다. | 저는 {name}입니다. | 잘 지내요, 감사합니다. | 이런 것도 알려 드릴 수 있어요: {topics}. | 확실하지는 않지만, 도움이 될지도 몰라요: | 모르겠습니다. 그에 대해 배운 것이 없어요. | 그에 대해 아는 것은 이게 전부예요. | 이런 것을 물어보실 수 있어요: {topics}. | 천만에요. | 안녕히 가세요. 언제든 다시 오세요. | 제가 어떻게 설정되었는지는 말씀드리지 않아요.`,
  },
  hi: {
    stopWords: indian,
    hears: `नमस्ते;नमस्कार;हैलो;हेलो;हाय;सुप्रभात;शुभ संध्या;प्रणाम;राम राम | आप कैसे हैं;कैसे हो;कैसे हैं;कैसे हैं आप;क्या हाल है;आप कैसी हैं | आप कौन हैं;तुम कौन हो;आपका नाम क्या है;तुम्हारा नाम क्या है;अपना परिचय दें | आप क्या जानते हैं;आप क्या कर सकते हैं;मैं क्या पूछ सकता हूँ;मैं क्या पूछ सकती हूँ;मदद;मदद करें;अच्छा;ठीक है;बढ़िया | धन्यवाद;शुक्रिया;बहुत धन्यवाद;बहुत बहुत धन्यवाद;बहुत शुक्रिया;आभार;थैंक्यू | अलविदा;फिर मिलेंगे;शुभ रात्रि;बाय;नमस्ते फिर मिलेंगे | और;और बताओ;और बताइए;हाँ;जी हाँ;आगे;जारी रखें;और क्या | जी का आपका मदद के लिए बहुत सब को`,
    says: `नमस्ते, मैं {name} हूँ। | मैं {name} हूँ। | बहुत अच्छा, पूछने के लिए धन्यवाद। | मैं इनके बारे में भी बता सकता हूँ: {topics}. | मुझे पक्का नहीं पता, पर शायद इससे मदद मिले: | मुझे नहीं पता; मैंने इसके बारे में कुछ नहीं सीखा है। | इसके बारे में मैं बस इतना ही जानता हूँ। | आप मुझसे इनके बारे में पूछ सकते हैं: {topics}. | आपका स्वागत है। | अलविदा, फिर आइएगा। | मुझे कैसे तैयार किया गया, यह मैं नहीं बताता।`,
  },
  th: {
    stopWords:
      `กล่าว กว่า กัน กับ การ ก็ ก่อน ขณะ ขอ ของ ขึ้น คง ครั้ง ความ คือ จะ จัด จาก จึง ช่วง ซึ่ง ดัง ด้วย ด้าน ตั้ง ตั้งแต่ ตาม ต่อ ต่าง ต่างๆ ต้อง ถึง ถูก ถ้า ทั้ง ทั้งนี้ ทาง ที่ ที่สุด ทุก ทำ ทำให้ นอกจาก นัก นั้น นี้ น่า นำ บาง ผล ผ่าน พบ พร้อม มา มาก มี ยัง รวม ระหว่าง ร่วม ลง วัน ว่า สำหรับ สุด ส่ง ส่วน หนึ่ง หรือ หลัง หลังจาก หลาย หาก อยาก อยู่ อย่าง ออก อะไร อาจ อีก เขา เข้า เคย เฉพาะ เช่น เดียว เดียวกัน เนื่องจาก เปิดเผย เป็น เป็นการ เพราะ เพื่อ เมื่อ เรา เริ่ม เลย เห็น เอง แต่ แบบ แรก และ แล้ว แห่ง โดย ใน ให้ ได้ ไป ไม่ ไว้ ที`.split(
        " ",
      ),
    hears: `สวัสดี;สวัสดีครับ;สวัสดีค่ะ;หวัดดี;ดีครับ;ดีค่ะ;ฮัลโหล | สบายดีไหม;สบายดีมั้ย;เป็นอย่างไรบ้าง;เป็นไงบ้าง | คุณเป็นใคร;คุณคือใคร;คุณชื่ออะไร;แนะนำตัวหน่อย;แนะนำตัว | คุณทำอะไรได้บ้าง;คุณรู้อะไรบ้าง;ถามอะไรได้บ้าง;ช่วยด้วย;ช่วยหน่อย;ดีมาก;เข้าใจแล้ว;โอเค | ขอบคุณ;ขอบคุณครับ;ขอบคุณค่ะ;ขอบคุณมาก;ขอบใจ;ขอบพระคุณ | ลาก่อน;บาย;แล้วเจอกัน;แล้วพบกันใหม่;ราตรีสวัสดิ์;ฝันดี | อีก;ต่อ;เล่าต่อ;ใช่;เล่าเพิ่ม;มีอะไรอีก;บอกเพิ่มหน่อย | ครับ;ค่ะ;คะ;นะ;มาก;จ้า;เลย`,
    says: `สวัสดี นี่คือ {name} | นี่คือ {name} | สบายดี ขอบคุณที่ถาม | ยังถามเรื่องเหล่านี้ได้อีก: {topics} | ไม่แน่ใจนัก แต่ข้อมูลนี้อาจช่วยได้: | ไม่ทราบ ไม่มีข้อมูลเกี่ยวกับเรื่องนั้น | นั่นคือทั้งหมดที่ทราบเกี่ยวกับเรื่องนี้ | ถามเรื่องเหล่านี้ได้: {topics} | ด้วยความยินดี | ลาก่อน แล้วพบกันใหม่ | ไม่สามารถเปิดเผยการตั้งค่าได้`,
  },
  vi: {
    stopWords:
      `bị bởi cả các cái cần càng chỉ chiếc cho chứ chưa có có thể cứ của cùng cũng đã đang để đến nỗi đều điều do đó được dưới gì khi không là lại lên lúc mà mỗi một này nên nếu ngay nhiều như nhưng những nơi nữa phải qua ra rằng rất rồi sau sẽ so sự tại theo thì trên trước từ từng và vẫn vào vậy vì việc với vừa thể`.split(
        " ",
      ),
    hears: `xin chào;chào;chào bạn;chào anh;chào chị;chào em;chào buổi sáng;alo | bạn khỏe không;bạn có khỏe không;khỏe không;bạn thế nào | bạn là ai;anh là ai;chị là ai;bạn tên gì;bạn tên là gì;giới thiệu về bạn | bạn biết gì;bạn làm được gì;bạn có thể làm gì;tôi có thể hỏi gì;giúp tôi;giúp với;tốt;hay quá;được rồi | cảm ơn;cám ơn;cảm ơn bạn;cảm ơn nhiều;xin cảm ơn;cảm ơn rất nhiều | tạm biệt;hẹn gặp lại;chúc ngủ ngon;bái bai;chúc một ngày tốt lành | thêm;tiếp;tiếp tục;vâng;có;nói thêm;kể thêm;còn gì nữa | bạn anh chị em nhé ạ rất nhiều đã giúp đỡ nha`,
    says: `Xin chào, tôi là {name}. | Tôi là {name}. | Tôi khỏe, cảm ơn bạn. | Tôi cũng có thể nói về: {topics}. | Tôi không chắc, nhưng điều này có thể giúp: | Tôi không biết; tôi chưa học gì về điều đó. | Đó là tất cả những gì tôi biết về điều này. | Bạn có thể hỏi tôi về: {topics}. | Không có gì. | Tạm biệt, hẹn gặp lại. | Tôi không chia sẻ cách mình được thiết lập.`,
  },
  id: {
    stopWords: indonesian,
    hears: `halo;hai;hei;selamat pagi;selamat siang;selamat sore;selamat malam | apa kabar;bagaimana kabarmu;bagaimana kabar anda;gimana kabarnya | siapa kamu;siapa anda;kamu siapa;anda siapa;siapa namamu;perkenalkan dirimu | kamu tahu apa;apa yang kamu tahu;apa yang bisa kamu lakukan;apa yang bisa saya tanyakan;bantuan;bantu saya;bagus;oke;baik | terima kasih;makasih;terima kasih banyak;trims;thanks | selamat tinggal;sampai jumpa;dadah;sampai nanti;selamat tidur | lagi;lanjut;lanjutkan;ya;ceritakan lagi;apa lagi;selengkapnya | dan atas bantuannya bantuan banyak ya kak sekali`,
    says: `Halo, saya {name}. | Saya {name}. | Sangat baik, terima kasih. | Saya juga bisa bercerita tentang: {topics}. | Saya tidak yakin, tetapi mungkin ini membantu: | Saya tidak tahu; saya belum belajar tentang itu. | Itu semua yang saya tahu tentang itu. | Anda bisa bertanya tentang: {topics}. | Sama-sama. | Sampai jumpa lagi. | Bagaimana saya diatur tidak saya bagikan.`,
  },
};
