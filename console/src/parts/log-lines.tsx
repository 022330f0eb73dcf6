/** Lines of workers' logs: time, text with its colours, and the worker where there are several. */
import type { ReactNode } from "react";
import { spansOf } from "../ansi.ts";
import { moment, short, timeOfDay } from "../format.ts";
import { to } from "../router.ts";
import type { LogLine } from "../shapes.ts";

export interface ShownLine extends LogLine {
	worker?: string;
}

export function LogLines({
	lines,
	endpoint,
	everyWorker = false,
	ofJob = false,
}: {
	lines: readonly ShownLine[];
	endpoint: string;
	/** They are of several workers. */
	everyWorker?: boolean;
	/** All are of one job. */
	ofJob?: boolean;
}): ReactNode {
	return lines.map(({ position, text, level, time, worker, job }) => (
		<div
			key={`${worker ?? ""} ${position}`}
			className={level && /^(error|critical|fatal)$/i.test(level) ? "log-line bad" : "log-line"}
		>
			{time === undefined ? null : (
				<time dateTime={time} title={moment(new Date(time).getTime())}>
					{timeOfDay(time)}{" "}
				</time>
			)}
			{worker === undefined || !everyWorker ? null : (
				<>
					<a href={to(["endpoints", endpoint, "workers", worker])}>{short(worker)}</a>{" "}
				</>
			)}
			{job === undefined || ofJob ? null : (
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

/** As a file has them. */
export function logText(lines: readonly ShownLine[], plain: (text: string) => string): string {
	return lines
		.map(({ text, time, worker }) => [time, worker, plain(text)].filter((each) => each !== undefined).join(" "))
		.join("\n");
}
