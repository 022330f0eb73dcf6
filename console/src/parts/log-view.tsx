/** Lines that a launched worker wrote, as they come. */
import { useEffect, useRef, useState } from "react";
import type { ReactNode } from "react";
import { ofEndpoint, search } from "../api.ts";
import { useEvents } from "../events.ts";
import type { LogLine } from "../shapes.ts";
import { T } from "../text.ts";
import { Copy } from "./copy.tsx";
import { Switch, TextField } from "./field.tsx";

/** Lines that the page keeps. */
const KEPT = 3000;
const TAIL = 500;

/** Of one worker; with `job` only the lines that its SDK ascribes to that job. */
export function LogView({
	endpoint,
	worker,
	job,
}: {
	endpoint: string;
	worker: string;
	job?: string;
}): ReactNode {
	const [lines, setLines] = useState<readonly LogLine[]>([]);
	const [follow, setFollow] = useState(true);
	const [wanted, setWanted] = useState("");
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
				setLines([]);
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

	const needle = wanted.trim().toLowerCase();
	const shown =
		needle === "" ? lines : lines.filter(({ text }) => text.toLowerCase().includes(needle));
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
				<Switch on={follow} onChange={setFollow}>
					{T.log.follow}
				</Switch>
				<span className="muted" role="status">
					{T.log.states[state]}
				</span>
				<Copy text={() => shown.map(({ text }) => text).join("\n")} name={T.copy} />
			</div>
			{/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by the keyboard */}
			<div className="log-lines" ref={box} role="log" aria-label={T.log.of(worker)} tabIndex={0}>
				{shown.length === 0 ? (
					<p className="muted">
						{state === "refused" ? T.log.none : needle === "" ? T.log.quiet : T.log.noHit}
					</p>
				) : null}
				{shown.map(({ position, text, level }) => (
					<div
						key={position}
						className={
							level && /^(error|critical|fatal)$/i.test(level) ? "log-line bad" : "log-line"
						}
					>
						{text}
					</div>
				))}
			</div>
		</div>
	);
}
