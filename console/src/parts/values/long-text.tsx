/** The beginning of a long text, and a button that shows all of it. */
import { type ReactNode, useState } from "react";
import { bytes } from "../../text/format.ts";
import { T } from "../../text/text.ts";

export function LongText({
	text,
	most,
	children,
}: {
	text: string;
	/** Characters of the beginning. */
	most: number;
	/** What is shown of it; `whole`: all. */
	children: (shown: string, whole: boolean) => ReactNode;
}): ReactNode {
	const [all, setAll] = useState(false);
	const whole = all || text.length <= most;
	return (
		<>
			{children(whole ? text : text.slice(0, most), whole)}
			{whole ? null : (
				<button type="button" className="json-more" onClick={() => setAll(true)}>
					{T.json.rest(bytes(text.length))}
				</button>
			)}
		</>
	);
}
