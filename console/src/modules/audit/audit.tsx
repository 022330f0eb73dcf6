/** The audit log (D42): what administrators changed or tried, newest first. */
import type { ReactNode } from "react";
import { ask, search } from "../../client/api.ts";
import { useTick } from "../../client/clock.ts";
import { useLoad } from "../../client/load.ts";
import { Select } from "../../parts/field.tsx";
import { EndpointLink } from "../../parts/endpoint-link.tsx";
import { Empty, Loading, Refusal } from "../../parts/notice.tsx";
import { Badge } from "../../parts/status.tsx";
import { type Column, Pages, Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { go, to, usePlace } from "../../client/router.ts";
import { useMay } from "../../client/session.ts";
import type { AuditEntry, Key, Page } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";

const PAGE_ROWS = 50;
/** Ms between two reads of the newest entries. */
const LOAD_MS = 5000;
const ALL = "*";

/** Their subject begins with an endpoint that exists. */
const ENDPOINT_ACTIONS: ReadonlySet<string> = new Set([
	"createEndpoint",
	"updateEndpoint",
	"putEndpoint",
	"pauseEndpoint",
	"resumeEndpoint",
	"renewWebhookSecret",
	"workerEnv",
	"startWorkers",
	"stopWorker",
]);

/** An entry and its place on the page: entries have no id. */
type Row = AuditEntry & { place: number };

export default function AuditPage(): ReactNode {
	const { query } = usePlace();
	const tick = useTick(LOAD_MS);
	const admin = useMay("admin");
	const filter = {
		key: query.get("key") ?? undefined,
		action: query.get("action") ?? undefined,
	};
	const cursor = query.get("cursor") ?? undefined;
	const path = `v1/audit${search({ ...filter, cursor, limit: PAGE_ROWS })}`;
	const { data, failure, loading, reload } = useLoad(
		path,
		(signal) => ask<Page<"entries", AuditEntry>>(path, { signal }),
		{ keep: true, change: cursor === undefined ? tick : undefined },
	);
	const { data: keys = [] } = useLoad(
		"keys",
		async (signal) => (await ask<{ keys: Key[] }>("v1/keys", { signal })).keys,
	);
	if (!admin) return <Empty title={T.audit.mayNot} />;
	const set = (change: Readonly<Record<string, string | undefined>>): void =>
		go(to(["audit"], { ...filter, ...change }), true);
	const filtered = filter.key !== undefined || filter.action !== undefined;
	const names = new Map(keys.map(({ id, name, scopes }) => [id, T.audit.keySubject(name, scopes.join(", "))]));
	const known = [{ id: "environment", name: "SLUICE_API_KEY" }, ...keys];
	return (
		<>
			<header className="page-head">
				<h1>{T.pages.audit}</h1>
			</header>
			<div className="actions">
				<Select
					bare
					label={T.audit.action}
					value={filter.action ?? ALL}
					onChange={(id) => set({ action: id === ALL ? undefined : id })}
					choices={[
						{ id: ALL, name: T.audit.allActions },
						...withOwn(
							Object.entries(T.audit.actions).map(([id, name]) => ({ id, name })),
							filter.action,
						),
					]}
				/>
				<Select
					bare
					label={T.audit.key}
					value={filter.key ?? ALL}
					onChange={(id) => set({ key: id === ALL ? undefined : id })}
					choices={[
						{ id: ALL, name: T.audit.allKeys },
						...withOwn(
							known.map(({ id, name }) => ({ id, name })),
							filter.key,
						),
					]}
				/>
			</div>
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			{data === undefined ? (
				failure ? null : (
					<Loading />
				)
			) : data.entries.length === 0 ? (
				<Empty title={filtered ? T.audit.noMatch : T.audit.none}>
					{filtered ? <a href={to(["audit"])}>{T.requests.clear}</a> : <p>{T.audit.how}</p>}
				</Empty>
			) : (
				<section className="card flush" aria-busy={loading}>
					<Table
						label={T.pages.audit}
						columns={columnsOf(names)}
						rows={data.entries.map((entry, place) => ({ ...entry, place }))}
						id={({ at, place }) => `${at} ${place}`}
					/>
				</section>
			)}
			<Pages cursor={cursor} next={data?.next} show={(at) => set({ cursor: at })} />
		</>
	);
}

/** A filter of the address may name what is in no list, such as a key that was revoked. */
function withOwn(
	choices: readonly { id: string; name: string }[],
	own: string | undefined,
): readonly { id: string; name: string }[] {
	return own === undefined || choices.some(({ id }) => id === own) ? choices : [...choices, { id: own, name: own }];
}

/** `names`: of keys by their ids. */
const columnsOf = (names: ReadonlyMap<string, string>): readonly Column<Row>[] => [
	{
		name: T.audit.action,
		main: true,
		cell: ({ action, count }) => (
			<>
				<b>{(T.audit.actions as Readonly<Record<string, string>>)[action] ?? action}</b>
				{count === undefined ? null : ` ${T.audit.times(count)}`}
			</>
		),
	},
	{
		name: T.audit.subject,
		cell: ({ action, subject }) => {
			const [first, ...rest] = subject;
			if (first === undefined) return null;
			if (ENDPOINT_ACTIONS.has(action))
				return (
					<>
						<EndpointLink id={first} /> <span className="mono break">{rest.join(" ")}</span>
					</>
				);
			const name = names.get(first);
			return name === undefined ? (
				<span className="mono break">{subject.join(" ")}</span>
			) : (
				<span title={first}>{name}</span>
			);
		},
	},
	{
		name: T.audit.result,
		cell: ({ result }) => (
			<>
				<Badge tone={result === "ok" ? "good" : "bad"}>{result === "ok" ? T.audit.ok : T.audit.refused}</Badge>
				{result === "ok" ? null : <code className="muted"> {result}</code>}
			</>
		),
	},
	{ name: T.audit.key, cell: ({ keyName, keyId }) => <span title={keyId}>{keyName}</span> },
	{ name: T.audit.address, cell: ({ address }) => <span className="mono">{address}</span> },
	{ name: T.audit.at, cell: ({ at }) => <Ago at={at} /> },
];
