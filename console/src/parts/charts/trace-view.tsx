/** A stack trace: the worker's own frames open, those of libraries folded. */
import { type ReactNode, useMemo } from "react";
import { partsOf } from "../../values/stack-trace.ts";
import { T } from "../../text/text.ts";

export function TraceView({ trace, message }: { trace: string; message: string }): ReactNode {
	const parts = useMemo(() => partsOf(trace, message), [trace, message]);
	return parts.map(({ library, text, frames }, index) =>
		library ? (
			<details key={index} className="fold library">
				<summary>{T.job.frames(frames)}</summary>
				<Frames text={text} />
			</details>
		) : (
			<Frames key={index} text={text} />
		),
	);
}

function Frames({ text }: { text: string }): ReactNode {
	return (
		// oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by the keyboard
		<pre className="error-text quiet" tabIndex={0} aria-label={T.job.trace}>
			{text}
		</pre>
	);
}
