/**
 * Reading messages in SQL. A conversation's messages are numbered from 0 without gaps (`seq`), so that no page or total
 * needs to be counted.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import {
  lengthOf,
  type MessagePath,
  type MessageRanges,
  pathTo,
  placeOn,
  placesOf,
  rangesAt,
} from "../../core/store/path.ts";
import {
  historySeen,
  type MessageRecord,
  mostCharactersRead,
  questionsSeen,
  type SeenMessage,
  windowOf,
  withoutFailed,
} from "../../core/store/records.ts";
import type { Listing, MessageSlice, MessageStore, Reach } from "../../core/store/store.ts";
import type { SqlDriver, SqlRow, SqlValue } from "./driver.ts";
import { historyFromRow, messageColumns, messageFromRow, pathFromRow } from "./rows.ts";

/** The store's methods that read messages. */
export function messageMethods(driver: SqlDriver): MessageStore {
  return {
    async getMessage({ owner, endUser = null }, id, { conversationId = null, skip = 0, characters }) {
      const params = [owner, id, endUser, conversationId];
      const row = await readInParts(driver, findMessage, params, { skip, characters });
      return row && messageFromRow(row);
    },

    listMessages: (reach, conversationId, slice) => listMessages(driver, reach, conversationId, slice),

    async readHistory({ owner, endUser = null }, conversationId, { after, characters }) {
      const [row] = await driver.all(countFailed, [owner, conversationId, endUser, after]);
      if (!row) return [];
      const seq = Number(row.seq);
      const current = pathFromRow(row);
      const path = await findPath(driver, conversationId, seq, current);
      if (Number(row.alone_count) > 0 || Number(row.has_told) > 0)
        return readMixedHistory(driver, { owner, conversationId, path, characters });
      let failed = Number(row.failed);
      if (current && failed > 0) {
        const rows = await driver.all(failedBefore, [conversationId, seq]);
        failed = rows.filter((each) => placeOn(path, Number(each.seq)) !== undefined).length;
      }
      const length = lengthOf(path, 0);
      const wanted = 2 * questionsSeen(length / 2 - failed);
      const newestFirst: SqlRow[] = [];
      let left = characters;
      // One portion is nearly always enough, as few have failed. It is even, and so ends with a question.
      for (let last = length; last > 0 && newestFirst.length < wanted; last -= wanted) {
        const first = Math.max(last - wanted, 0);
        const read = await readRanges(
          driver,
          historyIn.desc,
          [owner, conversationId],
          rangesAt(path, first, last),
          left,
        );
        left -= charactersOf(read);
        newestFirst.push(...answered(left < 0 ? [] : read.slice(0, read.length - (read.length % 2))));
        if (read.length < last - first || left <= 0) break;
      }
      return newestFirst.slice(0, wanted).reverse().map(historyFromRow);
    },
  };
}

/**
 * The history of a path on which messages stand alone, so that places do not tell questions from replies, or something else
 * is told in a question's place.
 */
async function readMixedHistory(
  driver: SqlDriver,
  of: { owner: string; conversationId: string; path: MessageRanges; characters: number },
): Promise<readonly SeenMessage[]> {
  const { owner, conversationId, path, characters } = of;
  const rows: SqlRow[] = [];
  for (const range of path) rows.push(...(await driver.all(marksIn, [conversationId, ...range])));
  const marks = rows.map((row) => ({
    seq: Number(row.seq),
    role: String(row.role) as MessageRecord["role"],
    status: String(row.status) as MessageRecord["status"],
    alone: Number(row.alone) === 1,
    told: Number(row.is_silent) === 1 ? "" : null,
  }));
  const ranges: [number, number][] = [];
  for (const { seq } of windowOf(withoutFailed(marks))) {
    const last = ranges.at(-1);
    if (last?.[1] === seq) last[1]++;
    else ranges.push([seq, seq + 1]);
  }
  const newestFirst = await readRanges(driver, toldIn.desc, [owner, conversationId], ranges, characters);
  return historySeen(newestFirst.reverse().map(historyFromRow), characters);
}

const marksIn = `SELECT seq, role, status, alone, CASE told WHEN '' THEN 1 ELSE 0 END AS is_silent FROM messages
  WHERE conversation_id = $1 AND seq >= $2 AND seq < $3 ORDER BY seq`;

