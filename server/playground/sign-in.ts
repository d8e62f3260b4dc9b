/**
 * The link that opens the playground, signed in: with a code that this process made, and that works once.
 *
 * @module
 */

import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { systemClock } from "../../core/base/clock.ts";
import { createIds, systemRandom } from "../../core/base/ids.ts";
import type { Log } from "../../core/base/log.ts";
import { commonHeaders } from "../../core/http/envelope.ts";
import type { Service } from "../../core/service.ts";
import { ApiError } from "../../core/wire/errors.ts";
import type { Answer, IncomingRequest } from "../../core/wire/request.ts";
import { splitTarget } from "../../core/wire/target.ts";
import type { Settings } from "../settings.ts";
import { signFor } from "../tokens.ts";
import { isLocal, isLoopback, showsPages } from "./pages.ts";

/** The owner of what is said in a playground that was opened by the server's link. */
const playgroundOwner = "playground";

/** How long the link, and the token that its code is exchanged for, can be used, in seconds. */
const linkSeconds = 600;

/** Signs the playground's page in. */
export interface PlaygroundSignIn {
  /** The address of the playground with a new code. The one before does not work any more. */
  link(url: string): string;
  /** The same service, beside `POST /sign-in`: a code as the Bearer token gets a JWT of ten minutes. */
  beside(service: Service): Service;
}

/**
 * Creates the way in. Undefined if there is no playground, if others could reach it, or if this process has no secret of
 * its own to sign with.
 */
export function createSignIn(
  settings: Settings,
  secret: string | undefined,
  log: Log,
  clock = systemClock,
): PlaygroundSignIn | undefined {
  if (secret === undefined || !showsPages(settings) || !isLoopback(settings.host)) return undefined;
  const path = `${settings.basePath}/sign-in`;
  const newId = createIds(clock, systemRandom);
  let code: { readonly digest: Buffer; readonly until: number } | undefined;

  const signIn = async (request: IncomingRequest, refuse: Service["refuse"]): Promise<Answer> => {
    const [, given = ""] = /^Bearer ([\w-]{1,100})$/.exec(request.headers.get("authorization") ?? "") ?? [];
    const isRight = code && timingSafeEqual(digestOf(given), code.digest) && clock.now() < code.until;
    if (!isRight || !isLocal(request.headers)) {
      const message =
        "This link was used already, or is too old: start the server again, or sign in with a key or JWT.";
      const refused = refuse(new ApiError("invalid_token", message)); // has its line of the log
      const requestId = refused.headers["X-Request-Id"];
      log("info", "audit", { action: "sign_in", result: "refused", code: "invalid_token", requestId });
      return refused;
    }
    code = undefined;
    const content = { sub: playgroundOwner, expiresInSeconds: linkSeconds };
    const token = await signFor(settings, secret, content);
    const requestId = newId("req");
    log("info", "request", { requestId, method: "POST", route: "/sign-in", status: 200 });
    log("info", "audit", { action: "sign_in", result: "done", owner: playgroundOwner, requestId });
    const headers = { ...commonHeaders(requestId), "Content-Type": "application/json; charset=utf-8" };
    return { status: 200, headers, body: JSON.stringify({ data: { token } }) };
  };

  return {
    link(url) {
      const text = randomBytes(32).toString("base64url");
      code = { digest: digestOf(text), until: clock.now() + linkSeconds * 1000 };
      return `${url}${settings.basePath}/#code=${text}`;
    },
    beside: (service) => ({
      ...service,
      answer: (request) =>
        request.method === "POST" && splitTarget(request.url).path === path
          ? signIn(request, service.refuse)
          : service.answer(request),
    }),
  };
}

function digestOf(text: string): Buffer {
  return hash("sha256", text, "buffer");
}
