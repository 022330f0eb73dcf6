/** A job's failure: what went wrong first, then the stack trace, then what else the worker sent. */
import { type ReactNode, useMemo } from "react";
import { readError } from "../values/jobs/job-error.ts";
import { T } from "../text/text.ts";
import { Copy } from "./copy.tsx";
import { JsonView } from "./values/json-view.tsx";
import { TraceView } from "./charts/trace-view.tsx";

export function ErrorView({ error }: { error: string }): ReactNode {
	const { type, message, trace, rest } = useMemo(() => readError(error), [error]);
	if (rest && message === error) return <JsonView value={rest} label={T.job.error} />;
	return (
		<div className="stack">
			<div className="error-head">
				<ErrorText text={type === undefined ? message : `${type}: ${message}`} />
				<Copy text={error} name={T.job.copyError} />
			</div>
			{trace === undefined ? null : (
				<details className="fold" open>
					<summary>{T.job.trace}</summary>
					<TraceView trace={trace} message={message} />
				</details>
			)}
			{rest ? <JsonView value={rest} label={T.job.error} /> : null}
		</div>
	);
}

function ErrorText({ text }: { text: string }): ReactNode {
	return (
		// oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by the keyboard
		<pre className="error-text" tabIndex={0} aria-label={T.job.error}>
			{text}
		</pre>
	);
}
