/**
 * What the knowledge engine answers: questions, follow-ups, small talk, and what it does not know.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { openTwinFiles } from "../../adapters/twin-files/mod.ts";
import type { HistoryMessage } from "../../core/twins/engine.ts";
import type { Twin } from "../../core/twins/twins.ts";
import { ask, createTwin, keeper, passagesOf, talk } from "./keeper.ts";

test("a question is answered with the section about it, in the twin's voice", async () => {
  const { text, sources } = await ask("How often does the lamp turn?");
  assert.equal(text, "Well now.\n\nThe lamp turns once every twelve seconds. It burned oil until 1921.");
  assert.deepEqual(sources, ["The lamp"]);
});

test("word forms, accents and small misspellings find their section", async () => {
  for (const question of ["Tell me about lamps", "the LÁMP", "What does a tiket cost?", "storms"]) {
    assert.notDeepEqual((await ask(question)).sources, [], question);
  }
});

test("a question outside the twin's knowledge gets an honest answer that offers topics", async () => {
  for (const question of [
    "Who won the world cup?",
    "What is the capital of Mongolia?",
    "Do you like cats?",
  ]) {
    const { text, sources } = await ask(question);
    assert.equal(
      text,
      "The sea keeps that to itself. Ask about **The lamp**, **Opening hours**, **Storms**.",
      question,
    );
    assert.deepEqual(sources, []);
  }
});

test("incidental words neither help nor harm", async () => {
  assert.deepEqual((await ask("Could you explain roughly how fast the lamp normally turns?")).sources, [
    "The lamp",
  ]);
  assert.deepEqual((await ask("What is the best and most typical example?")).sources, []);
  assert.deepEqual((await ask("What is the meaning?")).sources, [], "a section merely uses the word");
});

test("one shared word is not enough for an answer", async () => {
  assert.deepEqual((await ask("How do I repair the window of my Toyota?")).sources, []);
});

test("a section whose heading names half of the question is offered with a caveat", async () => {
  const { text, sources } = await ask("Is there a lamp shop?");
  assert.equal(
    text,
    "I'm not sure about that, but this may help:\n\n**The lamp**\n\nThe lamp turns once every twelve seconds. It burned oil until 1921.",
  );
  assert.deepEqual(sources, ["The lamp"]);
});

test("a question of only filler words gets no random section", async () => {
  for (const question of ["why?", "How long does it take?", "???", "and then?"]) {
    assert.deepEqual((await ask(question)).sources, [], question);
  }
});

const oddHeadings = [
  "About us",
  "Who we are",
  "What we do",
  "How it works",
  "IT",
  "C",
  "C#",
  "C++",
  "Go",
  "R",
  "More",
  "Help",
  "What can you do?",
  "€",
  "営業時間",
];

const office = createTwin(oddHeadings.map((heading) => `## ${heading}\n\nText of ${heading}.`).join("\n\n"));

/** All topics that a twin offers, collected by asking for them until no new ones come. */
async function topicsOf(twin: Twin): Promise<string[]> {
  const topics = new Set<string>();
  const history: HistoryMessage[] = [];
  for (let known = -1; known < topics.size; ) {
    known = topics.size;
    const { text } = await ask("Which topics do you know?", { twin, history });
    for (const [, topic = ""] of text.matchAll(/\*\*(.+?)\*\*/gu)) topics.add(topic);
    history.push({ role: "assistant", content: text });
  }
  return [...topics];
}

test("every topic that a twin offers is found by its own words", async () => {
  const samples = await openTwinFiles(fileURLToPath(new URL("../../twins", import.meta.url)), {
    defaultEngine: "knowledge",
  });
  const { items } = await samples.list("alice", { offset: 0, limit: 100 });
  await samples.close();
  assert.deepEqual(await topicsOf(office), oddHeadings);
  for (const twin of [...items, createTwin(keeper), office]) {
    const passages = await passagesOf(twin.instructions, twin.name);
    for (const topic of await topicsOf(twin)) {
      const [source] = (await ask(topic, { twin })).sources;
      const found = passages.find(({ heading }) => heading === source);
      assert.ok(found?.heading === topic || found?.parents.includes(topic), `${topic}: ${source}`);
    }
  }
});

