/**
 * What somebody who has just started the server in a terminal can do next.
 *
 * @module
 */

import type { Settings } from "./core/settings.ts";
import type { TwinSource } from "./core/twins.ts";
import { programWords, quoteForShell } from "./server-process.ts";
import { makeToken } from "./server-tokens.ts";

/** Who the first steps are taken as. */
const firstOwner = "alice";

const json = `-H 'Content-Type: application/json'`;

/** What the server came to. */
export interface FirstStepsOptions {
  readonly settings: Settings;
  /** What this process signs JWTs with, if it does. */
  readonly secret: string | undefined;
  readonly twins: TwinSource;
  /** Where it listens. */
  readonly url: string;
}

/** Three lines for a POSIX shell: get a token, make a key, say something. Empty where there is nobody to talk to. */
export async function firstSteps({ settings, secret, twins, url }: FirstStepsOptions): Promise<string> {
  const [twin] = (await twins.list(firstOwner, { offset: 0, limit: 1 })).items;
  if (!twin) return "";
  const api = `${url}${settings.basePath}/api/v1`;
  const keyBody = `'{"name":"first steps","scope":"full_access"}'`;
  const key = `curl -s ${api}/auth/api-keys -H "Authorization: Bearer $TOKEN" ${json} -d ${keyBody}`;
  const twinBody = `'{"twinId":"${twin.id}"}'`;
  const conversation = `curl -s ${api}/conversations -H "X-API-Key: $KEY" ${json} -d ${twinBody}`;
  const stream = `${api}/conversations/$(${conversation} | ${pick("conv_")})/messages/stream`;
  return `
To talk to a twin, paste this into another terminal, in the same folder:

TOKEN=${await tokenForShell(settings, secret)}
KEY=$(${key} | ${pick("twin_")})
curl -sN ${stream} -H "X-API-Key: $KEY" ${json} -d '{"content":"Hello!"}'

`;
}

/** How a shell gets a token: by command where another process can sign one, else the token itself. */
async function tokenForShell(settings: Settings, secret: string | undefined): Promise<string> {
  const { database, jwtSecret } = settings;
  if (secret === undefined) return "'<a JWT of your identity provider>'";
  if (jwtSecret !== undefined || database.kind === "memory") {
    return makeToken(settings, { secret, sub: firstOwner, expiresInSeconds: 3600 });
  }
  const place = database.kind === "sqlite" ? ["--database", `sqlite:${database.path}`] : [];
  const words = [...programWords(), "token", "--sub", firstOwner, ...place];
  return `$(${words.map(quoteForShell).join(" ")})`;
}

/** Finds the one text in a JSON answer that begins so. */
function pick(prefix: string): string {
  return `grep -o '"${prefix}[^"]\\{16,\\}"' | tr -d '"'`;
}
