/** Cancelling or retrying all jobs that match a filter: counted first, then done in portions. */
import { type ReactNode, useEffect, useRef, useState } from "react";
import { ProgressBar } from "react-aria-components";
import { Failure, ask, ofEndpoint } from "../../client/api.ts";
import { number } from "../../text/format.ts";
import { iso, type JobFilter } from "../../values/jobs/job-filter.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Loading, Refusal } from "../../parts/notice.tsx";
import type { JobState } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";

export type BulkAct = "cancel" | "retry";

/** States that the deed can change. */
export const CHANGED: Readonly<Record<BulkAct, readonly JobState[]>> = {
	cancel: ["IN_QUEUE", "IN_PROGRESS"],
	retry: ["FAILED", "TIMED_OUT"],
};

/** Jobs that are counted before the question; `more`: others may match. */
const MOST_COUNTED = 10_000;
interface Counted {
	matched: number;
	more: boolean;
}

interface Answer extends Counted {
	done: number;
	/** Where the next portion begins. */
	next: string | null;
}

export function BulkDialog({
	endpoint,
	act,
	filter,
	close,
}: {
	endpoint: string;
	act: BulkAct;
	filter: JobFilter;
	close: () => void;
}): ReactNode {
	const [counted, setCounted] = useState<Counted | undefined>(undefined);
	const [done, setDone] = useState<number | undefined>(undefined);
	const [over, setOver] = useState(false);
	const [failure, setFailure] = useState<Failure | undefined>(undefined);
	const left = useRef(false);
	const words = T.bulk[act];
	const { worker, search } = filter;

	const call = (dryRun: boolean, cursor?: string): Promise<Answer> => {
		const status =
			filter.status.length === 0 ? CHANGED[act] : filter.status.filter((state) => CHANGED[act].includes(state));
		const [from, to] = [iso(filter.from), iso(filter.to)];
		return ask<Answer>(ofEndpoint(endpoint, `/jobs/${act}`), {
			method: "POST",
			body: {
				filter: {
					status,
					...(worker ? { worker } : {}),
					...(from ? { from } : {}),
					...(to ? { to } : {}),
					...(search ? { search } : {}),
				},
				dryRun,
				...(cursor === undefined ? {} : { cursor }),
			},
		});
	};
	/** Of a search, one answer may have read only a part. */
	const count = async (): Promise<Counted> => {
		let matched = 0;
		for (let cursor: string | undefined; ; ) {
			const { next, ...answer } = await call(true, cursor);
			matched += answer.matched;
			if (next === null || matched >= MOST_COUNTED || left.current) return { matched, more: next !== null };
			cursor = next;
		}
	};
	const fail = (error: unknown): void =>
		setFailure(error instanceof Failure ? error : new Failure(0, { error: String(error), code: "page" }));

	useEffect(() => {
		left.current = false;
		count().then(setCounted, fail);
		return () => {
			left.current = true;
		};
		// Counted once, when it opens.
		// oxlint-disable-next-line react/exhaustive-deps
	}, []);

	const run = async (): Promise<void> => {
		let sum = 0;
		setDone(0);
		try {
			for (let more = true, cursor: string | undefined; more && !left.current; ) {
				const answer = await call(false, cursor);
				sum += answer.done;
				setDone(sum);
				// A portion that changed nothing and leads nowhere would come again for ever.
				more = answer.more && (answer.done > 0 || answer.next !== (cursor ?? null));
				cursor = answer.next ?? undefined;
			}
		} catch (error) {
			fail(error);
		}
		setOver(true);
	};

	const matched = counted?.matched;
	const all =
		counted === undefined ? "" : counted.more ? T.bulk.atLeast(number(counted.matched)) : number(counted.matched);
	return (
		<Dialog title={words.title} close={close}>
			<div className="stack">
				{failure ? <Refusal failure={failure} /> : null}
				{matched === undefined ? (
					failure ? null : (
						<Loading />
					)
				) : done === undefined ? (
					<p>{matched === 0 ? words.none : words.ask(all)}</p>
				) : (
					<p role="status">{over ? words.done(number(done)) : words.doing(number(done), all)}</p>
				)}
				{done !== undefined && !over && matched && !counted?.more ? (
					<ProgressBar aria-label={words.title} className="progress" value={Math.min(done, matched)} maxValue={matched}>
						<progress value={Math.min(done, matched)} max={matched} aria-hidden="true" />
					</ProgressBar>
				) : null}
				<div className="actions end">
					<Button look="quiet" onPress={close}>
						{over || matched === 0 ? T.close : act === "cancel" ? T.dismissCancel : T.dismiss}
					</Button>
					{over || !matched ? null : (
						<Button look={act === "cancel" ? "danger" : "main"} busy={done !== undefined} onPress={() => void run()}>
							{words.act(all)}
						</Button>
					)}
				</div>
			</div>
		</Dialog>
	);
}
