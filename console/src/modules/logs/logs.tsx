/** Lines of workers and of the service on one page, by time: filters, live, older ones on request. */
import { type ReactNode, useLayoutEffect, useRef, useState } from "react";
import { useAct } from "../../parts/act.ts";
import { now, useTick } from "../../client/clock.ts";
import { plainText } from "../../values/ansi.ts";
import { useFeed } from "../../client/feed.ts";
import { fewAtOnce } from "../../client/few-at-once.ts";
import { clock, number } from "../../text/format.ts";
import { RANGES } from "../../values/jobs/job-filter.ts";
import { useLoad } from "../../client/load.ts";
import { readPart } from "../../parts/logs/log-read.ts";
import * as logs from "../../parts/logs/log-search.ts";
import { Button } from "../../parts/button.tsx";
import { Copy } from "../../parts/copy.tsx";
import { Select, Switch, TextField } from "../../parts/field.tsx";
import { LogLines, logText } from "../../parts/logs/log-lines.tsx";
import { Empty, Loading, Refusal } from "../../parts/notice.tsx";
import { go, to, usePlace } from "../../client/router.ts";
import { useMay } from "../../client/session.ts";
import { T } from "../../text/text.ts";
import { useTyped } from "../../client/use-typed.ts";

const ALL = "*";
/** Logs that are read at once. */
const AT_ONCE = 4;

export default function LogsPage(): ReactNode {
	const admin = useMay("admin");
	const { query } = usePlace();
	const { endpoints } = useFeed();
	const ids = (endpoints ?? []).map(({ id }) => id).toSorted();
	const [live, setLive] = useState(true);
	if (!admin) return <Empty title={T.logs.mayNot} />;
	const isLive = live && !query.has("to");
	return (
		<>
			<header className="page-head">
				<h1>{T.pages.logs}</h1>
			</header>
			<Filters query={query} endpoints={ids} />
			{endpoints === undefined ? (
				<Loading />
			) : (
				<Lines key={`${query.toString()} ${ids.join(" ")}`} query={query} endpoints={ids} live={isLive}>
					<Switch on={isLive} onChange={setLive}>
						{T.logs.live}
					</Switch>
				</Lines>
			)}
			<p className="hint">{T.logs.kept}</p>
		</>
	);
}

type Change = Readonly<Record<string, string | undefined>>;

function Filters({ query, endpoints }: { query: URLSearchParams; endpoints: readonly string[] }): ReactNode {
	const [open, setOpen] = useState(false);
	const set = (change: Change): void => go(to(["logs"], { ...Object.fromEntries(query), ...change }), true);
	const value = (name: string): string => query.get(name) ?? "";
	const chosen = (id: string): string | undefined => (id === ALL ? undefined : id);
	const endpoint = value("endpoint");
	const known = endpoint === "" || endpoints.includes(endpoint) ? endpoints : [...endpoints, endpoint];
	return (
		<div className="filters">
			<div className="filters-switch">
				<Button icon="search" expanded={open} onPress={() => setOpen(!open)}>
					{T.logs.filter}
				</Button>
			</div>
			<search className="filter-fields" aria-label={T.logs.filter} data-open={open}>
				<Typed name="search" label={T.logs.search} wanted={value("search")} set={set} />
				<Typed name="id" label={T.logs.id} wanted={value("id")} set={set} />
				<Select
					bare
					label={T.logs.lines}
					value={value("lines") || "all"}
					onChange={(id) => set({ lines: id === "all" ? undefined : id })}
					choices={Object.entries(T.logs.sources).map(([id, name]) => ({ id, name }))}
				/>
				<Select
					bare
					label={T.logs.endpoint}
					value={endpoint || ALL}
					onChange={(id) => set({ endpoint: chosen(id), worker: undefined })}
					choices={[{ id: ALL, name: T.logs.allEndpoints }, ...known.map((id) => ({ id, name: id }))]}
				/>
				<Select
					bare
					label={T.logs.level}
					value={value("level") || "debug"}
					onChange={(id) => set({ level: id === "debug" ? undefined : id })}
					choices={logs.LEVELS.map((id) => ({ id, name: T.logs.levels[id] }))}
				/>
				{endpoint === "" ? null : <Typed name="worker" label={T.logs.worker} wanted={value("worker")} set={set} />}
				<Select
					bare
					label={T.requests.range}
					value={value("range") || ALL}
					onChange={(id) => set({ range: chosen(id), from: undefined, to: undefined })}
					choices={[
						{ id: ALL, name: T.requests.anyTime },
						...RANGES.map(({ id }) => ({ id, name: T.requests.ranges[id] })),
					]}
				/>
				<Moment name="from" label={T.logs.from} value={value("from")} set={set} />
				<Moment name="to" label={T.logs.to} value={value("to")} set={set} />
				{query.size > 0 ? (
					<Button look="quiet" onPress={() => go(to(["logs"]), true)}>
						{T.requests.clear}
					</Button>
				) : null}
			</search>
		</div>
	);
}

