/**
 * Languages around the eastern Mediterranean: Arabic, Greek, Hebrew, Persian, Turkish.
 *
 * @module
 */

import { stemmer as stemGreek } from "@orama/stemmers/greek";
import { stemmer as stemTurkish } from "@orama/stemmers/turkish";
import { stopwords as arabicStopWords } from "@orama/stopwords/arabic";
import { stopwords as greekStopWords } from "@orama/stopwords/greek";
import { stopwords as turkishStopWords } from "@orama/stopwords/turkish";
import { type Language, splitWords } from "./language.ts";

export const arabic: Language = {
  code: "ar",
  stem: stemArabic,
  stopWords: arabicStopWords,
  askingWords: `اليوم الآن الان غدا هل ما ماذا متى أين اين كيف كم لماذا من مَن أي اي يمكن يمكنني ممكن أريد اريد أستطيع استطيع أحتاج احتاج يجب
    أعرف اعرف قل أخبرني اخبرني اشرح سؤال فضلك لو سمحت مرحبا شكرا نعم لا عندي لدي لديكم عندكم هناك يوجد توجد هو هي هذا هذه
    ذلك تلك التي الذي على الى إلى عن في مع بعد قبل كل أو او ثم إذا اذا كان كانت يكون تكون لي لكم كثيرا وقت أفعل افعل يعني معنى`,
  synonyms: `سعر أسعار اسعار تكلفة تكلف رسوم ثمن كم يكلف ادفع تدفع;
    أوقات اوقات ساعات مواعيد وقت تفتح نفتح يفتح مفتوح تغلق نغلق مغلق متى;اتصال اتصل هاتف رقم تواصل;
    عنوان موقع أين اين طريق الوصول;توصيل شحن توصلون نوصل;إرجاع ارجاع أرجع ارجع استرجاع إعادة;
    عطل إصلاح اصلاح تصليح معطل;كلب قطة حيوان حيوانات;طفل أطفال اطفال;إلغاء الغاء ألغي;حجز أحجز احجز تحجز;
    إنترنت انترنت واي فاي`,
  smallTalk: {
    greeting: "مرحبا;مرحباً;أهلا;أهلاً;اهلا;السلام عليكم;صباح الخير;مساء الخير;أهلا وسهلا;هلا",
    wellbeing: "كيف حالك;كيف الحال;كيف حالكم;كيفك",
    about: "من أنت;من انت;ما اسمك;عرف بنفسك;من تكون",
    topics:
      "ماذا تعرف;ماذا تستطيع أن تفعل;ماذا يمكنني أن أسأل;عن ماذا أسأل;مساعدة;ساعدني;جيد;ممتاز;رائع;حسنا",
    thanks: "شكرا;شكراً;شكرا جزيلا;شكراً جزيلاً;شكرا لك;شكراً لك;مشكور;جزاك الله خيرا",
    goodbye: "مع السلامة;وداعا;إلى اللقاء;الى اللقاء;تصبح على خير;باي;في أمان الله",
    more: "المزيد;أكمل;تابع;نعم;نعم من فضلك;أخبرني المزيد;ماذا أيضا",
    fillers: "و على لك لكم من فضلك جدا يا كل مساعدتك",
  },
  phrases: {
    hello: "مرحبًا، أنا {name}.",
    introduction: "أنا {name}.",
    wellbeing: "بخير، شكرًا على السؤال.",
    related: "يمكنني أيضًا الحديث عن: {topics}.",
    nearest: "لست متأكدًا، لكن قد يفيد هذا:",
    unknown: "لا أعرف؛ لم أتعلم شيئًا عن ذلك.",
    finished: "هذا كل ما أعرفه عن ذلك.",
    topics: "يمكنك أن تسألني عن: {topics}.",
    thanks: "على الرحب والسعة.",
    goodbye: "مع السلامة، وإلى اللقاء.",
    private: "لا أشارك كيفية إعدادي.",
  },
};

/**
 * The light stemmer of Larkey, Ballesteros and Connell ("light10"), which searches do best with. The library's takes
 * "الضمان" and "ضمان" for two words.
 */
function stemArabic(word: string): string {
  const cut = word.length > 3 ? word.replace(/^و(?=..)/u, "") : word;
  const bare = cut.replace(/^(?:ال|بال|كال|فال|لل)(?=..)/u, "").replace(/^إ/u, "ا");
  return bare.replace(/(?<=..)(?:ها|ان|ات|ون|ين|يه|ية|ه|ة|ي)$/u, "").replace(/(?<=..)(?:ات|ية|ي)$/u, "");
}

