/** What the palette can do next to leading to pages; only what the session's key may do. */
import { ask, ofEndpoint } from "../client/api.ts";
import type { Overview, Scope } from "../client/shapes.ts";
import { go, to } from "../client/router.ts";
import { T } from "../text/text.ts";
import { setTheme } from "../parts/theme.ts";

/** A dialog that a command opens. */
export type CommandDialog = { kind: "endpoint" } | { kind: "keys" } | { kind: "purge"; endpoint: string };

export interface Command {
	id: string;
	name: string;
	/** What is said when it is done. */
	done?: string;
	run: () => unknown;
}

const THEMES = ["system", "light", "dark"] as const;

export function commandsFor({
	endpoints,
	may,
	open,
	signOut,
}: {
	endpoints: readonly Overview[];
	may: (scope: Scope) => boolean;
	open: (dialog: CommandDialog) => void;
	signOut: () => void;
}): Command[] {
	const [write, admin] = [may("write"), may("admin")];
	const post = (path: string): Promise<unknown> => ask(path, { method: "POST" });
	const ofAll = (make: (endpoint: Overview) => Command | undefined): Command[] =>
		endpoints.flatMap((endpoint) => make(endpoint) ?? []);
	return [
		...(admin
			? [
					{
						id: "new-endpoint",
						name: T.newEndpoint.title,
						run: () => open({ kind: "endpoint" }),
					},
					{ id: "new-key", name: T.keys.create, run: () => go(to(["keys"], { new: "1" })) },
					...ofAll(({ id, name, health: { state } }) =>
						state === "crashing"
							? {
									id: `start:${id}`,
									name: T.palette.start(name),
									done: T.ended.startsNow,
									run: () => post(ofEndpoint(id, "/workers/start")),
								}
							: undefined,
					),
					...ofAll(({ id, name, paused }) => ({
						id: `pause:${id}`,
						name: paused ? T.palette.resume(name) : T.palette.pause(name),
						done: paused ? T.endpoint.resumed : T.endpoint.pausedNow,
						run: () => post(ofEndpoint(id, paused ? "/resume" : "/pause")),
					})),
				]
			: []),
		...ofAll(({ id, name, queue: { inQueue } }) =>
			write && inQueue > 0
				? {
						id: `purge:${id}`,
						name: T.palette.purge(name),
						run: () => open({ kind: "purge", endpoint: id }),
					}
				: undefined,
		),
		...THEMES.map((theme) => ({
			id: `theme:${theme}`,
			name: T.palette.theme(T.theme[theme]),
			run: () => setTheme(theme),
		})),
		{ id: "sign-out", name: T.signOut, run: signOut },
	];
}
