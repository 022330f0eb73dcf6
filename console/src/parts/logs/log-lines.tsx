/** Lines of logs: time, text with its colours, the worker where there are several, the job. */
import type { ReactNode } from "react";
import { spansOf } from "../../values/ansi.ts";
import { moment, short, timeOfDay } from "../../text/format.ts";
import { to } from "../../client/router.ts";
import type { LogLine } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";

export interface ShownLine extends LogLine {
	worker?: string;
	/** Where lines are of several endpoints. */
	endpoint?: string | undefined;
}

export function LogLines({
	lines,
	endpoint: only,
	everyWorker = false,
	ofJob = false,
}: {
	lines: readonly ShownLine[];
	endpoint: string;
	/** They are of several workers, or without one of the service. */
	everyWorker?: boolean;
	/** All are of one job. */
	ofJob?: boolean;
}): ReactNode {
	return lines.map(({ position, text, level, time, worker, job, endpoint = only }) => (
		<div
			key={`${worker ?? ""} ${position} ${worker === undefined ? time : ""}`}
			className={`log-line ${toneOf(level)}`}
		>
			{time === undefined ? null : (
				<time dateTime={time} title={moment(new Date(time).getTime())}>
					{timeOfDay(time)}{" "}
				</time>
			)}
			{!everyWorker ? null : worker === undefined ? (
				<span className="muted">{T.logs.service} </span>
			) : (
				<>
					<a href={to(["endpoints", endpoint, "workers", worker])}>{short(worker)}</a>{" "}
				</>
			)}
			{job === undefined || ofJob || endpoint === "" ? null : (
				<>
					<a className="log-job" href={to(["endpoints", endpoint, "requests", job])} title={job}>
						{short(job)}
					</a>{" "}
				</>
			)}
			<span>
				{spansOf(text).map((span, index) => (
					// oxlint-disable-next-line react/no-array-index-key -- a line does not change
					<span key={index} className={span.look}>
						{span.text}
					</span>
				))}
			</span>
		</div>
	));
}

function toneOf(level = ""): string {
	return /^(error|critical|fatal)$/i.test(level) ? "bad" : /^warn/i.test(level) ? "tone-late" : "";
}

/** As a file has them. */
export function logText(lines: readonly ShownLine[], plain: (text: string) => string): string {
	return lines
		.map(({ text, time, worker }) => [time, worker, plain(text)].filter((each) => each !== undefined).join(" "))
		.join("\n");
}