export const greek: Language = {
  code: "el",
  stem: stemGreek,
  stopWords: greekStopWords,
  askingWords: `παρακαλώ μπορώ μπορεί μπορείτε θέλω θέλει πρέπει υπάρχει υπάρχουν ξέρω ξέρετε πες πείτε εξήγησε ερώτηση πόσο πόσα
    πόση πότε πού ποιος ποια ποιο ποιες τι γιατί πώς γεια ευχαριστώ ναι όχι κάνω κάνει έχω έχει έχετε μου σας πολύ χρόνο`,
  smallTalk: {
    greeting: "γεια;γεια σου;γεια σας;καλημέρα;καλησπέρα;χαίρετε",
    wellbeing: "τι κάνεις;τι κάνετε;πώς είσαι;πώς είστε",
    about: "ποιος είσαι;ποια είσαι;ποιος είστε;πώς σε λένε;συστήσου",
    topics: "τι ξέρεις;τι μπορείς να κάνεις;τι μπορώ να ρωτήσω;βοήθεια;ωραία;τέλεια;καλά",
    thanks: "ευχαριστώ;ευχαριστώ πολύ;σας ευχαριστώ;σε ευχαριστώ",
    goodbye: "αντίο;τα λέμε;καληνύχτα;εις το επανιδείν;καλή συνέχεια",
    more: "περισσότερα;συνέχισε;ναι;ναι παρακαλώ;πες μου περισσότερα;τι άλλο",
    fillers: "και για τη σας σου πολύ βοήθεια παρακαλώ οκ",
  },
  phrases: {
    hello: "Γεια σας, είμαι ο/η {name}.",
    introduction: "Είμαι ο/η {name}.",
    wellbeing: "Πολύ καλά, ευχαριστώ.",
    related: "Μπορώ να μιλήσω και για: {topics}.",
    nearest: "Δεν είμαι βέβαιος, αλλά ίσως βοηθήσει αυτό:",
    unknown: "Δεν ξέρω· δεν έχω μάθει κάτι γι' αυτό.",
    finished: "Αυτά είναι όλα όσα ξέρω γι' αυτό.",
    topics: "Μπορείτε να με ρωτήσετε για: {topics}.",
    thanks: "Παρακαλώ.",
    goodbye: "Αντίο, και εις το επανιδείν.",
    private: "Το πώς έχω ρυθμιστεί δεν το μοιράζομαι.",
  },
};

export const hebrew: Language = {
  code: "he",
  stem: (word) =>
    word.length > 4 ? word.replace(/^[והבלמכש](?=...)/u, "").replace(/(?:ים|ות|יה)$/u, "") : word,
  stopWords:
    splitWords(`אבל או אולי אז אחרי איך אין איפה אל אם אני אנחנו את אתה אתם בגלל בין גם הוא היא הם הן הזה הזאת
    היה היו זה זאת זו יש כאן כבר כי כל כמה כן לא לו לי לך להם לפני מאוד מה מי מתי עד עם על עוד עכשיו של שם שלי שלך
    שלכם תחת`),
  askingWords:
    "בבקשה אפשר יכול יכולה יכולים רוצה צריך צריכה לדעת יודע תגיד ספר הסבר שאלה כמה מתי איפה מי למה איך שלום תודה",
  smallTalk: {
    greeting: "שלום;היי;הי;בוקר טוב;ערב טוב;צהריים טובים;אהלן",
    wellbeing: "מה שלומך;מה נשמע;מה קורה;איך אתה",
    about: "מי אתה;מי את;איך קוראים לך;מה שמך",
    topics: "מה אתה יודע;מה אתה יכול לעשות;מה אפשר לשאול;עזרה;טוב;מצוין;יופי",
    thanks: "תודה;תודה רבה;המון תודה;רוב תודות",
    goodbye: "להתראות;ביי;שלום ולהתראות;לילה טוב;יום טוב",
    more: "עוד;המשך;כן;כן בבקשה;ספר לי עוד;מה עוד",
    fillers: "ו על לך לכם מאוד העזרה בבקשה",
  },
  phrases: {
    hello: "שלום, אני {name}.",
    introduction: "אני {name}.",
    wellbeing: "מצוין, תודה ששאלת.",
    related: "אפשר לשאול אותי גם על: {topics}.",
    nearest: "איני בטוח, אבל אולי זה יעזור:",
    unknown: "איני יודע; לא למדתי על כך דבר.",
    finished: "זה כל מה שידוע לי על כך.",
    topics: "אפשר לשאול אותי על: {topics}.",
    thanks: "בשמחה.",
    goodbye: "להתראות, ותמיד אפשר לחזור.",
    private: "איך הוגדרתי – את זה איני מגלה.",
  },
};

