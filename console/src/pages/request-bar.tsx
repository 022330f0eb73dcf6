/** Above a list of jobs: how many match, which columns it has, and what is done with many jobs. */
import { type ReactNode, useState } from "react";
import { Failure, ask } from "../api.ts";
import { number } from "../format.ts";
import { remember } from "../memory.ts";
import { Button } from "../parts/button.tsx";
import { Confirm, Dialog } from "../parts/dialog.tsx";
import { Checkbox } from "../parts/field.tsx";
import { toast } from "../parts/toast.tsx";
import { useMay } from "../session.tsx";
import type { JobState, JobSummary } from "../shapes.ts";
import { T } from "../text.ts";
import { type BulkAct, CHANGED } from "./bulk.tsx";
import { comparison } from "./compare.tsx";
import { type ColumnName, COLUMNS } from "./request-table.tsx";

/** Calls at once. */
const AT_ONCE = 4;

const ACTS = ["cancel", "retry"] as const;
const ICONS = { cancel: "stop", retry: "retry" } as const;

/** How many match, and what may be done with all of them. */
export function ListBar({
	matching,
	states,
	act,
	children,
}: {
	matching: { count: number; more: boolean } | undefined;
	/** Those of the filter; none: all. */
	states: readonly JobState[];
	/** Undefined: nothing may be done with all that match. */
	act: ((act: BulkAct) => void) | undefined;
	children: ReactNode;
}): ReactNode {
	const write = useMay("write");
	return (
		<div className="bar list-bar">
			<p role="status" className="muted">
				{matching === undefined ? "" : T.requests.matching(number(matching.count) + (matching.more ? "+" : ""))}
			</p>
			<div className="actions">
				{write && act
					? ACTS.filter((each) => states.length === 0 || states.some((state) => CHANGED[each].includes(state))).map(
							(each) => (
								<Button key={each} icon={ICONS[each]} onPress={() => act(each)}>
									{T.bulk[each].open}
								</Button>
							),
						)
					: null}
				{children}
			</div>
		</div>
	);
}

/** What may be done with the selected jobs. */
export function SelectionBar({
	endpoint,
	jobs,
	clear,
	reload,
}: {
	endpoint: string;
	jobs: readonly JobSummary[];
	clear: () => void;
	reload: () => void;
}): ReactNode {
	const write = useMay("write");
	const [acting, setActing] = useState<BulkAct | undefined>(undefined);
	const changeable = (act: BulkAct): readonly JobSummary[] =>
		jobs.filter(({ status, expired }) => CHANGED[act].includes(status) && !expired);
	const run = async (act: BulkAct): Promise<void> => {
		const wanted = changeable(act).map(({ id }) => id);
		const { done, failure } = await changeAll(endpoint, act, wanted);
		toast({
			text: T.bulk[act].done(number(done)) + (failure ? ` ${failure.message}` : ""),
			...(failure ? { code: failure.code, bad: true } : {}),
		});
		clear();
		reload();
	};
	return (
		<div className="bar list-bar selection" role="region" aria-label={T.requests.selection}>
			<p role="status">{T.requests.selected(number(jobs.length))}</p>
			<div className="actions">
				{write
					? ACTS.map((act) => (
							<Button
								key={act}
								icon={ICONS[act]}
								disabled={changeable(act).length === 0}
								onPress={() => setActing(act)}
							>
								{T.bulk[act].act(number(changeable(act).length))}
							</Button>
						))
					: null}
				{jobs.length === 2 ? (
					<a className="button plain" href={comparison(endpoint, jobs[1]!.id, jobs[0]!.id)}>
						{T.compare.act}
					</a>
				) : null}
				<Button look="quiet" onPress={clear}>
					{T.requests.deselect}
				</Button>
			</div>
			{acting ? (
				<Confirm
					title={T.bulk[acting].act(number(changeable(acting).length))}
					act={T.bulk[acting].act(number(changeable(acting).length))}
					danger={acting === "cancel"}
					doing={() => run(acting)}
					close={() => setActing(undefined)}
				>
					<p>{T.bulk[acting].means}</p>
				</Confirm>
			) : null}
		</div>
	);
}

/** Changes jobs a few at a time; the first refusal is returned with the number of changed ones. */
async function changeAll(
	endpoint: string,
	act: BulkAct,
	ids: readonly string[],
): Promise<{ done: number; failure: Failure | undefined }> {
	let done = 0;
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
				if (act === "retry" || status === "CANCELLED") done += 1;
			} catch (error) {
				if (!(error instanceof Failure)) throw error;
				failure ??= error;
			}
	};
	await Promise.all(Array.from({ length: AT_ONCE }, next));
	return { done, failure };
}

/** Which columns the lists of all endpoints have, kept in the browser. */
export function Columns({
	shown,
	choose,
}: {
	shown: readonly ColumnName[];
	choose: (shown: readonly ColumnName[]) => void;
}): ReactNode {
	const [open, setOpen] = useState(false);
	const toggle = (name: ColumnName, on: boolean): void => {
		const next = COLUMNS.filter((each) => (each === name ? on : shown.includes(each)));
		remember("columns", next);
		choose(next);
	};
	return (
		<>
			<Button look="quiet" icon="list" onPress={() => setOpen(true)}>
				{T.requests.columns}
			</Button>
			{open ? (
				<Dialog title={T.requests.columns} close={() => setOpen(false)}>
					<div className="stack">
						{COLUMNS.map((name) => (
							<Checkbox key={name} checked={shown.includes(name)} onChange={(on) => toggle(name, on)}>
								{T.requests[name]}
							</Checkbox>
						))}
					</div>
				</Dialog>
			) : null}
		</>
	);
}
