/**
 * The widget's texts, in the languages that the knowledge engine has.
 *
 * @module
 */

/** What each text is called: `text-send="Go"` replaces one. */
export const textNames = [
  "write",
  "send",
  "stop",
  "failed",
  "offline",
  "again",
  "reload",
  "fresh",
  "open",
  "close",
  "expand",
  "sources",
  "edit",
] as const;

export type TextName = (typeof textNames)[number];

/** In the order of the names. */
const english =
  "Write a message|Send|Stop|That did not work.|You are offline.|Try again|Please reload the page.|New conversation|Chat|Close|Enlarge|Sources|Edit";

const others: Readonly<Record<string, string>> = {
  de: "Nachricht schreiben|Senden|Stopp|Das hat nicht geklappt.|Sie sind offline.|Erneut versuchen|Bitte die Seite neu laden.|Neue Unterhaltung|Chat|Schließen|Vergrößern|Quellen|Bearbeiten",
  nl: "Schrijf een bericht|Versturen|Stop|Dat is niet gelukt.|Je bent offline.|Opnieuw proberen|Laad de pagina opnieuw.|Nieuw gesprek|Chat|Sluiten|Vergroten|Bronnen|Bewerken",
  sv: "Skriv ett meddelande|Skicka|Stoppa|Det gick inte.|Du är offline.|Försök igen|Ladda om sidan.|Ny konversation|Chatt|Stäng|Förstora|Källor|Redigera",
  da: "Skriv en besked|Send|Stop|Det lykkedes ikke.|Du er offline.|Prøv igen|Genindlæs siden.|Ny samtale|Chat|Luk|Forstør|Kilder|Rediger",
  no: "Skriv en melding|Send|Stopp|Det gikk ikke.|Du er frakoblet.|Prøv igjen|Last siden på nytt.|Ny samtale|Chat|Lukk|Forstørr|Kilder|Rediger",
  fr: "Écrire un message|Envoyer|Arrêter|Cela n’a pas fonctionné.|Vous êtes hors ligne.|Réessayer|Rechargez la page.|Nouvelle conversation|Chat|Fermer|Agrandir|Sources|Modifier",
  es: "Escribe un mensaje|Enviar|Detener|No ha funcionado.|Sin conexión.|Reintentar|Recarga la página.|Nueva conversación|Chat|Cerrar|Ampliar|Fuentes|Editar",
  it: "Scrivi un messaggio|Invia|Ferma|Non ha funzionato.|Sei offline.|Riprova|Ricarica la pagina.|Nuova conversazione|Chat|Chiudi|Ingrandisci|Fonti|Modifica",
  pt: "Escreva uma mensagem|Enviar|Parar|Não funcionou.|Sem conexão.|Tentar de novo|Recarregue a página.|Nova conversa|Chat|Fechar|Ampliar|Fontes|Editar",
  ro: "Scrie un mesaj|Trimite|Oprește|Nu a mers.|Ești offline.|Încearcă din nou|Reîncarcă pagina.|Conversație nouă|Chat|Închide|Mărește|Surse|Editează",
  ru: "Напишите сообщение|Отправить|Стоп|Не получилось.|Вы не в сети.|Повторить|Обновите страницу.|Новый разговор|Чат|Закрыть|Увеличить|Источники|Изменить",
  uk: "Напишіть повідомлення|Надіслати|Стоп|Не вдалося.|Ви не в мережі.|Повторити|Оновіть сторінку.|Нова розмова|Чат|Закрити|Збільшити|Джерела|Змінити",
  bg: "Напишете съобщение|Изпрати|Стоп|Не се получи.|Не сте на линия.|Опитай пак|Презаредете страницата.|Нов разговор|Чат|Затвори|Увеличи|Източници|Промени",
  pl: "Napisz wiadomość|Wyślij|Zatrzymaj|Nie udało się.|Jesteś offline.|Spróbuj ponownie|Odśwież stronę.|Nowa rozmowa|Czat|Zamknij|Powiększ|Źródła|Edytuj",
  cs: "Napište zprávu|Odeslat|Zastavit|Nepodařilo se.|Jste offline.|Zkusit znovu|Obnovte stránku.|Nová konverzace|Chat|Zavřít|Zvětšit|Zdroje|Upravit",
  ar: "اكتب رسالة|إرسال|إيقاف|لم ينجح ذلك.|أنت غير متصل.|حاول مجددًا|أعد تحميل الصفحة.|محادثة جديدة|دردشة|إغلاق|تكبير|المصادر|تعديل",
  el: "Γράψτε ένα μήνυμα|Αποστολή|Διακοπή|Δεν πέτυχε.|Είστε εκτός σύνδεσης.|Δοκιμή ξανά|Φορτώστε ξανά τη σελίδα.|Νέα συνομιλία|Συνομιλία|Κλείσιμο|Μεγέθυνση|Πηγές|Επεξεργασία",
  he: "כתבו הודעה|שליחה|עצירה|זה לא הצליח.|אין חיבור.|נסו שוב|טענו מחדש את הדף.|שיחה חדשה|צ׳אט|סגירה|הגדלה|מקורות|עריכה",
  fa: "پیامی بنویسید|ارسال|توقف|انجام نشد.|آفلاین هستید.|تلاش دوباره|صفحه را دوباره بارگیری کنید.|گفت‌وگوی تازه|گفت‌وگو|بستن|بزرگ‌نمایی|منابع|ویرایش",
  tr: "Bir mesaj yazın|Gönder|Durdur|Olmadı.|Çevrimdışısınız.|Tekrar dene|Sayfayı yenileyin.|Yeni konuşma|Sohbet|Kapat|Büyüt|Kaynaklar|Düzenle",
  fi: "Kirjoita viesti|Lähetä|Pysäytä|Se ei onnistunut.|Olet offline-tilassa.|Yritä uudelleen|Lataa sivu uudelleen.|Uusi keskustelu|Chat|Sulje|Suurenna|Lähteet|Muokkaa",
  hu: "Írjon üzenetet|Küldés|Leállítás|Nem sikerült.|Nincs kapcsolat.|Újra|Töltse újra az oldalt.|Új beszélgetés|Csevegés|Bezárás|Nagyítás|Források|Szerkesztés",
  ja: "メッセージを入力|送信|停止|うまくいきませんでした。|オフラインです。|再試行|ページを再読み込みしてください。|新しい会話|チャット|閉じる|拡大|出典|編集",
  zh: "输入消息|发送|停止|操作未成功。|您已离线。|重试|请刷新页面。|新对话|聊天|关闭|放大|来源|编辑",
  ko: "메시지 입력|보내기|중지|실패했습니다.|오프라인입니다.|다시 시도|페이지를 새로 고치세요.|새 대화|채팅|닫기|확대|출처|수정",
  hi: "संदेश लिखें|भेजें|रोकें|यह नहीं हो सका।|आप ऑफ़लाइन हैं।|फिर कोशिश करें|पेज फिर लोड करें।|नई बातचीत|चैट|बंद करें|बड़ा करें|स्रोत|बदलें",
  th: "พิมพ์ข้อความ|ส่ง|หยุด|ไม่สำเร็จ|คุณออฟไลน์อยู่|ลองอีกครั้ง|โหลดหน้านี้ใหม่|การสนทนาใหม่|แชต|ปิด|ขยาย|แหล่งที่มา|แก้ไข",
  vi: "Viết tin nhắn|Gửi|Dừng|Không thành công.|Bạn đang ngoại tuyến.|Thử lại|Hãy tải lại trang.|Cuộc trò chuyện mới|Trò chuyện|Đóng|Phóng to|Nguồn|Sửa",
  id: "Tulis pesan|Kirim|Hentikan|Tidak berhasil.|Anda luring.|Coba lagi|Muat ulang halaman.|Percakapan baru|Obrolan|Tutup|Perbesar|Sumber|Ubah",
};

const sameAs: Readonly<Record<string, string>> = { nb: "no", nn: "no", iw: "he", in: "id" };

/** The texts of a language, by its BCP 47 tag. English stands for those that are not known. */
export function textsOf(tag: string): Record<TextName, string> {
  const [code = ""] = tag.toLowerCase().split("-");
  const texts = (others[sameAs[code] ?? code] ?? english).split("|");
  return Object.fromEntries(textNames.map((name, at) => [name, texts[at] ?? ""])) as Record<TextName, string>;
}

/** Which way a language is written. */
export function directionOf(tag: string): "rtl" | "ltr" {
  return /^(ar|fa|he|iw|ur)\b/i.test(tag) ? "rtl" : "ltr";
}
