/** Sessions of the console (D31): who is signed in, from where; ended one by one or all others. */
import { type ReactNode, useState } from "react";
import { ask } from "../../client/api.ts";
import { useLoad } from "../../client/load.ts";
import { Button } from "../../parts/button.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { Loading, Refusal } from "../../parts/notice.tsx";
import { Badge } from "../../parts/status.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import type { ConsoleSession } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";

/** `change`: when to read them again, besides what happens here. */
export function Sessions({ change }: { change: unknown }): ReactNode {
	const [ending, setEnding] = useState<ConsoleSession | "others" | undefined>(undefined);
	const {
		data: sessions,
		failure,
		reload,
	} = useLoad(
		"sessions",
		async (signal) => (await ask<{ sessions: ConsoleSession[] }>("v1/sessions", { signal })).sessions,
		{ change },
	);
	const end = async (path: string): Promise<void> => {
		await ask(path, { method: "DELETE" });
		reload();
	};
	const others = (sessions ?? []).some(({ current }) => !current);
	return (
		<section className="stack" aria-labelledby="sessions">
			<header className="page-head">
				<h2 id="sessions">{T.sessions.title}</h2>
				<div className="actions">
					<Button onPress={() => setEnding("others")} disabled={!others}>
						{T.sessions.endOthers}
					</Button>
				</div>
			</header>
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			{sessions === undefined ? (
				failure ? null : (
					<Loading />
				)
			) : sessions.length === 0 ? (
				<p className="muted">{T.sessions.none}</p>
			) : (
				<div className="card flush">
					<Table
						label={T.sessions.title}
						columns={[...COLUMNS, endColumn(setEnding)]}
						rows={sessions}
						id={({ id }) => id}
					/>
				</div>
			)}
			{ending === undefined ? null : ending === "others" ? (
				<Confirm
					title={T.sessions.endOthersTitle}
					act={T.sessions.endOthers}
					danger
					doing={() => end("v1/sessions")}
					done={T.sessions.othersEnded}
					close={() => setEnding(undefined)}
				>
					<p>{T.sessions.endOthersText}</p>
				</Confirm>
			) : (
				<Confirm
					title={T.sessions.endTitle(ending.keyName)}
					act={T.sessions.end}
					danger
					doing={() => end(`v1/sessions/${encodeURIComponent(ending.id)}`)}
					done={T.sessions.ended}
					close={() => setEnding(undefined)}
				>
					<p>{T.sessions.endText(ending.client, ending.address)}</p>
				</Confirm>
			)}
		</section>
	);
}

const COLUMNS: readonly Column<ConsoleSession>[] = [
	{
		name: T.sessions.client,
		main: true,
		cell: ({ client, current }) => (
			<>
				<b>{client || T.sessions.unknown}</b> {current ? <Badge tone="good">{T.sessions.current}</Badge> : null}
			</>
		),
	},
	{ name: T.sessions.key, cell: ({ keyName }) => keyName },
	{ name: T.sessions.by, cell: ({ signIn }) => T.sessions.signIn[signIn] },
	{ name: T.sessions.address, cell: ({ address }) => <span className="mono">{address}</span> },
	{ name: T.sessions.began, cell: ({ createdAt }) => <Ago at={createdAt} /> },
	{
		name: T.sessions.used,
		cell: ({ current, lastUsedAt }) => (current ? T.sessions.now : <Ago at={lastUsedAt} />),
	},
];

/** One's own is ended by signing out. */
const endColumn = (choose: (session: ConsoleSession) => void): Column<ConsoleSession> => ({
	name: T.sessions.end,
	silent: true,
	end: true,
	cell: (session) =>
		session.current ? null : (
			<Button look="quiet" onPress={() => choose(session)}>
				{T.sessions.end}
			</Button>
		),
});
