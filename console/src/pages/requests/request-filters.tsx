/** Which jobs a list shows: by state, by a text while it is typed, by time. */
import { type ReactNode, useState } from "react";
import { ToggleButton, ToggleButtonGroup } from "react-aria-components";
import { now } from "../../client/clock.ts";
import { clock, short } from "../../text/format.ts";
import { countText, type StateCounts, sumOf } from "../../values/jobs/job-counts.ts";
import { type JobFilter, RANGES, STATES } from "../../values/jobs/job-filter.ts";
import { jobIdOf } from "../../values/jobs/job-id.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { TextField } from "../../parts/field.tsx";
import { go, to, usePlace } from "../../client/router.ts";
import { T } from "../../text/text.ts";
import { useTyped } from "../../client/use-typed.ts";
import { SavedFilters } from "./saved-filters.tsx";

const ANY = "any";

/** The address with another filter; a new filter begins at the newest. */
export function addressOf(
	id: string,
	query: URLSearchParams,
	change: Readonly<Record<string, string | undefined>>,
): string {
	return to(["endpoints", id, "requests"], {
		...Object.fromEntries(query),
		cursor: undefined,
		...change,
	});
}

/** A link for each state, with how many jobs the rest of the filter has in it. */
export function StateTabs({ id, filter, counts }: { id: string; filter: JobFilter; counts: StateCounts }): ReactNode {
	const { query } = usePlace();
	const all = sumOf(counts, STATES);
	return (
		<nav className="state-tabs" aria-label={T.requests.states}>
			<a
				href={addressOf(id, query, { status: undefined })}
				aria-current={filter.status.length === 0 ? "true" : undefined}
			>
				{T.requests.all} {all ? <span className="tab-count">{countText(all)}</span> : null}
			</a>
			{STATES.map((state) => {
				const count = counts[state];
				return (
					<a
						key={state}
						href={addressOf(id, query, { status: state })}
						aria-current={filter.status.includes(state) ? "true" : undefined}
						className={count?.count && state !== "COMPLETED" ? `loud-${state}` : undefined}
					>
						{T.states[state]} {count ? <span className="tab-count">{countText(count)}</span> : null}
					</a>
				);
			})}
		</nav>
	);
}

export function Filters({ id, filter, children }: { id: string; filter: JobFilter; children: ReactNode }): ReactNode {
	const { query } = usePlace();
	const [open, setOpen] = useState(false);
	const set = (change: Readonly<Record<string, string | undefined>>): void => go(addressOf(id, query, change), true);
	const range = query.get("range") ?? (filter.from || filter.to ? undefined : ANY);
	return (
		<div className="filters">
			<div className="filters-switch">
				<Button icon="search" expanded={open} onPress={() => setOpen(!open)}>
					{T.requests.filters}
				</Button>
			</div>
			<search className="filter-fields" aria-label={T.requests.filter} data-open={open}>
				<Search id={id} wanted={query.get("search") ?? ""} set={set} />
				<ToggleButtonGroup
					className="segments"
					aria-label={T.requests.range}
					selectionMode="single"
					disallowEmptySelection={range !== undefined}
					selectedKeys={range === undefined ? [] : [range]}
					onSelectionChange={([key]) =>
						set({ range: key === ANY ? undefined : String(key), from: undefined, to: undefined })
					}
				>
					{RANGES.map(({ id: name }) => (
						<ToggleButton key={name} id={name} className="segment">
							{T.requests.ranges[name]}
						</ToggleButton>
					))}
					<ToggleButton id={ANY} className="segment">
						{T.requests.anyTime}
					</ToggleButton>
				</ToggleButtonGroup>
			</search>
			<Chosen filter={filter} ranged={query.has("range")} set={set} />
			{query.size > 0 ? (
				<Button look="quiet" onPress={() => go(to(["endpoints", id, "requests"]))}>
					{T.requests.clear}
				</Button>
			) : null}
			<SavedFilters id={id} />
			<div className="actions filters-end">{children}</div>
		</div>
	);
}

/** What is searched for a text; ids are shown in tables with a mark for what is left out. */
const termOf = (text: string): string => text.trim().replace(/^…/, "");

/** A text that is searched while it is typed; a whole id leads to its job. */
function Search({
	id,
	wanted,
	set,
}: {
	id: string;
	wanted: string;
	set: (change: { search: string }) => void;
}): ReactNode {
	const { text, setText, applyNow } = useTyped(wanted, {
		termOf,
		apply: (search) => {
			if (jobIdOf(search) === undefined) set({ search });
		},
	});
	return (
		<form
			onSubmit={(event) => {
				event.preventDefault();
				const whole = jobIdOf(text);
				if (whole !== undefined) go(to(["endpoints", id, "requests", whole]));
				else applyNow();
			}}
		>
			<TextField
				bare
				type="search"
				label={T.requests.search}
				placeholder={T.requests.searchHint}
				value={text}
				onChange={setText}
			/>
		</form>
	);
}

/** Parts of the filter that have no field: a time selected in the history, a worker. */
function Chosen({
	filter: { worker, from, to: end },
	ranged,
	set,
}: {
	filter: JobFilter;
	ranged: boolean;
	set: (change: Readonly<Record<string, undefined>>) => void;
}): ReactNode {
	const at = (text: string): string => clock(new Date(text).getTime(), now()).replace(/:\d\d$/, "");
	const chips: [string, Readonly<Record<string, undefined>>][] = [];
	if (worker !== undefined) chips.push([T.requests.ofWorker(short(worker)), { worker: undefined }]);
	if (!ranged && (from !== undefined || end !== undefined)) {
		const text =
			from === undefined
				? T.requests.until(at(end!))
				: end === undefined
					? T.requests.since(at(from))
					: T.requests.between(at(from), at(end));
		chips.push([text, { from: undefined, to: undefined }]);
	}
	return chips.map(([text, change]) => (
		<span key={text} className="chip">
			{text}
			<IconButton name={T.requests.unset(text)} icon="close" onPress={() => set(change)} />
		</span>
	));
}
