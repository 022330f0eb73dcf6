/** A text on one line, cut in its middle: of an address both the host and the end are shown. */
import type { ReactNode } from "react";

/** Characters at the end that always stay. */
const END = 14;

export function MiddleText({ text }: { text: string }): ReactNode {
	const at = Math.max(0, text.length - END);
	return (
		<span className="middle" title={text}>
			<span className="line">{text.slice(0, at)}</span>
			<span>{text.slice(at)}</span>
		</span>
	);
}
