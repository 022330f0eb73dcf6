/** The jobs that a form has just sent, one for each endpoint. */
import { type ReactNode, useEffect, useRef } from "react";
import { Empty } from "../../parts/notice.tsx";
import { T } from "../../text/text.ts";
import { Outcome } from "../job/outcome.tsx";
import type { SentJob } from "./submit.ts";

export function Results({
	jobs,
	textFirst = false,
}: {
	jobs: readonly SentJob[];
	/** Outputs begin with their text. */
	textFirst?: boolean;
}): ReactNode {
	const result = useRef<HTMLElement>(null);

	// On a narrow page the result stands below the form.
	useEffect(() => {
		if (jobs.length > 0) result.current?.scrollIntoView({ block: "nearest" });
	}, [jobs]);

	return (
		<section ref={result} className="results" aria-label={T.try.result}>
			{jobs.length === 0 ? (
				<div className="card">
					<Empty title={T.try.nothing}>{T.try.next}</Empty>
				</div>
			) : (
				jobs.map(({ endpoint, job }) => (
					<div key={job} className="card">
						{jobs.length > 1 ? <h2>{endpoint}</h2> : null}
						<Outcome endpoint={endpoint} job={job} textFirst={textFirst} />
					</div>
				))
			)}
		</section>
	);
}
