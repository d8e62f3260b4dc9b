/**
 * What documents repeat from the code: error codes, limits, the first stream; and where links lead.
 */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { maxHeaderBytes, maxHeaderFields } from "../../adapters/servers/header-section.ts";
import { openTwinFiles } from "../../adapters/twin-files/mod.ts";
import { routes } from "../../core/api/routes.ts";
import { noLog } from "../../core/base/log.ts";
import { maxBodyBytes } from "../../core/http/body.ts";
import { defaultRequestsPerHour } from "../../core/http/rate-limit.ts";
import { errorCodes, errorStatus } from "../../core/wire/errors.ts";
import {
  createApiKeySchema,
  createConversationSchema,
  pageQuerySchema,
  sendMessageSchema,
} from "../../core/wire/schemas.ts";
import { createKnowledgeEngine } from "../../knowledge/mod.ts";
import { eventsOf, inProcess, openFixture } from "../support/harness.ts";
import { brokenLinks } from "./links.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

function read(path: string): Promise<string> {
  return readFile(new URL(`../../${path}`, import.meta.url), "utf8");
}

describe("documents", () => {
  test("errors.md lists every error code with its status, and no others", async () => {
    const rows = [...(await read("docs/errors.md")).matchAll(/^\| `(\w+)` \| (\d{3}) \|/gm)];
    assert.deepEqual(
      rows.map(([, code, status]) => [code, Number(status)]),
      errorCodes.map((code) => [code, errorStatus(code)]),
    );
  });

  test("errors.md states the limits that schemas and servers set", async () => {
    const document = await read("docs/errors.md");
    const { name, expiresInDays } = createApiKeySchema.properties;
    const { title, twinId } = createConversationSchema.properties;
    const limits: readonly (readonly [what: string, most: string])[] = [
      ["`content` of a message", `${told(sendMessageSchema.properties.content.maxLength)} characters`],
      ["`title` of a conversation", `${told(title.maxLength)} characters`],
      ["`twinId`", `${told(twinId.maxLength)} characters`],
      ["`name` of an API key", `${told(name.maxLength)} characters`],
      ["`expiresInDays` of an API key", told(expiresInDays.maximum)],
      ["`limit`, the items of a page", told(pageQuerySchema.properties.limit.maximum)],
      ["a body", `${maxBodyBytes / 1024} KiB`],
      ["header fields", `${maxHeaderFields}, of ${maxHeaderBytes / 1024} KiB together`],
      [
        "requests with a key in an hour",
        `${defaultRequestsPerHour.read_only} (\`read_only\`), ${defaultRequestsPerHour.full_access} (\`full_access\`)`,
      ],
    ];
    for (const [what, most] of limits) assert.ok(document.includes(`\n| ${what} | ${most} |\n`), what);
  });

  test("api.md's table lists every endpoint with its method", async () => {
    const [, table = ""] = (await read("docs/api.md")).split("| endpoint | |\n");
    const listed: string[] = [];
    for (const [, cell = ""] of (table.split("\n\n")[0] ?? "").matchAll(/^\| (`[^|]+) \|/gm)) {
      let methods: string[] = [];
      for (const [, method = "", path] of cell.matchAll(/`([A-Z]+)(?: ([^`?]+)[^`]*)?`/g)) {
        methods.push(method);
        if (path === undefined) continue;
        listed.push(...methods.map((each) => `${each} ${path}`));
        methods = [];
      }
    }
    const expected = routes
      .filter(({ path }) => path.startsWith("/api/v1/") && !path.startsWith("/api/v1/openapi"))
      .map(({ method, path }) => `${method} ${path.slice("/api/v1".length)}`);
    assert.deepEqual(listed.sort(), expected.sort());
  });

  test("api.md's first stream shows the events that its command prints", async () => {
    const document = await read("docs/api.md");
    const [, question = ""] = /-d '\{"content": "(.+?)"\}'/.exec(document) ?? [];
    const printed = [...document.matchAll(/^id: (\d+)\ndata: \{"type":"(\w+)"(?:.*?"stage":"(\w+)")?/gm)];

    const engines = { knowledge: createKnowledgeEngine() };
    const twins = await openTwinFiles(`${root}twins`, { defaultEngine: "knowledge", engines, log: noLog });
    await using fixture = await openFixture(inProcess, { twins, engines });
    const key = await fixture.key();
    const conversation = await fixture.conversation(key, "guide");
    const path = `/conversations/${conversation}/messages/stream`;
    const events = await eventsOf(await fixture.call("POST", path, key, { content: question }));
    await twins.close();
    assert.deepEqual(
      printed.map(([, id, type, stage]) => [Number(id), type, stage]),
      events.map(({ id, data }) => [
        id,
        data.type,
        data.type === "progress" ? data.progress.stage : undefined,
      ]),
    );
  });

  test("their links are not broken", () => {
    assert.deepEqual(brokenLinks(root), []);
  });
});

/** A number as documents write it. */
function told(number: number): string {
  return number.toLocaleString("en");
}
