/**
 * A job's failure: text as the worker sent it, unfolded where that is JSON (RunPod's SDK sends it
 * so).
 */
import { useMemo } from "react";
import type { ReactNode } from "react";
import { readExact } from "../exact.ts";
import { T } from "../text.ts";
import { JsonView } from "./json-view.tsx";

export function ErrorView({ error }: { error: string }): ReactNode {
	const value = useMemo(() => objectIn(error), [error]);
	const trace =
		value && typeof value["error_traceback"] === "string" ? value["error_traceback"] : undefined;
	return (
		<div className="stack">
			{value ? <JsonView value={value} label={T.job.error} /> : <ErrorText text={error} />}
			{trace === undefined ? null : <ErrorText text={trace} />}
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

function objectIn(text: string): Record<string, unknown> | undefined {
	try {
		const value = readExact(text);
		return typeof value === "object" && value !== null && !Array.isArray(value)
			? (value as Record<string, unknown>)
			: undefined;
	} catch {
		return undefined;
	}
}
