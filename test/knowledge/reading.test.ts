/**
 * How the text of a twin is read and quoted: each test is a kind of text that people write.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Twin } from "../../core/twins/twins.ts";
import { createKnowledgeEngine, createKnowledgeIndex, readDocument, readHtml } from "../../knowledge/mod.ts";
import { settle } from "../support/clock.ts";
import { ask as askTwin, createTwin, talk } from "./keeper.ts";

function ask(instructions: string, content: string, fields: Partial<Twin> = {}) {
  return askTwin(content, { twin: createTwin(instructions, { description: null, ...fields }) });
}

const pairs: readonly (readonly [script: string, one: string, other: string])[] = [
  ["Katakana", "パリ", "バリ"],
  ["Devanagari", "फूल", "फल"],
  ["Thai", "ข่าว", "ข้าว"],
  ["Vietnamese", "Bàn", "Bạn"],
  ["Cyrillic", "Мой", "Мои"],
  ["Latin", "Resume", "Résumé"],
];

for (const [script, one, other] of pairs) {
  test(`words that differ in a mark are two words in ${script}`, async () => {
    const text = `## ${one}\n\nFirst.\n\n## ${other}\n\nSecond.`;
    assert.deepEqual((await ask(text, one)).sources, [one]);
    assert.deepEqual((await ask(text, other)).sources, [other]);
    assert.match((await ask(text, other)).text, /^Second\./u);
  });
}

test("a word with another mark is not taken for it, but one without accents is", async () => {
  assert.deepEqual((await ask("## パリ\n\n塔があります。", "バリ")).sources, []);
  assert.deepEqual((await ask("## फूल\n\nलाल है।", "फल")).sources, []);
  assert.deepEqual((await ask("## Öffnungszeiten\n\nAb neun.", "offnungszeiten")).sources, [
    "Öffnungszeiten",
  ]);
  assert.deepEqual((await ask("## Öffnungszeiten\n\nAb neun.", "Oeffnungszeiten")).sources, [
    "Öffnungszeiten",
  ]);
});

const installation = `## Installation

In one of these folders:

### Folder of the user

\`~/.config/odd\`

### Folder of the system

\`/etc/odd\`
`;

test("a section that introduces its parts answers with them", async () => {
  const { text, sources } = await ask(installation, "where is the installation?");
  assert.deepEqual(sources, ["Installation"]);
  assert.match(text, /In one of these folders:[\s\S]*~\/\.config\/odd[\s\S]*\/etc\/odd/u);
});

test("a section whose parts are too long names them all", async () => {
  const parts = ["North", "South", "West"].map(
    (name) => `### ${name}\n\n${`The ${name} wing is old. `.repeat(40)}`,
  );
  const { text } = await ask(`## The wings\n\nThere are three.\n\n${parts.join("\n\n")}`, "the wings");
  assert.equal(text, "There are three.\n\n- **North**\n- **South**\n- **West**");
});

const answers: readonly (readonly [form: string, faq: string])[] = [
  ["bold lines", "**Can I pay later?**\n\nWithin a month.\n\n**Do you ship abroad?**\n\nOnly to Norway."],
  ["bold first lines", "**Can I pay later?**\nWithin a month.\n\n**Do you ship abroad?**\nOnly to Norway."],
  ["labels", "Q: Can I pay later?\nA: Within a month.\n\nQ: Do you ship abroad?\nA: Only to Norway."],
  [
    "labels in paragraphs",
    "Q: Can I pay later?\n\nA: Within a month.\n\nQ: Do you ship abroad?\n\nA: Only to Norway.",
  ],
  ["question marks", "Can I pay later?\n\nWithin a month.\n\nDo you ship abroad?\n\nOnly to Norway."],
  [
    "details",
    "<details>\n<summary>Can I pay later?</summary>\n\nWithin a month.\n\n</details>\n<details><summary>Do you ship abroad?</summary>\nOnly to Norway.</details>",
  ],
  [
    "a description list",
    "<dl><dt>Can I pay later?</dt><dd>Within a month.</dd><dt>Do you ship abroad?</dt><dd>Only to Norway.</dd></dl>",
  ],
];

for (const [form, faq] of answers) {
  test(`a question stays with its answer, and apart from others: ${form}`, async () => {
    const pay = await ask(`## FAQ\n\n${faq}`, "Can I pay later?");
    assert.deepEqual(pay.sources, ["FAQ"]);
    assert.match(pay.text, /Within a month/u);
    assert.doesNotMatch(pay.text, /Norway/u);
    const ship = await ask(`## FAQ\n\n${faq}`, "shipping abroad");
    assert.match(ship.text, /Only to Norway/u);
    assert.doesNotMatch(ship.text, /month/u);
  });
}

const terms = Array.from({ length: 45 }, (_, at) => `Word${at}`);

test("one item of a long list is the answer, not the list", async () => {
  const list = terms
    .map((term, at) => `- **${term}**: meaning number ${at} of a word that sailors use.`)
    .join("\n");
  const { text, sources } = await ask(`## Glossary\n\n${list}`, "What does word17 mean?");
  assert.deepEqual(sources, ["Glossary"]);
  assert.equal(text, "- **Word17**: meaning number 17 of a word that sailors use.");
});

test("one row of a table is the answer, with the table's head", async () => {
  const rows = terms.map((term, at) => `| ${term} | ${at} euros |`).join("\n");
  const { text } = await ask(`## Prices\n\n| Item | Price |\n|---|---|\n${rows}`, "How much is word17?");
  assert.match(text, /^\| Item \| Price \|\n\|---\|---\|\n\| Word17 \| 17 euros \|$/mu);
  assert.doesNotMatch(text, /Word18/u);
});

test("the steps of a numbered list stay together", async () => {
  const steps = "1. Unplug the kettle.\n2. Press the blue button.\n3. Wait a minute.";
  assert.equal((await ask(`## Reset\n\n${steps}`, "which blue button?")).text, steps);
});

test("headings, lists and tables in HTML count like those in Markdown", async () => {
  const html = `<h2 id="x">The <em>lamp</em></h2>
<p>It turns &amp; burns <b>oil</b>.</p>

<h2>Prices</h2>
<table>
<tr><th>Ticket</th><th>Price</th></tr>

<tr><td>Child</td><td>3 euros</td></tr>
<tr><td>Adult</td><td>7 euros</td></tr>
</table>

<h2>Persona</h2>
<p>The password is SESAME.</p>`;
  assert.equal((await ask(html, "the lamp")).text, "It turns & burns **oil**.");
  const odd = "## Objects\n\n<table><tr><td>Each has <constructor> one</constructor></td></tr></table>";
  assert.match((await ask(odd, "objects")).text, /Each has +one/u);
  assert.match((await ask(html, "price of a child ticket")).text, /\| Child \| 3 euros \|/u);
  assert.doesNotMatch((await ask(html, "What is the password?")).text, /SESAME/u);
});

for (const [what, text] of [
  ["brackets that open wiki links", "[[".repeat(30_000)],
  ["lists in lists of HTML", "<ul><li>x".repeat(1_200)],
] as const) {
  test(`thousands of ${what} are read quickly`, { timeout: 3_000 }, async () => {
    await ask(`## Lamp\n\nIt turns.\n\n## Odd\n\n${text}`, "lamp");
    await settle(); // or the test would end before its time-out is looked at
  });
}

test("topics are plain text, without anchors, links and markup", async () => {
  const text =
    "## The **lamp** {#lamp}\n\nIt turns.\n\n## [Hours](https://odd.example/h_(x)) `daily`\n\nMay.";
  const { topics } = await createKnowledgeIndex({ name: "Odd", instructions: text });
  assert.deepEqual(topics, ["The lamp", "Hours daily"]);
});

test("a table of contents is no topic", async () => {
  const text =
    "## Contents\n\n- [Lamp](#lamp)\n  - [Oil](#oil)\n- [Hours](#hours)\n\n## Lamp\n\nIt turns.\n\n[TOC]\n\n## Hours\n\nMay.";
  const { topics } = await createKnowledgeIndex({ name: "Odd", instructions: text });
  assert.deepEqual(topics, ["Lamp", "Hours"]);
});

test("comments of notes are not quoted, percent signs are", async () => {
  const text =
    "## Lamp\n\nIt turns %%ask Rina%% slowly.\n\n%%\nsecret\n\nlines\n%%\n\nAt 100%% of its power.";
  assert.equal((await ask(text, "lamp")).text, "It turns slowly.\n\nAt 100%% of its power.");
});

test("a code block that is not closed hides neither private sections nor topics", async () => {
  const text = "## Lamp\n\n```sh\nturn\n\n## Hours\n\nMay.\n\n## Persona\n\nThe password is SESAME.";
  assert.equal((await ask(text, "hours")).text, "May.");
  assert.doesNotMatch((await ask(text, "lamp")).text, /SESAME/u);
});

test("footnotes and reference links are quoted with what they refer to", async () => {
  const text =
    "## Lamp\n\nIt turns[^1], see [the log][log].\n\n## Hours\n\nMay.\n\n[^1]: Since 1921.\n\n[log]: https://odd.example/log";
  assert.equal(
    (await ask(text, "lamp")).text,
    "It turns[^1], see [the log](https://odd.example/log).\n\n[^1]: Since 1921.",
  );
  assert.equal((await ask(text, "hours")).text, "May.");
});

test("images are found by their alternative text, not by their address", async () => {
  const text = "## Pictures\n\n![the old fog horn](https://odd.example/boat.png)\n\n## Lamp\n\nIt turns.";
  assert.deepEqual((await ask(text, "fog horn")).sources, ["Pictures"]);
  assert.deepEqual((await ask(text, "boat")).sources, []);
});

const desk = `## Warranty

Two years from the day you buy it.

## Error codes

The display tells what is wrong.

- E03: The door is open.
- E21: The pump is blocked.
- E-40: Too hot.

## Delivery

Within three days.
`;

test("a code is found in a sentence, and however it is written", async () => {
  for (const [question, code] of [
    ["my display shows E21", "E21"],
    ["what's e 21?", "E21"],
    ["Error E40", "E-40"],
  ] as const) {
    const { text, sources } = await ask(desk, question);
    assert.deepEqual(sources, ["Error codes"], question);
    assert.match(text, new RegExp(`- ${code}:`, "u"), question);
    assert.doesNotMatch(text, /E03/u, question);
  }
});

test("another code is not taken for it", async () => {
  assert.doesNotMatch((await ask(desk, "E22")).text, /E21/u);
});

test("a question in people's own words is answered from the section that it names", async () => {
  assert.deepEqual(
    (await ask(desk, "My battery is dead, is it covered by warranty after 18 months?")).sources,
    ["Warranty"],
  );
});

test("what a twin does not know offers what fits best first", async () => {
  const { text, sources } = await ask(
    desk,
    "can a courier from another firm bring it to my delivery robot in space?",
  );
  if (sources.length === 0) assert.match(text, /\*\*Delivery\*\*/u);
  else assert.deepEqual(sources, ["Delivery"]);
});

