/**
 * Languages of southern and eastern Asia.
 *
 * @module
 */

import { stemmer as stemHindi } from "@orama/stemmers/indian";
import { stemmer as stemIndonesian } from "@orama/stemmers/indonesian";
import { stopwords as hindiStopWords } from "@orama/stopwords/indian";
import { stopwords as indonesianStopWords } from "@orama/stopwords/indonesian";
import { type Language, splitWords } from "./language.ts";

const asItIs = (word: string) => word;

export const japanese: Language = {
  code: "ja",
  stem: asItIs,
  stopWords:
    splitWords(`の に は を た が で て と し れ さ ある いる も する から な こと として い や など ない この ため その
    あの よう また もの あり まで なら へ か だ これ によって により おり より による ず なり られる において ば なかっ なく
    しかし について せ だっ その後 できる それ う ので なお のみ でき き つ における および さらに でも ら たり その他 に関する
    たち ます ん なら に対して 特に せる 及び とき では にて ほか ながら うち そして ただし かつて それぞれ または お ほど
    ものの ほとんど といった です とも ところ ここ です ました ません ましょう`),
  askingWords: `今日 今 明日 大丈夫 何 なに なん いつ どこ だれ 誰 どう どの どんな どれ どれくらい どのくらい どうやって どうすれば いくら いくつ なぜ どちら
    教え 教えて ください 下さい くださ 知り 知りたい たい 欲しい ほしい ますか ですか でしょうか ましたか って という いい よい 良い
    くらい ぐらい 場合 時 方法 できますか 私 あなた 必要 すれ したら たら さん ね よ あっ い みたい`,
  synonyms: `料金 値段 価格 いくら 費用;営業 時間 開店 閉店 何時 いつ 曜日 休み;連絡 電話 問い合わせ 番号;
    場所 住所 アクセス どこ 行き方 道順;配送 発送 届く 送料;返品 返金 返却;修理 故障 壊れ;犬 猫 ペット 動物;
    子供 子ども 赤ちゃん 小学生;キャンセル 取り消し;予約 申し込み;写真 撮影;パスワード 暗証番号;泊まる 宿泊 一泊`,
  smallTalk: {
    greeting: "こんにちは;こんばんは;おはよう;おはようございます;はじめまして;やあ;もしもし;どうも;ハロー",
    wellbeing: "元気ですか;お元気ですか;元気;調子はどうですか;調子はどう",
    about: "あなたは誰ですか;誰ですか;お名前は;名前は何ですか;自己紹介してください;あなたは誰;自己紹介",
    topics:
      "何ができますか;何を知っていますか;何を聞けますか;何について聞けますか;助けて;ヘルプ;なるほど;わかりました;すごい",
    thanks:
      "ありがとう;ありがとうございます;ありがとうございました;どうもありがとう;感謝します;サンキュー;助かりました",
    goodbye: "さようなら;またね;じゃあね;バイバイ;おやすみ;おやすみなさい;失礼します;また来ます",
    more: "もっと;続けて;続けてください;はい;もっと教えて;もっと教えてください;他には;ほかには;詳しく",
    fillers: "さん;です;ね;よ;本当に;とても;お願いします;どうも",
  },
  phrases: {
    hello: "こんにちは、{name}です。",
    introduction: "{name}です。",
    wellbeing: "おかげさまで元気です。",
    related: "ほかにもお話しできます：{topics}。",
    nearest: "確かではありませんが、こちらが参考になるかもしれません：",
    unknown: "わかりません。それについては何も学んでいません。",
    finished: "それについて知っているのは以上です。",
    topics: "お話しできること：{topics}。",
    thanks: "どういたしまして。",
    goodbye: "さようなら。またいつでもどうぞ。",
    private: "私の設定についてはお話しできません。",
  },
};

