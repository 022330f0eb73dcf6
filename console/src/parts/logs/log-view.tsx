/** Lines that a launched worker wrote, as they come; a search in all that is kept; a download. */
import { type ReactNode, useEffect, useRef, useState } from "react";
import { askText, ofEndpoint, search } from "../../client/api.ts";
import { useAct } from "../act.ts";
import { plainText } from "../../values/ansi.ts";
import { useEvents } from "../../client/events.ts";
import { useLoad } from "../../client/load.ts";
import { readPart } from "./log-read.ts";
import type { LogLine } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { Button } from "../button.tsx";
import { Copy } from "../copy.tsx";
import { Switch, TextField } from "../field.tsx";
import { saveFile } from "../save-file.ts";
import { LogLines, logText } from "./log-lines.tsx";
import { Refusal } from "../notice.tsx";

/** Lines that the page keeps. */
const KEPT = 3000;
const TAIL = 500;

interface Shown {
	endpoint: string;
	worker: string;
	job?: string | undefined;
	/** The job has ended and writes no more. */
	over?: boolean;
}

/** Of one worker; with `job` only the lines of that job. */
export function LogView({ endpoint, worker, job, over = false }: Shown): ReactNode {
	const [follow, setFollow] = useState(true);
	const [everyWorker, setEveryWorker] = useState(false);
	const [wanted, setWanted] = useState("");
	const [lines, setLines] = useState<readonly LogLine[]>([]);
	const needle = wanted.trim();
	return (
		<div className="log">
			<div className="log-bar">
				<TextField
					bare
					type="search"
					label={T.log.search}
					placeholder={T.log.search}
					value={wanted}
					onChange={setWanted}
				/>
				{needle === "" && over ? null : needle === "" ? (
					<Switch on={follow} onChange={setFollow}>
						{T.log.follow}
					</Switch>
				) : job === undefined ? (
					<Switch on={everyWorker} onChange={setEveryWorker}>
						{T.log.everyWorker}
					</Switch>
				) : null}
				<Download endpoint={endpoint} worker={worker} job={job} />
				<Copy text={() => logText(lines, plainText)} name={T.copy} />
			</div>
			{needle === "" ? (
				<Live
					endpoint={endpoint}
					worker={worker}
					job={job}
					over={over}
					follow={follow}
					lines={lines}
					setLines={setLines}
				/>
			) : (
				<Hits endpoint={endpoint} worker={everyWorker ? undefined : worker} job={job} needle={needle} />
			)}
		</div>
	);
}

/** The last lines, then new ones. */
function Live({
	endpoint,
	worker,
	job,
	over = false,
	follow,
	lines,
	setLines,
}: Shown & {
	follow: boolean;
	lines: readonly LogLine[];
	setLines: (next: (last: readonly LogLine[]) => readonly LogLine[]) => void;
}): ReactNode {
	const box = useRef<HTMLDivElement>(null);
	const waiting = useRef<LogLine[]>([]);
	const state = useEvents({
		path: ofEndpoint(
			endpoint,
			`/workers/${encodeURIComponent(worker)}/logs${search({ tail: TAIL, follow: "true", job })}`,
		),
		names: [],
		on({ name, data }) {
			if (name === "begin") {
				waiting.current = [];
				setLines(() => []);
			} else if (name === "message") {
				waiting.current.push(JSON.parse(data) as LogLine);
				if (waiting.current.length === 1) requestAnimationFrame(flush);
			}
		},
	});

	const flush = (): void => {
		const came = waiting.current;
		waiting.current = [];
		setLines((last) => {
			const newest = last.at(-1)?.position ?? -1;
			return [...last, ...came.filter(({ position }) => position > newest)].slice(-KEPT);
		});
	};

	useEffect(() => {
		if (follow && box.current) box.current.scrollTop = box.current.scrollHeight;
	}, [lines, follow]);
	// Lines break elsewhere where the box gets another width.
	useEffect(() => {
		const shown = box.current;
		if (!follow || !shown) return;
		const observer = new ResizeObserver(() => (shown.scrollTop = shown.scrollHeight));
		observer.observe(shown);
		return () => observer.disconnect();
	}, [follow]);

	return (
		<>
			{/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it is scrolled by the keyboard */}
			<div className="log-lines" ref={box} role="log" aria-label={T.log.of(worker)} tabIndex={0}>
				{lines.length === 0 ? (
					<p className="muted">{state === "refused" ? T.log.none : over ? T.log.noLines : T.log.quiet}</p>
				) : null}
				<LogLines lines={lines} endpoint={endpoint} ofJob={job !== undefined} />
			</div>
			<span className="muted" role="status">
				{over ? "" : T.log.states[state]}
			</span>
		</>
	);
}

/** What the service finds in all that it keeps; without a worker of all workers of the endpoint. */
function Hits({
	endpoint,
	worker,
	job,
	needle,
}: {
	endpoint: string;
	worker: string | undefined;
	job: string | undefined;
	needle: string;
}): ReactNode {
	const { data, failure, reload } = useLoad(
		`${worker} ${job} ${needle}`,
		(signal) => readPart(endpoint, { lines: "workers", worker, id: job, search: needle.slice(0, 200) }, { signal }),
		{ keep: true },
	);
	if (failure) return <Refusal failure={failure} again={reload} />;
	const found = data?.lines.toReversed() ?? [];
	return (
		<>
			{/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it is scrolled by the keyboard */}
			<section className="log-lines" aria-label={T.log.search} tabIndex={0}>
				<LogLines lines={found} endpoint={endpoint} everyWorker={worker === undefined} ofJob={job !== undefined} />
			</section>
			<span className="muted" role="status">
				{data === undefined
					? T.loading
					: data.next !== undefined
						? T.log.moreHits(found.length)
						: T.log.hits(found.length)}
			</span>
		</>
	);
}

/** Everything that is kept, as a file. */
function Download({ endpoint, worker, job }: Shown): ReactNode {
	const { busy, run } = useAct();
	const save = async (): Promise<void> => {
		const path = `/workers/${encodeURIComponent(worker)}/logs${search({ whole: "true", job })}`;
		const answer = await askText(ofEndpoint(endpoint, path));
		const all = answer
			.split("\n")
			.filter((line) => line !== "")
			.map((line) => JSON.parse(line) as LogLine);
		saveFile(`${job ?? worker}.log`, new Blob([`${logText(all, plainText)}\n`], { type: "text/plain" }));
	};
	return (
		<Button look="quiet" busy={busy} onPress={() => void run(save)}>
			{T.log.download}
		</Button>
	);
}