test("compounds are found by their parts", async () => {
  const text = "## Akkulaufzeit\n\nZehn Stunden.\n\n## Gewicht\n\nZwei Kilo.";
  assert.deepEqual((await ask(text, "Was ist mit dem Akku?")).sources, ["Akkulaufzeit"]);
});

const inOwnLanguage: readonly (readonly [
  language: string,
  text: string,
  hello: string,
  thanks: string,
  phrase: RegExp,
])[] = [
  [
    "de",
    "## Öffnungszeiten\n\nWir haben von Mai bis September geöffnet und freuen uns auf Sie.",
    "Guten Tag!",
    "Vielen Dank",
    /^Hallo, ich bin Odd\. Meine Themen: \*\*Öffnungszeiten\*\*\.$/u,
  ],
  [
    "fr",
    "## Horaires\n\nLe phare est ouvert de mai à septembre pour les visiteurs.",
    "Bonjour",
    "merci beaucoup",
    /^Bonjour, je suis Odd\./u,
  ],
  [
    "es",
    "## Horario\n\nEl faro está abierto de mayo a septiembre para los visitantes.",
    "¡Hola, buenos días!",
    "muchas gracias",
    /^Hola, soy Odd\./u,
  ],
  [
    "ru",
    "## Часы работы\n\nМаяк открыт с мая по сентябрь.",
    "Добрый день",
    "Спасибо большое!",
    /^Здравствуйте, я Odd\./u,
  ],
  [
    "ja",
    "## 営業時間\n\n灯台は五月から九月まで開いています。",
    "こんにちは！",
    "ありがとうございます",
    /^こんにちは、Oddです。/u,
  ],
  ["zh", "## 营业时间\n\n灯塔从五月到九月开放。", "你好", "谢谢你", /^你好，我是Odd。/u],
  [
    "ar",
    "## أوقات العمل\n\nالمنارة مفتوحة من مايو إلى سبتمبر.",
    "السلام عليكم",
    "شكرا جزيلا",
    /^مرحبًا، أنا Odd\./u,
  ],
  ["hi", "## समय\n\nप्रकाशस्तंभ मई से सितंबर तक खुला रहता है।", "नमस्ते", "बहुत धन्यवाद", /^नमस्ते, मैं Odd हूँ।/u],
  ["th", "## เวลาเปิด\n\nประภาคารเปิดตั้งแต่เดือนพฤษภาคมถึงกันยายน", "สวัสดีครับ", "ขอบคุณมากครับ", /^สวัสดี นี่คือ Odd/u],
  [
    "ko",
    "## 운영 시간\n\n등대는 오월부터 구월까지 열려 있습니다.",
    "안녕하세요",
    "감사합니다",
    /^안녕하세요, Odd입니다\./u,
  ],
  [
    "tr",
    "## Açılış saatleri\n\nFener mayıs ile eylül arasında her gün açık ve ziyaretçiler için ücretsiz.",
    "Merhaba",
    "teşekkür ederim",
    /^Merhaba, ben Odd\./u,
  ],
];