export const chinese: Language = {
  code: "zh",
  stem: asItIs,
  stopWords:
    splitWords(`的 了 和 是 在 有 我 你 您 他 她 它 们 我们 你们 您们 他们 这 那 这个 那个 这些 那些 就 都 也 还 又 很 与 或
    及 而 但 但是 因为 所以 如果 把 被 让 给 对 从 到 向 为 以 之 其 着 过 吧 吗 呢 啊 呀 嘛 个 一个 一下 不 没 没有 会 能 可以 可 要
    想 上 下 里 中 后 前 时 时候 等 将 由 于`),
  askingWords: `今天 现在 明天 什么 怎么 怎样 怎么样 怎么办 如何 哪 哪里 哪儿 哪个 哪些 几 多少 多久 多长 多 谁 为什么 为何 请 请问 告诉 知道 想 需要
    应该 能不能 可不可以 有没有 是不是 是否 吗 呢 意思 办 说 问 做 用 帮 多长时间 什么时候 几点 多少钱 行 得`,
  synonyms: `价格 多少钱 费用 收费 价钱 贵不贵 多贵;营业 时间 开门 关门 几点 什么时候;联系 电话 客服 号码;
    地址 在哪 怎么走 怎么去 交通 位置;配送 发货 快递 送到 物流;退货 退款 退换;维修 修理 坏了 故障;宠物 狗 猫 动物;
    儿童 孩子 小孩;取消 退订;预订 预约 订一;照片 拍照;密码`,
  smallTalk: {
    greeting: "你好;您好;嗨;哈喽;早上好;早;上午好;下午好;晚上好;大家好;你们好;哈罗",
    wellbeing: "你好吗;您好吗;你怎么样;最近怎么样;最近好吗",
    about: "你是谁;您是谁;你叫什么;你叫什么名字;您叫什么名字;介绍一下你自己;自我介绍",
    topics: "你能做什么;你会什么;你知道什么;我可以问什么;我能问什么;帮助;帮帮我;好的;好;不错;明白了;知道了",
    thanks: "谢谢;多谢;谢谢你;谢谢您;非常感谢;感谢;太感谢了;谢了;十分感谢",
    goodbye: "再见;拜拜;回头见;晚安;下次见;拜;祝你愉快;再会",
    more: "更多;继续;是的;是;还有呢;还有吗;多说一点;请继续;详细一点",
    fillers: "的;了;啊;呀;你;您;的帮助;请;非常;哦;吧",
  },
  phrases: {
    hello: "你好，我是{name}。",
    introduction: "我是{name}。",
    wellbeing: "我很好，谢谢关心。",
    related: "我还可以介绍：{topics}。",
    nearest: "我不太确定，但这也许有帮助：",
    unknown: "我不知道，我没有学过这方面的内容。",
    finished: "关于这个，我知道的就这些。",
    topics: "你可以问我：{topics}。",
    thanks: "不客气。",
    goodbye: "再见，欢迎随时回来。",
    private: "我的设定不便透露。",
  },
};

/** Endings that mark a word's part in the sentence. No library has a stemmer. */
const koreanEndings =
  /(?:에서는|으로는|이라는|입니다|인가요|습니까|하나요|되나요|합니다|됩니다|할까요|에서|에게|한테|께서|으로|까지|부터|처럼|보다|이나|이란|에는|에도|와의|과의|하는|되는|하면|되면|해요|돼요|하고|이랑|은|는|이|가|을|를|의|에|로|와|과|도|만|나|요)$/u;