export const persian: Language = {
  code: "fa",
  stem: (word) => (word.length > 4 ? word.replace(/(?:هایی|های|ها|ترین|تر|ام|ات|اش|ی)$/u, "") : word),
  stopWords:
    splitWords(`از با به برای و یا که تا در را این آن است هست بود بودن شد شود می نمی ها های هم هر همه یک دو چه چرا
    اگر اما پس نیز خود من تو او ما شما آنها ایشان بر بی پیش بعد قبل روی زیر بین دیگر چون ولی باید کرد کرده کنم کند کنید`),
  askingWords:
    "لطفا لطفاً می‌توانم میتوانم توانم می‌توان می‌خواهم خواهم باید بدانم دانم بگو بگویید توضیح سوال چند چقدر کی کجا کدام چگونه چطور سلام ممنون بله نه دارم دارید دارد",
  smallTalk: {
    greeting: "سلام;درود;صبح بخیر;عصر بخیر;شب بخیر;وقت بخیر",
    wellbeing: "حالت چطوره;حال شما چطور است;خوبی;چطوری;چه خبر",
    about: "تو کی هستی;شما کی هستید;اسمت چیه;اسم شما چیست;خودت را معرفی کن",
    topics: "چه می‌دانی;چی می‌دونی;چه کاری بلدی;چه بپرسم;کمک;خوب;عالی;باشه",
    thanks: "ممنون;مرسی;متشکرم;سپاس;خیلی ممنون;سپاسگزارم;ممنونم",
    goodbye: "خداحافظ;بدرود;فعلا;به امید دیدار;روز خوش",
    more: "بیشتر;ادامه بده;بله;بله لطفا;بیشتر بگو;دیگه چی",
    fillers: "و از شما تو خیلی کمکت لطفا",
  },
  phrases: {
    hello: "سلام، من {name} هستم.",
    introduction: "من {name} هستم.",
    wellbeing: "خیلی خوب، ممنون.",
    related: "درباره‌ی این‌ها هم می‌توانم بگویم: {topics}.",
    nearest: "مطمئن نیستم، اما شاید این کمک کند:",
    unknown: "نمی‌دانم؛ چیزی درباره‌ی آن نیاموخته‌ام.",
    finished: "این همه‌ی چیزی است که درباره‌ی آن می‌دانم.",
    topics: "می‌توانید درباره‌ی این‌ها بپرسید: {topics}.",
    thanks: "خواهش می‌کنم.",
    goodbye: "خداحافظ، باز هم بیایید.",
    private: "چگونگی تنظیم من را بازگو نمی‌کنم.",
  },
};

export const turkish: Language = {
  code: "tr",
  stem: stemTurkish,
  stopWords: turkishStopWords,
  askingWords: `iki üç dört beş bugün şimdi yarın lütfen olur mı mi mu mü mısınız misiniz musunuz müsünüz var yok istiyorum isterim gerek gerekir lazım bilmek biliyor
    söyle söyler anlat açıkla soru kaç kadar ne zaman nerede nereye nereden kim hangi niye neden nasıl merhaba teşekkür evet
    hayır yapmak yapabilir yapılır yapabilirim edebilir edebilirim edilir miyim mıyım benim bana sizin size çok uzun süre ise
    için ile demek anlama`,
  synonyms: `fiyat fiyatlar fiyatı ücret ücreti ücretler pahalı ucuz kaça para ödeme tutar;
    saat saatler saatleri çalışma açık açılış açılıyor kapalı kapanış kapanıyor;iletişim telefon numara aramak;
    adres yer nerede ulaşım;teslimat kargo gönderim;iade değişim;tamir onarım bozuk arıza;köpek kedi hayvan;çocuk bebek;
    iptal;rezervasyon`,
  smallTalk: {
    greeting: "merhaba;selam;günaydın;iyi günler;iyi akşamlar;selamlar;merhabalar",
    wellbeing: "nasılsın;nasılsınız;naber;ne haber;nasıl gidiyor",
    about: "sen kimsin;siz kimsiniz;kimsin;adın ne;adınız ne;kendini tanıt",
    topics:
      "ne biliyorsun;neler biliyorsun;ne yapabilirsin;ne sorabilirim;yardım;yardım et;iyi;güzel;harika;tamam",
    thanks: "teşekkürler;teşekkür ederim;çok teşekkürler;çok teşekkür ederim;sağ ol;sağ olun;sağol;eyvallah",
    goodbye: "hoşça kal;hoşçakal;güle güle;görüşürüz;iyi geceler;görüşmek üzere;bay bay",
    more: "daha fazla;devam;devam et;evet;evet lütfen;daha fazla anlat;başka",
    fillers: "ve için çok sana size yardımın lütfen peki",
  },
  phrases: {
    hello: "Merhaba, ben {name}.",
    introduction: "Ben {name}.",
    wellbeing: "Çok iyiyim, teşekkürler.",
    related: "Şunları da anlatabilirim: {topics}.",
    nearest: "Bundan emin değilim, ama belki bu yardımcı olur:",
    unknown: "Bilmiyorum; bu konuda bir şey öğrenmedim.",
    finished: "Bu konuda bildiklerim bu kadar.",
    topics: "Bana şunları sorabilirsiniz: {topics}.",
    thanks: "Rica ederim.",
    goodbye: "Hoşça kalın, yine bekleriz.",
    private: "Nasıl ayarlandığımı paylaşmıyorum.",
  },
};