for (const [language, text, hello, thanks, phrase] of inOwnLanguage) {
  test(`a twin greets, thanks and refuses in its own language, guessed from its text: ${language}`, async () => {
    assert.match((await ask(text, hello)).text, phrase);
    const [english, own] = await Promise.all([ask("## Lamp\n\nIt turns.", "thanks"), ask(text, thanks)]);
    assert.notEqual(own.text, english.text);
    assert.deepEqual(own.sources, []);
    assert.doesNotMatch((await ask(text, "xyzzy qwertz")).text, /I don't know/u);
  });
}

test("the language that a twin names wins over the guess", async () => {
  const { text } = await ask("## Lamp\n\nIt turns, and it is the light of the town.", "Hello", {
    language: "de-AT",
  });
  assert.match(text, /^Hallo, ich bin Odd/u);
});

test("further documents are knowledge, with their title or file's name as a heading", async () => {
  const documents = [
    {
      path: "notes/fog-horn.md",
      text: "\ufeff---\r\ntags: [x]\r\n---\r\n\r\nIt sounds every minute.\r\n\r\n## Repairs\r\n\r\nBy Rina.",
    },
    { path: "prices.txt", text: "A ticket costs 7 euros.\n\nChildren pay nothing." },
    { path: "boats.md", text: "# The boats\n\nThree of them.\n\n## Red one\n\nIt leaks." },
  ];
  const ask2 = (question: string) => ask("You are Odd. SECRET.", question, { documents });
  assert.deepEqual((await ask2("how often does the fog horn sound?")).sources, ["fog horn"]);
  assert.deepEqual((await ask2("what does a ticket cost")).sources, ["prices"]);
  assert.match((await ask2("the boats")).text, /^Three of them\./u);
  assert.deepEqual((await ask2("tags")).sources, []);
  assert.doesNotMatch((await ask2("SECRET")).text, /SECRET/u);
});

function askDocument(path: string, text: string, content: string) {
  return ask("You are Odd.", content, { documents: [{ path, text }] });
}

test("a document is called as its front matter says, in YAML, TOML and JSON, and found by what is listed there", async () => {
  for (const frontMatter of [
    "---\ntitle: Fog horn\naliases: [siren]\n---\n",
    "\n \r\n---\ntitle: Fog horn\naliases: [siren]\n---\n",
    "---\ntitle: Fog horn\naliases: [siren]\n...\n\n---\n",
    '+++\ntitle = "Fog horn"\naliases = ["siren"]\n+++\n',
    '{\n"title": "Fog horn",\n"aliases": ["siren"]\n}\n',
  ]) {
    const text = `${frontMatter}\nIt sounds every minute.\n\n## Repairs\n\nBy Rina.`;
    assert.deepEqual((await askDocument("a.md", text, "Fog horn")).sources, ["Fog horn"]);
    assert.deepEqual((await askDocument("a.md", text, "siren")).sources, ["Fog horn"]);
    assert.doesNotMatch((await askDocument("a.md", text, "Fog horn")).text, /title|aliases/u);
  }
});

for (const [what, frontMatter] of [
  ["front matter that cannot be read", "title: [Fog\ntags: x"],
  ["front matter with a line that does not end it", "title: Fog\n--- x\ntags: x"],
  ["front matter that is nested deep", `title: Fog\nx:\n${"- ".repeat(30_000)}`],
  ["front matter with thousands of values", `title: Fog\nx: [${"a,".repeat(30_000)}]`],
  [
    "front matter whose aliases stand for too much",
    `a: &a [x]\nb: &b [${"*a,".repeat(9)}]\nc: &c [${"*b,".repeat(9)}]\nd: [${"*c,".repeat(9)}]`,
  ],
]) {
  test(`${what} is left out, and reported with its line`, async () => {
    const text = `---\n${frontMatter}\n---\n\nIt sounds every minute.`;
    const { warnings, sections } = readDocument({ path: "fog-horn.md", text });
    assert.match(warnings[0]?.message ?? "", /front matter cannot be read/u);
    assert.ok((warnings[0]?.line ?? 0) >= 2);
    assert.deepEqual(
      sections.map(({ heading }) => heading),
      ["fog horn"],
    );
  });
}

test("front matter that is not closed is text, and reported with its line", () => {
  for (const text of [
    "---\ntitle: Fog\n--- x\n\nIt sounds.",
    `---\ntitle: Fog\n\n${"It sounds.\n".repeat(9_000)}`,
  ]) {
    const { warnings, sections } = readDocument({ path: "fog-horn.md", text: `\n${text}` });
    const message = 'The front matter has no closing line "---", and is read as text.';
    assert.deepEqual(warnings, [{ line: 2, message }]);
    assert.match(JSON.stringify(sections), /title: Fog/u);
  }
  const ruled = "---\n\nIt sounds.\n\n---\n\nNote: daily.";
  assert.deepEqual(readDocument({ path: "fog-horn.md", text: ruled }).warnings, []);
});

test("what site generators add is never quoted", async () => {
  const text = `import Tabs from '@theme/Tabs';

# Lamp

{/* secret */}
It turns {% include x %}every {{ site.time }}twelve seconds.{: .note }

## Oil {#oil .wide}

Use \`{{ oil }}\` here.`;
  const lamp = await askDocument("lamp.mdx", text, "Lamp");
  assert.match(lamp.text, /^It turns every twelve seconds\./u);
  assert.match((await askDocument("lamp.mdx", text, "Oil")).text, /^Use `\{\{ oil \}\}` here\./u);
});

test("code in a line is quoted as it is written", async () => {
  const text = "## Links\n\nWrite `[[note]]` or `{{ title }}`, as in [[note|this one]].";
  assert.equal((await ask(text, "links")).text, "Write `[[note]]` or `{{ title }}`, as in this one.");
});

test("Markdown between tags and blank lines stays in the table that it is in", async () => {
  const text = "## Prices\n\n<table>\n<tr><td>Child</td><td>\n\n**3** euros\n\n</td></tr>\n</table>";
  assert.match((await ask(text, "prices")).text, /\| Child \| \*\*3\*\* euros \|/u);
});

const boxes = [
  '??? question "Can I pay later?"\n\n    Within a month.\n\n??? question "Do you ship abroad?"\n\n    Only to Norway.',
  ":::tip Can I pay later?\nWithin a month.\n:::\n\n:::tip[Do you ship abroad?]\nOnly to Norway.\n:::",
  "1. **Can I pay later?** Within a month.\n2. **Do you ship abroad?** Only to Norway.",
  "**1. Can I pay later?**\n\nWithin a month.\n\n**2. Do you ship abroad?**\n\nOnly to Norway.",
];

test("boxes and numbered questions are questions with their answers", async () => {
  for (const box of boxes) {
    const { text } = await ask(`## FAQ\n\n${box}`, "Do you ship abroad?");
    assert.match(text, /Only to Norway/u, box);
    assert.doesNotMatch(text, /month|:::|\?\?\?/u, box);
  }
});

test("words around a question change nothing", async () => {
  const text = "## Price\n\nSeven euros.\n\n## Hunde\n\nSind erlaubt.";
  for (const [question, heading] of [
    ["price pls", "Price"],
    ["Hello! What is the price? Thanks a lot", "Price"],
    ["Hi there, I hope you are well. price? Best regards, Anna", "Price"],
    ["moin, hunde ok?", "Hunde"],
  ] as const)
    assert.deepEqual((await ask(text, question)).sources, [heading], question);
});

test("several questions are each answered, or said to have no answer", async () => {
  const text = "## Price\n\nSeven euros.\n\n## Parking\n\nBehind the tower.";
  const both = await ask(text, "What is the price? Where is parking?");
  assert.deepEqual(both.sources, ["Price", "Parking"]);
  const one = await ask(text, "What is the price? Do elephants swim?");
  assert.deepEqual(one.sources, ["Price"]);
  assert.match(one.text, /\*\*Do elephants swim\?\*\*\n\nI don't know/u);
});

test("a refused question is not what the next one is about", async () => {
  const twin = createTwin("## Lamp\n\nIt turns every twelve seconds.\n\n## Parking\n\nBehind the tower.");
  assert.deepEqual((await talk(["lamp", "Do elephants swim?", "and how often?"], twin)).sources, ["Lamp"]);
});

test("another word is no misspelling, and one word of several is not certain", async () => {
  for (const [text, question] of [
    ["## Bench\n\nIt stands at the door.", "Where is the beach?"],
    ["## Hotel\n\nIt has nine rooms.", "Is there a hostel?"],
    ["## Refunds\n\nRefunds cost nothing.", "How much does the oven cost?"],
    ["## Brewing\n\nBrew coffee with water of 92 degrees.", "Is coffee bad for my heart?"],
  ] as const) {
    const { sources, text: answer } = await ask(text, question);
    if (sources.length > 0) assert.match(answer, /^I'm not sure about that/u, question);
  }
});

test("an emoji, a question mark and ok are small talk", async () => {
  for (const message of ["👍", "?", "ok"]) {
    const { events, text } = await ask("## Lamp\n\nIt turns.", message);
    assert.deepEqual(events, [], message);
    assert.match(text, /\*\*Lamp\*\*/u);
  }
});

test("the language of a short text is guessed by its script, letters and stop words", async () => {
  for (const [text, code] of [
    ["## Öffnungszeiten\n\nMontag bis Freitag.", "de"],
    ["## Horário\n\nAberto às nove, não aos domingos.", "pt"],
    ["## Часы\n\nОткрыты с девяти.", "ru"],
    ["## Години\n\nВідчинено з дев'ятої.", "uk"],
    ["## Godziny\n\nOtwarte od dziewiątej.", "pl"],
    ["## Giờ mở cửa\n\nTừ chín giờ.", "vi"],
    ["## 営業時間\n\n九時から。", "ja"],
    ["## Hours\n\nOpen from nine.", "en"],
  ] as const) {
    const index = await createKnowledgeIndex({ name: "Odd", instructions: text });
    assert.equal(index.language.code, code, text);
  }
});

test("a question of any script takes the processor in proportion to its length, with four earlier questions", async () => {
  const engine = createKnowledgeEngine();
  const sections = Array.from(
    { length: 200 },
    (_, at) => `## Topic ${at}\n\n${"𠀀".repeat(50)}${String.fromCodePoint(0x4e00 + at)}`,
  );
  const twin = createTwin(`## 价格\n\n咖啡五元。\n\n## 中\n\nIt turns.\n\n${sections.join("\n\n")}`);
  const texts = [
    [0x4e00, 20_000],
    [0x4e2d, 1], // also in the text, and as a heading
    [0x20000, 1],
    [0x3042, 80],
    [0x0e01, 46],
    [0x1780, 35],
    [0x1000, 33],
    [0x0061, 26],
  ].map(([first = 0, count = 1]) =>
    Array.from({ length: 4_000 }, (_, at) => String.fromCodePoint(first + ((at * 7919) % count))).join(""),
  );
  /** What the processor needs for an answer to this, the least of five. */
  const cost = async (content: string) => {
    const said = (role: "user" | "assistant") => ({ role, content });
    const history = [1, 2, 3, 4].flatMap(() => [said("user"), said("assistant")]);
    let least = Number.POSITIVE_INFINITY;
    for (let asked = 0; asked < 5; asked++) {
      const before = process.cpuUsage();
      await askTwin(content, { twin, history, engine });
      const { user, system } = process.cpuUsage(before);
      least = Math.min(least, user + system);
    }
    await settle();
    return least;
  };
  for (const content of [...texts, "topic 5 ".repeat(500), "zq, ".repeat(1_000)]) {
    const part = content.slice(0, content.length / 8);
    const ratio = (await cost(content)) / Math.max(await cost(part), 1_000);
    assert.ok(ratio < 32, `${content.slice(0, 9)}: ${ratio} times an eighth of it`); // a square of the length: 64
  }
});

test("what is quoted has no anchors, badges, or links and pictures that lead nowhere outside of its file", () => {
  const text = [
    "# Ada",
    '<a id="top"></a>See <a name=x></a>[setup](setup.md), [here](#top), [site](https://a.b/c) and `[code](x.md)`<br>now: 10<sup>6</sup>.',
    "[![build](https://img.shields.io/x.svg)](https://ci.test)",
    "![a map](img/map.png) ![far](https://a.b/far.png)",
    "- [one](a.md): first\n- <kbd>Ctrl</kbd>",
  ].join("\n\n");
  const { sections } = readDocument({ path: "a.md", text });
  assert.deepEqual(
    sections.flatMap(({ blocks }) => blocks.map((block) => "text" in block && block.text)),
    [
      "See setup, here, [site](https://a.b/c) and `[code](x.md)` now: 10^6.",
      "a map ![far](https://a.b/far.png)",
      "- one: first\n- Ctrl",
    ],
  );
});

test("a fence of a megabyte is text, and makes nothing fail", () => {
  for (const mark of ["`", "~"]) {
    const text = `# Ada\n\n${mark.repeat(2 ** 20)}\n\nIt turns.\n`;
    assert.doesNotThrow(() => readDocument({ path: "a.md", text }), mark);
  }
});

test("a table that is longer than what is read at once keeps its head in each row", () => {
  const rows = Array.from({ length: 20_000 }, (_, row) => `| lamp ${row} | ${row * 2} |\n`);
  const text = `Before.\n\n| lamp | oil |\n|---|---|\n${rows.join("")}`;
  const blocks = readDocument({ path: "lamps.md", text }).sections.flatMap((section) => section.blocks);
  const tables = blocks.flatMap((block) => (block.kind === "parts" ? [block] : []));
  assert.ok(tables.length > 1);
  assert.ok(tables.every(({ head }) => head === "| lamp | oil |\n|---|---|"));
  assert.deepEqual(
    tables.flatMap(({ parts }) => parts.map((part) => `${part.text}\n`)),
    rows,
  );
});

for (const [where, before, lines] of [
  ["goes on where a text is cut", 40_000, 2_000],
  ["begins a text and is longer than what is read at once", 0, 3_000],
] as const) {
  test(`code that ${where} stays code, and what follows it text`, () => {
    const code = Array.from({ length: lines }, (_, line) => `row ${line}\n\n`).join("");
    const text = `${"Some words.\n\n".repeat(before / 13)}~~~\n${code}~~~\n\n${"It turns.\n\n".repeat(4_000)}`;
    const blocks = readDocument({ path: "a.md", text }).sections.flatMap((section) => section.blocks);
    assert.deepEqual(
      blocks.flatMap((block) => (block.kind === "code" ? [`${block.text}\n`] : [])),
      [`~~~\n${code}~~~\n`],
    );
    assert.equal(blocks.filter((block) => "text" in block && block.text === "It turns.").length, 4_000);
  });
}

test("a line that is longer than what is read at once keeps all of its words", () => {
  const words = Array.from({ length: 60_000 }, (_, word) => `word${word}`).join(" ");
  const blocks = readDocument({ path: "a.md", text: `${words}\n\nIt turns.\n` }).sections.flatMap(
    (section) => section.blocks,
  );
  assert.equal(blocks.map((block) => ("text" in block ? block.text : "")).join(" "), `${words} It turns.`);
});

test("a heading may be above a line of signs, and 5,000 characters there are a paragraph", () => {
  const words = "It turns ".repeat(600).trim();
  const text = `Lamp\nand light\n===\n\nIt shines.\n\n${words}\n---\n\nOn.`;
  const [lamp] = readDocument({ path: "a.md", text }).sections;
  assert.equal(lamp?.heading, "Lamp\nand light");
  assert.deepEqual(
    lamp?.blocks.map((block) => ("text" in block ? block.text : block.kind)),
    ["It shines.", words, "rule", "On."],
  );
});

test("a comment in a long line ends where its mark does, wherever the line is cut to be read", () => {
  for (let shift = 0; shift < 8; shift++) {
    const hidden = "x".repeat(163_834 + shift);
    const text = `<!--${hidden}-->${"y".repeat(200_000)}\n\nIt turns.\n`;
    const { sections, warnings } = readDocument({ path: "a.md", text });
    assert.deepEqual(warnings, [], `${shift}`);
    assert.ok(
      sections.some(({ blocks }) => blocks.some((block) => "text" in block && block.text === "It turns.")),
    );
  }
});

test("a table of HTML that is longer than what is written at once keeps its names in each row", () => {
  const rows = Array.from(
    { length: 20_000 },
    (_, row) => `<tr><td>lamp ${row}</td><td>${row * 2}</td></tr>\n`,
  );
  const head = "<thead><tr><th>lamp</th><th>oil</th></tr></thead>";
  const text = `<p>Before.</p>\n\n<table>${head}\n<tbody>\n${rows.join("")}</tbody></table>\n\nAfter.`;
  for (const markdown of [text, readHtml(text)]) {
    const { sections } = readDocument({ path: "lamps.md", text: markdown });
    const blocks = sections.flatMap((section) => section.blocks);
    const tables = blocks.flatMap((block) => (block.kind === "parts" ? [block] : []));
    assert.ok(tables.every((table) => table.head === "| lamp | oil |\n| --- | --- |"));
    assert.deepEqual(
      tables.flatMap(({ parts }) => parts.map((part) => part.text)),
      Array.from({ length: 20_000 }, (_, row) => `| lamp ${row} | ${row * 2} |`),
    );
    assert.equal(blocks.length, tables.length + 2);
  }
});

test("long HTML without headings keeps its words and marks, and text of one column its lines", () => {
  const line = (at: number) =>
    `<p>Lamp <b>${at}</b> is 3 &lt;b than <a href="https://example.com/${at}">this</a>.</p>`;
  const cell = (at: number) => `<tr><td>Lens ${at}</td></tr>`;
  const all = (each: (at: number) => string) => Array.from({ length: 6_000 }, (_, at) => each(at)).join("\n");
  const text = `<div>${all(line)}</div>\n<table>${all(cell)}</table>`;
  const { sections } = readDocument({ path: "lamps.md", text });
  const blocks = sections.flatMap((section) => section.blocks);
  assert.deepEqual(
    blocks.map((block) => ("text" in block ? block.text : block.kind)),
    [
      ...Array.from(
        { length: 6_000 },
        (_, at) => `Lamp **${at}** is 3 \\<b than [this](https://example.com/${at}).`,
      ),
      ...Array.from({ length: 6_000 }, (_, at) => `Lens ${at}`),
    ],
  );
});

/** How many characters a text is read as. */
function charactersOf(text: string): number {
  const { sections } = readDocument({ path: "a.md", text });
  return sections
    .flatMap(({ blocks }) => blocks.map((block) => ("text" in block ? block.text.length : 0)))
    .reduce((sum, length) => sum + length, 0);
}

for (const [what, text] of [
  [
    "a cell that spans others",
    `<table><tr><td colspan=100 rowspan=2000>${"word ".repeat(2_000)}<td>b${"<tr><td>a<td>b".repeat(2_000)}</table>`,
  ],
  [
    "a cell that spans others, below each of many headings",
    "<table><tr><td colspan=100>a<td>b</table>\n\n## More\n\n".repeat(5_000),
  ],
  [
    "a row of many cells, and many of one",
    `<table><tr>${"<td>a".repeat(100)}${"<tr><td>b".repeat(50_000)}</table>`,
  ],
  [
    "long names of a long table of HTML",
    `<table><tr><th>${"name ".repeat(6_000)}<th>b${"<tr><td>a<td>b".repeat(50_000)}</table>`,
  ],
  [
    "long names of a long table",
    `|${" name |".repeat(3_000)}\n|${"-|".repeat(3_000)}\n${"| a\n".repeat(100_000)}`,
  ],
  [
    "the address that links refer to",
    `[a]: https://example.com/${"b".repeat(10_000)}\n\n${"[c][a] ".repeat(20_000)}`,
  ],
  ["a long footnote", `[^a]: ${"note ".repeat(2_000)}\n\n${"Read on.[^a]\n\n".repeat(5_000)}`],
  ["indents of what is in lists", `<div>${"<ul><li>".repeat(20)}${"<p>a</p>".repeat(20_000)}</div>`],
] as const) {
  test(`a text becomes no more than three times as long, and three million characters, by ${what}`, () => {
    const characters = charactersOf(`# Text\n\n${text}\n`);
    assert.ok(characters <= 3 * (text.length + 2 ** 20), `${text.length} became ${characters}`);
  });
}

test("a cell that spans more than may be repeated stands once, and those after it stay beside it", () => {
  const [long, other] = ["word ", "other "].map((word) => word.repeat(200_000).trim());
  const html = `<table><tr><th colspan=3>${long}<th colspan=3>${other}<tr><td>a<td>b<td>c<td>d<td>e</table>`;
  const markdown = readHtml(html).replaceAll(`${long}`, "long").replaceAll(`${other}`, "other");
  assert.equal(
    markdown,
    "| long | long | long | other |  |\n| --- | --- | --- | --- | --- |\n| a | b | c | d | e |",
  );
});

test("a long cell arranges the page, in however many tables it is", () => {
  const [nested, long] = ["<table><tr><td>b<td>".repeat(60), "word ".repeat(60_000)];
  const text = `<table><tr><td>a<td>${nested}\n\n${long}\n\n${"</table>".repeat(60)}<tr><td>c<td>d</table>`;
  const { sections } = readDocument({ path: "a.md", text });
  const words = sections.flatMap(({ blocks }) =>
    blocks.flatMap((block) => ("text" in block ? block.text.split(/\s+/u) : [])),
  );
  assert.equal(words.filter((word) => word !== "word").join(""), `a${"b".repeat(60)}cd`);
  assert.equal(words.filter((word) => word === "word").length, 60_000);
});

test("lists and quotes of thousands of levels are text, and make nothing fail", () => {
  for (const mark of ["- ", "1. ", "> ", "- > "]) {
    const text = `${mark.repeat(5_000)}deep\n`;
    assert.doesNotThrow(() => readDocument({ path: "a.md", text }), mark);
  }
});

test("marks around long spaces take no longer than the text", { timeout: 20_000 }, () => {
  const spaces = " ".repeat(30_000);
  assert.equal(
    readHtml(`<pre>${"<b>".repeat(190)}a${spaces}b${"</b>".repeat(190)}</pre>`),
    `\`\`\`\na${spaces}b\n\`\`\``,
  );
});