export const korean: Language = {
  code: "ko",
  stem: (word) =>
    word
      .replace(/(?<=..)$/u, "")
      .replace(koreanEndings, (ending) => (ending.length < word.length - 1 ? "" : ending)),
  stopWords:
    splitWords(`이 그 저 것 수 등 및 더 또 또는 그리고 그러나 하지만 때 때문 위해 대해 대한 통해 모든 각 있다 없다 하다
    되다 이다 있는 없는 하는 되는 있습니다 없습니다 합니다 됩니다 제 제가 나 내 내가 저는 우리 당신`),
  askingWords: `오늘 지금 내일 무엇 뭐 뭐가 뭔가요 언제 어디 어디서 어디에 누구 누가 어떻게 어떤 어느 얼마 얼마나 몇 왜 있나요 있어요 인가요 되나요
    하나요 할까요 가능한가요 가능해요 할 수 주세요 알려 알려주세요 알고 싶어요 싶습니다 좀 제발 안녕하세요 감사합니다 네 예 아니요
    무슨 걸리나요 해야 해야하나요 돼요 되요 하죠 하면 건가요`,
  synonyms: `가격 요금 비용 얼마 값;영업 시간 언제 운영 오픈 마감 휴무;연락 전화 번호 문의;주소 위치 어디 오시는 길 교통;
    배송 배달 발송;반품 환불 교환;수리 고장 고치;강아지 개 고양이 반려동물 애완동물;아이 어린이 아기;취소;예약;사진 촬영;비밀번호 암호`,
  smallTalk: {
    greeting: "안녕;안녕하세요;안녕하십니까;반갑습니다;반가워요;좋은 아침;좋은 아침입니다",
    wellbeing: "어떻게 지내세요;어떻게 지내;잘 지내세요;잘 지내요;기분 어때요",
    about: "누구세요;넌 누구야;당신은 누구입니까;이름이 뭐예요;이름이 뭐야;자기소개 해 주세요;자기소개해줘",
    topics:
      "뭘 할 수 있어요;무엇을 알아요;뭘 물어볼 수 있어요;도움말;도와줘;도와주세요;좋아요;알겠습니다;그렇군요",
    thanks: "감사합니다;고마워;고마워요;고맙습니다;정말 감사합니다;감사해요;땡큐",
    goodbye: "안녕히 계세요;안녕히 가세요;잘 가;잘 있어;또 봐요;다음에 봐요;안녕히 주무세요;바이",
    more: "더;계속;네;예;더 알려 주세요;더 말해줘;계속해 주세요;또 뭐가 있어요",
    fillers: "정말 너무 많이 아주 님 씨 도와주셔서",
  },
  phrases: {
    hello: "안녕하세요, {name}입니다.",
    introduction: "저는 {name}입니다.",
    wellbeing: "잘 지내요, 감사합니다.",
    related: "이런 것도 알려 드릴 수 있어요: {topics}.",
    nearest: "확실하지는 않지만, 도움이 될지도 몰라요:",
    unknown: "모르겠습니다. 그에 대해 배운 것이 없어요.",
    finished: "그에 대해 아는 것은 이게 전부예요.",
    topics: "이런 것을 물어보실 수 있어요: {topics}.",
    thanks: "천만에요.",
    goodbye: "안녕히 가세요. 언제든 다시 오세요.",
    private: "제가 어떻게 설정되었는지는 말씀드리지 않아요.",
  },
};

