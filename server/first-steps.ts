/**
 * Shows what to do next when the server was started in a terminal.
 *
 * @module
 */

import type { TwinSource } from "../core/twins/twins.ts";
import type { PlaygroundSignIn } from "./playground/sign-in.ts";
import { posixShell } from "./process.ts";
import type { Settings } from "./settings.ts";
import { signFor, tokenCommand } from "./tokens.ts";

/** The owner in the first steps. */
const firstOwner = "alice";

const json = `-H 'Content-Type: application/json'`;

/** The running server. */
export interface FirstStepsOptions {
  readonly settings: Settings;
  /** The secret that this process signs JWTs with, if there is one. */
  readonly secret: string | undefined;
  readonly twins: TwinSource;
  /** The way into the playground. Undefined: there is none. */
  readonly signIn: PlaygroundSignIn | undefined;
  /** Where it listens. */
  readonly url: string;
}

/** A link to the playground, or three lines for a POSIX shell. */
export async function firstSteps(options: FirstStepsOptions): Promise<string> {
  const { signIn, url } = options;
  return signIn === undefined
    ? stepsInShell(options)
    : `\nOpen this in a browser within ten minutes to talk to a twin (it works once):\n\n${signIn.link(url)}\n\n`;
}

/** Get a token, create a key, send a message. Empty if there is no twin to talk to. */
async function stepsInShell({ settings, secret, twins, url }: FirstStepsOptions): Promise<string> {
  const [twin] = (await twins.list(firstOwner, { offset: 0, limit: 1 })).items;
  if (!twin) return "";
  const api = `${url}${settings.basePath}/api/v1`;
  const keyBody = `'{"name":"first steps","scope":"full_access"}'`;
  const key = `curl -s ${api}/auth/api-keys -H "Authorization: Bearer $TOKEN" ${json} -d ${keyBody}`;
  const twinBody = `'{"twinId":"${twin.id}"}'`;
  const conversation = `curl -s ${api}/conversations -H "X-API-Key: $KEY" ${json} -d ${twinBody}`;
  const stream = `${api}/conversations/$(${conversation} | ${pick("conv_")})/messages/stream`;
  return `
To talk to a twin, paste this into ${posixShell}, in the same folder:

TOKEN=${await tokenForShell(settings, secret)}
KEY=$(${key} | ${pick("twin_")})
curl -sN ${stream} -H "X-API-Key: $KEY" ${json} -d '{"content":"Hello!"}'

`;
}

/** How a shell gets a token: a command if another process can sign one, or else the token itself. */
async function tokenForShell(settings: Settings, secret: string | undefined): Promise<string> {
  const { database, jwtSecret } = settings;
  if (secret === undefined) return "'<a JWT of your identity provider>'";
  if (jwtSecret !== undefined || database.kind === "memory") {
    return signFor(settings, secret, { sub: firstOwner, expiresInSeconds: 3600 });
  }
  return `$(${tokenCommand(settings, firstOwner)})`;
}

/** A shell command that finds the one string with this prefix in a JSON answer. */
function pick(prefix: string): string {
  return `grep -o '"${prefix}[^"]\\{16,\\}"' | tr -d '"'`;
}