test("a question that names a heading finds its section, whatever its case, punctuation and phrasing", async () => {
  for (const heading of oddHeadings.filter((odd) => /^[a-z]/iu.test(odd))) {
    for (const question of [
      ` "${heading.toUpperCase()}" ?`,
      `${heading.toLowerCase()}!`,
      `Tell me about ${heading}`,
      `And what about  ${heading.toLowerCase()}?`,
      `Please explain ${heading}.`,
      `What is \`${heading}\`?`,
      `Can you tell me something about ${heading}, please?`,
    ]) {
      assert.deepEqual((await ask(question, { twin: office })).sources, [heading], question);
    }
  }
});

test("the heading that a question names ranks above one that repeats its words", async () => {
  const twin = createTwin("## The lamp\n\nIt turns.\n\n## The lamp room lamp\n\nLamp, lamp, lamp.");
  assert.equal((await ask("Tell me about the lamp", { twin })).sources[0], "The lamp");
});

test("a heading is not found by one that differs in its symbols", async () => {
  const twin = createTwin("## C\n\nOne.\n\n## F#\n\nTwo.\n\n## €\n\nThree.");
  for (const question of ["C++", "Tell me about C#", "F", "F++", "???"]) {
    assert.deepEqual((await ask(question, { twin })).sources, [], question);
  }
});

test("a heading over sections is found by its name, and answered with all of them", async () => {
  const twin = createTwin("# About us\n\n## Staff\n\nTwo.\n\n## House\n\nOld.\n\n# The lamp\n\nIt turns.");
  const { text, sources } = await ask("about us", { twin });
  assert.deepEqual(sources, ["About us"]);
  assert.equal(text, "**Staff**\n\nTwo.\n\n**House**\n\nOld.");
});

test("of sections with the same heading, a follow-up finds the one that the conversation is about, and names both", async () => {
  const twin = createTwin("# Apples\n\n## Price\n\n1 euro.\n\n# Pears\n\n## Price\n\n2 euros.");
  const { text } = await talk(["pears", "What about price?"], twin);
  assert.equal(text, "**Pears › Price**\n\n2 euros.\n\nI can also tell you about **Apples › Price**.");
});

test('"it" and "more" refer to the current topic, even if headings are spelt like them', async () => {
  const twin = createTwin("## IT\n\nCall 42.\n\n## The lamp\n\nIt turns.\n\n## More\n\nA shop.");
  assert.deepEqual((await talk(["What is the lamp?", "explain it"], twin)).sources, ["The lamp"]);
  assert.deepEqual((await talk(["What is the lamp?", "explain IT"], twin)).sources, ["IT"]);
  assert.match((await talk(["What is the lamp?", "tell me more"], twin)).text, /^That is all I know/u);
});

test("a section is found by the questions that its comment lists, and the comment is not quoted", async () => {
  for (const question of ["when can I visit", "What's the price?"]) {
    const { text, sources } = await ask(question);
    assert.deepEqual(sources, ["Opening hours"], question);
    assert.doesNotMatch(text, /asked as|<!--/u);
  }
});

test("a shop is asked when it is open, even if only its text says so", async () => {
  const twin = createTwin("## Hours\n\nWe are open from nine to five.\n\n## Address\n\nMain Street 5.");
  for (const question of ["When are you open?", "What time do you open?"]) {
    assert.deepEqual((await talk([question], twin)).sources, ["Hours"], question);
  }
});

test("a follow-up is understood from the previous question", async () => {
  assert.deepEqual((await talk(["When is the lamp on?", "and since when?"])).sources, ["The lamp"]);
  assert.deepEqual((await talk(["How much is a ticket?", "Is it cheaper in September?"])).sources, [
    "Opening hours",
  ]);
});

test("a follow-up about something unknown is not answered from the previous question", async () => {
  assert.deepEqual((await talk(["How often does the lamp turn?", "And what about elephants?"])).sources, []);
  const long = "Do two black balls mean a storm from the south?";
  assert.deepEqual((await talk([long, "And what about elephants?"])).sources, []);
});

