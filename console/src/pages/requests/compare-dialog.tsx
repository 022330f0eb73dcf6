/** The question with which other job one is compared. */
import { type ReactNode, useState } from "react";
import { ask, ofEndpoint, search } from "../../client/api.ts";
import { short } from "../../text/format.ts";
import { firstLine, previewOf } from "../../values/jobs/job-error.ts";
import { jobIdOf } from "../../values/jobs/job-id.ts";
import { useLoad } from "../../client/load.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { Loading, Refusal } from "../../parts/notice.tsx";
import { Status } from "../../parts/status.tsx";
import { Ago } from "../../parts/time.tsx";
import { go } from "../../client/router.ts";
import type { JobList } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { comparison } from "./compare.tsx";

/** Asks which job it is compared with: one of the last, or one by its id. */
export function CompareDialog({
	endpoint,
	job,
	close,
}: {
	endpoint: string;
	job: string;
	close: () => void;
}): ReactNode {
	const [id, setId] = useState("");
	const whole = jobIdOf(id);
	const path = ofEndpoint(endpoint, `/jobs${search({ limit: 20, expired: "true", preview: "true" })}`);
	const { data, failure } = useLoad(path, (signal) => ask<JobList>(path, { signal }));
	return (
		<Dialog title={T.compare.title} close={close} wide>
			<form
				className="stack"
				onSubmit={(event) => {
					event.preventDefault();
					if (whole !== undefined) go(comparison(endpoint, job, whole, job));
				}}
			>
				<div className="inline-form">
					<TextField bare label={T.compare.id} placeholder={T.compare.id} value={id} onChange={setId} mono />
					<Button look="main" disabled={whole === undefined || whole === job}>
						{T.compare.act}
					</Button>
				</div>
				{failure ? <Refusal failure={failure} /> : data ? null : <Loading />}
				<ul className="compare-list">
					{(data?.jobs ?? [])
						.filter((each) => each.id !== job)
						.map((each) => (
							<li key={each.id}>
								<a href={comparison(endpoint, job, each.id, job)} onClick={close}>
									<Status state={each.status} /> <code>{short(each.id)}</code> <Ago at={each.submittedAt} />
									<span className="line muted">
										{each.error === undefined ? previewOf(each.inputPreview ?? "") : firstLine(each.error)}
									</span>
								</a>
							</li>
						))}
				</ul>
			</form>
		</Dialog>
	);
}
