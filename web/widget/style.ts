/**
 * The widget's own style. A page changes it through parts and custom properties.
 *
 * @module
 */

export const style = `
:host {
  --accent: light-dark(#0a6460, #6fd3c7);
  --accent-ink: light-dark(#fff, #06201e);
  --surface: light-dark(#fff, #1b1f23);
  --sunken: light-dark(#f2f0ea, #101214);
  --ink: light-dark(#1c1f22, #e8e6e1);
  --soft: light-dark(#5a5f66, #a3a8ae);
  --line: light-dark(#e0dcd2, #2c3136);
  display: block;
  height: 32rem;
  color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif;
  text-align: start;
}
:host([theme="light"]) { color-scheme: light; }
:host([theme="dark"]) { color-scheme: dark; }
:host([theme="auto"]) { color-scheme: light dark; }
:host([hidden]), [hidden] { display: none !important; }
:host([launcher]) { position: fixed; inset-block-end: 1rem; inset-inline-end: 1rem; z-index: 2147483000; height: auto; }
:host([expanded]) { position: fixed; inset: 1rem; z-index: 2147483000; height: auto; }
* { box-sizing: border-box; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
section { height: 100%; }
[part="panel"] {
  display: flex;
  flex-direction: column;
  height: 100%;
  min-height: 16rem;
  background: var(--surface);
  border: 1px solid var(--line);
  border-radius: 1rem;
  overflow: hidden;
}
:host([launcher]) [part="panel"] {
  width: min(24rem, calc(100vw - 2rem));
  height: min(38rem, calc(100dvh - 6rem));
  box-shadow: 0 0.6rem 2.4rem rgb(0 0 0 / 0.22);
}
:host([expanded]) [part="panel"] { width: auto; height: calc(100dvh - 2rem); }
[part="launcher"], [part="avatar"] { display: grid; place-items: center; border-radius: 50%; }
[part="launcher"] {
  width: 3.5rem;
  height: 3.5rem;
  margin-block: 0.75rem 0;
  margin-inline: auto 0;
  box-shadow: 0 0.3rem 1rem rgb(0 0 0 / 0.25);
}
svg { width: 1.25rem; height: 1.25rem; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; display: block; }
[part="launcher"] svg { width: 1.6rem; height: 1.6rem; }
[part="header"] {
  display: flex;
  align-items: center;
  gap: 0.6rem;
  padding-block: 0.6rem;
  padding-inline: 1rem 0.6rem;
  border-block-end: 1px solid var(--line);
}
slot[name="header"] { display: flex; flex: 1; align-items: center; gap: 0.6rem; min-width: 0; }
[part="name"] { flex: 1; margin: 0; font-size: 1rem; font-weight: 650; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
[part="avatar"] {
  flex: none;
  width: 2rem;
  height: 2rem;
  overflow: hidden;
  color: var(--accent-ink);
  background: var(--accent);
  font-weight: 650;
}
[part="avatar"]:empty, [part="state"]:empty, [part="starters"]:empty,
:host([expanded]) [part="launcher"], :host(:not([launcher])) [part~="close"] { display: none; }
[part="avatar"] img { width: 100%; height: 100%; object-fit: cover; }
[part="messages"] {
  display: flex;
  flex: 1;
  flex-direction: column;
  gap: 0.85rem;
  padding: 1rem;
  overflow: auto;
  overscroll-behavior: contain;
}
[part~="message"] { max-width: 44rem; overflow-wrap: anywhere; }
[part~="user"], [part~="greeting"] { white-space: pre-wrap; }
[part~="user"] {
  align-self: flex-end;
  max-width: min(36rem, 85%);
  padding: 0.45rem 0.85rem;
  border-radius: 1rem;
  border-end-end-radius: 0.25rem;
  color: var(--accent-ink);
  background: var(--accent);
}
[part~="user"][aria-busy] { color: var(--ink); background: var(--sunken); }
[part="state"], [part~="tools"], [part="status"] { color: var(--soft); font-size: 0.8125rem; }
[part="state"] { display: flex; flex-wrap: wrap; gap: 0.25rem 0.4rem; margin: 0.35rem 0 0; }
[part~="tools"] { display: flex; align-items: center; gap: 0.1rem; margin: -0.6rem 0 0; }
[part~="tools"] button { min-width: 1.75rem; padding: 0.3rem; }
[part~="tools"] svg { width: 1.1rem; }
[part~="tools"] [aria-pressed="true"] { background: var(--line); }
[part~="mine"] { align-self: flex-end; }
[inert] { opacity: 0.4; }
[part="source"] { padding: 0 0.5rem; border-radius: 1rem; background: var(--sunken); }
[part~="reply"][aria-busy] [part="text"]:empty::before { content: "● ● ●"; color: var(--soft); font-size: 0.6rem; animation: wait 1.2s infinite; }
@keyframes wait { 50% { opacity: 0.3; } }
@media (prefers-reduced-motion: reduce) { * { animation: none !important; } }
[part="text"] > * { margin: 0; }
[part="text"] > * + *, li > :not(:first-child), blockquote > * + * { margin-block: 0.6rem 0; }
h3 { font-size: 1.0625rem; }
ul, ol { padding-inline-start: 1.4rem; }
li > ul, li > ol { margin-block: 0; }
a { color: var(--accent); }
code, pre { font: 0.875em/1.5 ui-monospace, Menlo, Consolas, monospace; }
:not(pre) > code { padding: 0.1em 0.3em; border-radius: 0.3em; background: var(--sunken); }
.table, pre { overflow: auto; }
pre { padding: 0.7rem 0.9rem; border-radius: 0.5rem; background: var(--sunken); overflow-wrap: normal; }
table { border-collapse: collapse; font-size: 0.9375rem; overflow-wrap: normal; }
td, th { padding: 0.3rem 0.7rem; border: 1px solid var(--line); text-align: start; }
blockquote { padding-inline-start: 0.9rem; border-inline-start: 2px solid var(--line); color: var(--soft); }
hr { border: 0; border-block-start: 1px solid var(--line); }
[part="text"] img { max-width: 100%; border-radius: 0.5rem; }
[part="starters"] { display: flex; flex-wrap: wrap; gap: 0.5rem; }
[part="status"] { min-height: 1.5em; margin: 0; padding: 0 1rem; }
[part="composer"] { display: flex; align-items: end; gap: 0.5rem; padding: 0.25rem 1rem 1rem; }
textarea {
  flex: 1;
  min-width: 0;
  max-height: 9rem;
  padding: 0.5rem 1rem;
  color: inherit;
  background: transparent;
  border: 1px solid var(--soft);
  border-radius: 0.6rem;
  font: inherit;
  resize: none;
}
[part="messages"]:focus-visible, textarea:focus-visible { outline-offset: -2px; }
textarea::placeholder { color: var(--soft); opacity: 1; }
button {
  padding: 0.5rem 1rem;
  color: var(--accent-ink);
  background: var(--accent);
  border: 1px solid transparent;
  border-radius: 0.6rem;
  font: inherit;
  font-weight: 600;
  cursor: pointer;
}
button:disabled { opacity: 0.5; cursor: default; }
[part~="tool"] { padding: 0.4rem; color: var(--soft); background: none; border-radius: 0.5rem; }
[part~="tool"]:hover { color: var(--ink); background: var(--sunken); }
[part="starter"], [part="again"], [part~="stop"] { color: var(--accent); background: none; border-color: currentColor; font-weight: 500; text-align: start; }
[part="starter"] { padding: 0.3rem 0.8rem; }
[part="again"] { padding: 0 0.5rem; font-size: inherit; }
@media (max-width: 30rem) {
  :host([launcher][open]) { inset: 0; }
  :host([launcher][open]) [part="panel"] { width: 100vw; height: 100dvh; border: 0; border-radius: 0; }
  :host([launcher][open]) [part="launcher"] { display: none; }
}
slot[name="footer"]::slotted(*) { padding: 0 1rem 0.6rem; color: var(--soft); font-size: 0.8125rem; }
`;