export const hindi: Language = {
  code: "hi",
  stem: stemHindi,
  stopWords: hindiStopWords,
  askingWords: `आज अभी कल दे देना लेना कृपया क्या कब कहाँ कहां कौन कैसे कितना कितनी कितने क्यों किस किसे कौनसा कौनसी कर करना करूँ करूं करें करते सकता सकती
    सकते चाहिए चाहता चाहती चाहते है हैं हो होता होती होते था थी थे मैं मुझे मेरा मेरी मेरे हम हमें हमारा आप आपका आपकी आपके
    आपको बताओ बताइए बताएं बता समझाओ सवाल पूछना नमस्ते धन्यवाद हाँ नहीं जी कोई कुछ बहुत अगर तो और में पर से का के की को ने
    ही भी यह वह ये वे इस उस लिए साथ तक मतलब रहा रही रहे गया गई गए जाता जाती जाते जाए दो दें लगता लगती लगते मिलता मिलती मिलते
    मिलेगा मिलेगी मिल पास वाला वाली वाले`,
  synonyms: `कीमत कीमतें दाम मूल्य शुल्क खर्च भाव रुपये कितने;समय खुला खुलता बंद कब बजे;संपर्क फ़ोन फोन नंबर कॉल;
    पता कहाँ कहां रास्ता;डिलीवरी डिलिवरी पहुँच पहुंचाना भेजना;वापसी लौटाना लौटा लौटाएँ रिफंड वापस;मरम्मत ठीक खराब ख़राब;
    कुत्ता बिल्ली पालतू जानवर;बच्चा बच्चे बच्चों;रद्द कैंसिल;बुक बुकिंग आरक्षण;पैसे भुगतान`,
  smallTalk: {
    greeting: "नमस्ते;नमस्कार;हैलो;हेलो;हाय;सुप्रभात;शुभ संध्या;प्रणाम;राम राम",
    wellbeing: "आप कैसे हैं;कैसे हो;कैसे हैं;कैसे हैं आप;क्या हाल है;आप कैसी हैं",
    about: "आप कौन हैं;तुम कौन हो;आपका नाम क्या है;तुम्हारा नाम क्या है;अपना परिचय दें",
    topics: "आप क्या जानते हैं;आप क्या कर सकते हैं;मैं क्या पूछ सकता हूँ;मैं क्या पूछ सकती हूँ;मदद;मदद करें;अच्छा;ठीक है;बढ़िया",
    thanks: "धन्यवाद;शुक्रिया;बहुत धन्यवाद;बहुत बहुत धन्यवाद;बहुत शुक्रिया;आभार;थैंक्यू",
    goodbye: "अलविदा;फिर मिलेंगे;शुभ रात्रि;बाय;नमस्ते फिर मिलेंगे",
    more: "और;और बताओ;और बताइए;हाँ;जी हाँ;आगे;जारी रखें;और क्या",
    fillers: "जी का आपका मदद के लिए बहुत सब को",
  },
  phrases: {
    hello: "नमस्ते, मैं {name} हूँ।",
    introduction: "मैं {name} हूँ।",
    wellbeing: "बहुत अच्छा, पूछने के लिए धन्यवाद।",
    related: "मैं इनके बारे में भी बता सकता हूँ: {topics}.",
    nearest: "मुझे पक्का नहीं पता, पर शायद इससे मदद मिले:",
    unknown: "मुझे नहीं पता; मैंने इसके बारे में कुछ नहीं सीखा है।",
    finished: "इसके बारे में मैं बस इतना ही जानता हूँ।",
    topics: "आप मुझसे इनके बारे में पूछ सकते हैं: {topics}.",
    thanks: "आपका स्वागत है।",
    goodbye: "अलविदा, फिर आइएगा।",
    private: "मुझे कैसे तैयार किया गया, यह मैं नहीं बताता।",
  },
};

