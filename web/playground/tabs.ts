/**
 * Tabs: one panel is shown at a time. The arrow keys, Home and End go from tab to tab.
 *
 * @module
 */

/** Makes tabs of the buttons in a list, each of which controls a panel; hidden ones are left out. Returns what selects one by its panel's id. */
export function makeTabs(list: HTMLElement, selected: (panel: string) => void): (panel: string) => void {
  const all = [...list.querySelectorAll<HTMLElement>("[role=tab]")];
  const panelOf = (tab: HTMLElement) => tab.getAttribute("aria-controls") ?? "";
  const select = (chosen: string) => {
    for (const tab of all) {
      const panel = panelOf(tab);
      tab.ariaSelected = String(panel === chosen);
      tab.tabIndex = panel === chosen ? 0 : -1;
      document.getElementById(panel)?.toggleAttribute("hidden", panel !== chosen);
    }
    selected(chosen);
  };
  for (const tab of all) tab.addEventListener("click", () => select(panelOf(tab)));
  list.addEventListener("keydown", (event) => {
    const tabs = all.filter(({ hidden }) => !hidden);
    const at = tabs.indexOf(event.target as HTMLElement);
    const last = tabs.length - 1;
    const next = {
      ArrowLeft: at === 0 ? last : at - 1,
      ArrowRight: at === last ? 0 : at + 1,
      Home: 0,
      End: last,
    };
    const tab = tabs[next[event.key as keyof typeof next] ?? -1];
    if (!tab) return;
    event.preventDefault();
    tab.focus();
    select(panelOf(tab));
  });
  return select;
}
