/**
 * The element as React's types know it, by the lines of docs/client.md. Compiled, not run.
 */

import type { ReactElement } from "react";
import type { TwinChatAttributes } from "../../../web/widget/mod.ts";

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "twin-chat": TwinChatAttributes;
    }
  }
}

export function Assistant({ isOpen }: { readonly isOpen: boolean }): ReactElement {
  return (
    <twin-chat
      key="assistant"
      src="https://twins.example.com"
      twin="ada"
      token-url="/chat-token"
      launcher
      open={isOpen ? "" : undefined}
      theme="dark"
      text-send="Ask"
      data-place="corner"
      aria-label="Assistant"
      style={{ height: "100%" }}
      ref={(element: HTMLElement | null) => void element}
    >
      <p slot="greeting">Hello.</p>
    </twin-chat>
  );
}

export const mistakes: readonly ReactElement[] = [
  // @ts-expect-error: a twin is needed
  <twin-chat key={1} src="/" />,
  // @ts-expect-error: there is no such attribute
  <twin-chat key={2} twin="ada" tokenUrl="/chat-token" />,
  // @ts-expect-error: false would be written as a text, which opens it
  <twin-chat key={3} twin="ada" open={false} />,
  // @ts-expect-error: there is no such theme
  <twin-chat key={4} twin="ada" theme="blue" />,
];