export const thai: Language = {
  code: "th",
  stem: asItIs,
  stopWords: splitWords(`กล่าว กว่า กัน กับ การ ก็ ก่อน ขณะ ขอ ของ ขึ้น คง ครั้ง ความ คือ จะ จัด จาก จึง ช่วง ซึ่ง ดัง ด้วย ด้าน
    ตั้ง ตั้งแต่ ตาม ต่อ ต่าง ต่างๆ ต้อง ถึง ถูก ถ้า ทั้ง ทั้งนี้ ทาง ที่ ที่สุด ทุก ทำ ทำให้ นอกจาก นัก นั้น นี้ น่า นำ บาง ผล
    ผ่าน พบ พร้อม มา มาก มี ยัง รวม ระหว่าง ร่วม ลง วัน ว่า สำหรับ สุด ส่ง ส่วน หนึ่ง หรือ หลัง หลังจาก หลาย หาก อยาก อยู่ อย่าง
    ออก อะไร อาจ อีก เขา เข้า เคย เฉพาะ เช่น เดียว เดียวกัน เนื่องจาก เปิดเผย เป็น เป็นการ เพราะ เพื่อ เมื่อ เรา เริ่ม เลย เห็น
    เอง แต่ แบบ แรก และ แล้ว แห่ง โดย ใน ให้ ได้ ไป ไม่ ไว้ ที`),
  askingWords: `วันนี้ ตอนนี้ พรุ่งนี้ อะไร เมื่อไหร่ เมื่อไร ที่ไหน ไหน ใคร ยังไง อย่างไร เท่าไหร่ เท่าไร กี่ ทำไม ไหม มั้ย หรือเปล่า หรือ ครับ ค่ะ คะ นะ
    ช่วย บอก อธิบาย อยาก อยากรู้ รู้ ทราบ ขอ สามารถ ต้องการ ต้อง ควร คำถาม สวัสดี ขอบคุณ ใช่ ไม่ ผม ฉัน ดิฉัน คุณ หมายถึง
    หมาย แปล นาน มาก บ้าง ตรง ตอน กี่โมง หน่อย คน สิ่ง ถาม แปลว่า เอา จะ ไร หรือไม่`,
  synonyms: `ราคา ค่าใช้จ่าย เท่าไหร่ เท่าไร ค่า บาท;เวลา เปิด ปิด กี่โมง เมื่อไหร่ หยุด;ติดต่อ โทร เบอร์ โทรศัพท์;
    ที่อยู่ ที่ไหน เดินทาง ไปยังไง;จัดส่ง ส่ง;คืนสินค้า คืนเงิน คืน;ซ่อม เสีย พัง;สุนัข หมา แมว สัตว์เลี้ยง;เด็ก ลูก;ยกเลิก;จอง`,
  smallTalk: {
    greeting: "สวัสดี;สวัสดีครับ;สวัสดีค่ะ;หวัดดี;ดีครับ;ดีค่ะ;ฮัลโหล",
    wellbeing: "สบายดีไหม;สบายดีมั้ย;เป็นอย่างไรบ้าง;เป็นไงบ้าง",
    about: "คุณเป็นใคร;คุณคือใคร;คุณชื่ออะไร;แนะนำตัวหน่อย;แนะนำตัว",
    topics: "คุณทำอะไรได้บ้าง;คุณรู้อะไรบ้าง;ถามอะไรได้บ้าง;ช่วยด้วย;ช่วยหน่อย;ดีมาก;เข้าใจแล้ว;โอเค",
    thanks: "ขอบคุณ;ขอบคุณครับ;ขอบคุณค่ะ;ขอบคุณมาก;ขอบใจ;ขอบพระคุณ",
    goodbye: "ลาก่อน;บาย;แล้วเจอกัน;แล้วพบกันใหม่;ราตรีสวัสดิ์;ฝันดี",
    more: "อีก;ต่อ;เล่าต่อ;ใช่;เล่าเพิ่ม;มีอะไรอีก;บอกเพิ่มหน่อย",
    fillers: "ครับ;ค่ะ;คะ;นะ;มาก;จ้า;เลย",
  },
  phrases: {
    hello: "สวัสดี นี่คือ {name}",
    introduction: "นี่คือ {name}",
    wellbeing: "สบายดี ขอบคุณที่ถาม",
    related: "ยังถามเรื่องเหล่านี้ได้อีก: {topics}",
    nearest: "ไม่แน่ใจนัก แต่ข้อมูลนี้อาจช่วยได้:",
    unknown: "ไม่ทราบ ไม่มีข้อมูลเกี่ยวกับเรื่องนั้น",
    finished: "นั่นคือทั้งหมดที่ทราบเกี่ยวกับเรื่องนี้",
    topics: "ถามเรื่องเหล่านี้ได้: {topics}",
    thanks: "ด้วยความยินดี",
    goodbye: "ลาก่อน แล้วพบกันใหม่",
    private: "ไม่สามารถเปิดเผยการตั้งค่าได้",
  },
};

