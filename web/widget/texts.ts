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
  "close",
  "expand",
  "edit",
] as const;

export type TextName = (typeof textNames)[number];

/** In the order of the names. */
const english =
  "Write a message|Send|Stop|That did not work.|You are offline.|Try again|Please reload the page.|New conversation|Close|Enlarge|Edit";

const others: Readonly<Record<string, string>> = {
  de: "Nachricht|Senden|Stopp|Das hat nicht geklappt.|Offline.|Erneut versuchen|Bitte die Seite neu laden.|Neue Unterhaltung|Schließen|Vergrößern|Bearbeiten",
  nl: "Bericht|Versturen|Stop|Dat is niet gelukt.|Offline.|Opnieuw proberen|Laad de pagina opnieuw.|Nieuw gesprek|Sluiten|Vergroten|Bewerken",
  sv: "Meddelande|Skicka|Stoppa|Det gick inte.|Offline.|Försök igen|Ladda om sidan.|Ny konversation|Stäng|Förstora|Redigera",
  da: "Besked|Send|Stop|Det lykkedes ikke.|Offline.|Prøv igen|Genindlæs siden.|Ny samtale|Luk|Forstør|Rediger",
  no: "Melding|Send|Stopp|Det gikk ikke.|Frakoblet.|Prøv igjen|Last siden på nytt.|Ny samtale|Lukk|Forstørr|Rediger",
  fr: "Message|Envoyer|Arrêter|Cela n’a pas fonctionné.|Hors ligne.|Réessayer|Rechargez la page.|Nouvelle conversation|Fermer|Agrandir|Modifier",
  es: "Mensaje|Enviar|Detener|No ha funcionado.|Sin conexión.|Reintentar|Recarga la página.|Nueva conversación|Cerrar|Ampliar|Editar",
  it: "Messaggio|Invia|Ferma|Non ha funzionato.|Offline.|Riprova|Ricarica la pagina.|Nuova conversazione|Chiudi|Ingrandisci|Modifica",
  pt: "Mensagem|Enviar|Parar|Não funcionou.|Sem conexão.|Tentar de novo|Recarregue a página.|Nova conversa|Fechar|Ampliar|Editar",
  ro: "Mesaj|Trimite|Oprește|Nu a mers.|Offline.|Încearcă din nou|Reîncarcă pagina.|Conversație nouă|Închide|Mărește|Editează",
  ru: "Сообщение|Отправить|Стоп|Не получилось.|Нет сети.|Повторить|Обновите страницу.|Новый разговор|Закрыть|Увеличить|Изменить",
  uk: "Повідомлення|Надіслати|Стоп|Не вдалося.|Немає мережі.|Повторити|Оновіть сторінку.|Нова розмова|Закрити|Збільшити|Змінити",
  bg: "Съобщение|Изпрати|Стоп|Не се получи.|Няма мрежа.|Опитай пак|Презаредете страницата.|Нов разговор|Затвори|Увеличи|Промени",
  pl: "Wiadomość|Wyślij|Zatrzymaj|Nie udało się.|Offline.|Spróbuj ponownie|Odśwież stronę.|Nowa rozmowa|Zamknij|Powiększ|Edytuj",
  cs: "Zpráva|Odeslat|Zastavit|Nepodařilo se.|Offline.|Zkusit znovu|Obnovte stránku.|Nová konverzace|Zavřít|Zvětšit|Upravit",
  ar: "رسالة|إرسال|إيقاف|لم ينجح ذلك.|غير متصل.|حاول مجددًا|أعد تحميل الصفحة.|محادثة جديدة|إغلاق|تكبير|تعديل",
  el: "Μήνυμα|Αποστολή|Διακοπή|Δεν πέτυχε.|Εκτός σύνδεσης.|Δοκιμή ξανά|Φορτώστε ξανά τη σελίδα.|Νέα συνομιλία|Κλείσιμο|Μεγέθυνση|Επεξεργασία",
  he: "הודעה|שליחה|עצירה|זה לא הצליח.|אין חיבור.|נסו שוב|טענו מחדש את הדף.|שיחה חדשה|סגירה|הגדלה|עריכה",
  fa: "پیام|ارسال|توقف|انجام نشد.|آفلاین.|تلاش دوباره|صفحه را دوباره بارگیری کنید.|گفت‌وگوی تازه|بستن|بزرگ‌نمایی|ویرایش",
  tr: "Mesaj|Gönder|Durdur|Olmadı.|Çevrimdışı.|Tekrar dene|Sayfayı yenileyin.|Yeni konuşma|Kapat|Büyüt|Düzenle",
  fi: "Viesti|Lähetä|Pysäytä|Se ei onnistunut.|Offline-tila.|Yritä uudelleen|Lataa sivu uudelleen.|Uusi keskustelu|Sulje|Suurenna|Muokkaa",
  hu: "Üzenet|Küldés|Leállítás|Nem sikerült.|Nincs kapcsolat.|Újra|Töltse újra az oldalt.|Új beszélgetés|Bezárás|Nagyítás|Szerkesztés",
  ja: "メッセージ|送信|停止|うまくいきませんでした。|オフライン|再試行|ページを再読み込みしてください。|新しい会話|閉じる|拡大|編集",
  zh: "消息|发送|停止|操作未成功。|已离线。|重试|请刷新页面。|新对话|关闭|放大|编辑",
  ko: "메시지|보내기|중지|실패했습니다.|오프라인|다시 시도|페이지를 새로 고치세요.|새 대화|닫기|확대|수정",
  hi: "संदेश|भेजें|रोकें|यह नहीं हो सका।|ऑफ़लाइन|फिर कोशिश करें|पेज फिर लोड करें।|नई बातचीत|बंद करें|बड़ा करें|बदलें",
  th: "ข้อความ|ส่ง|หยุด|ไม่สำเร็จ|ออฟไลน์|ลองอีกครั้ง|โหลดหน้านี้ใหม่|การสนทนาใหม่|ปิด|ขยาย|แก้ไข",
  vi: "Tin nhắn|Gửi|Dừng|Không thành công.|Ngoại tuyến.|Thử lại|Hãy tải lại trang.|Cuộc trò chuyện mới|Đóng|Phóng to|Sửa",
  id: "Pesan|Kirim|Hentikan|Tidak berhasil.|Luring.|Coba lagi|Muat ulang halaman.|Percakapan baru|Tutup|Perbesar|Ubah",
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
