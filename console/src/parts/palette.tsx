/** Search and jump: pages, endpoints and a job by its id, from anywhere with `/` or Ctrl-K. */
import { useEffect, useState } from "react";
import type { ReactNode } from "react";
import {
	Autocomplete,
	Dialog,
	Input,
	Menu,
	MenuItem,
	Modal,
	ModalOverlay,
	SearchField,
	useFilter,
} from "react-aria-components";
import { useFeed } from "../feed.ts";
import { findJob } from "../find-job.ts";
import { jobIdOf } from "../job-id.ts";
import { ENDPOINT_PAGES, GLOBAL_PAGES } from "../page-list.ts";
import { go, to } from "../router.ts";
import { T } from "../text.ts";
import { toast } from "./toast.tsx";

interface Target {
	id: string;
	name: string;
	where: string;
}

/** Keys that open it, unless the user is typing in a field. */
export function usePaletteKeys(open: () => void): void {
	useEffect(() => {
		const onKey = (event: KeyboardEvent): void => {
			const typing =
				event.target instanceof HTMLElement &&
				event.target.closest("input, textarea, select, [contenteditable]");
			const wanted =
				(event.key === "k" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !typing);
			if (!wanted) return;
			event.preventDefault();
			open();
		};
		// On its way down: fields keep keys that they were given from going up.
		addEventListener("keydown", onKey, true);
		return () => removeEventListener("keydown", onKey, true);
	}, [open]);
}

export function Palette({ close }: { close: () => void }): ReactNode {
	const [text, setText] = useState("");
	const { contains } = useFilter({ sensitivity: "base" });
	const endpoints = useFeed().endpoints ?? [];
	const job = jobIdOf(text);
	const targets: Target[] = [
		...(job === undefined ? [] : [{ id: `job:${job}`, name: job, where: T.palette.job }]),
		...GLOBAL_PAGES.map(({ path, name }) => ({ id: to([path]), name, where: T.palette.page })),
		...endpoints.flatMap(({ id, name }) =>
			ENDPOINT_PAGES.map(({ path, name: page }) => ({
				id: to(["endpoints", id, path]),
				name: `${name === id ? id : `${name} (${id})`}: ${page}`,
				where: T.palette.endpoint,
			})),
		),
	];
	const act = async (target: string): Promise<void> => {
		close();
		if (!target.startsWith("job:")) return go(target);
		const id = target.slice(4);
		const endpoint = await findJob(
			id,
			endpoints.map((each) => each.id),
		);
		if (endpoint === undefined) toast({ text: T.palette.noJob(id), bad: true });
		else go(to(["endpoints", endpoint, "requests", id]));
	};
	return (
		<ModalOverlay
			className="overlay top"
			isOpen
			isDismissable
			onOpenChange={(open) => (open ? undefined : close())}
		>
			<Modal className="modal palette">
				<Dialog className="dialog" aria-label={T.palette.title}>
					<Autocomplete
						inputValue={text}
						onInputChange={setText}
						filter={(name, typed) =>
							name === job ||
							typed
								.trim()
								.split(/\s+/)
								.every((word) => contains(name, word))
						}
					>
						<SearchField className="field" aria-label={T.palette.title} autoFocus>
							<Input className="input" placeholder={T.palette.hint} />
						</SearchField>
						<Menu
							className="list palette-list"
							items={targets}
							onAction={(key) => void act(String(key))}
							renderEmptyState={() => <p className="muted">{T.palette.nothing}</p>}
						>
							{({ id, name, where }) => (
								<MenuItem className="option" id={id} textValue={name}>
									<span className="option-name">{name}</span>
									<span className="muted">{where}</span>
								</MenuItem>
							)}
						</Menu>
					</Autocomplete>
				</Dialog>
			</Modal>
		</ModalOverlay>
	);
}
