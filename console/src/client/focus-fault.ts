/** Leads to the first field that is wrong. */
import { type RefObject, useEffect } from "react";

/** `change`: a new value after each attempt to send the form; undefined before the first. */
export function useFocusFault(form: RefObject<HTMLFormElement | null>, change: unknown): void {
	useEffect(() => {
		if (change === undefined) return;
		form.current?.querySelector<HTMLElement>("[aria-invalid=true], [data-invalid] button")?.focus();
	}, [form, change]);
}
