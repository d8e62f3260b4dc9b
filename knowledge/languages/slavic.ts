/**
 * Slavic languages.
 *
 * @module
 */

import { stemmer as stemBulgarian } from "@orama/stemmers/bulgarian";
import { stemmer as stemRussian } from "@orama/stemmers/russian";
import { stemmer as stemUkrainian } from "@orama/stemmers/ukrainian";
import { stopwords as bulgarianStopWords } from "@orama/stopwords/bulgarian";
import { stopwords as russianStopWords } from "@orama/stopwords/russian";
import { stopwords as ukrainianStopWords } from "@orama/stopwords/ukrainian";
import { type Language, splitWords } from "./language.ts";

export const russian: Language = {
  code: "ru",
  stem: stemRussian,
  stopWords: russianStopWords,
  askingWords: `два две три четыре пять шесть десять сегодня сейчас завтра пожалуйста можно могу может можете могут можем хочу хочет хотел хотела бы нужно надо должен должна должно есть
    знать знаю знаешь знаете скажи скажите расскажи расскажите объясни объясните вопрос сколько когда где куда откуда кто
    что какой какая какое какие каком какую каких чем почему зачем как привет здравствуйте спасибо да нет ли же вас вам вами
    ваш ваша ваше ваши вашей нас нам у меня мне мой моя мое мои моего делать делаю делает если это этот эта такое очень много
    долго время что-то кто-то еще ещё также значит означает бывает происходит`,
  synonyms: `цена цены стоимость стоит стоят прайс тариф дорого дешево оплата платить почем почём сколько;
    расписание часы время график открыто открываетесь открывается закрыто закрываетесь когда начало;
    контакты телефон номер позвонить связаться;адрес добраться проезд где находитесь дорога;
    доставка доставить отправка;возврат вернуть возвращение;ремонт починить сломался сломалась неисправность поломка;
    собака собаки кошка животное животные питомец;ребенок ребенка дети детьми детей малыш;отменить отмена;
    бронь забронировать бронирование;фото фотографировать снимать;пароль`,
  smallTalk: {
    greeting: "привет;здравствуйте;здравствуй;добрый день;доброе утро;добрый вечер;приветствую;хай",
    wellbeing: "как дела;как ты;как вы;как поживаешь;как поживаете;как жизнь",
    about:
      "кто ты;кто вы;кто вы такой;кто ты такой;кто ты такая;как тебя зовут;как вас зовут;представься;расскажи о себе",
    topics: `что ты умеешь;что вы умеете;что ты знаешь;что вы знаете;о чем можно спросить;о чём можно спросить;помощь;
      помоги;помогите;хорошо;отлично;понятно;ясно;класс`,
    thanks: "спасибо;большое спасибо;спасибо большое;благодарю;благодарю вас;огромное спасибо;спс",
    goodbye:
      "пока;до свидания;до встречи;всего доброго;всего хорошего;спокойной ночи;прощай;прощайте;хорошего дня",
    more: "еще;ещё;дальше;продолжай;продолжайте;да;да пожалуйста;расскажи еще;расскажи подробнее;подробнее;что еще",
    fillers: "и за вам тебе помощь всё все очень пожалуйста ну ок тогда вас",
  },
  phrases: {
    hello: "Здравствуйте, я {name}.",
    introduction: "Я {name}.",
    wellbeing: "Очень хорошо, спасибо.",
    related: "Могу также рассказать: {topics}.",
    nearest: "Не уверен, но, возможно, поможет это:",
    unknown: "Не знаю: об этом мне ничего не известно.",
    finished: "Это всё, что я об этом знаю.",
    topics: "Можно спросить меня о следующем: {topics}.",
    thanks: "Пожалуйста.",
    goodbye: "До свидания, заходите ещё.",
    private: "Как я настроен, я не рассказываю.",
  },
};

