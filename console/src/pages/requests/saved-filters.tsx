/** Filters of a list of jobs that the browser keeps under a name. */
import { type ReactNode, useState } from "react";
import { recall, remember } from "../../client/memory.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { Dialog, DialogForm } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { to, usePlace } from "../../client/router.ts";
import { T } from "../../text/text.ts";

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
