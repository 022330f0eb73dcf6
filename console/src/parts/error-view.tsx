/** A job's failure: what went wrong first, then the stack trace, then what else the worker sent. */
import { type ReactNode, useMemo } from "react";
import { readError } from "../job-error.ts";
import { T } from "../text.ts";
import { Copy } from "./copy.tsx";
import { JsonView } from "./json-view.tsx";

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
					<ErrorText text={trace} quiet />
				</details>
			)}
			{rest ? <JsonView value={rest} label={T.job.error} /> : null}
		</div>
	);
}

function ErrorText({ text, quiet = false }: { text: string; quiet?: boolean }): ReactNode {
	return (
		<pre
			className={quiet ? "error-text quiet" : "error-text"}
			// oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by the keyboard
			tabIndex={0}
			aria-label={quiet ? T.job.trace : T.job.error}
		>
			{text}
		</pre>
	);
}
