import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createTwinList, type TwinSource } from "../../core/mod.ts";
import type { Pagination, TwinResource } from "../../core/wire/schemas.ts";
import { createManualClock } from "../support/clock.ts";
import {
  assertErrorAnswer,
  assertRefusedField,
  dataOf,
  inProcess,
  listIds,
  newTwin,
  openFixture,
  transports,
} from "../support/harness.ts";

for (const transport of transports) {
  describe(`twins, ${transport.name}`, () => {
    test("a list has the twins that the owner may use, by name", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key("read_only", "alice");
      const response = await fixture.call("GET", "/twins", key);
      assert.equal(response.status, 200);
      const { data, pagination } = (await response.json()) as { data: TwinResource[]; pagination: unknown };
      assert.deepEqual(
        data.map(({ id }) => id),
        ["echo", "private"],
      );
      assert.deepEqual(pagination, { page: 1, limit: 20, total: 2, totalPages: 1, hasMore: false });
    });

    test("a twin has only its public fields", async () => {
      await using fixture = await openFixture(transport);
      const response = await fixture.call("GET", "/twins/echo", await fixture.key("read_only"));
      assert.equal(response.status, 200);
      assert.deepEqual(await response.json(), {
        data: {
          id: "echo",
          name: "Echo",
          description: null,
          avatarUrl: null,
          greeting: null,
          handover: false,
          tags: [],
          createdAt: "2026-01-02T03:04:05.678Z",
          updatedAt: "2026-01-02T03:04:05.678Z",
        },
      });
    });

    test("a twin that the owner may not use gets the same answer as one that does not exist", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key("read_only", "mallory");
      assert.deepEqual(await listIds(fixture, key, "/twins"), ["echo"]);
      const refusals = ["private", "nowhere"].map(async (id) => {
        const response = await fixture.call("GET", `/twins/${id}`, key);
        const { requestId, ...error } = await assertErrorAnswer(response, 404, "twin_not_found");
        return error;
      });
      const [hidden, missing] = await Promise.all(refusals);
      assert.deepEqual(hidden, missing);
    });

    test("pages divide the list without gaps or overlaps", async () => {
      const names = ["b", "B", "a", "ä", "a"];
      const twins = createTwinList(names.map((name, index) => newTwin({ id: `t${index}`, name })));
      await using fixture = await openFixture(transport, { twins });
      const key = await fixture.key("read_only");
      const pages = [];
      for (const page of [1, 2, 3, 4]) {
        const response = await fixture.call("GET", `/twins?page=${page}&limit=2`, key);
        const { data, pagination } = (await response.json()) as { data: TwinResource[]; pagination: object };
        assert.deepEqual(pagination, { page, limit: 2, total: 5, totalPages: 3, hasMore: page < 3 });
        pages.push(data.map(({ id }) => id));
      }
      assert.deepEqual(pages, [["t1", "t2"], ["t4", "t0"], ["t3"], []]);
      const whole = await fixture.call("GET", "/twins?limit=5", key);
      const { pagination } = (await whole.json()) as { pagination: object };
      assert.deepEqual(pagination, { page: 1, limit: 5, total: 5, totalPages: 1, hasMore: false });
    });

    test("the smallest and largest page and limit are accepted", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key("read_only");
      for (const query of ["page=1", "limit=1", "limit=100", "page=999999999&limit=100", "color=blue", ""]) {
        const response = await fixture.call("GET", `/twins?${query}`, key);
        assert.equal(response.status, 200, query);
      }
    });

    const refused = ["0", "-1", "+1", "01", "1.0", "1e1", "", "abc", "%31%30%30%30%30%30%30%30%30%30", "１"];
    for (const name of ["page", "limit"]) {
      test(`${name} is refused unless it is a whole number in its range, given once`, async () => {
        await using fixture = await openFixture(transport);
        const key = await fixture.key("read_only");
        const range = name === "limit" ? "from 1 to 100" : "from 1 to 999999999";
        const queries = refused.map((value) => [`${name}=${value}`, `must be a whole number ${range}`]);
        if (name === "limit") queries.push(["limit=101", `must be a whole number ${range}`]);
        for (const [query, message] of [...queries, [`${name}=1&${name}=1`, "must be given once"]]) {
          const response = await fixture.call("GET", `/twins?${query}`, key);
          assert.equal(await assertRefusedField(response, name, query), message);
        }
      });
    }

    test("an id may be escaped in the path, and is never split at an escaped slash", async () => {
      const twins = createTwinList([newTwin({ id: "a/b c" }), newTwin({ id: "ä" })]);
      await using fixture = await openFixture(transport, { twins });
      const key = await fixture.key("read_only");
      for (const [path, id] of [
        ["a%2Fb%20c", "a/b c"],
        ["%C3%A4", "ä"],
      ]) {
        const twin = await dataOf<TwinResource>(await fixture.call("GET", `/twins/${path}`, key));
        assert.equal(twin.id, id);
      }
    });
  });
}

