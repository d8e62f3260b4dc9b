/**
 * What somebody who has just started the server in a terminal can do next.
 *
 * @module
 */

/** Options of {@link firstSteps}. */
export interface FirstStepsOptions {
  /** The API's address, such as `http://127.0.0.1:8787/api/v1`. */
  readonly api: string;
  /** A JWT, as a shell word: the token itself, or a command in `$( )`. */
  readonly token: string;
  /** The twin to talk to. */
  readonly twinId: string;
}

const json = `-H 'Content-Type: application/json'`;

/** Three lines for a POSIX shell: get a token, make a key, say something. */
export function firstSteps({ api, token, twinId }: FirstStepsOptions): string {
  const keyBody = `'{"name":"first steps","scope":"full_access"}'`;
  const key = `curl -s ${api}/auth/api-keys -H "Authorization: Bearer $TOKEN" ${json} -d ${keyBody}`;
  const twinBody = `'{"twinId":"${twinId}"}'`;
  const conversation = `curl -s ${api}/conversations -H "X-API-Key: $KEY" ${json} -d ${twinBody}`;
  const stream = `${api}/conversations/$(${conversation} | ${pick("conv_")})/messages/stream`;
  return `
To talk to a twin, paste this into another terminal, in the same folder:

TOKEN=${token}
KEY=$(${key} | ${pick("twin_")})
curl -sN ${stream} -H "X-API-Key: $KEY" ${json} -d '{"content":"Hello!"}'

`;
}

/** Finds the one text in a JSON answer that begins so. */
function pick(prefix: string): string {
  return `grep -o '"${prefix}[^"]\\{16,\\}"' | tr -d '"'`;
}
