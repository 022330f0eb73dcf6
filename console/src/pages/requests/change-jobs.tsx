/** Cancelling or retrying jobs by their ids, after a question. */
import type { ReactNode } from "react";
import { Failure, ask } from "../../client/api.ts";
import { number } from "../../text/format.ts";
import { Confirm } from "../../parts/dialog.tsx";
import { toast } from "../../parts/toast.tsx";
import type { JobState, JobSummary } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { type BulkAct, CHANGED } from "./bulk.tsx";

/** Calls at once. */
const AT_ONCE = 4;

/** Those of the jobs that can be changed so. */
export function changeable(act: BulkAct, jobs: readonly JobSummary[]): readonly JobSummary[] {
	return jobs.filter(({ status, expired }) => CHANGED[act].includes(status) && !expired);
}

export function ChangeJobs({
	endpoint,
	act,
	jobs,
	close,
	done,
}: {
	endpoint: string;
	act: BulkAct;
	jobs: readonly JobSummary[];
	close: () => void;
	done: () => void;
}): ReactNode {
	const words = T.bulk[act];
	const wanted = changeable(act, jobs).map(({ id }) => id);
	const run = async (): Promise<void> => {
		const { changed, failure } = await changeAll(endpoint, act, wanted);
		toast({
			text: words.done(number(changed)) + (failure ? ` ${failure.message}` : ""),
			...(failure ? { code: failure.code, bad: true } : {}),
		});
		done();
	};
	return (
		<Confirm
			title={words.act(number(wanted.length))}
			act={words.act(number(wanted.length))}
			danger={act === "cancel"}
			doing={run}
			close={close}
		>
			<p>{words.means}</p>
		</Confirm>
	);
}

/** Changes jobs a few at a time; the first refusal is returned with the number of changed ones. */
async function changeAll(
	endpoint: string,
	act: BulkAct,
	ids: readonly string[],
): Promise<{ changed: number; failure: Failure | undefined }> {
	let changed = 0;
	let failure: Failure | undefined;
	const left = [...ids];
	const next = async (): Promise<void> => {
		for (let id = left.shift(); id !== undefined; id = left.shift())
			try {
				const { status } = await ask<{ status: JobState }>(
					`v2/${encodeURIComponent(endpoint)}/${act}/${encodeURIComponent(id)}`,
					{ method: "POST" },
				);
				// A job that has ended meanwhile keeps its state.
				if (act === "retry" || status === "CANCELLED") changed += 1;
			} catch (error) {
				if (!(error instanceof Failure)) throw error;
				failure ??= error;
			}
	};
	await Promise.all(Array.from({ length: AT_ONCE }, next));
	return { changed, failure };
}
