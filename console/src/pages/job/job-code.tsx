/** Code that submits a job like this one. */
import { type ReactNode, useState } from "react";
import { ToggleButton, ToggleButtonGroup } from "react-aria-components";
import { BASE } from "../../client/api.ts";
import { pretty } from "../../text/exact.ts";
import { BODY_FILE, JOB_SNIPPETS, isLong } from "../../values/jobs/job-snippets.ts";
import { CodeBlock, Copy } from "../../parts/copy.tsx";
import type { JobDetail } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";

export function JobCode({
	endpoint,
	job: { input, policy, lowPriority },
}: {
	endpoint: string;
	job: JobDetail;
}): ReactNode {
	const [chosen, setChosen] = useState<string>(JOB_SNIPPETS[0].id);
	const [open, setOpen] = useState(false);
	if (input === undefined) return null;
	const snippet = JOB_SNIPPETS.find(({ id }) => id === chosen) ?? JOB_SNIPPETS[0];
	const bodyOf = (): string =>
		pretty({
			input,
			policy: { ...policy, ...(lowPriority ? { lowPriority } : {}) },
		});
	const body = open ? bodyOf() : "";
	return (
		<details className="card fold" open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
			<summary>{T.job.asCode}</summary>
			<div className="stack">
				<ToggleButtonGroup
					className="segments"
					aria-label={T.job.asCode}
					selectionMode="single"
					disallowEmptySelection
					selectedKeys={[snippet.id]}
					onSelectionChange={([key]) => setChosen(String(key))}
				>
					{JOB_SNIPPETS.map(({ id, name }) => (
						<ToggleButton key={id} id={id} className="segment">
							{name}
						</ToggleButton>
					))}
				</ToggleButtonGroup>
				{isLong(body) ? (
					<p className="hint">
						{T.job.saveAs(BODY_FILE)} <Copy text={bodyOf} name={T.job.copyBody} />
					</p>
				) : null}
				<CodeBlock text={snippet.text({ base: BASE, endpoint, body })} name={snippet.name} coloured />
			</div>
		</details>
	);
}
