/**
 * The widget's texts in the languages that the knowledge engine has, besides English: a script of their own, for pages that
 * need it.
 *
 * @module
 */

/** By the language's code, in the order of the names. */
export const languages: Readonly<Record<string, string>> = {
  de: "Nachricht|Senden|Stopp|Das hat nicht geklappt.|Offline.|Erneut versuchen|Bitte die Seite neu laden.|Neue Unterhaltung|Schließen|Vergrößern|Bearbeiten|Zu lang:|Sie|Mit einem Menschen sprechen|Hier antwortet ein Mensch.|Für heute ist das alles.|Erlauben|Jetzt nicht",
  nl: "Bericht|Versturen|Stop|Dat is niet gelukt.|Offline.|Opnieuw proberen|Laad de pagina opnieuw.|Nieuw gesprek|Sluiten|Vergroten|Bewerken|Te lang:|U|Met een mens praten|Hier antwoordt een mens.|Dat was alles voor vandaag.|Toestaan|Nu niet",
  sv: "Meddelande|Skicka|Stoppa|Det gick inte.|Offline.|Försök igen|Ladda om sidan.|Ny konversation|Stäng|Förstora|Redigera|För långt:|Du|Prata med en människa|En människa svarar här.|Det var allt för i dag.|Tillåt|Inte nu",
  da: "Besked|Send|Stop|Det lykkedes ikke.|Offline.|Prøv igen|Genindlæs siden.|Ny samtale|Luk|Forstør|Rediger|For langt:|Du|Tal med et menneske|Et menneske svarer her.|Det var alt for i dag.|Tillad|Ikke nu",
  no: "Melding|Send|Stopp|Det gikk ikke.|Frakoblet.|Prøv igjen|Last siden på nytt.|Ny samtale|Lukk|Forstørr|Rediger|For langt:|Du|Snakk med et menneske|Et menneske svarer her.|Det var alt for i dag.|Tillat|Ikke nå",
  fr: "Message|Envoyer|Arrêter|Cela n’a pas fonctionné.|Hors ligne.|Réessayer|Rechargez la page.|Nouvelle conversation|Fermer|Agrandir|Modifier|Trop long :|Vous|Parler à une personne|Une personne répondra ici.|C’est tout pour aujourd’hui.|Autoriser|Pas maintenant",
  es: "Mensaje|Enviar|Detener|No ha funcionado.|Sin conexión.|Reintentar|Recarga la página.|Nueva conversación|Cerrar|Ampliar|Editar|Demasiado largo:|Tú|Hablar con una persona|Aquí responderá una persona.|Eso es todo por hoy.|Permitir|Ahora no",
  it: "Messaggio|Invia|Ferma|Non ha funzionato.|Offline.|Riprova|Ricarica la pagina.|Nuova conversazione|Chiudi|Ingrandisci|Modifica|Troppo lungo:|Tu|Parla con una persona|Qui risponderà una persona.|Per oggi è tutto.|Consenti|Non ora",
  pt: "Mensagem|Enviar|Parar|Não funcionou.|Sem conexão.|Tentar de novo|Recarregue a página.|Nova conversa|Fechar|Ampliar|Editar|Muito longo:|Você|Falar com uma pessoa|Uma pessoa responderá aqui.|Por hoje é tudo.|Permitir|Agora não",
  ro: "Mesaj|Trimite|Oprește|Nu a mers.|Offline.|Încearcă din nou|Reîncarcă pagina.|Conversație nouă|Închide|Mărește|Editează|Prea lung:|Tu|Vorbește cu o persoană|Aici va răspunde o persoană.|Atât pentru azi.|Permite|Nu acum",
  ru: "Сообщение|Отправить|Стоп|Не получилось.|Нет сети.|Повторить|Обновите страницу.|Новый разговор|Закрыть|Увеличить|Изменить|Слишком длинно:|Вы|Поговорить с человеком|Здесь ответит человек.|На сегодня это всё.|Разрешить|Не сейчас",
  uk: "Повідомлення|Надіслати|Стоп|Не вдалося.|Немає мережі.|Повторити|Оновіть сторінку.|Нова розмова|Закрити|Збільшити|Змінити|Задовго:|Ви|Поговорити з людиною|Тут відповість людина.|На сьогодні це все.|Дозволити|Не зараз",
  bg: "Съобщение|Изпрати|Стоп|Не се получи.|Няма мрежа.|Опитай пак|Презаредете страницата.|Нов разговор|Затвори|Увеличи|Промени|Твърде дълго:|Вие|Разговор с човек|Тук ще отговори човек.|Това е всичко за днес.|Разреши|Не сега",
  pl: "Wiadomość|Wyślij|Zatrzymaj|Nie udało się.|Offline.|Spróbuj ponownie|Odśwież stronę.|Nowa rozmowa|Zamknij|Powiększ|Edytuj|Za długie:|Ty|Porozmawiaj z człowiekiem|Tu odpowie człowiek.|To wszystko na dziś.|Zezwól|Nie teraz",
  cs: "Zpráva|Odeslat|Zastavit|Nepodařilo se.|Offline.|Zkusit znovu|Obnovte stránku.|Nová konverzace|Zavřít|Zvětšit|Upravit|Příliš dlouhé:|Vy|Mluvit s člověkem|Tady odpoví člověk.|Pro dnešek je to vše.|Povolit|Teď ne",
  ar: "رسالة|إرسال|إيقاف|لم ينجح ذلك.|غير متصل.|حاول مجددًا|أعد تحميل الصفحة.|محادثة جديدة|إغلاق|تكبير|تعديل|طويل جدًا:|أنت|التحدث مع شخص|سيجيب هنا شخص.|هذا كل شيء لليوم.|سماح|ليس الآن",
  el: "Μήνυμα|Αποστολή|Διακοπή|Δεν πέτυχε.|Εκτός σύνδεσης.|Δοκιμή ξανά|Φορτώστε ξανά τη σελίδα.|Νέα συνομιλία|Κλείσιμο|Μεγέθυνση|Επεξεργασία|Πολύ μεγάλο:|Εσείς|Μιλήστε με άνθρωπο|Εδώ θα απαντήσει άνθρωπος.|Αυτά για σήμερα.|Να επιτραπεί|Όχι τώρα",
  he: "הודעה|שליחה|עצירה|זה לא הצליח.|אין חיבור.|נסו שוב|טענו מחדש את הדף.|שיחה חדשה|סגירה|הגדלה|עריכה|ארוך מדי:|את/ה|לדבר עם אדם|אדם יענה כאן.|זה הכול להיום.|אישור|לא עכשיו",
  fa: "پیام|ارسال|توقف|انجام نشد.|آفلاین.|تلاش دوباره|صفحه را دوباره بارگیری کنید.|گفت‌وگوی تازه|بستن|بزرگ‌نمایی|ویرایش|خیلی طولانی:|شما|گفت‌وگو با انسان|یک انسان اینجا پاسخ می‌دهد.|برای امروز همین بود.|اجازه دادن|اکنون نه",
  tr: "Mesaj|Gönder|Durdur|Olmadı.|Çevrimdışı.|Tekrar dene|Sayfayı yenileyin.|Yeni konuşma|Kapat|Büyüt|Düzenle|Çok uzun:|Siz|Bir insanla konuş|Burada bir insan yanıt verecek.|Bugünlük bu kadar.|İzin ver|Şimdi değil",
  fi: "Viesti|Lähetä|Pysäytä|Se ei onnistunut.|Offline-tila.|Yritä uudelleen|Lataa sivu uudelleen.|Uusi keskustelu|Sulje|Suurenna|Muokkaa|Liian pitkä:|Sinä|Puhu ihmisen kanssa|Tässä vastaa ihminen.|Se oli kaikki tältä päivältä.|Salli|Ei nyt",
  hu: "Üzenet|Küldés|Leállítás|Nem sikerült.|Nincs kapcsolat.|Újra|Töltse újra az oldalt.|Új beszélgetés|Bezárás|Nagyítás|Szerkesztés|Túl hosszú:|Ön|Beszélek egy emberrel|Itt egy ember válaszol.|Mára ennyi volt.|Engedélyezés|Most nem",
  ja: "メッセージ|送信|停止|うまくいきませんでした。|オフライン|再試行|ページを再読み込みしてください。|新しい会話|閉じる|拡大|編集|長すぎます:|あなた|人と話す|ここでは人がお答えします。|本日のご利用はここまでです。|許可|今はしない",
  zh: "消息|发送|停止|操作未成功。|已离线。|重试|请刷新页面。|新对话|关闭|放大|编辑|太长:|您|联系人工|将由人工在此回复。|今天的用量已用完。|允许|暂不",
  ko: "메시지|보내기|중지|실패했습니다.|오프라인|다시 시도|페이지를 새로 고치세요.|새 대화|닫기|확대|수정|너무 깁니다:|나|사람과 이야기하기|여기서 사람이 답해 드립니다.|오늘은 여기까지입니다.|허용|지금은 안 함",
  hi: "संदेश|भेजें|रोकें|यह नहीं हो सका।|ऑफ़लाइन|फिर कोशिश करें|पेज फिर लोड करें।|नई बातचीत|बंद करें|बड़ा करें|बदलें|बहुत लंबा:|आप|किसी इंसान से बात करें|यहाँ एक इंसान जवाब देगा।|आज के लिए इतना ही।|अनुमति दें|अभी नहीं",
  th: "ข้อความ|ส่ง|หยุด|ไม่สำเร็จ|ออฟไลน์|ลองอีกครั้ง|โหลดหน้านี้ใหม่|การสนทนาใหม่|ปิด|ขยาย|แก้ไข|ยาวเกินไป:|คุณ|คุยกับเจ้าหน้าที่|เจ้าหน้าที่จะตอบที่นี่|วันนี้ใช้ครบแล้ว|อนุญาต|ไม่ใช่ตอนนี้",
  vi: "Tin nhắn|Gửi|Dừng|Không thành công.|Ngoại tuyến.|Thử lại|Hãy tải lại trang.|Cuộc trò chuyện mới|Đóng|Phóng to|Sửa|Quá dài:|Bạn|Nói chuyện với người thật|Một người sẽ trả lời ở đây.|Hôm nay đã dùng hết.|Cho phép|Để sau",
  id: "Pesan|Kirim|Hentikan|Tidak berhasil.|Luring.|Coba lagi|Muat ulang halaman.|Percakapan baru|Tutup|Perbesar|Ubah|Terlalu panjang:|Anda|Bicara dengan manusia|Seseorang akan menjawab di sini.|Jatah hari ini sudah habis.|Izinkan|Jangan sekarang",
};