async function listMessages(
  driver: SqlDriver,
  { owner, endUser }: Reach,
  conversationId: string,
  slice: MessageSlice,
): Promise<Listing<MessageRecord> | undefined> {
  const [row] = await driver.all(
    `SELECT log_length, path,
      (SELECT seq FROM messages WHERE owner = $1 AND id = $4 AND conversation_id = $2) AS after_seq
      FROM conversations WHERE owner = $1 AND id = $2 AND (end_user = $3 OR $3 IS NULL)`,
    [owner, conversationId, endUser ?? null, slice.after ?? null],
  );
  if (!row) return undefined;
  const path = slice.path === "all" ? null : pathFromRow(row);
  const after = row.after_seq === null ? undefined : placeOn(path, Number(row.after_seq));
  if (slice.after !== undefined && after === undefined) return undefined;
  // Limited to the messages that there were: more may have been added since.
  const { first, last, total } = placesOf(slice, lengthOf(path, Number(row.log_length)), after);
  const ranges = rangesAt(path, first, last);
  const rows = await readRanges(
    driver,
    messagesIn[slice.order],
    [owner, conversationId],
    ranges,
    slice.characters,
  );
  // Messages are only deleted with their conversation: if some are missing now, the conversation is gone.
  const expected = Math.min(last - first, 1);
  return rows.length < expected ? undefined : { items: rows.map(messageFromRow), total };
}

/** How many characters of messages one statement reads: SQLite takes 10 to 20 ms for them, PostgreSQL's driver 5 MB. */
const charactersAtOnce = 512 * 1024;

/**
 * The rows of some ranges, in the order of the statements: one range, where the conversation never forked. `characters`: how
 * many they may have together; the first one may have more.
 */
async function readRanges(
  driver: SqlDriver,
  statements: RangeStatements,
  params: readonly SqlValue[],
  ranges: MessageRanges,
  characters: number,
): Promise<SqlRow[]> {
  const inOrder = statements.isDescending ? [...ranges].reverse() : ranges;
  const rows: SqlRow[] = [];
  let left = characters;
  for (const [from, to] of inOrder) {
    const most = Math.min(left, charactersAtOnce);
    const found = await driver.all(statements.first, [...params, from, to, most]);
    rows.push(...found);
    if (found.length === to - from) {
      left -= charactersOf(found);
      continue; // nearly always
    }
    if (most === left) {
      // No other one fits, but there is always a first one.
      const first = statements.isDescending ? [to - 1, to] : [from, from + 1];
      const longest = rows.length === 0 && (await readOne(driver, statements, [...params, ...first]));
      if (longest) rows.push(longest);
      break;
    }
    left -= charactersOf(found);
    const rest = statements.isDescending ? [from, to - found.length] : [from + found.length, to];
    const lengths = await driver.all(statements.lengths, [...params, ...rest, left]);
    const fitting = firstUpTo(lengths, left, rows.length === 0);
    for (let read = 0; read < fitting.length; ) {
      await new Promise<void>((resume) => setImmediate(resume));
      const portion = firstUpTo(fitting.slice(read), charactersAtOnce, true);
      const seqs = portion.map(({ seq }) => Number(seq));
      const range = [...params, Math.min(...seqs), Math.max(...seqs) + 1];
      const one = portion.length === 1 && (await readOne(driver, statements, range));
      rows.push(...(one ? [one] : await driver.all(statements.all, range)));
      read += portion.length;
    }
    left -= charactersOf(fitting);
    if (fitting.length < to - from - found.length) break;
  }
  return rows;
}

/** Reads the only message of a range, however long it is. */
async function readOne(
  driver: SqlDriver,
  { part }: RangeStatements,
  params: readonly SqlValue[],
): Promise<SqlRow | undefined> {
  const row = await readInParts(driver, part, params, { skip: 0, characters: mostCharactersRead });
  return row && { ...row, characters: String(row.content).length }; // to count them would take as long as to read them
}

/** How many characters of one text a statement reads: of four bytes each, they take SQLite 10 to 20 ms. */
const partLength = 256 * 1024;

/**
 * Reads a row whose text may be long, a part at a time: others have their turn in between. `sql`: has the first character's
 * number and how many to read as `$5` and `$6`.
 */
async function readInParts(
  driver: SqlDriver,
  sql: string,
  params: readonly SqlValue[],
  { skip, characters }: { readonly skip: number; readonly characters: number },
): Promise<SqlRow | undefined> {
  const read = async (done: number) => {
    const most = Math.min(characters - done, partLength);
    return (await driver.all(sql, [...params, skip + done + 1, most]))[0];
  };
  const first = await read(0);
  if (!first) return undefined;
  let content = String(first.content);
  let { length } = content; // at least as many as characters
  for (let done = partLength; length >= partLength && done < characters; done += partLength) {
    await new Promise<void>((resume) => setImmediate(resume));
    const next = await read(done);
    if (!next) return undefined;
    const isSame = next.status === first.status && next.attempt === first.attempt;
    if (!isSame) return readInParts(driver, sql, params, { skip, characters }); // it has become another text
    const part = String(next.content);
    content += part;
    length = part.length;
  }
  return { ...first, content };
}

function charactersOf(rows: readonly SqlRow[]): number {
  return rows.reduce((sum, row) => sum + Number(row.characters), 0);
}