export const vietnamese: Language = {
  code: "vi",
  stem: asItIs,
  stopWords:
    splitWords(`bị bởi cả các cái cần càng chỉ chiếc cho chứ chưa có có thể cứ của cùng cũng đã đang để đến nỗi đều điều do
    đó được dưới gì khi không là lại lên lúc mà mỗi một này nên nếu ngay nhiều như nhưng những nơi nữa phải qua ra rằng rất rồi
    sau sẽ so sự tại theo thì trên trước từ từng và vẫn vào vậy vì việc với vừa thể`),
  askingWords: `xin vui lòng ơi ạ à tôi mình bạn anh chị em muốn biết hỏi nói kể giải thích bao nhiêu bao lâu khi nào ở đâu ai gì nào
    sao tại sao thế như thế nào làm được không hay chào cảm ơn vâng dạ câu hỏi nghĩa mấy giúp`,
  synonyms: `giá phí tiền bao nhiêu đắt;giờ mở cửa đóng khi nào lịch;liên hệ điện thoại số;địa chỉ đâu đường;
    giao hàng vận chuyển;trả hoàn tiền;sửa hỏng;chó mèo thú cưng;trẻ em;hủy;đặt`,
  smallTalk: {
    greeting: "xin chào;chào;chào bạn;chào anh;chào chị;chào em;chào buổi sáng;alo",
    wellbeing: "bạn khỏe không;bạn có khỏe không;khỏe không;bạn thế nào",
    about: "bạn là ai;anh là ai;chị là ai;bạn tên gì;bạn tên là gì;giới thiệu về bạn",
    topics:
      "bạn biết gì;bạn làm được gì;bạn có thể làm gì;tôi có thể hỏi gì;giúp tôi;giúp với;tốt;hay quá;được rồi",
    thanks: "cảm ơn;cám ơn;cảm ơn bạn;cảm ơn nhiều;xin cảm ơn;cảm ơn rất nhiều",
    goodbye: "tạm biệt;hẹn gặp lại;chúc ngủ ngon;bái bai;chúc một ngày tốt lành",
    more: "thêm;tiếp;tiếp tục;vâng;có;nói thêm;kể thêm;còn gì nữa",
    fillers: "bạn anh chị em nhé ạ rất nhiều đã giúp đỡ nha",
  },
  phrases: {
    hello: "Xin chào, tôi là {name}.",
    introduction: "Tôi là {name}.",
    wellbeing: "Tôi khỏe, cảm ơn bạn.",
    related: "Tôi cũng có thể nói về: {topics}.",
    nearest: "Tôi không chắc, nhưng điều này có thể giúp:",
    unknown: "Tôi không biết; tôi chưa học gì về điều đó.",
    finished: "Đó là tất cả những gì tôi biết về điều này.",
    topics: "Bạn có thể hỏi tôi về: {topics}.",
    thanks: "Không có gì.",
    goodbye: "Tạm biệt, hẹn gặp lại.",
    private: "Tôi không chia sẻ cách mình được thiết lập.",
  },
};

export const indonesian: Language = {
  code: "id",
  stem: stemIndonesian,
  stopWords: indonesianStopWords,
  askingWords: `tolong mohon bisa bisakah dapat apakah apa kapan dimana mana siapa berapa kenapa mengapa bagaimana gimana ingin mau
    perlu harus tahu tau katakan jelaskan pertanyaan halo hai terima kasih ya tidak ada saya aku anda kamu lama banyak kah`,
  synonyms: `harga biaya tarif berapa mahal;jam buka tutup kapan jadwal;kontak telepon nomor;alamat lokasi dimana;
    pengiriman kirim antar;pengembalian kembali refund;perbaikan rusak;anjing kucing hewan;anak bayi;batal;pesan reservasi`,
  smallTalk: {
    greeting: "halo;hai;hei;selamat pagi;selamat siang;selamat sore;selamat malam",
    wellbeing: "apa kabar;bagaimana kabarmu;bagaimana kabar anda;gimana kabarnya",
    about: "siapa kamu;siapa anda;kamu siapa;anda siapa;siapa namamu;perkenalkan dirimu",
    topics:
      "kamu tahu apa;apa yang kamu tahu;apa yang bisa kamu lakukan;apa yang bisa saya tanyakan;bantuan;bantu saya;bagus;oke;baik",
    thanks: "terima kasih;makasih;terima kasih banyak;trims;thanks",
    goodbye: "selamat tinggal;sampai jumpa;dadah;sampai nanti;selamat tidur",
    more: "lagi;lanjut;lanjutkan;ya;ceritakan lagi;apa lagi;selengkapnya",
    fillers: "dan atas bantuannya bantuan banyak ya kak sekali",
  },
  phrases: {
    hello: "Halo, saya {name}.",
    introduction: "Saya {name}.",
    wellbeing: "Sangat baik, terima kasih.",
    related: "Saya juga bisa bercerita tentang: {topics}.",
    nearest: "Saya tidak yakin, tetapi mungkin ini membantu:",
    unknown: "Saya tidak tahu; saya belum belajar tentang itu.",
    finished: "Itu semua yang saya tahu tentang itu.",
    topics: "Anda bisa bertanya tentang: {topics}.",
    thanks: "Sama-sama.",
    goodbye: "Sampai jumpa lagi.",
    private: "Bagaimana saya diatur tidak saya bagikan.",
  },
};