/** A text that is searched while it is typed. */
function Typed({
	name,
	label,
	wanted,
	set,
}: {
	name: string;
	label: string;
	wanted: string;
	set: (change: Change) => void;
}): ReactNode {
	const { text, setText } = useTyped(wanted, {
		termOf: (typed) => typed.trim(),
		apply: (term) => set({ [name]: term }),
	});
	return (
		<div className="typed">
			<TextField bare type="search" label={label} placeholder={label} value={text} onChange={setText} />
		</div>
	);
}

function Moment({
	name,
	label,
	value,
	set,
}: {
	name: "from" | "to";
	label: string;
	value: string;
	set: (change: Change) => void;
}): ReactNode {
	return (
		<label className="moment">
			<span className="muted">{label}</span>
			<input
				type="datetime-local"
				step="1"
				className="input"
				value={value}
				onChange={({ currentTarget }) => set({ [name]: currentTarget.value, range: undefined })}
			/>
		</label>
	);
}

/** Of one filter. */
function Lines({
	query,
	endpoints,
	live,
	children,
}: {
	query: URLSearchParams;
	endpoints: readonly string[];
	live: boolean;
	children: ReactNode;
}): ReactNode {
	const [parts, setParts] = useState<ReadonlyMap<logs.Source, logs.Part>>(new Map());
	const { busy, run } = useAct();
	const sources = logs.sourcesOf(logs.logFilterOf(query, 0), endpoints);
	const tick = useTick(logs.paceOf(sources.length));
	const { data, failure, reload } = useLoad(
		"lines",
		async (signal) => {
			const filter = logs.logFilterOf(query, now());
			const read = await readAll(sources.map((source) => () => readPart(source, filter, { signal })));
			setParts((known) => new Map(read.map((part) => [part.source, logs.withNewest(known.get(part.source), part)])));
			return true;
		},
		{ change: tick, until: () => !live, whole: true },
	);
	const open = logs.shortest([...parts.values()]);
	const older = async (): Promise<void> => {
		const filter = logs.logFilterOf(query, now());
		const read = await readAll(
			open.map(
				({ source, next }) =>
					() =>
						readPart(source, filter, { cursor: next }),
			),
		);
		setParts((known) => {
			const all = new Map(known);
			for (const part of read) all.set(part.source, logs.withOlder(all.get(part.source) ?? part, part));
			return all;
		});
	};
	const lines = logs.linesOf([...parts.values()]);
	if (failure && data === undefined) return <Refusal failure={failure} again={reload} />;
	return (
		<div className="log whole-log">
			<div className="actions">
				{children}
				{open.length === 0 ? null : (
					<Button icon="left" busy={busy} onPress={() => void run(older)}>
						{lines.length === 0 ? T.logs.further : T.logs.older}
					</Button>
				)}
				<span className="filters-end">
					<Copy text={() => logText(lines, plainText)} name={T.copy} />
				</span>
			</div>
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			<Box lines={lines} live={live}>
				{data === undefined ? T.loading : open.length > 0 ? T.logs.noneYet : T.logs.none}
			</Box>
			<span className="muted" role="status">
				{lines[0] === undefined
					? ""
					: T.logs.counted(T.logs.count(number(lines.length)), clock(new Date(lines[0].time).getTime(), now()))}
			</span>
		</div>
	);
}

async function readAll(reads: readonly (() => Promise<logs.Part>)[]): Promise<readonly logs.Part[]> {
	const enter = fewAtOnce(AT_ONCE);
	return await Promise.all(
		reads.map((read) => new Promise<logs.Part>((resolve, reject) => void enter(() => read().then(resolve, reject)))),
	);
}

/** Stays at its end while it is live, and at the line that is read when older ones are added. */
function Box({
	lines,
	live,
	children,
}: {
	lines: readonly logs.PageLine[];
	live: boolean;
	/** Where there are no lines. */
	children: ReactNode;
}): ReactNode {
	const box = useRef<HTMLDivElement>(null);
	const before = useRef({ first: "", height: 0, atEnd: true });
	const first = lines[0] === undefined ? "" : logs.lineId(lines[0]);
	useLayoutEffect(() => {
		const shown = box.current;
		if (!shown) return;
		const { first: last, height, atEnd } = before.current;
		if (atEnd && (live || last === "")) shown.scrollTop = shown.scrollHeight;
		else if (last !== first) shown.scrollTop += shown.scrollHeight - height;
		before.current = { ...before.current, first, height: shown.scrollHeight };
	}, [lines, first, live]);
	return (
		<div
			className="log-lines"
			ref={box}
			role="log"
			aria-label={T.logs.box}
			// oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it is scrolled by the keyboard
			tabIndex={0}
			onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
				before.current.atEnd = scrollTop + clientHeight >= scrollHeight - 20;
			}}
		>
			{lines.length === 0 ? <p className="muted">{children}</p> : <LogLines lines={lines} endpoint="" everyWorker />}
		</div>
	);
}
