/** One batch: how far it is, why requests failed, its facts and files; read again until it has ended. */
import { type ReactNode, useRef, useState } from "react";
import { now, useTick } from "../../client/clock.ts";
import { useLoad } from "../../client/load.ts";
import { to } from "../../client/router.ts";
import { useMay } from "../../client/session.ts";
import type { BatchObject } from "../../client/shapes.ts";
import { Button } from "../../parts/button.tsx";
import { Copy } from "../../parts/copy.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { Loading, Refusal } from "../../parts/notice.tsx";
import { Status } from "../../parts/status.tsx";
import { T } from "../../text/text.ts";
import { Download } from "../files/download.tsx";
import { cancelBatch, endedOf, isOver, readBatch } from "./batch-calls.ts";
import { BatchFacts, Metadata, Times } from "./batch-facts.tsx";
import { FailedRequests, InputErrors } from "./batch-errors.tsx";
import { ProgressCard } from "./progress-card.tsx";
import { type Reading, withReading } from "./speed.ts";

/** Ms between two readings. */
const LOAD_MS = 2000;

interface Read {
	batch: BatchObject;
	readings: readonly Reading[];
}

export default function BatchPage({ endpoint, id }: { endpoint: string; id: string }): ReactNode {
	const last = useRef<readonly Reading[]>([]);
	const read = (batch: BatchObject): Read => {
		last.current = withReading(last.current, { at: now(), ended: endedOf(batch) });
		return { batch, readings: last.current };
	};
	const { data, failure, reload, show } = useLoad(
		`batch ${endpoint} ${id}`,
		async (signal) => read(await readBatch(endpoint, id, signal)),
		{ change: useTick(LOAD_MS), pace: () => LOAD_MS / 2, until: ({ batch }) => isOver(batch) },
	);
	if (!data) return failure ? <Refusal failure={failure} again={reload} /> : <Loading />;
	const { batch, readings } = data;
	return (
		<article className="job">
			<Head endpoint={endpoint} batch={batch} cancel={async () => show(read(await cancelBatch(endpoint, id)))} />
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			{batch.errors === null ? null : <InputErrors batch={batch} errors={batch.errors.data} />}
			<ProgressCard batch={batch} readings={readings} />
			{batch.error_file_id === null ? null : <FailedRequests endpoint={endpoint} file={batch.error_file_id} />}
			<div className="job-folds">
				<BatchFacts batch={batch} />
				<Times batch={batch} />
				<Metadata metadata={batch.metadata} />
			</div>
		</article>
	);
}

function Head({
	endpoint,
	batch,
	cancel,
}: {
	endpoint: string;
	batch: BatchObject;
	cancel: () => Promise<void>;
}): ReactNode {
	const { id, endpoint: path, status, output_file_id: output, error_file_id: errors } = batch;
	const write = useMay("write");
	const [cancelling, setCancelling] = useState(false);
	return (
		<header className="job-page-head">
			<nav className="job-moves" aria-label={T.tabs.batches}>
				<a className="quiet" href={to(["endpoints", endpoint, "batches"])}>
					← {T.batches.page.back}
				</a>
			</nav>
			<div className="job-head">
				<div className="job-about">
					<div className="page-title">
						<h2 className="line">{path}</h2>
						<Status state={status} />
					</div>
					<span className="job-id-line muted">
						<span className="mono job-id">{id}</span>
						<Copy text={id} name={T.batches.page.copyId} />
					</span>
				</div>
				<div className="actions">
					{output === null ? null : (
						<Download endpoint={endpoint} file={output} name={`${id}_output.jsonl`} look="plain">
							{T.batches.page.output}
						</Download>
					)}
					{errors === null ? null : (
						<Download endpoint={endpoint} file={errors} name={`${id}_error.jsonl`} look="plain">
							{T.batches.page.errorFile}
						</Download>
					)}
					{!write || isOver(batch) || status === "cancelling" ? null : (
						<Button icon="stop" onPress={() => setCancelling(true)}>
							{T.batches.page.cancel}
						</Button>
					)}
				</div>
			</div>
			{cancelling ? (
				<Confirm
					title={T.batches.page.cancelTitle}
					act={T.batches.page.cancel}
					danger
					doing={cancel}
					done={T.batches.page.cancelled}
					close={() => setCancelling(false)}
				>
					<p>{T.batches.page.cancelText}</p>
				</Confirm>
			) : null}
		</header>
	);
}
