/** How many requests of a batch have ended, as a bar and as numbers. */
import type { ReactNode } from "react";
import { ProgressBar } from "react-aria-components";
import type { BatchObject } from "../../client/shapes.ts";
import { number } from "../../text/format.ts";
import { T } from "../../text/text.ts";
import { fails } from "../../values/totals.ts";
import { endedOf } from "./batch-calls.ts";

/** Null until the requests have been counted. */
export function BatchProgress({ batch }: { batch: BatchObject }): ReactNode {
	const { total, completed, failed } = batch.request_counts;
	if (total === 0) return null;
	const ended = endedOf(batch);
	const failures = failed === 0 ? "" : T.batches.failed(number(failed));
	const text = [T.batches.ended(number(ended), number(total)), failures].filter(Boolean).join(", ");
	const widthOf = (count: number): { width: string } => ({ width: `${(count / total) * 100}%` });
	return (
		<ProgressBar
			className="batch-progress"
			aria-label={T.batches.requests}
			value={ended}
			maxValue={total}
			valueLabel={text}
		>
			<span className="batch-bar" aria-hidden="true">
				<span className="fill-good" style={widthOf(completed)} />
				<span className="fill-bad" style={widthOf(failed)} />
			</span>
			<span className="batch-count">
				{T.batches.of(number(ended), number(total))}
				{failed === 0 ? null : (
					<span className={fails({ completed, failed, timedOut: 0 }) ? "bad" : "muted"}> · {failures}</span>
				)}
			</span>
		</ProgressBar>
	);
}