/** The first rows that have up to so many characters together, or the first one in any case. */
function firstUpTo(rows: readonly SqlRow[], characters: number, isFirstTaken: boolean): readonly SqlRow[] {
  let left = characters;
  const end = rows.findIndex((row, index) => {
    left -= Number(row.characters);
    return left < 0 && !(isFirstTaken && index === 0);
  });
  return end === -1 ? rows : rows.slice(0, end);
}

/**
 * Selects the messages of a range in an order: all of them, a part of the only one's text, the first that have up to `$5`
 * characters together, or how many characters each has that may be among those.
 */
interface RangeStatements {
  readonly all: string;
  readonly part: string;
  readonly first: string;
  readonly lengths: string;
  readonly isDescending: boolean;
}

function selectRange(columns: string, text = "content"): Readonly<Record<"asc" | "desc", RangeStatements>> {
  const inRange = "owner = $1 AND conversation_id = $2 AND seq >= $3 AND seq < $4";
  const columnsWith = (content: string) => columns.replace("content", `${content} AS content`);
  const selected = `SELECT ${columnsWith(text)}, length(content) AS characters FROM messages`;
  // To count characters reads the texts, but not to count bytes, of which a character has up to four.
  const mayFit = (order: string) => `${inRange} AND seq IN (
      SELECT seq FROM (
        SELECT seq, COALESCE(SUM(octet_length(content)) OVER (${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)
          AS before FROM messages WHERE ${inRange}) AS lengths
        WHERE before / 4 <= $5)`;
  const inOrder = (order: string, isDescending: boolean) => ({
    all: `${selected} WHERE ${inRange} ${order}`,
    part: `SELECT ${columnsWith(`substr(${text}, $5, $6)`)} FROM messages WHERE ${inRange}`,
    // The lengths first, by themselves: a database that sorts whole rows would have all texts in memory.
    first: `${selected} WHERE ${inRange} AND seq IN (
        SELECT seq FROM (
          SELECT seq, SUM(length(content)) OVER (${order} ROWS UNBOUNDED PRECEDING) AS up_to FROM messages
            WHERE ${mayFit(order)}) AS lengths
          WHERE up_to <= $5) ${order}`,
    lengths: `SELECT seq, length(content) AS characters FROM messages
      WHERE ${mayFit(order)} ${order}`,
    isDescending,
  });
  return { asc: inOrder("ORDER BY seq", false), desc: inOrder("ORDER BY seq DESC", true) };
}

const messagesIn = selectRange(messageColumns);
const historyIn = selectRange("role, content, status");
const toldIn = selectRange("role, content, status, alone", "COALESCE(told, content)");

/** The path to a message. Only where it leaves the current one, the conversation's branches are read. */
export async function findPath(
  driver: SqlDriver,
  conversationId: string,
  seq: number,
  current: MessagePath,
): Promise<MessageRanges> {
  const isOnCurrent = seq < 0 || placeOn(current, seq) !== undefined;
  const rows = isOnCurrent ? [] : await driver.all(branchesTo, [conversationId, seq]);
  const branches = rows.map((row) => ({ seq: Number(row.seq), from: Number(row.branch_from) }));
  return pathTo(seq, current, branches);
}

const branchesTo = `SELECT seq, branch_from FROM messages
  WHERE conversation_id = $1 AND seq <= $2 AND branch_from IS NOT NULL ORDER BY seq`;

/** What a model does not see is found in an index of its own. */
const failedBefore = `SELECT seq FROM messages WHERE conversation_id = $1 AND seq <= $2 AND status = 'failed'`;

const countFailed = `SELECT path, alone_count, has_told, seq, (SELECT count(*) FROM messages AS earlier
      WHERE conversation_id = $2 AND earlier.seq <= last.seq AND status = 'failed') AS failed
  FROM conversations JOIN messages AS last ON last.conversation_id = conversations.id AND last.id = $4
  WHERE conversations.owner = $1 AND conversations.id = $2 AND (end_user = $3 OR $3 IS NULL)`;

/** From messages, newest first, those that a model sees: replies, each followed by its question. */
function answered(rows: readonly SqlRow[]): SqlRow[] {
  return rows.filter((row, index) => {
    const { status } = (row.role === "user" ? rows[index - 1] : row) ?? {};
    return status === "completed" || status === "cancelled";
  });
}

/** Whether a message of the owner `$1` is of the end user `$3`, if that is not null. */
export const ofEndUser = `(CAST($3 AS TEXT) IS NULL OR EXISTS (
  SELECT 1 FROM conversations
    WHERE owner = $1 AND id = messages.conversation_id AND end_user = CAST($3 AS TEXT)))`;

/**
 * The conversation `$4` and the end user `$3` need to be the message's if they are not null. Both databases count characters
 * from 1.
 */
const findMessage = `SELECT ${messageColumns.replace("content", "substr(content, $5, $6) AS content")} FROM messages
  WHERE owner = $1 AND id = $2 AND conversation_id = COALESCE($4, conversation_id)
    AND ${ofEndUser}`;