export const ukrainian: Language = {
  code: "uk",
  stem: stemUkrainian,
  stopWords: ukrainianStopWords,
  askingWords: `будь ласка можна можу може можете хочу хоче треба потрібно є знати знаю знаєш скажи скажіть розкажи розкажіть
    поясни питання скільки коли де куди звідки хто що який яка яке які чому як привіт дякую так ні чи вас вам ваш ваша
    у мене мені мій моя моє робити роблю це дуже багато довго час також означає`,
  synonyms: `ціна ціни вартість коштує тариф дорого скільки платити;розклад години час графік відкрито зачинено коли;
    контакти телефон номер зателефонувати;адреса дістатися проїзд де;доставка доставити;повернення повернути;
    ремонт полагодити зламався;собака кіт тварина тварини;дитина діти;скасувати;забронювати бронювання`,
  smallTalk: {
    greeting: "привіт;вітаю;добрий день;доброго дня;доброго ранку;добрий вечір;добрий ранок",
    wellbeing: "як справи;як ти;як ви;як ся маєш",
    about: "хто ти;хто ви;як тебе звати;як вас звати;розкажи про себе",
    topics: "що ти вмієш;що ти знаєш;про що можна запитати;допомога;допоможи;добре;чудово;зрозуміло",
    thanks: "дякую;щиро дякую;дуже дякую;велике дякую;спасибі",
    goodbye: "бувай;до побачення;до зустрічі;на все добре;на добраніч;гарного дня",
    more: "ще;далі;продовжуй;так;так будь ласка;розкажи ще;докладніше;що ще",
    fillers: "і й за вам тобі допомогу дуже будь ласка ну ок",
  },
  phrases: {
    hello: "Вітаю, я {name}.",
    introduction: "Я {name}.",
    wellbeing: "Дуже добре, дякую.",
    related: "Можу також розповісти: {topics}.",
    nearest: "Не впевнений, але, можливо, допоможе це:",
    unknown: "Не знаю: про це мені нічого не відомо.",
    finished: "Це все, що я про це знаю.",
    topics: "Мене можна запитати про таке: {topics}.",
    thanks: "Прошу.",
    goodbye: "До побачення, приходьте ще.",
    private: "Як мене налаштовано, я не розповідаю.",
  },
};

export const bulgarian: Language = {
  code: "bg",
  stem: stemBulgarian,
  stopWords: bulgarianStopWords,
  askingWords: `моля мога може можете искам иска трябва има знам знаете кажи кажете разкажи обясни въпрос колко кога къде кой коя
    кое кои какво каква какъв какви защо как здравей благодаря да не ли ви вашия правя прави това много дълго време също`,
  smallTalk: {
    greeting: "здравей;здравейте;здрасти;добър ден;добро утро;добър вечер",
    wellbeing: "как си;как сте;как е",
    about: "кой си ти;кой си;кои сте вие;как се казваш;представи се",
    topics: "какво знаеш;какво можеш;какво мога да питам;помощ;помогни;добре;чудесно",
    thanks: "благодаря;много благодаря;мерси;благодаря ти;благодаря ви",
    goodbye: "довиждане;чао;до скоро;лека нощ;приятен ден",
    more: "още;продължи;да;да моля;разкажи още;какво още",
    fillers: "и за ти ви помощта много моля ок",
  },
  phrases: {
    hello: "Здравейте, аз съм {name}.",
    introduction: "Аз съм {name}.",
    wellbeing: "Много добре, благодаря.",
    related: "Мога да разкажа и за: {topics}.",
    nearest: "Не съм сигурен, но това може да помогне:",
    unknown: "Не знам; не съм научил нищо за това.",
    finished: "Това е всичко, което знам за това.",
    topics: "Можете да ме питате за: {topics}.",
    thanks: "Няма защо.",
    goodbye: "Довиждане и до скоро.",
    private: "Как съм настроен, не споделям.",
  },
};

const polishEndings =
  /(?:iach|ach|ami|iami|owie|ów|owi|owy|owa|owe|ego|emu|ymi|imi|ych|ich|iem|em|om|ie|ia|ią|ię|ej|ym|im|ąc|ać|eć|ić|yć|a|ą|e|ę|i|o|u|y)$/u;

