/** What a job streams, as it comes: texts run together, other chunks stand one below the other. */
import { type ReactNode, useEffect, useEffectEvent, useMemo, useState } from "react";
import { useEvents } from "../../client/events.ts";
import { readExact } from "../../text/exact.ts";
import { textIn } from "../../../../src/kernel/lib/stream-text.ts";
import { T } from "../../text/text.ts";
import { JsonView } from "./json-view.tsx";
import { ValueView } from "./value-view.tsx";

/** Chunks that are shown. */
const KEPT = 500;

/**
 * Chunks from the first on, which moves no client's cursor (D7); `onEnd` when the job has ended.
 */
export function StreamView({ endpoint, job, onEnd }: { endpoint: string; job: string; onEnd?: () => void }): ReactNode {
	const [values, setValues] = useState<readonly unknown[]>([]);
	const [total, setTotal] = useState(0);
	const ended = useEffectEvent(() => onEnd?.());

	const state = useEvents({
		path: `v2/${encodeURIComponent(endpoint)}/stream/${encodeURIComponent(job)}`,
		names: ["restart"],
		on({ name, data }) {
			if (name === "begin" || name === "restart") {
				setValues([]);
				setTotal(0);
			} else if (name === "message") {
				const { output } = readExact(data) as { output: unknown };
				setTotal((last) => last + 1);
				setValues((last) => [...last, output].slice(-KEPT));
			}
		},
	});
	useEffect(() => {
		if (state === "over") ended();
	}, [state]);

	const text = useMemo(() => textIn(values), [values]);
	return (
		<div className="stream" aria-busy={state === "open"}>
			<p className="muted stream-state" {...(state === "over" ? { role: "status" } : {})}>
				{state === "over" ? T.stream.over(total) : total === 0 ? T.stream.waiting : T.stream.coming(total)}
			</p>
			{state === "over" && text !== undefined ? (
				<ValueView value={values} label={T.job.stream} />
			) : text !== undefined ? (
				// oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by the keyboard
				<pre className="stream-text" tabIndex={0} aria-label={T.job.stream}>
					{text}
				</pre>
			) : values.length > 0 ? (
				<JsonView value={values} label={T.job.stream} />
			) : null}
		</div>
	);
}
