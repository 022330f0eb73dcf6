/** Above a list of jobs: what is done with many jobs, and which columns it has. */
import { type ReactNode, useState } from "react";
import { number } from "../../text/format.ts";
import { countText, type StateCounts, sumOf } from "../../values/jobs/job-counts.ts";
import { type JobFilter, isFiltered } from "../../values/jobs/job-filter.ts";
import { remember } from "../../client/memory.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Checkbox } from "../../parts/field.tsx";
import { useMay } from "../../client/session.ts";
import type { JobSummary } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { type BulkAct, CHANGED } from "./bulk.tsx";
import { ChangeJobs, changeable } from "./change-jobs.tsx";
import { comparison } from "./compare.tsx";
import { type ColumnName, COLUMNS } from "./request-table.tsx";

const ACTS = ["cancel", "retry"] as const;
const ICONS = { cancel: "stop", retry: "retry" } as const;

/** What may be done with all that match: cancelling only with a filter. */
export function BulkButtons({
	filter,
	counts,
	act,
}: {
	filter: JobFilter;
	counts: StateCounts;
	act: (act: BulkAct) => void;
}): ReactNode {
	if (!useMay("write")) return null;
	return ACTS.map((each) => {
		const states = CHANGED[each].filter((state) => filter.status.length === 0 || filter.status.includes(state));
		const count = sumOf(counts, states);
		// Of a search the number is not known before it is asked.
		const known = count !== undefined && states.length > 0 ? count : undefined;
		if (states.length === 0 || (known?.count === 0 && !known.more)) return null;
		if (known === undefined && !filter.search) return null;
		return each === "cancel" && !isFiltered(filter) ? null : (
			<Button key={each} icon={ICONS[each]} onPress={() => act(each)}>
				{known === undefined ? T.bulk[each].open : T.bulk[each].openOf(countText(known))}
			</Button>
		);
	});
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
	const count = (act: BulkAct): number => changeable(act, jobs).length;
	return (
		<div className="bar list-bar selection" role="region" aria-label={T.requests.selection}>
			<p role="status">{T.requests.selected(number(jobs.length))}</p>
			<div className="actions">
				{write
					? ACTS.map((act) => (
							<Button key={act} icon={ICONS[act]} disabled={count(act) === 0} onPress={() => setActing(act)}>
								{T.bulk[act].act(number(count(act)))}
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
				<ChangeJobs
					endpoint={endpoint}
					act={acting}
					jobs={jobs}
					close={() => setActing(undefined)}
					done={() => {
						clear();
						reload();
					}}
				/>
			) : null}
		</div>
	);
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
