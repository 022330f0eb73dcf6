/** Which jobs a list shows: by the address, and by filters that the browser keeps under a name. */
import { type ReactNode, useState } from "react";
import { ToggleButton, ToggleButtonGroup } from "react-aria-components";
import { STATES, filterOf } from "../job-filter.ts";
import { jobIdOf } from "../job-id.ts";
import { recall, remember } from "../memory.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { Dialog, DialogForm } from "../parts/dialog.tsx";
import { TextField } from "../parts/field.tsx";
import { go, to, usePlace } from "../router.ts";
import { T } from "../text.ts";

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

export function Filters({ id }: { id: string }): ReactNode {
	const { query } = usePlace();
	const { status } = filterOf(query);
	const [worker, setWorker] = useQueryText("worker");
	const [text, setText] = useQueryText("search");
	const set = (change: Readonly<Record<string, string | undefined>>): void => go(addressOf(id, query, change), true);
	const onSubmit = (): void => {
		const whole = jobIdOf(text);
		if (whole !== undefined) go(to(["endpoints", id, "requests", whole]));
		else set({ worker: worker.trim(), search: text.trim().replace(/^…/, "") });
	};
	return (
		<form
			className="filters"
			aria-label={T.requests.filter}
			onSubmit={(event) => {
				event.preventDefault();
				onSubmit();
			}}
		>
			<ToggleButtonGroup
				className="segments wrap"
				aria-label={T.requests.state}
				selectionMode="multiple"
				selectedKeys={status}
				onSelectionChange={(keys) => set({ status: STATES.filter((state) => keys.has(state)).join(",") })}
			>
				{STATES.map((state) => (
					<ToggleButton key={state} id={state} className="segment">
						{T.states[state]}
					</ToggleButton>
				))}
			</ToggleButtonGroup>
			<div className="filter-fields">
				<TextField
					bare
					type="search"
					label={T.requests.search}
					placeholder={T.requests.searchHint}
					value={text}
					onChange={setText}
				/>
				<TextField
					bare
					type="search"
					label={T.requests.worker}
					placeholder={T.requests.worker}
					value={worker}
					onChange={setWorker}
				/>
				<Moment name={T.requests.from} value={query.get("from")} onChange={(from) => set({ from })} />
				<Moment name={T.requests.to} value={query.get("to")} onChange={(at) => set({ to: at })} />
				<Button>{T.requests.apply}</Button>
				{query.size > 0 ? (
					<Button look="quiet" onPress={() => go(to(["endpoints", id, "requests"]))}>
						{T.requests.clear}
					</Button>
				) : null}
			</div>
		</form>
	);
}

/** A text that is typed, and taken from the address when that changes. */
function useQueryText(name: string): [string, (text: string) => void] {
	const inAddress = usePlace().query.get(name) ?? "";
	const [typed, setTyped] = useState({ over: inAddress, text: inAddress });
	return [typed.over === inAddress ? typed.text : inAddress, (text) => setTyped({ over: inAddress, text })];
}

function Moment({
	name,
	value,
	onChange,
}: {
	name: string;
	value: string | null;
	onChange: (value: string) => void;
}): ReactNode {
	return (
		<label className="time-field">
			<span>{name}</span>
			<input
				className="input"
				type="datetime-local"
				value={value ?? ""}
				onChange={({ target }) => onChange(target.value)}
			/>
		</label>
	);
}

interface SavedFilter {
	name: string;
	/** As in the address. */
	query: string;
}

/** Filters kept in this browser for the endpoint, and the way to keep the present one. */
export function SavedFilters({ id }: { id: string }): ReactNode {
	const { query } = usePlace();
	const [saved, setSaved] = useState(() => savedOf(id));
	const [naming, setNaming] = useState(false);
	const [name, setName] = useState("");
	const keep = (filters: readonly SavedFilter[]): void => {
		remember(`filters.${id}`, filters.length > 0 ? filters : undefined);
		setSaved(filters);
	};
	const present = new URLSearchParams(query);
	present.delete("cursor");
	const isKept = saved.some((each) => each.query === present.toString());
	if (saved.length === 0 && present.size === 0) return null;
	return (
		<div className="saved-filters">
			{saved.map((each) => (
				<span key={each.name} className="chip">
					<a
						href={to(["endpoints", id, "requests"], Object.fromEntries(new URLSearchParams(each.query)))}
						aria-current={each.query === present.toString() ? "true" : undefined}
					>
						{each.name}
					</a>
					<IconButton
						name={T.requests.forget(each.name)}
						icon="close"
						onPress={() => keep(saved.filter((other) => other !== each))}
					/>
				</span>
			))}
			{present.size === 0 || isKept ? null : (
				<Button look="quiet" icon="plus" onPress={() => setNaming(true)}>
					{T.requests.save}
				</Button>
			)}
			{naming ? (
				<Dialog title={T.requests.save} close={() => setNaming(false)}>
					<DialogForm
						act={T.requests.save}
						disabled={name.trim() === ""}
						submit={() => {
							const filter = { name: name.trim(), query: present.toString() };
							keep([...saved.filter((each) => each.name !== filter.name), filter]);
							setNaming(false);
							setName("");
						}}
						close={() => setNaming(false)}
					>
						<TextField
							label={T.requests.filterName}
							hint={T.requests.filterHint}
							value={name}
							onChange={setName}
							autoFocus
						/>
					</DialogForm>
				</Dialog>
			) : null}
		</div>
	);
}

/** What is kept, if it is what was kept here. */
function savedOf(id: string): readonly SavedFilter[] {
	const kept = recall(`filters.${id}`);
	return Array.isArray(kept)
		? kept.filter(
				(each: Partial<SavedFilter> | null): each is SavedFilter =>
					typeof each?.name === "string" && typeof each.query === "string",
			)
		: [];
}