test("a question about something else is no follow-up, though it shares a word with the last answer", async () => {
  const bill = "You settle an invoice by bank transfer. Insurance companies pay us directly.";
  const twin = createTwin(`## Paying a bill\n\n${bill}\n\n## Delivery\n\nA parcel takes two days.`);
  for (const [before, other] of [
    ["How do I settle an invoice?", "What is the capital of France?"],
    ["How long does delivery take?", "How long does a flight to Mars take?"],
  ] as const) {
    assert.deepEqual((await talk([before, other], twin)).sources, [], other);
  }
});

test("a new topic is not drawn back to the old one", async () => {
  assert.deepEqual((await talk(["How often does the lamp turn?", "What does a ticket cost?"])).sources, [
    "Opening hours",
  ]);
});

test('"tell me more" continues with what has not been told yet, then says that this is all', async () => {
  const first = await talk(["storm signals"]);
  const second = await talk(["storm signals", "tell me more"]);
  const last = await talk(["storm signals", "tell me more", "yes please", "go on"]);
  assert.deepEqual([first.sources, second.sources], [["Storm signals"], ["The storm of 1962"]]);
  assert.match(last.text, /^That is all I know about it\./u);
});

test("a question about two things is answered from one section, with a caveat, and offers the other", async () => {
  const { text, sources } = await ask("the lamp or the ticket?");
  assert.deepEqual(sources, ["The lamp"]);
  assert.match(text, /^I'm not sure about that[\s\S]*also tell you about \*\*Opening hours\*\*/u);
});

test('two questions that "and" joins are each answered, and one question that has it stays one', async () => {
  const english =
    "## Prices\n\nA ticket costs seven euros, four for children.\n\n## Opening hours\n\nOpen from nine to five.\n\n## Bread and butter\n\nServed at eight.";
  const german =
    "## Preise\n\nEine Karte kostet sieben Euro.\n\n## Öffnungszeiten\n\nGeöffnet ist von neun bis fünf.";
  const spanish = "## Precios\n\nUna entrada cuesta siete euros.\n\n## Horario\n\nAbrimos de nueve a cinco.";
  const russian = "## Цены\n\nБилет стоит семь евро.\n\n## Часы работы\n\nОткрыто с девяти до пяти.";
  for (const [language, instructions, question, ...expected] of [
    ["en", english, "What does a ticket cost and when are you open?", "Prices", "Opening hours"],
    ["en", english, "How much is a ticket for two adults and two children?", "Prices"],
    ["en", english, "When are bread and butter served?", "Bread and butter"],
    ["de", german, "Was kostet eine Karte und wann habt ihr geöffnet?", "Preise", "Öffnungszeiten"],
    ["es", spanish, "¿Cuánto cuesta una entrada y a qué hora abrimos?", "Precios", "Horario"],
    ["ru", russian, "Сколько стоит билет и какие часы работы?", "Цены", "Часы работы"],
  ] as const) {
    const { sources } = await ask(question, { twin: createTwin(instructions, { language }) });
    assert.deepEqual(sources, expected, question);
  }
});

test("a greeting gets the twin's greeting, or its name", async () => {
  const greeting = "Ahoy!";
  assert.equal((await ask("Hello!", { twin: createTwin(keeper, { greeting }) })).text, greeting);
  assert.match((await ask("hi Odd")).text, /^Hello, I'm Odd\. Ask about \*\*The lamp\*\*/u);
});

test("a greeting with a question is answered", async () => {
  assert.deepEqual((await ask("Hi there, when does the lamp turn?")).sources, ["The lamp"]);
});

test("thanks and goodbyes get a friendly word", async () => {
  assert.equal((await ask("Thanks a lot, Odd!")).text, "Nothing to thank for.");
  assert.equal((await ask("ok bye")).text, "Goodbye, and come back any time.");
});

test("a twin introduces itself with its name and description", async () => {
  assert.match((await ask("Who are you?")).text, /^I'm Odd\. Keeps the lighthouse\. Ask about/u);
});

test("a twin's own phrases take turns", async () => {
  const twin = createTwin("## Voice\n\n- thanks: One.\n- thanks: Two.\n\n## Lamp\n\nIt turns.");
  assert.equal((await talk(["thanks"], twin)).text, "One.");
  assert.equal((await talk(["thanks", "thanks"], twin)).text, "Two.");
});

test("a twin without any text says that it doesn't know", async () => {
  const { text, sources } = await ask("What is the lamp?", { twin: createTwin("") });
  assert.equal(text, "I don't know; nothing I have learned covers that.");
  assert.deepEqual(sources, []);
});

test("a heading counts for more than a mention", async () => {
  const twin = createTwin(
    "# Tea\n\nCoffee is not tea; coffee comes later.\n\n# Coffee\n\nBlack, with a biscuit on the side.",
  );
  assert.equal((await ask("Tell me about coffee", { twin })).sources[0], "Coffee");
});

test("text in scripts without spaces is found by its parts", async () => {
  const twin = createTwin("# 灯台\n\n灯台は十二秒ごとに回ります。\n\n# 切符\n\n切符は七ユーロです。");
  assert.deepEqual((await ask("灯台は何秒で回りますか", { twin })).sources, ["灯台"]);
  assert.deepEqual((await ask("東京の天気はどうですか", { twin })).sources, []);
});

test("names of Object.prototype are ordinary words", async () => {
  assert.deepEqual((await ask("constructor __proto__ hasOwnProperty toString")).sources, []);
});

test("a refusal asks whether the nearest sections are meant, in the twin's language", async () => {
  const { text, sources } = await ask("How do I repair the window of my Toyota?", {
    twin: createTwin("## Windows\n\nWashed in May.\n\n## Doors\n\nRepaired in June.\n\n## Roof\n\nOld."),
  });
  assert.equal(
    text,
    "I don't know; nothing I have learned covers that. Perhaps you mean **Windows**, **Doors**?",
  );
  assert.deepEqual(sources, []);
  const german = createTwin("## Fenster\n\nIm Mai geputzt.\n\n## Dach\n\nAlt.", { language: "de" });
  assert.match(
    (await ask("Welches Auto passt vor das Fenster des Hauses?", { twin: german })).text,
    /\*\*Fenster\*\*/u,
  );
});

test("a refusal names the nearest section, also where its name is a letter of the phrase", async () => {
  const twin = createTwin("", { documents: [{ path: "a.md", text: "The garden is behind the house." }] });
  const { text } = await ask("Which animals may graze in the garden of the neighbours?", { twin });
  assert.equal(text, "I don't know; nothing I have learned covers that. Perhaps you mean **a**?");
});

test("the only section below a title is found, though the title's text repeats it", async () => {
  const twin = (steps: string) =>
    createTwin("", { documents: [{ path: "a.md", text: `# Printer\n\n## Changing the ink\n\n${steps}` }] });
  for (const steps of [
    "1. Open the lid.\n2. Lift.",
    "7. Open the lid.\n8. Lift.",
    "- a. Open the lid.\n- b. Lift.",
  ])
    assert.deepEqual((await ask("How do I change the ink?", { twin: twin(steps) })).sources, [
      "Changing the ink",
    ]);
  assert.deepEqual((await ask("How do I bake bread?", { twin: twin("1. Open the lid.") })).sources, []);
});

test("an item that is asked for by its name is as certain as the section around it", async () => {
  const text = "- Tower: 130\n- Garden: 90\n\nPrices of rooms";
  const twin = createTwin("", { documents: [{ path: "a.md", text }] });
  assert.match((await ask("What does the room Garden cost?", { twin })).text, /- Garden: 90$/u);
});

test("a section is found by the number that its heading begins with", async () => {
  const text = (first: string, second: string) =>
    `# Rules\n\n## ${first}\n\nTwo years.\n\n## ${second}\n\nOne month.`;
  for (const [headings, question] of [
    [["1.1 Term", "1.2 Notice"], "What does 1.2 say?"],
    [["Article 3: Term", "Article 4: Notice"], "What is in article 4?"],
    [["§ 3 Term", "§ 4 Notice"], "What does §4 mean?"],
    [["第3条 期間", "第4条 解約"], "第4条は何ですか？"],
  ] as const) {
    const twin = createTwin("", { documents: [{ path: "a.md", text: text(headings[0], headings[1]) }] });
    assert.deepEqual((await ask(question, { twin })).sources, [headings[1]], question);
  }
  const twin = createTwin("", { documents: [{ path: "a.md", text: text("§ 3 Term", "1.2 Notice") }] });
  for (const question of ["Are there 3 rooms?", "Who is 12 today?"])
    assert.deepEqual((await ask(question, { twin })).sources, [], question);
});

test("an answer that lacks a word of the question has a caveat", async () => {
  const twin = createTwin(
    "## Shoes\n\nStreet shoes are taken off in the hall.\n\n## Towels\n\nTowels lie in the bath.",
  );
  for (const question of ["Can I buy shoes in the hall?", "Where is the tower?"])
    assert.doesNotMatch((await ask(question, { twin })).text, /^(?:Street|Towels lie)/u, question);
  assert.match((await ask("Where are shoes taken off?", { twin })).text, /^Street shoes/u);
});

test("Korean nouns are found with the particles that people write onto them", async () => {
  const twin = createTwin(
    "## 조식\n\n7시부터 10시까지 드립니다.\n\n## 주차\n\n하루에 만 원입니다.\n\n## 청소 안내\n\n매주 월요일에 합니다.",
    { language: "ko" },
  );
  for (const [question, source] of [
    ["조식은 몇 시예요?", "조식"],
    ["주차장 있나요?", "주차"],
    ["청소는 언제 해요?", "청소 안내"],
    ["주차에 얼마가 들어요?", "주차"],
  ] as const)
    assert.deepEqual((await ask(question, { twin })).sources, [source], question);
});

test("words around a question never hide its answer", async () => {
  const around = (question: string) =>
    `Good evening! My name is Anna Miller, we arrive with three children from Utrecht next week. ${question} Many thanks in advance for your kind reply, Anna Miller`;
  assert.deepEqual((await ask(around("How often does the lamp turn?"))).sources, ["The lamp"]);
  assert.deepEqual((await ask(around("What does a ticket for the tower cost?"))).sources, ["Opening hours"]);
});

test("an ellipsis is about the section that was answered, with a caveat", async () => {
  const branch = (days: string, number: string) => `Open ${days}. Telephone: 0341 555 ${number}.`;
  const twin = createTwin(
    `## North branch\n\n${branch("Monday to Friday", "1234")}\n\n## South branch\n\n${branch("Tuesday", "9876")}\n\n## Fines\n\nFifty cents a week.`,
  );
  const { text } = await talk(["When is the north branch open?", "and the telephone number?"], twin);
  assert.match(text, /^I'm not sure[\s\S]+1234/u);
});

test("each paragraph of a text without headings is a passage, and others than its own are refused", async () => {
  const text = [
    "Nappies are provided by the nursery, except where parents want a special kind.",
    "Pushchairs are folded and kept in the shed behind the house.",
    "Street shoes are taken off in the hall.",
    "Toys from home stay at home, except for one cuddly animal.",
  ];
  const twin = createTwin("", { documents: [{ path: "rules.txt", text: text.join("\n\n") }] });
  assert.match((await ask("Where are pushchairs kept?", { twin })).text, /^Pushchairs(?![\s\S]*Nappies)/u);
  assert.deepEqual((await ask("Which animals live in the shed?", { twin })).sources, []);
});

test("an answer has an end, and a numbered heading is no question", async () => {
  const rules = Array.from(
    { length: 60 },
    (_, at) => `Rule ${at} says that room ${at} is swept by its guests.`,
  );
  const house = `House\n\nV. Health of the children\n\nA thermometer hangs in the kitchen.\n\nWhere is the kettle?\n\nIn the hall.\n\n${rules.join("\n\n")}`;
  const twin = createTwin("", { documents: [{ path: "house.md", text: house }] });
  for (const [question, part] of [
    ["health of the children", "thermometer"],
    ["Where is the kettle?", "In the hall"],
  ] as const) {
    const { text } = await ask(question, { twin });
    assert.ok(text.includes(part) && text.length < 1_500, `${question}: ${text.length} characters`);
  }
});
