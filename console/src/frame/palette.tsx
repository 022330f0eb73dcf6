/**
 * Search and commands, from anywhere with `/` or Ctrl-K: pages, endpoints, a job by its id or the end of it, what can be
 * done with them, and the search for a text in the jobs of each endpoint.
 */
import { type ReactNode, useEffect, useState } from "react";
import {
	Autocomplete,
	Collection,
	Dialog,
	Header,
	Input,
	Menu,
	MenuItem,
	MenuSection,
	Modal,
	ModalOverlay,
	SearchField,
	useFilter,
} from "react-aria-components";
import { useAct } from "../parts/act.ts";
import { type CommandDialog, commandsFor } from "./commands.ts";
import { useFeed } from "../client/feed.ts";
import { findJobs } from "../values/jobs/find-job.ts";
import { jobEndOf, jobIdOf } from "../values/jobs/job-id.ts";
import { ENDPOINT_PAGES, GLOBAL_PAGES } from "../parts/page-list.ts";
import { go, to } from "../client/router.ts";
import { mayDo, useSession } from "../client/session.ts";
import { T } from "../text/text.ts";
import { toast } from "../parts/toast.tsx";

/** Characters of a text that is searched in jobs. */
const SHORTEST_SEARCH = 3;

interface Target {
	/** An address, `job:` and an id or its end, or the id of a command. */
	id: string;
	name: string;
}

interface Group {
	name: string;
	targets: readonly Target[];
}

/** Keys that open it, unless the user is typing in a field. */
export function usePaletteKeys(open: () => void): void {
	useEffect(() => {
		const onKey = (event: KeyboardEvent): void => {
			const typing =
				event.target instanceof HTMLElement && event.target.closest("input, textarea, select, [contenteditable]");
			const wanted = (event.key === "k" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !typing);
			if (!wanted) return;
			event.preventDefault();
			open();
		};
		// On its way down: fields keep keys that they were given from going up.
		addEventListener("keydown", onKey, true);
		return () => removeEventListener("keydown", onKey, true);
	}, [open]);
}

export function Palette({ close, open }: { close: () => void; open: (dialog: CommandDialog) => void }): ReactNode {
	const [text, setText] = useState("");
	const { contains } = useFilter({ sensitivity: "base" });
	const { run } = useAct();
	const { principal, signOut } = useSession();
	const endpoints = useFeed().endpoints ?? [];
	const [job, end] = [jobIdOf(text), jobEndOf(text)];
	const typed = text.trim();
	const commands = commandsFor({
		endpoints,
		may: (scope) => mayDo(principal, scope),
		open,
		signOut,
	});
	const groups: Group[] = [
		{
			name: T.palette.jobs,
			targets:
				job !== undefined
					? [{ id: `job:${job}`, name: job }]
					: end !== undefined
						? [{ id: `job:${end}`, name: T.palette.jobEnd(end) }]
						: [],
		},
		{
			name: T.palette.pages,
			targets: GLOBAL_PAGES.filter((page) => !("admin" in page) || mayDo(principal, "admin")).map(({ path, name }) => ({
				id: to([path]),
				name,
			})),
		},
		{
			name: T.palette.endpoints,
			targets: endpoints.flatMap(({ id, name }) =>
				// All pages of an endpoint once something is typed; before, one line for each.
				(typed === "" ? ENDPOINT_PAGES.slice(0, 1) : ENDPOINT_PAGES).map(({ path, name: page }) => ({
					id: to(["endpoints", id, path]),
					name: `${name === id ? id : `${name} (${id})`}: ${page}`,
				})),
			),
		},
		{ name: T.palette.commands, targets: commands },
		{
			name: T.palette.inJobs,
			targets:
				typed.length < SHORTEST_SEARCH
					? []
					: endpoints.map(({ id, name }) => ({
							id: to(["endpoints", id, "requests"], { search: typed }),
							name: T.palette.searchJobs(name, typed),
						})),
		},
	];
	const findAndShow = async (id: string): Promise<void> => {
		const [found, ...others] = await findJobs(
			id,
			endpoints.map((each) => each.id),
		);
		if (found === undefined) toast({ text: id === end ? T.palette.noJobEnd(id) : T.palette.noJob(id), bad: true });
		else if (others.length > 0) go(to(["endpoints", found.endpoint, "requests"], { search: id }));
		else go(to(["endpoints", found.endpoint, "requests", found.id]));
	};
	const act = (target: string): void => {
		close();
		const command = commands.find(({ id }) => id === target);
		if (command) void run(async () => await command.run(), command.done);
		else if (target.startsWith("job:")) void findAndShow(target.slice(4));
		else go(target);
	};
	return (
		<ModalOverlay
			className="overlay top"
			isOpen
			isDismissable
			onOpenChange={(isOpen) => (isOpen ? undefined : close())}
		>
			<Modal className="modal palette">
				<Dialog className="dialog" aria-label={T.palette.title}>
					<Autocomplete
						inputValue={text}
						onInputChange={setText}
						filter={(name, words) =>
							name === job ||
							words
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
							items={groups.filter(({ targets }) => targets.length > 0)}
							onAction={(key) => act(String(key))}
							renderEmptyState={() => <p className="muted">{T.palette.nothing}</p>}
						>
							{({ name: group, targets }) => (
								<MenuSection id={group}>
									<Header className="palette-group">{group}</Header>
									<Collection items={targets}>
										{({ id, name }) => (
											<MenuItem className="option" id={id} textValue={name}>
												<span className="option-name">{name}</span>
											</MenuItem>
										)}
									</Collection>
								</MenuSection>
							)}
						</Menu>
					</Autocomplete>
				</Dialog>
			</Modal>
		</ModalOverlay>
	);
}
