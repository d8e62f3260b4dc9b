/**
 * A receiver of webhooks that speaks TLS, and sees what a client says before that begins.
 */

import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { Certificate } from "../support/certificates.ts";
import { listen } from "../support/ports.ts";

/** How a client began: in the clear, so that it does not matter whether a runtime's own server would tell. */
export interface Hello {
  /** Whose certificate it asked for. */
  readonly serverName: string | undefined;
  /** Which protocols it offered to speak. */
  readonly protocols: readonly string[];
}

/** What a receiver was told. */
export interface Seen {
  /** One for each connection. */
  readonly hellos: readonly Hello[];
  /** All that was sent under TLS, on each connection that came so far. */
  readonly sent: readonly string[];
}

export interface TlsReceiver {
  readonly port: number;
  /** Resolves once all who connected have gone. */
  close(): Promise<Seen>;
}

/** Starts a receiver that answers each request with 204, and then waits for the next one. */
export async function startTlsReceiver(certificate: Certificate, address: string): Promise<TlsReceiver> {
  const sent: string[] = [];
  const hellos: Buffer[] = [];

  const { key, cert } = certificate;
  const inside = createTlsServer({ key, cert, ALPNProtocols: ["h2", "http/1.1"] }, (socket) => {
    const index = sent.push("") - 1;
    socket.setEncoding("utf8").on("data", (text: string) => {
      sent[index] += text;
      if (sent[index]?.endsWith("}}")) socket.write("HTTP/1.1 204 No Content\r\n\r\n");
    });
    socket.on("error", () => {}); // a client that does not want to go on
  });
  const insidePort = await listen(inside);

  const outside = createServer((socket) => {
    const index = hellos.push(Buffer.alloc(0)) - 1;
    const within = connect(insidePort, "127.0.0.1");
    socket.on("data", (bytes) => {
      hellos[index] = Buffer.concat([hellos[index] ?? Buffer.alloc(0), bytes]);
    });
    // Without `pipe`, behind which what is left of one end is not read once the other one is gone, nor seen to end.
    for (const [one, other] of [
      [socket, within],
      [within, socket],
    ] as const) {
      one.on("data", (bytes) => other.write(bytes));
      one.on("error", () => {}).on("close", () => other.end());
    }
  });
  outside.listen(0, address);
  await once(outside, "listening");

  return {
    port: (outside.address() as AddressInfo).port,
    async close() {
      for (const server of [outside, inside]) {
        server.close();
        await once(server, "close");
      }
      return { hellos: hellos.map(parseHello), sent };
    },
  };
}

/** Reads a ClientHello (RFC 8446, section 4.1.2) that fits in one record, at the beginning of what a client sent. */
function parseHello(bytes: Buffer): Hello {
  let serverName: string | undefined;
  let protocols: string[] = [];
  const end = 5 + bytes.readUInt16BE(3);
  let at = 5 + 4 + 2 + 32; // the heads of record and message, the version, the random
  at += 1 + bytes.readUInt8(at); // session
  at += 2 + bytes.readUInt16BE(at); // ciphers
  at += 1 + bytes.readUInt8(at); // compression
  at += 2;
  while (at < end) {
    const [type, length] = [bytes.readUInt16BE(at), bytes.readUInt16BE(at + 2)];
    const content = bytes.subarray(at + 4, at + 4 + length);
    if (type === 0) serverName = content.toString("latin1", 5);
    if (type === 16) protocols = parseProtocols(content.subarray(2));
    at += 4 + length;
  }
  return { serverName, protocols };
}

/** Texts, each behind its length. */
function parseProtocols(bytes: Buffer): string[] {
  if (bytes.length === 0) return [];
  const next = 1 + bytes.readUInt8(0);
  return [bytes.toString("latin1", 1, next), ...parseProtocols(bytes.subarray(next))];
}
