/**
 * Who asks the knowledge engine for a person gets one, where the twin hands over.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createTwinList } from "../../core/mod.ts";
import type { ConversationResource, MessageResource } from "../../core/wire/schemas.ts";
import { createKnowledgeEngine } from "../../knowledge/mod.ts";
import { openChat } from "../support/chat.ts";
import { dataOf, inProcess } from "../support/harness.ts";
import { ask, createTwin, keeper } from "./keeper.ts";

const twin = createTwin(keeper, { handover: true });

const requests: Readonly<Record<string, readonly string[]>> = {
  en: [
    "I want to talk to a human.",
    "Can I speak to a real person, please?",
    "human",
    "Agent please!",
    "This does not help. Let me talk to someone.",
    "I'd like to speak with a person about my ticket",
    "Could you connect me with an agent?",
    "Hi, I need a human",
  ],
  de: [
    "Ich möchte mit einem Menschen sprechen.",
    "Kann ich bitte mit einem Mitarbeiter reden?",
    "Mensch bitte",
    "Verbinden Sie mich mit jemandem!",
    "Ich will mit einer echten Person sprechen",
  ],
  nl: ["Ik wil met een mens praten.", "Kan ik een medewerker spreken?", "Verbind me door met een medewerker"],
  sv: ["Jag vill prata med en människa.", "Kan jag få tala med någon?"],
  da: ["Jeg vil gerne tale med et menneske.", "Må jeg snakke med en medarbejder?"],
  no: ["Jeg vil snakke med et menneske.", "Kan jeg få snakke med en medarbeider?"],
  fr: [
    "Je veux parler à un humain.",
    "Puis-je parler à une vraie personne, s'il vous plaît ?",
    "J'aimerais parler à un conseiller",
    "Passez-moi quelqu'un !",
  ],
  es: [
    "Quiero hablar con una persona.",
    "¿Puedo hablar con un agente humano?",
    "Necesito hablar con alguien",
  ],
  it: ["Vorrei parlare con una persona.", "Posso parlare con un operatore?", "Operatore"],
  pt: ["Quero falar com uma pessoa.", "Posso falar com um atendente, por favor?"],
  ro: ["Vreau să vorbesc cu o persoană.", "Pot vorbi cu un om?", "Aș dori să vorbesc cu un operator"],
  ru: [
    "Хочу поговорить с человеком.",
    "Можно поговорить с оператором?",
    "Оператор",
    "Позовите живого человека!",
  ],
  uk: ["Хочу поговорити з людиною.", "Чи можу я поговорити з оператором?"],
  bg: ["Искам да говоря с човек.", "Мога ли да говоря с оператор?"],
  pl: [
    "Chcę porozmawiać z człowiekiem.",
    "Czy mogę rozmawiać z konsultantem?",
    "Proszę mnie połączyć z konsultantem",
  ],
  cs: ["Chci mluvit s člověkem.", "Mohu mluvit s operátorem?", "Chtěl bych mluvit s někým"],
  ar: ["أريد التحدث مع إنسان.", "هل يمكنني التحدث إلى موظف؟", "أريد التحدث مع شخص حقيقي"],
  el: ["Θέλω να μιλήσω με έναν άνθρωπο.", "Μπορώ να μιλήσω με έναν υπάλληλο;"],
  he: ["אני רוצה לדבר עם בן אדם.", "אפשר לדבר עם נציג?"],
  fa: ["می‌خواهم با یک انسان صحبت کنم.", "لطفاً مرا به کارشناس وصل کنید"],
  tr: [
    "Bir insanla konuşmak istiyorum.",
    "Müşteri temsilcisine bağlanmak istiyorum",
    "Gerçek biriyle görüşebilir miyim?",
  ],
  fi: ["Haluan puhua ihmisen kanssa.", "Voinko jutella asiakaspalvelijan kanssa?"],
  hu: ["Emberrel szeretnék beszélni.", "Beszélhetek egy ügyintézővel?"],
  ja: ["人間と話したいです。", "オペレーターにつないでください。", "担当者と話せますか？", "人と話したい"],
  zh: ["我想和真人说话。", "转人工", "请帮我转接人工客服", "我要找人工", "我可以和人工客服聊聊吗？"],
  ko: ["사람과 이야기하고 싶어요.", "상담원 연결해 주세요.", "상담원과 통화할 수 있나요?"],
  hi: ["मैं किसी इंसान से बात करना चाहता हूँ।", "क्या मैं किसी व्यक्ति से बात कर सकता हूँ?"],
  th: ["ฉันอยากคุยกับคนจริงๆ", "ขอคุยกับเจ้าหน้าที่หน่อยค่ะ", "ขอติดต่อเจ้าหน้าที่"],
  vi: ["Tôi muốn nói chuyện với người thật.", "Cho tôi gặp nhân viên tư vấn"],
  id: [
    "Saya ingin berbicara dengan manusia.",
    "Bisakah saya bicara dengan orang?",
    "Hubungkan saya dengan operator",
  ],
};

for (const [language, messages] of Object.entries(requests)) {
  test(`it hands over where it is asked for a person, in the language ${language}`, async () => {
    const own = createTwin(keeper, { handover: true, language });
    for (const content of messages) {
      const { isHandedOver, events } = await ask(content, { twin: own });
      assert.equal(isHandedOver, true, content);
      assert.deepEqual(events, [], "nothing was looked for, so nothing was left unanswered");
    }
    const { text } = await ask(messages[0] ?? "", { twin: own });
    const english = await ask("human", { twin });
    assert.equal(text === english.text, language === "en", "in the twin's language");
  });
}

describe("a message that asks for no person", () => {
  for (const content of [
    "Are you a human?",
    "Is this a real person?",
    "Am I talking to a person?",
    "Bist du ein Mensch?",
    "Spreche ich mit einem Menschen?",
    "¿Eres humano?",
    "Es-tu humain ?",
    "Ты человек?",
    "你是真人吗？",
    "あなたは人間ですか？",
    "I don't want to talk to a human.",
    "Ich will nicht mit einem Menschen sprechen.",
    "Which languages does your staff speak?",
    "Sprechen die Mitarbeiter Englisch?",
    "How many people live in the lighthouse?",
    "What did the waves do to the people in the storm?",
    "When can a person visit the tower?",
    "Tell me about the lamp.",
    "Wie viele Personen dürfen auf den Turm?",
    "人工智能是什么？",
  ]) {
    test(content, async () => {
      assert.equal((await ask(content, { twin })).isHandedOver, false);
    });
  }
});

test("a section that is called Person is told, and asks for none", async () => {
  const own = createTwin("## Person\n\nOdd is a keeper.\n\n## The lamp\n\nIt turns.", { handover: true });
  const { isHandedOver, sources } = await ask("Person", { twin: own });
  assert.deepEqual([isHandedOver, sources], [false, ["Person"]]);
});

test("a twin that does not hand over neither does so nor offers it", async () => {
  const own = createTwin(keeper);
  assert.equal((await ask("I want to talk to a human.", { twin: own })).isHandedOver, false);
  assert.doesNotMatch((await ask("Do you sell xylophones?", { twin: own })).text, /person/);
});

test("what it does not know, it offers to ask a person, in the twin's language", async () => {
  const english = await ask("Do you sell xylophones?", { twin });
  assert.match(english.text, / Shall I ask a person to answer you here\?$/);
  assert.equal(english.isHandedOver, false);
  const german = createTwin("## Die Lampe\n\nSie dreht sich.", { handover: true, language: "de" });
  assert.match((await ask("Verkaufen Sie Xylophone?", { twin: german })).text, / ein Mensch antworten\?$/);
});

test("yes to that offer hands over, and to nothing else", async () => {
  const question = "Do you sell xylophones?";
  const { text } = await ask(question, { twin });
  const history = [
    { role: "user", content: question },
    { role: "assistant", content: text },
  ] as const;
  assert.equal((await ask("Yes, please!", { twin, history })).isHandedOver, true);
  assert.equal((await ask("No.", { twin, history })).isHandedOver, false);
  const later = [
    ...history,
    { role: "user", content: "No." },
    { role: "assistant", content: "Well." },
  ] as const;
  assert.equal((await ask("Yes", { twin, history: later })).isHandedOver, false);
});

test("in a conversation, a person answers from then on, and the question waits", async () => {
  const engines = { knowledge: createKnowledgeEngine() };
  const own = createTwin(keeper, { id: "scripted", handover: true });
  await using chat = await openChat(inProcess, { twins: createTwinList([own]), engines });
  const reply = await dataOf<MessageResource>(await chat.send("Can I speak to a person?"));
  assert.equal(reply.content, "I have asked a person, who will answer you here.");
  const { answeredBy, waitingSince } = await dataOf<ConversationResource>(await chat.get(""));
  assert.deepEqual([answeredBy, waitingSince], ["person", reply.createdAt]);
  assert.equal((await chat.send("Hello?")).status, 202);
});