export const polish: Language = {
  code: "pl",
  stem: (word) => cutEnding(word, polishEndings),
  stopWords:
    splitWords(`a aby albo ale ani bardzo bez bo by był była było były być ci co coś czy czyli dla do dlaczego gdy gdzie
    go i ich ile im innych inny ja jak jaki jaka jakie jakich jakiś jako je jego jej jest jestem jeszcze jeśli już ją kiedy
    kto która które który którzy ku lub ma mają mam mi mnie moje mój może na nad nam nas nasz nic nie niech nim niż no o od
    on ona one oni ono oraz po pod ponieważ przed przez przy są się skąd ta tak tam te tego tej ten też to tu tylko tych tym
    u w was we wszystko więc wy z za ze że żeby`),
  askingWords: `dwa dwie trzy cztery pięć dziś dzisiaj teraz jutro proszę mogę może możesz można chcę chce chciałbym chciałabym muszę trzeba wiedzieć wiem wiesz powiedz opowiedz
    wyjaśnij pytanie ile jak cześć dziękuję tak nie robić robię macie państwo pan pani wasz długo dużo czas oznacza`,
  synonyms: `cena ceny koszt koszty kosztuje cennik opłata drogo ile płacić;godziny otwarcia otwarte otwarty zamknięte kiedy czynne;
    kontakt telefon numer zadzwonić;adres dojazd gdzie;dostawa wysyłka dostarczyć;zwrot zwroty zwrócić;
    naprawa naprawić zepsuty;pies psy kot zwierzę zwierzęta;dziecko dzieci;anulować odwołać;rezerwacja zarezerwować`,
  smallTalk: {
    greeting: "cześć;hej;dzień dobry;dobry wieczór;witaj;witam;siema",
    wellbeing: "jak się masz;co słychać;jak leci;jak się pan ma;jak się pani ma",
    about: "kim jesteś;kim pan jest;jak masz na imię;jak się nazywasz;przedstaw się",
    topics: "co potrafisz;co wiesz;o co mogę zapytać;w czym możesz pomóc;pomoc;pomóż;dobrze;świetnie;super",
    thanks: "dziękuję;dzięki;dziękuję bardzo;bardzo dziękuję;wielkie dzięki;dziękuję ci",
    goodbye: "do widzenia;pa;na razie;do zobaczenia;dobranoc;miłego dnia;żegnaj",
    more: "więcej;dalej;kontynuuj;tak;tak proszę;powiedz więcej;co jeszcze",
    fillers: "i za ci bardzo pomoc proszę ok no",
  },
  phrases: {
    hello: "Dzień dobry, jestem {name}.",
    introduction: "Jestem {name}.",
    wellbeing: "Bardzo dobrze, dziękuję.",
    related: "Mogę też opowiedzieć o: {topics}.",
    nearest: "Nie jestem pewien, ale może to pomoże:",
    unknown: "Nie wiem; niczego się o tym nie nauczyłem.",
    finished: "To wszystko, co o tym wiem.",
    topics: "Możesz mnie zapytać o: {topics}.",
    thanks: "Proszę bardzo.",
    goodbye: "Do widzenia i do zobaczenia.",
    private: "Tego, jak jestem skonfigurowany, nie ujawniam.",
  },
};

const czechEndings =
  /(?:atech|ětem|atům|ách|ich|ích|ého|ěmi|emi|ému|ete|eti|iho|ího|ími|imu|ách|ata|aty|ých|ama|ami|ové|ovi|ými|em|es|ém|ím|ům|at|ám|os|us|ým|mi|ou|a|e|i|u|y|á|é|í|ý|ě|o|ů)$/u;

export const czech: Language = {
  code: "cs",
  stem: (word) => cutEnding(word, czechEndings),
  stopWords:
    splitWords(`a aby aj ale ani asi až bez bude budou by byl byla byli bylo být co což či článek dnes do ho i já jak jaká
    jaké jakou jaký je jeho jej její jejich jen ještě ji jich jim jsem jsi jsme jsou jste k kam kde kdo kdy když kolik která
    které který ku ma má mají máte me mezi mi mít mně můj musí na nad nám náš ne nebo nějaký není než nic o od on ona oni ono
    pak po pod podle pokud pro proč proto před přes při s se si sice svůj ta tak také tam te tedy ten tento to toho tom tu tuto
    ty u už v vám vás váš ve více však vy z za ze že`),
  askingWords: `prosím mohu můžu může můžete lze chci chce chtěl chtěla musím potřebuji vědět vím víš řekni řekněte vysvětli otázka
    kolik jak ahoj děkuji ano ne dělat dělám dlouho hodně čas znamená`,
  smallTalk: {
    greeting: "ahoj;dobrý den;dobré ráno;dobrý večer;čau;zdravím;nazdar",
    wellbeing: "jak se máš;jak se máte;jak se daří",
    about: "kdo jsi;kdo jste;jak se jmenuješ;jak se jmenujete;představ se",
    topics: "co umíš;co víš;na co se mohu zeptat;pomoc;pomoz;dobře;skvělé;super",
    thanks: "děkuji;díky;děkuju;mockrát děkuji;děkuji moc;moc děkuji",
    goodbye: "na shledanou;nashledanou;sbohem;zatím;dobrou noc;hezký den;měj se",
    more: "více;dál;pokračuj;ano;ano prosím;řekni mi víc;co ještě",
    fillers: "a za vám ti moc pomoc prosím ok no",
  },
  phrases: {
    hello: "Dobrý den, jsem {name}.",
    introduction: "Jsem {name}.",
    wellbeing: "Velmi dobře, děkuji.",
    related: "Mohu také povědět: {topics}.",
    nearest: "Nejsem si jistý, ale možná pomůže toto:",
    unknown: "Nevím; nic jsem se o tom nenaučil.",
    finished: "To je vše, co o tom vím.",
    topics: "Můžete se mě zeptat na: {topics}.",
    thanks: "Rádo se stalo.",
    goodbye: "Na shledanou a přijďte zas.",
    private: "Jak jsem nastaven, si nechávám pro sebe.",
  },
};

/** No library has a stemmer for these two; the longest ending is cut as long as three letters remain. */
function cutEnding(word: string, endings: RegExp): string {
  const cut = word.replace(endings, "");
  return cut.length >= 3 ? cut : word;
}
