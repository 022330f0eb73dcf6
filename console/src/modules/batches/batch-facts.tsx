/** What is known of a batch next to its progress: file and tokens, the times of its states, its metadata. */
import type { ReactNode } from "react";
import type { BatchObject } from "../../client/shapes.ts";
import { Fact, FactCard } from "../../parts/fact.tsx";
import { At } from "../../parts/time.tsx";
import { duration, number } from "../../text/format.ts";
import { T } from "../../text/text.ts";
import { moment } from "../files/file-calls.ts";

const { page } = T.batches;

export function BatchFacts({ batch }: { batch: BatchObject }): ReactNode {
	const { input_file_id: input, completion_window: window, usage } = batch;
	const { cached_tokens: cached } = usage.input_tokens_details;
	const { reasoning_tokens: reasoning } = usage.output_tokens_details;
	return (
		<FactCard title={page.facts}>
			<Fact name={page.file}>
				<code>{input}</code>
			</Fact>
			<Fact name={page.window}>{window}</Fact>
			<Fact name={page.input_tokens} more={cached > 0 ? page.cached(number(cached)) : undefined}>
				{number(usage.input_tokens)}
			</Fact>
			<Fact name={page.output_tokens} more={reasoning > 0 ? page.reasoning(number(reasoning)) : undefined}>
				{number(usage.output_tokens)}
			</Fact>
		</FactCard>
	);
}

/** When each of its states began, and how long the one before it was. */
export function Times({ batch }: { batch: BatchObject }): ReactNode {
	const times: readonly (readonly [string, number | null])[] = [
		[page.createdAt, batch.created_at],
		[T.states.in_progress, batch.in_progress_at],
		[T.states.cancelling, batch.cancelling_at],
		[T.states.finalizing, batch.finalizing_at],
		[T.states.completed, batch.completed_at],
		[T.states.failed, batch.failed_at],
		[T.states.expired, batch.expired_at],
		[T.states.cancelled, batch.cancelled_at],
	];
	const known = times.flatMap(([name, at]) => (at === null ? [] : [{ name, at }])).toSorted((a, b) => a.at - b.at);
	return (
		<FactCard title={page.times}>
			{known.map(({ name, at }, index) => {
				const before = known[index - 1]?.at;
				return (
					<Fact
						key={name}
						name={name}
						more={before === undefined ? undefined : page.after(duration((at - before) * 1000))}
					>
						<At at={moment(at)} />
					</Fact>
				);
			})}
		</FactCard>
	);
}

export function Metadata({ metadata }: Pick<BatchObject, "metadata">): ReactNode {
	const pairs = Object.entries(metadata ?? {});
	if (pairs.length === 0) return null;
	return (
		<FactCard title={page.metadata}>
			{pairs.map(([name, value]) => (
				<Fact key={name} name={name}>
					{value}
				</Fact>
			))}
		</FactCard>
	);
}
