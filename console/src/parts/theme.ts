/** Dark and light: as the system says, or as the switch was set; remembered by the browser. */
import { useSyncExternalStore } from "react";
import { recall, remember } from "../client/memory.ts";

export type Theme = "system" | "light" | "dark";

const KEY = "theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();
let chosen: Theme = known(recall(KEY));

function known(text: unknown): Theme {
	return text === "light" || text === "dark" ? text : "system";
}

function apply(): void {
	if (chosen === "system") delete document.documentElement.dataset["theme"];
	else document.documentElement.dataset["theme"] = chosen;
	for (const notify of listeners) notify();
}

system.addEventListener("change", apply);
apply();

export function setTheme(theme: Theme): void {
	chosen = theme;
	remember(KEY, theme);
	apply();
}

function subscribe(notify: () => void): () => void {
	listeners.add(notify);
	return () => listeners.delete(notify);
}

/** What the switch says. */
export function useTheme(): Theme {
	return useSyncExternalStore(subscribe, () => chosen);
}

/** The theme in use; charts are redrawn when it changes. */
export function useShade(): "light" | "dark" {
	return useSyncExternalStore(subscribe, () => (chosen === "system" ? (system.matches ? "dark" : "light") : chosen));
}