test("empty pages with different numbers or lengths are not confused", async () => {
  await using fixture = await openFixture(inProcess);
  const key = await fixture.key("read_only");
  for (const [page, limit] of [
    [5, 20],
    [6, 20],
    [5, 20],
    [5, 30],
  ]) {
    const answer = await fixture.call("GET", `/twins?page=${page}&limit=${limit}`, key);
    const { pagination } = (await answer.json()) as { pagination: Pagination };
    assert.deepEqual([pagination.page, pagination.limit], [page, limit]);
  }
});

test("a page is current even if its source changes the array that it returned before", async () => {
  const items = [newTwin({ id: "a" }), newTwin({ id: "b" })];
  const told = { items, total: 2 };
  const twins: TwinSource = { list: async () => told, get: async () => undefined };
  await using fixture = await openFixture(inProcess, { twins });
  const key = await fixture.key("read_only");
  const page = async () => {
    const answer = await fixture.call("GET", "/twins", key);
    const { data, pagination } = (await answer.json()) as { data: TwinResource[]; pagination: Pagination };
    return [data.map(({ name }) => name), pagination.total];
  };
  assert.deepEqual(await page(), [["a", "b"], 2]);
  items[1] = newTwin({ id: "b", name: "Bert" });
  assert.deepEqual(await page(), [["a", "Bert"], 2]);
  items.push(newTwin({ id: "c", name: "Carl" }));
  assert.deepEqual(await page(), [["a", "Bert", "Carl"], 2]);
  told.total = 3;
  assert.deepEqual(await page(), [["a", "Bert", "Carl"], 3]);
});

describe("a list of twins", () => {
  const ada = { id: "ada", name: "Ada", engine: "echo" };

  test("needs of a twin only an id, a name and an engine; the rest is blank, and it is as old as the list", async () => {
    const absent = { access: undefined, tags: undefined, description: undefined, updatedAt: undefined };
    for (const twin of [ada, { ...ada, ...absent }]) {
      const expected = newTwin({ ...ada, createdAt: 7, updatedAt: 7, instructions: "" });
      assert.deepEqual(await createTwinList([twin], createManualClock(7)).get("anybody", "ada"), expected);
    }
  });

  test("refuses a twin that would be misunderstood, such as one that a misspelt access opens to all", () => {
    const refused: readonly [member: Record<string, unknown>, message: RegExp][] = [
      [
        { acess: ["alice"] },
        /createTwinList: the twin "ada": acess is not known; the names are id, name, .+access/,
      ],
      [{ access: "alice" }, /the twin "ada": access must be a list of owners, or null, not "alice"\./],
      [{ tags: "coffee" }, /tags must be a list of strings/],
      [{ name: "" }, /name must be a string that is not empty, not ""/],
      [{ engine: undefined }, /engine must be .+, not undefined/],
      [{ temperature: 2.1 }, /temperature must be a number from 0 to 2, or null, not 2.1/],
      [{ temperature: "1" }, /temperature must be a number from 0 to 2, or null, not "1"/],
      [{ updatedAt: Number.NaN }, /updatedAt must be milliseconds since the epoch, not NaN/],
    ];
    for (const [member, message] of refused) {
      const twin: typeof ada = { ...ada, ...member };
      assert.throws(() => createTwinList([twin]), { name: "TypeError", message });
    }
  });

  test("has what an instance of a class inherits, such as an access that a getter computes", async () => {
    class Private {
      readonly id = "ada";
      readonly name = "Ada";
      readonly engine = "echo";
      get access() {
        return ["alice"];
      }
    }
    const twins = createTwinList([new Private()]);
    assert.equal((await twins.get("alice", "ada"))?.name, "Ada");
    assert.equal(await twins.get("bob", "ada"), undefined);
  });

  test("refuses two twins with the same id, and names it", () => {
    const twins = [newTwin({ id: "a" }), newTwin({ id: "b" }), newTwin({ id: "b" })];
    assert.throws(() => createTwinList(twins), { message: 'createTwinList: two twins have the id "b".' });
  });
});
