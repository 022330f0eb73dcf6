/** Keys of a page. */
import { useEffect, useEffectEvent } from "react";

/** Calls `on` for keys that are pressed outside of fields, windows and tables. */
export function useKeys(on: (key: string) => void): void {
	const press = useEffectEvent((event: KeyboardEvent) => {
		const { target, ctrlKey, metaKey, altKey, key } = event;
		const busy = "input, textarea, select, [contenteditable], [role=dialog], [role=slider], table";
		if (event.defaultPrevented || ctrlKey || metaKey || altKey || (target as Element).closest?.(busy)) return;
		if (document.querySelector("[role=dialog]") === null) on(key);
	});
	useEffect(() => {
		addEventListener("keydown", press);
		return () => removeEventListener("keydown", press);
	}, []);
}
