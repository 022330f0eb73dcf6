/** A text of a filter that is applied while it is typed. */
import { useEffect, useEffectEvent, useState } from "react";
import { after } from "./clock.ts";

/** Ms without a further letter after which it is applied. */
const TYPED_MS = 350;

/** `termOf`: the part of the text that filters; `apply` gets it where it is not `wanted`, the filter there is. */
export function useTyped(
	wanted: string,
	{ termOf, apply }: { termOf: (text: string) => string; apply: (term: string) => void },
) {
	const [typed, setTyped] = useState({ over: wanted, text: wanted });
	// A filter that came from elsewhere replaces what was typed before.
	const text = typed.over === wanted || termOf(typed.text) === wanted ? typed.text : wanted;
	const applyNow = (): void => {
		const term = termOf(text);
		if (term !== wanted) apply(term);
	};
	const onPause = useEffectEvent(applyNow);
	useEffect(() => after(TYPED_MS, onPause), [text]);
	return { text, setText: (next: string): void => setTyped({ over: wanted, text: next }), applyNow };
}
