/**
 * The widget's own style. A page changes it through parts and custom properties. Nothing else of the page's style reaches it:
 * sizes are in pixels, as a page may have its own root size, and what elements inherit begins anew at the section.
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
  --font: system-ui, sans-serif;
  display: block;
  height: 512px;
}
:host([theme="light"]) { color-scheme: light; }
:host([theme="dark"]) { color-scheme: dark; }
:host([theme="auto"]) { color-scheme: light dark; }
:host([hidden]), [hidden] { display: none !important; }
:host([launcher]) { position: fixed; inset-block-end: 16px; inset-inline-end: 16px; z-index: 2147483000; height: auto; }
:host([expanded]) { position: fixed; inset: 16px; z-index: 2147483000; height: auto; }
* { box-sizing: border-box; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
section {
  all: initial;
  display: block;
  position: relative;
  height: 100%;
  visibility: inherit;
  pointer-events: inherit;
  color-scheme: inherit;
  color: var(--ink);
  font: 16px/1.5 var(--font);
  -webkit-text-size-adjust: 100%;
}
[part="panel"] {
  display: flex;
  flex-direction: column;
  height: 100%;
  min-height: 256px;
  background: var(--surface);
  border: 1px solid var(--line);
  border-radius: 16px;
  overflow: hidden;
}
:host([launcher]) [part="panel"] {
  width: min(384px, calc(100vw - 32px));
  height: min(608px, calc(100dvh - 96px));
  box-shadow: 0 10px 38px rgb(0 0 0 / 0.22);
}
:host([expanded]) [part="panel"] { width: auto; height: calc(100dvh - 32px); }
[part="launcher"], [part="avatar"] { display: grid; place-items: center; border-radius: 50%; }
[part="launcher"] {
  width: 56px;
  height: 56px;
  margin-block: 12px 0;
  margin-inline: auto 0;
  box-shadow: 0 5px 16px rgb(0 0 0 / 0.25);
}
svg { width: 20px; height: 20px; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; display: block; }
[part="launcher"] svg { width: 26px; height: 26px; }
[part="header"] {
  display: flex;
  align-items: center;
  gap: 10px;
  padding-block: 10px;
  padding-inline: 16px 10px;
  border-block-end: 1px solid var(--line);
}
slot[name="header"] { display: flex; flex: 1; align-items: center; gap: 10px; min-width: 0; }
[part="name"] { flex: 1; margin: 0; font-size: 16px; font-weight: 650; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
[part="avatar"] {
  flex: none;
  width: 32px;
  height: 32px;
  overflow: hidden;
  color: var(--accent-ink);
  background: var(--accent);
  font-weight: 650;
}
[part="avatar"]:empty, [part="state"]:empty, [part="person"]:empty, [part="starters"]:empty,
:host([expanded]) [part="launcher"], :host(:not([launcher])) [part~="close"] { display: none; }
[part="avatar"] img { width: 100%; height: 100%; object-fit: cover; }
[part="messages"] {
  display: flex;
  flex: 1;
  flex-direction: column;
  gap: 14px;
  padding-block: 16px;
  overflow: auto;
  overscroll-behavior: contain;
}
[part="messages"], [part="status"], [part="person"], [part="composer"] { padding-inline: max(16px, 50% - 368px); }
[part~="message"] { max-width: 704px; overflow-wrap: anywhere; }
[part~="user"], [part~="greeting"] { white-space: pre-wrap; }
[part~="user"] {
  align-self: flex-end;
  max-width: min(576px, 85%);
  padding: 7px 14px;
  border-radius: 16px;
  border-end-end-radius: 4px;
  color: var(--accent-ink);
  background: var(--accent);
}
[part~="user"][aria-busy] { color: var(--ink); background: var(--sunken); }
[part="state"], [part~="tools"], [part="status"], [part="person"], [part="author"] { color: var(--soft); font-size: 13px; }
[part="person"], [part="author"] { margin: 0; }
[part="person"] { padding-block: 4px 0; }
[part="author"] { margin-block-end: 2px; font-weight: 600; }
[part="state"] { display: flex; flex-wrap: wrap; gap: 4px 6px; margin: 6px 0 0; }
[part~="tools"] { display: flex; align-items: center; gap: 2px; margin: -10px 0 0; }
[part~="tools"] button { min-width: 28px; padding: 5px; }
[part~="tools"] svg { width: 18px; }
[part~="tools"] [aria-pressed="true"] { background: var(--line); }
[part~="mine"] { align-self: flex-end; }
[inert] { opacity: 0.4; }
[part="source"] { padding: 0 8px; border-radius: 16px; background: var(--sunken); }
[part~="reply"][aria-busy] [part="text"]:empty::before { content: "● ● ●"; color: var(--soft); font-size: 10px; animation: wait 1.2s infinite; }
@keyframes wait { 50% { opacity: 0.3; } }
@media (prefers-reduced-motion: reduce) { * { animation: none !important; } }
[part="text"] > * { margin: 0; }
[part="text"] > * + *, li > :not(:first-child), blockquote > * + * { margin-block: 10px 0; }
h3 { font-size: 17px; }
ul, ol { padding-inline-start: 22px; }
li > ul, li > ol { margin-block: 0; }
a { color: var(--accent); }
code, pre { font: 0.875em/1.5 ui-monospace, Menlo, Consolas, monospace; }
:not(pre) > code { padding: 0.1em 0.3em; border-radius: 0.3em; background: var(--sunken); }
.table, pre { overflow: auto; }
pre { padding: 11px 14px; border-radius: 8px; background: var(--sunken); overflow-wrap: normal; }
table { border-collapse: collapse; font-size: 15px; overflow-wrap: normal; }
td, th { padding: 5px 11px; border: 1px solid var(--line); text-align: start; }
blockquote { padding-inline-start: 14px; border-inline-start: 2px solid var(--line); color: var(--soft); }
hr { border: 0; border-block-start: 1px solid var(--line); }
[part="text"] img { max-width: 100%; border-radius: 8px; }
[part="starters"] { display: flex; flex-wrap: wrap; gap: 8px; }
[part="call"] { margin-block-start: 10px; padding: 12px 16px; border: 1px solid var(--line); border-radius: 10px; }
dl { margin: 4px 0 10px; }
dt { color: var(--soft); font-size: 13px; }
dd { margin: 0; white-space: pre-wrap; }
[part="call"] button { margin-inline-end: 8px; }
[part="call"] [aria-pressed="true"] { box-shadow: 0 0 0 2px var(--ink); }
[part="status"] { min-height: 1.5em; margin: 0; }
[role="status"], [role="alert"] { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
[part="composer"] { display: flex; align-items: end; gap: 8px; padding-block: 4px 16px; }
textarea {
  flex: 1;
  min-width: 0;
  max-height: 144px;
  padding: 8px 16px;
  color: inherit;
  background: transparent;
  border: 1px solid var(--soft);
  border-radius: 10px;
  font: inherit;
  resize: none;
}
[part="messages"]:focus-visible, textarea:focus-visible { outline-offset: -2px; }
textarea::placeholder { color: var(--soft); opacity: 1; }
button {
  padding: 8px 16px;
  color: var(--accent-ink);
  background: var(--accent);
  border: 1px solid transparent;
  border-radius: 10px;
  font: inherit;
  font-weight: 600;
  cursor: pointer;
}
button:disabled { opacity: 0.5; cursor: default; }
[part~="tool"] { padding: 6px; color: var(--soft); background: none; border-radius: 8px; }
[part~="tool"]:hover { color: var(--ink); background: var(--sunken); }
[part="starter"], [part="again"], [part="ask"], [part~="deny"], [part~="stop"] { color: var(--accent); background: none; border-color: currentColor; font-weight: 500; text-align: start; }
[part="starter"], [part="call"] button { padding: 5px 13px; overflow-wrap: anywhere; }
[part="again"], [part="ask"] { padding: 2px 10px; font-size: inherit; }
@media (max-width: 480px), (max-height: 400px) {
  :host([launcher][open]) { inset: 0; }
  :host([launcher][open]) [part="panel"] { width: 100vw; height: 100dvh; border: 0; border-radius: 0; }
  :host([launcher][open]) [part="launcher"] { display: none; }
}
@media print {
  :host([launcher]), [part="composer"], [part="person"], [part="header"] button, [part~="tools"], [part="starters"] { display: none !important; }
  :host, :host([expanded]) { position: static; height: auto; color-scheme: light; }
  [part~="user"] { color: inherit; border: 1px solid; }
  :host([expanded]) [part="panel"], [part="messages"] { display: block; height: auto; overflow: visible; }
  [part~="message"] { margin-block: 14px; }
}
slot[name="footer"]::slotted(*) { padding: 0 16px 10px; color: var(--soft); font-size: 13px; }
`;
