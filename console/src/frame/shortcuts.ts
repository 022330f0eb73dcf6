/** Keys of every page: `g` and a letter leads to a page, `j` into the table, `?` shows them all. */
import { useEffect } from "react";
import { GLOBAL_PAGES } from "../parts/page-list.ts";
import { go, to } from "../client/router.ts";
import { useMay } from "../client/session.ts";

/** Between `g` and its letter, ms. */
const PAIR_MS = 1500;

export function useShortcuts(showKeys: () => void): void {
	const admin = useMay("admin");
	useEffect(() => {
		let since = -Infinity;
		const onKey = (event: KeyboardEvent): void => {
			const { target, key, timeStamp } = event;
			if (event.ctrlKey || event.metaKey || event.altKey) return;
			if (isIn(target, OWN_KEYS)) return;
			const page = GLOBAL_PAGES.find((each) => each.key === key && (!("admin" in each) || admin));
			if (timeStamp - since < PAIR_MS && page) go(to([page.path]));
			else if (key === "?") showKeys();
			// In a table j moves on from where one is.
			else if (key !== "j" || isIn(target, ".table") || !enterTable()) {
				since = key === "g" ? timeStamp : -Infinity;
				return;
			}
			since = -Infinity;
			event.preventDefault();
			event.stopPropagation();
		};
		// On its way down: k after g is not the k of a table.
		addEventListener("keydown", onKey, true);
		return () => removeEventListener("keydown", onKey, true);
	}, [showKeys, admin]);
}

/** What is typed into, and what has keys of its own. */
const OWN_KEYS = "input:not([type=checkbox]), textarea, select, [contenteditable], [role=dialog], [role=listbox]";

const isIn = (target: EventTarget | null, selector: string): boolean =>
	target instanceof HTMLElement && target.closest(selector) !== null;

/** Focuses the first row that has a link or a button. */
function enterTable(): boolean {
	const first = document.querySelector<HTMLElement>("main .table tbody :is(a[href], button)");
	first?.focus();
	return first !== null;
}
