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
  --ink: light-dark(#1c1f22, #e8e6e1);
  --soft: light-dark(#5a5f66, #a3a8ae);
  --line: light-dark(#e0dcd2, #2c3136);
  display: flex;
  flex-direction: column;
  box-sizing: border-box;
  min-height: 16rem;
  height: 32rem;
  color: var(--ink);
  background: var(--surface);
  border: 1px solid var(--line);
  border-radius: 0.9rem;
  overflow: hidden;
  font: 1rem/1.5 system-ui, sans-serif;
  color-scheme: light dark;
}
:host([hidden]) { display: none; }
* { box-sizing: border-box; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
[part~="messages"] {
  flex: 1;
  display: flex;
  flex-direction: column;
  gap: 0.75rem;
  padding: 1rem;
  overflow: auto;
}
[part~="message"] {
  max-width: 90%;
  overflow-wrap: anywhere;
  white-space: pre-wrap;
}
[part~="user"] {
  align-self: flex-end;
  padding: 0.45rem 0.85rem;
  border-radius: 1rem 1rem 0.25rem 1rem;
  color: var(--accent-ink);
  background: var(--accent);
}
[part~="status"] {
  min-height: 1.3em;
  margin: 0;
  padding: 0 1rem;
  color: var(--soft);
  font-size: 0.8125rem;
}
form {
  display: flex;
  gap: 0.5rem;
  padding: 0.5rem 1rem 1rem;
}
textarea {
  flex: 1;
  min-width: 0;
  padding: 0.55rem 0.8rem;
  color: inherit;
  background: transparent;
  border: 1px solid var(--line);
  border-radius: 0.6rem;
  font: inherit;
  resize: none;
}
textarea::placeholder { color: var(--soft); }
button {
  padding: 0.5rem 1rem;
  color: var(--accent-ink);
  background: var(--accent);
  border: 0;
  border-radius: 0.6rem;
  font: inherit;
  font-weight: 600;
  cursor: pointer;
}
`;
